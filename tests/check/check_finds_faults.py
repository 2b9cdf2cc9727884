#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does tools/check/check find each kind of fault? Each case is a tree that is right but for one file."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import shutil
import sys
import tempfile

LICENCE = "// SPDX-License-Identifier: MIT\n"

# What is right: no line of it may be complained about.
CLEAN = {
    "include/ggml.h": LICENCE + "void ggml_init(int a, int b, int c, int d, int e, int f, int g);\n",
    "src/base/mem.h": LICENCE + "#include <stddef.h>\nvoid tn_mem_free(void * p);\n",
    "src/base/mem.c": LICENCE + '#include "base/mem.h"\nvoid tn_mem_free(void * p) {\n    free(p);\n}\n',
    "src/base/env.def": "// name, meaning\nTN_ROW(TENON_X, \"what it does\")\n",
    "src/base/file_posix.c": LICENCE + "#include <unistd.h>\nint tn_file_open(void) {\n    return 1;\n}\n",
    "src/core/op.c": LICENCE + '#include "base/mem.h"\n#include "ggml.h"\n#include "ggml/src/ggml-impl.h"\n'
                     "// malloc(1), abort() and {{ in a comment\n"
                     'static const char * text = "getenv(1) {";\n'
                     "void ggml_init(int a, int b, int c, int d,\n               int e, int f, int g) {\n}\n"
                     "struct tn_op *\ntn_op_get(int (*f)(int, int)) {\n"
                     "    if (f) {\n        return 0;\n    }\n}\n"
                     "static bool set_tensor_2d(int a, int b, int c, int d,\n"
                     "                          int e, int f, int g, int h) {\n}\n",
    "src/core/op_int.h": LICENCE,
    "src/core/ops.def": "TN_ROW(ADD, tn_op_add)\n",
    "src/cpu/kernels/map1/map1_x86_avx2.c": LICENCE + "#include <immintrin.h>\n"
                                            "void tn_map1_exp_x86_avx2(void) {\n}\n",
    "tests/unit/base/test_env.c": LICENCE + "int a = TN_ENV_TENON_X;\n",
    "tests/op/test_arith.c": LICENCE + "int a = GGML_OP_ADD;\n",
    "tests/compat/client.c": LICENCE + '#include "ggml.h"\n',
}


def body(lines):
    return "{\n" + "    f();\n" * (lines - 2) + "}\n"


def source(text, licence=LICENCE):
    return licence + text


# path, its text, what the one line about it says
CASES = [
    # who includes whom
    ("src/base/up.c", source('#include "core/op.h"\n'), "src/base/up.c:2: base may not include core/op.h"),
    ("src/quant/q.c", source('#  include "gguf/gguf.h"\n'), "quant may not include gguf/gguf.h"),
    ("src/core/ops/add.c", source('#include "core/op_int.h"\n'), "core/op_int.h is for its own folder"),
    ("src/core/near.c", source('#include "op.h"\n'), 'includes are written from src/: "op.h"'),
    ("src/core/lib.c", source("#include <png.h>\n"), "<png.h>: beyond the C library only base may include"),
    ("src/core/sys.c", source("#include <unistd.h>\n"),
     "<unistd.h>: beyond the C library only base may include"),
    ("src/novel/x.c", source(""), "layers.txt has no area novel"),
    ("tests/compat/nosy.c", source('#include "base/mem.h"\n'), "only public headers here, not base/mem.h"),
    ("examples/nosy.c", source('#include "core/op.h"\n'), "only public headers here, not core/op.h"),
    ("tools/tenon/nosy.c", source('#include "gguf/gguf_int.h"\n'),
     "only public headers here, not gguf/gguf_int.h"),
    # sizes
    ("src/core/long.c", source("static void f(void) " + body(81)),
     "src/core/long.c:2: f has 81 lines, the cap is 80"),
    ("src/core/long.c", source("static void f(int a,\n    int b) " + body(80)),
     "f has 81 lines, the cap is 80"),
    ("src/core/long.c", source("enum tn_x\ntn_long_f(void) " + body(80)),
     "tn_long_f has 81 lines, the cap is 80"),
    ("src/core/long.c", source("#if 1\n#define A {\n#endif\nstatic void f(void) " + body(90)),
     "f has 90 lines"),
    ("tests/op/test_long.c", source("static void f(void) " + body(81)), "f has 81 lines, the cap is 80"),
    ("src/cpu/kernels/map1/map1.c", source("static void f(void) " + body(151)),
     "f has 151 lines, the cap is 150"),
    ("src/core/many.c", source("static void f(int a, int b, int c, int d, int e, int f, int g) {\n}\n"),
     "f has 7 parameters, the cap is 6"),
    ("src/core/many.c", source("static void f(int a, int b, int c, void (*d)(int, int), int e,\n"
                               "              int f, int g) {\n}\n"),
     "f has 7 parameters, the cap is 6"),
    ("src/core/big.c", source("int x;\n" * 800), "801 lines, the cap is 800"),
    ("src/core/big.h", source("int x;\n" * 400), "401 lines, the cap is 400"),
    ("src/core/wide.c", source("int " + "x" * 106 + ";\n"), "src/core/wide.c:2: 111 columns, the cap is 110"),
    ("src/core/deep.c", source("static void f(void) {\n    if (a) {\n        for (;;) {\n"
                               "            while (b) {\n"
                               "                if (c) d();\n            }\n        }\n    }\n}\n"),
     "src/core/deep.c:6: 4 levels of nesting, the cap is 3"),
    # text
    ("src/core/free.c", source("int x;\n", ""), "the first line is the licence"),
    ("tests/op/test_free.c", source("int x;\n", ""), "the first line is the licence"),
    ("src/core/tab.c", source("int\tx;\n"), "src/core/tab.c:2: a tab"),
    ("src/core/end.c", source("int x; \n"), "blanks at the end of the line"),
    ("src/core/later.c", source("// TODO: the rest\n"), "unfinished: // TODO: the rest"),
    # doors
    ("src/core/heap.c", source("static void * f(void) {\n    return malloc(1);\n}\n"),
     "malloc(: use base/mem.h"),
    ("src/core/heap.c", source("static void f(void * p) {\n    free(p);\n}\n"), "free(: use base/mem.h"),
    ("src/core/env.c", source('static const char * f(void) {\n    return getenv("A");\n}\n'),
     "getenv(: use base/env.h"),
    ("src/core/end.c", source("static void f(void) {\n    abort();\n}\n"),
     "abort(: use a status, or TN_ASSERT"),
    ("src/core/end.c", source("static void f(void) {\n    assert(1);\n}\n"),
     "assert(: use a status, or TN_ASSERT"),
    ("src/core/attr.c", source("static int f(void) __attribute__((pure));\n"),
     "__attribute__: use base/compiler.h"),
    ("src/core/loud.c", source('static void f(void) {\n    printf("x");\n}\n'), "printf(: use base/log.h"),
    # names
    ("src/core/name.c", source("void helper(void) {\n}\n"), "helper is neither static nor public nor tn_*"),
    ("src/core/name.c", source("void tn_other_get(void) {\n}\n"), "tn_other_get is not called tn_name_*"),
    ("src/cpu/kernels/map1/map1_arm_neon.c", source("void tn_map2_exp_arm_neon(void) {\n}\n"),
     "tn_map2_exp_arm_neon is not called tn_map1_*"),
    # rows
    ("src/core/ops.def", "TN_ROW(ADD, tn_op_add)\nTN_ROW(SUB, tn_op_sub)\n",
     "src/core/ops.def:2: row SUB: no test in tests/op/ names GGML_OP_SUB"),
    ("tests/op/test_arith.c", source("// GGML_OP_ADD\nint a = GGML_OP_ADD1;\n"),
     "row ADD: no test in tests/op/"),
    ("tests/unit/base/test_env.c", source('const char * a = "TN_ENV_TENON_X";\n'),
     "row TENON_X: no test in tests/unit/"),
    ("src/core/new.def", "TN_ROW(A)\n", "rows.txt does not say where its rows are tested"),
]

# path of each of many files, how many, what is said
MANY = [
    ("src/core/ops/f%d.c", 41, "src/core/ops: 41 files, the cap is 40"),
    ("src/gguf/f%d.c", 4, "src/gguf: 2404 lines, the ceiling is 1500"),
]


def load(path):
    spec = importlib.util.spec_from_loader("check", importlib.machinery.SourceFileLoader("check", path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(files):
    """The lines that the check prints about this tree, and its exit status."""
    root = tempfile.mkdtemp(prefix="tenon-check-")
    try:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        CHECK.ROOT, printed = root, io.StringIO()
        CHECK.FAULTS.clear()
        with contextlib.redirect_stdout(printed):
            status = CHECK.main()
        return printed.getvalue().splitlines(), status
    finally:
        shutil.rmtree(root)


def expect(name, files, text):
    """One fault, and it says text; none if text is None."""
    lines, status = run(files)
    faults, ok = lines[:-1], False
    if text is None:
        ok = status == 0 and not faults
    else:
        ok = status == 1 and len(faults) == 1 and text in faults[0]
    if not ok:
        print("FAIL %s: expected %s, exit status %d\n     %s" %
              (name, text or "no fault", status, "\n     ".join(lines)))
    return ok


def main():
    global CHECK
    CHECK = load(sys.argv.pop())
    passed = [expect("clean tree", CLEAN, None)]
    for path, text, words in CASES:
        passed.append(expect(path, dict(CLEAN, **{path: text}), words))
    for pattern, count, words in MANY:
        text = LICENCE + "int x;\n" * (600 if "gguf" in pattern else 0)
        passed.append(expect(pattern, dict(CLEAN, **{pattern % i: text for i in range(count)}), words))
    wordy = LICENCE + ("static void f(void) " + body(20)) * 20
    passed.append(expect("wordy", dict(CLEAN, **{"src/core/w%d.c" % i: wordy for i in range(8)}),
                         "function: median 20 and 95 of 100 below 20 lines, the aims are 12 and 45"))
    passed.append(expect("nothing", {"README": "x"}, "no sources"))
    print("%d passed, %d failed" % (sum(passed), len(passed) - sum(passed)))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())

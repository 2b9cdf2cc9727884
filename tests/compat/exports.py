#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds what the shared libraries export against what the headers declare.

    exports.py INCLUDE_DIR LIB.so... [--write]

Every function that a header declares is either exported, by the library that functions.tsv names, or
stands in later.txt beside this script: declared now, brought by a later release. One that is neither, or
both, is a fault. So is an exported symbol that no header declares; tn_* symbols and the second names of
cmake/siblings.txt are for the libraries among themselves and carry the version node TENON_PRIVATE, public ones
carry no version. The libraries call each other by private names only, so that two sets of them do not mix.
--write brings later.txt up to date. Prints a line a fault; exit status 1 if there is one.
"""

import csv
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LATER = os.path.join(HERE, "later.txt")
HEAD = """# Functions that the headers declare and later releases bring: not exported before they work.
# Held against headers and libraries by exports.py, which also writes this file (--write).
"""
DECLARATION = re.compile(r"^\s*(?:GGML_DEPRECATED\(\s*|GGML_NORETURN\s+)?(?:GGML|GGUF)_(?:\w+_)?API\b"
                         r"[^;{]*?\b((?:ggml|gguf|sd_ggml)_\w+)\s*\(", re.MULTILINE)


def table(name):
    with open(os.path.join(HERE, "api", name), newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def declared_functions(include_dir):
    """{function: header}, in the order of the headers."""
    found = {}
    for header in sorted(os.listdir(include_dir)):
        if not header.endswith(".h"):
            continue
        with open(os.path.join(include_dir, header), encoding="utf-8") as f:
            code = re.sub(r"//[^\n]*|/\*.*?\*/", "", f.read(), flags=re.DOTALL)
        for m in DECLARATION.finditer(code):
            found.setdefault(m.group(1), header)
    return found


def exported_symbols(library):
    """{symbol: version, "" if it has none}"""
    nm = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True)
    symbols = {}
    for line in nm.stdout.splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":  # the names of version nodes
            symbol, _, version = name.partition("@")
            symbols[symbol] = version.lstrip("@")
    return symbols


def wanted_symbols(library):
    nm = subprocess.run(["nm", "-D", "--undefined-only", library], stdout=subprocess.PIPE, text=True, check=True)
    return [line.split()[-1] for line in nm.stdout.splitlines()]


def library_name(path):
    return re.sub(r"^lib|\.so.*$", "", os.path.basename(path))


def read_later():
    with open(LATER, encoding="utf-8") as f:
        return [line.strip() for line in f if line.strip() and line[0] not in "#["]


def write_later(declared, exported):
    header = None
    with open(LATER, "w", encoding="utf-8") as f:
        f.write(HEAD)
        for name in declared:
            if name not in exported:
                if declared[name] != header:
                    header = declared[name]
                    f.write("\n[%s]\n" % header)
                f.write(name + "\n")


def check_symbols(symbols, where, declared):
    for name, version in sorted(symbols.items()):
        if name.startswith(("tn_", "__wrap_")):
            if version != "TENON_PRIVATE":
                yield "%s: %s has version '%s', should have TENON_PRIVATE" % (where, name, version)
        elif name not in declared:
            yield "%s: exports %s, which no header declares" % (where, name)
        elif version:
            yield "%s: %s has version %s; public functions have none" % (where, name, version)


def check_calls(wanted, where):
    for name in wanted:
        if name.startswith(("ggml_", "gguf_")):
            yield "%s calls %s of another library by its public name: cmake/siblings.txt lacks it" % (where, name)
        elif name.startswith(("tn_", "__wrap_")) and not name.endswith("@TENON_PRIVATE"):
            yield "%s calls %s, which is not of the version node TENON_PRIVATE" % (where, name)


def check_functions(declared, exported, later):
    for name, header in declared.items():
        if name in exported and name in later:
            yield "later.txt: %s (%s) is exported now: run exports.py --write" % (name, header)
        if name not in exported and name not in later:
            yield "%s: %s is neither exported nor in later.txt" % (header, name)
    for name in later:
        if name not in declared:
            yield "later.txt: no header declares %s" % name
    if len(later) != len(set(later)):
        yield "later.txt: a function stands there twice"


def check_tables(declared, exported):
    """Nothing of the tables slips through the search for declarations; each function is where linkers look."""
    for row in table("functions.tsv"):
        name, library = row["name"], row["library"]
        if row["is_inline"] != "1" and name not in declared:
            yield "%s: no declaration of %s found" % (row["header"], name)
        if name in exported and library not in ("-", exported[name]):
            yield "%s is exported by %s, should be by %s" % (name, exported[name], library)
    for row in table("impl.tsv"):
        ours = row["header"] == "ggml-backend-impl.h"
        if row["kind"] == "function" and ours and row["name"] not in declared:
            yield "%s: no declaration of %s found" % (row["header"], row["name"])


def main():
    args = [a for a in sys.argv[1:] if a != "--write"]
    if len(args) < 2:
        sys.exit(__doc__)
    declared, exported, faults = declared_functions(args[0]), {}, []
    for path in args[1:]:
        symbols = exported_symbols(path)
        faults += check_symbols(symbols, library_name(path), declared)
        faults += check_calls(wanted_symbols(path), library_name(path))
        for name in symbols:
            if name in exported:
                faults.append("%s is exported by %s and by %s" % (name, exported[name], library_name(path)))
            exported[name] = library_name(path)
    if "--write" in sys.argv:
        write_later(declared, exported)
    later = read_later()
    faults += check_functions(declared, exported, later)
    faults += check_tables(declared, exported)
    print("\n".join(faults))
    print("%d functions declared, %d exported, %d in later.txt, %d faults" %
          (len(declared), sum(name in exported for name in declared), len(later), len(faults)))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

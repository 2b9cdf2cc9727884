# SPDX-License-Identifier: MIT
"""`tenon trace` from outside: who runs what, who refused, what is copied; as text and as JSON."""
import json
import os
import random
import re
import unittest

import cases
from cases import MODEL


VECTORS = os.path.join(cases.SOURCE, "tests", "vectors")


class Trace(cases.ToolTest):
    def trace(self, *args):
        return self.succeed("trace", "-m", MODEL, *args).stdout.decode()

    def data(self, *args):
        return json.loads(self.trace("--json", *args))

    def test_json_is_whole(self):
        for args in ([], ["-p", "1"], ["-p", "3"], ["-p", "8", "-w", "SOFT_MAX"]):
            data = self.data(*args)
            at = 0
            for i, split in enumerate(data["splits"]):
                self.assertEqual((split["split"], split["first"]), (i, at))
                nodes = data["nodes"][at:at + split["count"]]
                at += split["count"]
                for node in nodes:
                    self.assertEqual(node["split"], i)
                    if node["computes"]:
                        self.assertEqual(node["device"], split["device"])
                        self.assertNotIn(node["device"], [r["device"] for r in node["refused"]])
                        self.assertTrue(node["reason"])
            self.assertEqual(at, len(data["nodes"]))
            self.assertEqual([n["node"] for n in data["nodes"]], list(range(at)))

    def test_text_says_the_same(self):
        for args in ([], ["-p", "2", "-w", "SOFT_MAX,ROPE"]):
            data, text = self.data(*args), self.trace(*args)
            inputs = [i for s in data["splits"] for i in s["inputs"]]
            counts = (len(data["nodes"]), "node"), (len(data["splits"]), "split"), (len(inputs), "input"), (
                sum(i["bytes"] for i in inputs), "byte")
            self.assertEqual(text.splitlines()[0], "%s in %s, %s of %s" % tuple(
                "%d %s" % (n, what if n == 1 else what + "s") for n, what in counts))
            self.assertEqual(re.findall(r"^split \d+ on (\w+):", text, re.M), [s["device"] for s in data["splits"]])
            self.assertEqual(re.findall(r"^    node \d+ '.*' (\w+): on (\w+), (.*)$", text, re.M),
                             [(n["op"], n["device"], n["reason"]) for n in data["nodes"]])
            self.assertEqual(re.findall(r"^        refused by (\w+): (.*)$", text, re.M),
                             [(r["device"], r["why"]) for n in data["nodes"] for r in n["refused"]])

    def test_this_machine_runs_it(self):
        data = self.data()
        self.assertGreater(len(data["nodes"]), 300)
        for split in data["splits"]:
            self.assertNotIn("Pretended", split["device"])
            for i in split["inputs"]:
                self.assertNotEqual(i["method"], "not yet")  # it ran
                self.assertEqual(i["copied"], i["bytes"])
        self.assertEqual(data, self.data("-t", "2"))

    def test_blocks_are_spread(self):
        data = self.data("-p", "3")
        devices = [s["device"] for s in data["splits"]]
        for i in range(3):
            self.assertIn("Pretended%d" % i, devices)
        for node in data["nodes"]:
            self.assertEqual(node["refused"], [])
        given = [(i["from"], s["device"], i["tensor"]) for s in data["splits"] for i in s["inputs"]]
        self.assertIn(("Pretended0", "Pretended1"), [g[:2] for g in given])
        self.assertFalse([g for g in given if g[2].startswith("blocks.")])  # nodes go to their weights
        self.assertEqual(len(given), len(set(given)))  # once a device

    def test_refusals_are_told(self):
        data = self.data("-p", "2", "-w", "SOFT_MAX,ROPE")
        refused = [n for n in data["nodes"] if n["refused"]]
        self.assertEqual({n["op"] for n in refused}, {"SOFT_MAX", "ROPE"})
        for node in refused:
            self.assertEqual(node["device"], "CPU")
            self.assertLessEqual({r["device"] for r in node["refused"]}, {"Pretended0", "Pretended1"})
            self.assertEqual({r["why"] for r in node["refused"]}, {"it is to be without " + node["op"]})

    def test_blanks_in_a_list_do_not_count(self):
        wanted = self.data("-p", "2", "-w", "SOFT_MAX,ROPE,SILU")
        self.assertEqual({n["op"] for n in wanted["nodes"] if n["refused"]} - {"SILU"}, {"SOFT_MAX", "ROPE"})
        self.assertEqual(self.data("-p", "2", "-w", " SOFT_MAX, ROPE\t,SILU "), wanted)

    def test_warnings_are_seen(self):
        os.environ["TENON_ISA"] = "foo"
        self.addCleanup(os.environ.pop, "TENON_ISA")
        done = self.succeed("trace", "-m", MODEL)
        self.assertEqual(done.stderr.decode().count("\n"), 1)
        self.assertIn(b"tenon: TENON_ISA: there is no level 'foo'", done.stderr)

    def case(self, name, number, *args):
        file = os.path.join(VECTORS, name + ".gguf")
        return json.loads(self.succeed("trace", "-v", file, "-c", str(number), "-j", *args).stdout)

    def test_cases_of_vectors(self):
        for number in range(27):
            ran, spread = self.case("chain", number), self.case("chain", number, "-p", "3")
            self.assertEqual([(n["name"], n["op"]) for n in ran["nodes"]],
                             [(n["name"], n["op"]) for n in spread["nodes"]])
            self.assertEqual({n["device"] for n in spread["nodes"] if n["computes"]} - {"CPU"},
                             {s["device"] for s in spread["splits"]} - {"CPU"})
        self.assertIn("SOFT_MAX", [n["op"] for n in self.case("softmax", 0)["nodes"]])
        self.assertTrue(self.case("backward", 3)["nodes"])
        file = os.path.join(VECTORS, "quantize.gguf")
        self.refuse(1, "is a conversion", "trace", "-v", file, "-c", "0")
        self.refuse(1, "there is no case 1000000", "trace", "-v", file, "-c", "1000000")
        self.refuse(1, "no file of vectors", "trace", "-v", MODEL, "-c", "0")
        error = self.refuse(1, "No such file", "trace", "-v", "missing", "-c", "0")
        self.assertEqual(error.count("missing"), 1)
        self.refuse(1, "--case is -1", "trace", "-v", file, "-c", "-1")
        self.refuse(2, "belong together", "trace", "-v", file)
        self.refuse(2, "belong together", "trace", "-c", "1")
        self.refuse(2, "not both", "trace", "-v", file, "-c", "1", "-m", MODEL)

    def test_broken_vectors_are_refused(self):
        with open(os.path.join(VECTORS, "rows.gguf"), "rb") as f:
            whole = f.read()
        seed = random.randrange(1 << 32)
        rng = random.Random(seed)
        for i in range(80):
            data = bytearray(whole)
            first = data.index(b"case.0.op")
            for _ in range(rng.choice((1, 1, 4))):
                data[rng.randrange(first, first + 2500)] = rng.randrange(256)
            with open(self.path("broken.gguf"), "wb") as f:
                f.write(data)
            done = self.run_tool("trace", "-v", "broken.gguf", "-c", "0", *([] if i % 2 else ["-p", "2"]))
            self.assertIn(done.returncode, (0, 1), "seed %d, file %d" % (seed, i))
            if done.returncode:
                # There may be warnings before it.
                self.assertTrue(done.stderr.splitlines()[-1].startswith(b"tenon: broken.gguf: "), done.stderr)

    def test_wrong_command_lines(self):
        self.refuse(1, "1 to 8", "trace", "-p", "9")
        self.refuse(1, "1 to 8", "trace", "-p", "0")
        self.refuse(2, "not a whole number", "trace", "-p", "two")
        for names, wrong in (("FOO", "FOO"), ("ROPE,FOO", "FOO"), ("soft_max", "soft_max"), ("ROPE,", ""), ("", ""),
                             ("NONE", "NONE"), ("SOFT_MAX ROPE", "SOFT_MAX ROPE"), ("ROPE , ,SILU", "")):
            self.refuse(2, "no operator '%s'" % wrong, "trace", "-p", "1", "-w", names)
        self.refuse(2, "needs a value", "trace", "--model")
        self.refuse(2, "no option '--nonsense'", "trace", "--nonsense")
        self.refuse(2, "'x' is none", "trace", "x")
        self.refuse(2, "--without is for the devices of --pretend", "trace", "-w", "ROPE")
        self.refuse(1, "No such file", "trace", "-m", "missing.gguf")
        self.assertIn(b"usage: tenon trace", self.succeed("trace", "--help").stdout)


if __name__ == "__main__":
    cases.main()

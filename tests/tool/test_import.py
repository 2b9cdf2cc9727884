# SPDX-License-Identifier: MIT
"""`tenon import` from outside: the shipped file comes out again, rules choose types, bad files are refused."""
import json
import os
import struct

import cases
from cases import MODEL, Gguf, write_safetensors

BYTES = {0: (1, 4), 1: (1, 2), 8: (32, 34), 30: (1, 2)}
F32, F16, Q8_0, BF16 = 0, 1, 8, 30


def size_of(kind, count):
    block, size = BYTES[kind]
    return count // block * size


def halves(values):
    return struct.pack("<%de" % len(values), *values)


class Import(cases.ToolTest):
    def card(self, card, name="card.json"):
        with open(self.path(name), "w") as f:
            json.dump(card, f)

    def small(self):
        self.card({"dim": 64, "eps": 1e-6, "guidance": 3.0, "note": "text", "names": ["a", "b"], "licence": "MIT"})
        write_safetensors(self.path("small.safetensors"), {
            "a.weight": ("F16", (2, 64), halves([i / 64 for i in range(128)])),
            "b.weight": ("BF16", (3, 5), struct.pack("<15H", *[0x3f80 + i for i in range(15)])),
            "c.bias": ("F32", (4,), struct.pack("<4f", 1, -2, 3.5, 1e-30)),
        })

    def test_types_by_rule(self):
        self.small()
        done = self.succeed("import", "small.safetensors", "-o", "x.gguf", "--type", "q8_0", "--rule", "c.*=bf16")
        g = Gguf(self.path("x.gguf"), size_of)
        self.assertIn(b"b.weight: rows of 5", done.stderr)
        self.assertEqual({n: t[0] for n, t in g.tensors.items()}, {"a.weight": Q8_0, "b.weight": F16, "c.bias": BF16})
        self.assertEqual(g.tensors["a.weight"][1], [64, 2])
        self.assertEqual(g.tensors["b.weight"][2], halves([1 + i / 128 for i in range(15)]))
        scale, = struct.unpack_from("<e", g.tensors["a.weight"][2], 0)
        quants = struct.unpack_from("<32b", g.tensors["a.weight"][2], 2)
        self.assertEqual(quants[31], 127)
        self.assertLess(max(abs(q * scale - i / 64) for i, q in enumerate(quants)), 0.003)
        self.assertEqual(g.keys["small.dim"], 64)
        self.assertEqual(g.keys["small.names"], ["a", "b"])
        self.assertEqual(g.keys["small.note"], "text")
        self.assertEqual(g.keys["small.guidance"], 3.0)
        self.assertEqual(g.keys["general.architecture"], "small")
        self.assertEqual(g.keys["general.license"], "MIT")

    def test_f32_is_exact(self):
        self.small()
        self.succeed("import", "small.safetensors", "-o", "x.gguf", "--type", "f32", "-a", "other", "-c", "card.json")
        g = Gguf(self.path("x.gguf"), size_of)
        self.assertEqual(struct.unpack("<128f", g.tensors["a.weight"][2]), tuple(i / 64 for i in range(128)))
        self.assertEqual(g.tensors["c.bias"][2], struct.pack("<4f", 1, -2, 3.5, 1e-30))
        self.assertEqual(g.keys["other.dim"], 64)

    def test_the_shipped_file_comes_out_again(self):
        g = Gguf(MODEL, size_of)
        tensors = {}
        for name, (kind, ne, data) in g.tensors.items():
            if kind == F32:
                data = halves(struct.unpack("<%df" % (len(data) // 4), data))  # the source has everything in F16
            tensors[name] = ("F16", ne[::-1], data)
        write_safetensors(self.path("emoji-dit.safetensors"), tensors)
        card = {k[len("emoji-dit."):]: v for k, v in g.keys.items() if k.startswith("emoji-dit.")}
        card["licence"] = g.keys["general.license"]
        self.card(card)
        self.succeed("import", "emoji-dit.safetensors", "-o", "again.gguf")
        again = Gguf(self.path("again.gguf"), size_of)
        self.assertEqual(again.tensors, g.tensors)
        self.assertEqual(again.keys, g.keys)

    def test_bad_files(self):
        self.small()
        self.refuse(1, "No such file", "import", "none.safetensors", "-o", "x.gguf")
        self.refuse(1, "No such file", "import", "small.safetensors", "-o", "x.gguf", "-c", "none.json")
        self.refuse(1, "No such file", "import", "small.safetensors", "-o", "none/x.gguf")
        with open(self.path("small.safetensors"), "rb") as f:
            data = f.read()
        n, = struct.unpack_from("<Q", data)
        header = json.loads(data[8:8 + n])

        def broken(change):
            copy = json.loads(json.dumps(header))
            change(copy)
            text = json.dumps(copy).encode()
            with open(self.path("bad.safetensors"), "wb") as f:
                f.write(struct.pack("<Q", len(text)) + text + data[8 + n:])

        for change, text in (
                (lambda h: h["a.weight"].update(dtype="F8_E4M3"), "dtype"),
                (lambda h: h["a.weight"].update(shape=[2, 63]), "do not fit its shape"),
                (lambda h: h["a.weight"].update(shape=[1 << 35, 1 << 35]), "do not fit its shape"),
                (lambda h: h["a.weight"].update(shape=[1, 1, 1, 1, 128]), "shape"),
                (lambda h: h["a.weight"].update(shape=[-2, 64]), "shape"),
                (lambda h: h["a.weight"].update(data_offsets=[0, 1 << 40]), "beyond the file"),
                (lambda h: h["a.weight"].update(data_offsets=[8, 0]), "beyond the file"),
                (lambda h: h["a.weight"].pop("data_offsets"), "no data_offsets"),
                (lambda h: h.update({"n" * 200: h["c.bias"]}), "at most"),
                (lambda h: h.update(x=5), "'x'")):
            broken(change)
            self.refuse(1, text, "import", "bad.safetensors", "-o", "x.gguf")
        for content in (b"", b"\xff" * 8, b"\xff" * 100, struct.pack("<Q", 2) + b"[]", struct.pack("<Q", 5) + b"{nope"):
            with open(self.path("bad.safetensors"), "wb") as f:
                f.write(content)
            self.refuse(1, "no safetensors file", "import", "bad.safetensors", "-o", "x.gguf")
        with open(self.path("card.json"), "w") as f:
            f.write("{")
        self.refuse(1, "no JSON", "import", "small.safetensors", "-o", "x.gguf")

    def test_values_that_cannot_be_quantised(self):
        self.card({})
        write_safetensors(self.path("x.safetensors"), {
            "a.weight": ("F32", (1, 32), struct.pack("<32f", *([1.0] * 31 + [float("inf")])))})
        self.refuse(1, "a.weight", "import", "x.safetensors", "-o", "x.gguf", "--type", "q8_0")
        write_safetensors(self.path("x.safetensors"), {"b.weight": ("F32", (1, 256), struct.pack("<256f", *([1.0] * 256)))})
        self.refuse(1, "importance", "import", "x.safetensors", "-o", "x.gguf", "-r", "b.*=iq2_xxs")

    def test_what_a_card_cannot_say(self):
        self.small()
        for card, text in (('{"a": null}', "'a'"), ('{"a": {}}', "'a'"), ('{"a": [1, 2]}', "'a'"), ('{"a": 1e300}', "'a'"),
                           ('{"a": 1e999}', "'a'"), ('{"": 1}', "no name"), ('{"a": 1, "a": 2}', "twice"),
                           ('{"%s": 1}' % ("k" * 300), "no name"), ("[]", "no object")):
            with open(self.path("card.json"), "w") as f:
                f.write(card)
            self.refuse(1, text, "import", "small.safetensors", "-o", "x.gguf")
        self.card({})
        self.refuse(1, "architecture", "import", "small.safetensors", "-o", "x.gguf", "-a", "")
        self.refuse(1, "no regular file", "import", "small.safetensors", "-o", "x.gguf", "-c", "/")
        self.refuse(1, "no regular file", "import", "/", "-o", "x.gguf")

    def test_broken_numbers_are_refused_for_every_type(self):
        self.card({})
        write_safetensors(self.path("x.safetensors"), {"a": ("F32", (2,), struct.pack("<2f", 1, float("nan")))})
        for kind in ("f32", "f16"):
            self.refuse(1, "NaN", "import", "x.safetensors", "-o", "x.gguf", "-r", "*=" + kind)

    def test_inputs_are_not_replaced(self):
        self.small()
        os.link(self.path("small.safetensors"), self.path("linked"))
        os.symlink("card.json", self.path("other"))
        contents = {}
        for name in ("small.safetensors", "card.json"):
            with open(self.path(name), "rb") as f:
                contents[name] = f.read()
        for out in ("small.safetensors", "./small.safetensors", "linked"):
            self.refuse(1, out + ": is what is imported", "import", "small.safetensors", "-o", out)
        self.refuse(1, "card.json: is the card", "import", "small.safetensors", "-o", "card.json")
        self.refuse(1, "card.json: is the card", "import", "small.safetensors", "-o", "card.json", "-c", "other")
        self.refuse(1, "other: is the card", "import", "small.safetensors", "-o", "other")
        for name, content in contents.items():
            with open(self.path(name), "rb") as f:
                self.assertEqual(f.read(), content)

    def test_a_card_is_needed(self):
        write_safetensors(self.path("x.safetensors"), {"a": ("F32", (1,), struct.pack("<f", 1))})
        error = self.refuse(1, "card.json: No such file", "import", "x.safetensors", "-o", "x.gguf")
        self.assertIn("--card", error)

    def test_wrong_command_lines(self):
        self.refuse(2, "--output", "import", "x")
        self.refuse(2, "one file", "import", "-o", "x")
        self.refuse(2, "no tensor type", "import", "x", "-o", "y", "--type", "q9")
        self.refuse(2, "no '='", "import", "x", "-o", "y", "--rule", "abc")
        self.refuse(2, "no option", "import", "x", "-o", "y", "--bogus")


if __name__ == "__main__":
    cases.main()

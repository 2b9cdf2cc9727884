# SPDX-License-Identifier: MIT
"""What the tests of the program share: running it in a folder of its own, reading PNG, GGUF and safetensors."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

TENON = os.path.abspath(sys.argv[1])
SOURCE = os.path.abspath(sys.argv[2])
MODEL = os.path.join(SOURCE, "models", "emoji-dit.gguf")


class ToolTest(unittest.TestCase):
    """Each test runs in an empty folder."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_tool(self, *args):
        return subprocess.run([TENON, *args], cwd=self.folder.name, capture_output=True, timeout=300)

    def succeed(self, *args):
        done = self.run_tool(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refuse(self, status, text, *args):
        """Ends with this status and one line that has the text; nothing new is in the folder."""
        before = sorted(os.listdir(self.folder.name))
        done = self.run_tool(*args)
        error = done.stderr.decode("utf-8", "replace")
        self.assertEqual(done.returncode, status, error)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertTrue(error.startswith("tenon: "), error)
        self.assertIn(text, error)
        self.assertEqual(sorted(os.listdir(self.folder.name)), before)
        return error


def read_png(path):
    """(width, height, rows of RGB bytes)"""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    pos, packed, size = 8, b"", None
    while pos < len(data):
        length, kind = struct.unpack(">I4s", data[pos:pos + 8])
        body = data[pos + 8:pos + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[pos + 8 + length:pos + 12 + length])[0]
        if kind == b"IHDR":
            size = struct.unpack(">IIBBBBB", body)
        if kind == b"IDAT":
            packed += body
        pos += 12 + length
    assert size[2:5] == (8, 2, 0), size
    return size[0], size[1], unfilter(zlib.decompress(packed), size[0] * 3, size[1])


def unfilter(raw, stride, height):
    rows, above = [], bytes(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left = row[i - 3] if i >= 3 else 0
            up, corner = above[i], above[i - 3] if i >= 3 else 0
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda v: abs(guess - v))
            row[i] = (row[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append(bytes(row))
        above = row
    return rows


def write_safetensors(path, tensors):
    """tensors: {name: (dtype, shape, bytes)}"""
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            f.write(data)


VALUES = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


class Gguf:
    """A plain reader of GGUF files: .keys {name: value}, .tensors {name: (type, ne, bytes)}"""

    def __init__(self, path, sizes):
        with open(path, "rb") as f:
            self.data = f.read()
        self.pos = 0
        assert self.take("<4s") == b"GGUF" and self.take("<I") == 3
        n_tensors, n_keys = self.take("<q"), self.take("<q")
        self.keys = dict((self.text(), self.value(self.take("<i"))) for _ in range(n_keys))
        infos = [(self.text(), [self.take("<q") for _ in range(self.take("<I"))], self.take("<i"), self.take("<Q"))
                 for _ in range(n_tensors)]
        align = self.keys.get("general.alignment", 32)
        start = (self.pos + align - 1) // align * align
        self.tensors = {}
        for name, ne, kind, offset in infos:
            count = 1
            for n in ne:
                count *= n
            self.tensors[name] = (kind, ne, self.data[start + offset:start + offset + sizes(kind, count)])

    def take(self, form):
        value, = struct.unpack_from(form, self.data, self.pos)
        self.pos += struct.calcsize(form)
        return value

    def text(self):
        n = self.take("<Q")
        self.pos += n
        return self.data[self.pos - n:self.pos].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            inner, n = self.take("<i"), self.take("<Q")
            return [self.value(inner) for _ in range(n)]
        return self.take(VALUES[kind])


def main():
    unittest.main(argv=[sys.argv[0]])

# SPDX-License-Identifier: MIT
"""`tenon draw` from outside: pictures, options, and what is refused."""
import os
import resource
import shutil
import signal
import stat
import subprocess
import unittest

import cases
from cases import MODEL, read_png


class Draw(cases.ToolTest):
    def draw(self, *args):
        return self.succeed("draw", *args, "-m", MODEL)

    def bytes_of(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def test_a_picture(self):
        done = self.draw("smiling cat", "-o", "cat.png", "--steps", "3", "--size", "2")
        width, height, rows = read_png(self.path("cat.png"))
        self.assertEqual((width, height), (64, 64))
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(rows[0][:3], rows[0][3:6])
        self.assertGreater(len(set(rows)), 8)
        self.assertIn(b"cat.png", done.stdout.splitlines()[-1])
        self.assertIn(b"MB", done.stdout)
        self.assertEqual(done.stderr.count(b"\n"), 3)  # one line a step

    def test_same_seed_same_bytes_for_any_threads(self):
        for threads in ("1", "2", "3"):
            self.draw("rose", "-o", threads + ".png", "-n", "2", "-t", threads, "-s", "5")
        self.draw("rose", "-o", "other.png", "-n", "2", "-s", "6")
        self.assertEqual(self.bytes_of("1.png"), self.bytes_of("2.png"))
        self.assertEqual(self.bytes_of("1.png"), self.bytes_of("3.png"))
        self.assertNotEqual(self.bytes_of("1.png"), self.bytes_of("other.png"))

    def test_count_takes_the_next_seeds(self):
        self.draw("rose", "-o", "r.png", "-n", "1", "-s", "5", "-c", "2")
        self.draw("rose", "-o", "six.png", "-n", "1", "-s", "6")
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["r-1.png", "r-2.png", "six.png"])
        self.assertEqual(self.bytes_of("r-2.png"), self.bytes_of("six.png"))

    def test_guidance_and_prompt_matter(self):
        for name, args in (("a", ["rose"]), ("b", ["rose", "-g", "0"]), ("c", ["car"]), ("d", [""]), ("e", ["ROSE!"])):
            self.draw(*args, "-o", name, "-n", "1")
        self.assertEqual(len({self.bytes_of(n) for n in "abcd"}), 3)  # without guidance the text does not matter
        self.assertEqual(self.bytes_of("b"), self.bytes_of("d"))
        self.assertEqual(self.bytes_of("a"), self.bytes_of("e"))

    def test_an_existing_file_is_replaced_and_keeps_its_mode(self):
        with open(self.path("x.png"), "w") as f:
            f.write("old")
        os.chmod(self.path("x.png"), 0o640)
        self.draw("rose", "-o", "x.png", "-n", "1")
        self.assertEqual(read_png(self.path("x.png"))[0], 256)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("x.png")).st_mode), 0o640)

    def test_numbers_out_of_range(self):
        for option, value in (("--steps", "0"), ("--steps", "1000000"), ("--steps", "-1"), ("--size", "0"),
                              ("--size", "65"), ("--threads", "0"), ("--threads", "513"), ("--count", "0"),
                              ("--seed", "-1"), ("--guidance", "-0.5"), ("--guidance", "101")):
            self.refuse(1, option, "draw", "x", option, value, "-m", MODEL)

    def test_wrong_command_lines(self):
        self.refuse(2, "a command is missing")
        self.refuse(2, "no command 'dance'", "dance")
        self.refuse(2, "text is missing", "draw")
        self.refuse(2, "quote it", "draw", "smiling", "cat")
        self.refuse(2, "--nonsense", "draw", "x", "--nonsense")
        self.refuse(2, "needs a value", "draw", "x", "--steps")
        self.refuse(2, "not a whole number", "draw", "x", "--steps", "ten")
        self.refuse(2, "not a whole number", "draw", "x", "--steps", "99999999999999999999x")
        self.refuse(1, "must be 1 to 1000", "draw", "x", "--steps", "99999999999999999999")
        self.refuse(1, "must be 0 to", "draw", "x", "--seed", "99999999999999999999")
        self.refuse(1, "must be 0 to", "draw", "x", "--seed", "-99999999999999999999")
        self.refuse(2, "not a number", "draw", "x", "--guidance", "nan")

    def test_prompts(self):
        self.refuse(1, "10240 bytes", "draw", "x" * 10240, "-m", MODEL)
        self.refuse(1, "not UTF-8", "draw", b"caf\xe9", "-m", MODEL)
        self.refuse(1, "not UTF-8", "draw", b"\xed\xa0\x80", "-m", MODEL)
        self.draw("caf\u00e9 \U0001f600", "-n", "1", "-o", "ok.png")
        self.draw("cat " * 1024, "-n", "1", "-o", "long.png")

    def test_outputs(self):
        os.mkdir(self.path("folder"))
        self.refuse(1, "No such file", "draw", "x", "-o", "nowhere/x.png", "-m", MODEL)
        self.refuse(1, "folder", "draw", "x", "-o", "folder", "-m", MODEL)
        self.refuse(1, "empty", "draw", "x", "-o", "", "-m", MODEL)
        done = self.run_tool("draw", "x", "-n", "1", "-o", "/dev/full", "-m", MODEL)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"No space left", done.stderr)

    def test_models(self):
        self.refuse(1, "No such file", "draw", "x", "-m", "missing.gguf")
        with open(MODEL, "rb") as f:
            data = f.read()
        for name, content, text in (("empty", b"", "magic"), ("foreign", b"PK\x03\x04" * 100, "not a GGUF file"),
                                    ("cut", data[:len(data) // 2], "truncated"), ("cut2", data[:3000], "byte")):
            with open(self.path(name), "wb") as f:
                f.write(content)
            error = self.refuse(1, text, "draw", "x", "-m", name)
            self.assertIn(name, error)
        with open(self.path("other"), "wb") as f:
            f.write(data.replace(b"emoji-dit", b"llama-dit", 1))
        self.refuse(1, "", "draw", "x", "-m", "other")
        with open(self.path("broken"), "wb") as f:
            f.write(data.replace(b"blocks.3.q.weight", b"blocks.3.Q.weight"))
        self.refuse(1, "'blocks.3.q.weight' is missing", "draw", "x", "-m", "broken")
        self.refuse(1, "no regular file", "draw", "x", "-m", "/")
        at = data.index(b"emoji-dit.guidance") + len(b"emoji-dit.guidance") + 4
        with open(self.path("nan"), "wb") as f:
            f.write(data[:at] + b"\x00\x00\xc0\x7f" + data[at + 4:])
        self.refuse(1, "'guidance' is nan", "draw", "x", "-m", "nan")
        with open(self.path("inf"), "wb") as f:
            f.write(data[:-4096] + b"\x00\x7c" * 2048)
        done = self.run_tool("draw", "x", "-n", "1", "-m", "inf", "-o", "x.png")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"not finite", done.stderr)

    def test_a_disk_that_fills_leaves_nothing(self):
        # A limit on the size of files stands for a full disk.
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

        done = subprocess.run([cases.TENON, "draw", "x", "-n", "1", "-o", "x.png", "-m", MODEL], cwd=self.folder.name,
                              capture_output=True, preexec_fn=limit, timeout=100)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"x.png", done.stderr.splitlines()[-1])
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_the_model_is_not_replaced(self):
        with open(MODEL, "rb") as f:
            data = f.read()
        with open(self.path("m.gguf"), "wb") as f:
            f.write(data)
        self.refuse(1, "is the model", "draw", "x", "-m", "m.gguf", "-o", "./m.gguf")
        self.assertEqual(self.bytes_of("m.gguf"), data)

    def test_links_stay_links(self):
        os.symlink("there.png", self.path("link.png"))
        for _ in range(2):
            self.draw("x", "-n", "1", "-o", "link.png")
            self.assertTrue(os.path.islink(self.path("link.png")))
            self.assertEqual(read_png(self.path("there.png"))[0], 256)
            self.assertEqual(sorted(os.listdir(self.folder.name)), ["link.png", "there.png"])
        os.symlink("loop", self.path("loop"))
        self.refuse(1, "too many links", "draw", "x", "-m", MODEL, "-o", "loop")

    def test_a_long_name(self):
        name = "n" * 251 + ".png"
        self.draw("x", "-n", "1", "-o", name)
        self.assertEqual(os.listdir(self.folder.name), [name])

    def shell(self, command):
        script = command.replace("TENON", "'%s'" % cases.TENON).replace("MODEL", "'%s'" % MODEL)
        return subprocess.run(["bash", "-c", script], cwd=self.folder.name, capture_output=True, timeout=100)

    def test_closed_streams(self):
        for closed in ("2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"):
            self.shell("TENON draw x -n 2 -m MODEL -o x.png " + closed)
            self.assertEqual(read_png(self.path("x.png"))[0], 256)
            os.remove(self.path("x.png"))

    def test_lost_output_is_an_error(self):
        self.assertEqual(self.shell("TENON --version > /dev/full").returncode, 1)
        self.assertIn(b"No space left", self.shell("TENON draw x -n 1 -m MODEL > /dev/full").stderr)

    def test_signals_leave_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([cases.TENON, "draw", "x", "-n", "1000", "-m", MODEL, "-o", "x.png"],
                                       cwd=self.folder.name, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
            process.stderr.readline()
            self.assertEqual(len(os.listdir(self.folder.name)), 1)
            process.send_signal(number)
            process.communicate(timeout=100)
            self.assertEqual(process.returncode, -number)
            self.assertEqual(os.listdir(self.folder.name), [])
        self.shell("TENON draw x -n 10 -m MODEL -o p.png 2>&1 | head -1")
        self.assertIn(os.listdir(self.folder.name), ([], ["p.png"]))

    def test_messages_are_one_line(self):
        self.refuse(2, "--bad?newline", "draw", "x", "--bad\nnewline")
        self.refuse(2, "'-q'", "draw", "-qo", "x.png", "x")
        self.succeed("draw", "-h")
        self.succeed("draw", "-n", "1", "-o", "y.png", "-m", MODEL, "--", "--help")
        self.assertEqual(read_png(self.path("y.png"))[0], 256)

    def test_help_and_version(self):
        for args in (["--help"], ["draw", "--help"], ["import", "--help"]):
            self.assertIn(b"usage", self.succeed(*args).stdout)
        self.assertRegex(self.succeed("--version").stdout, rb"^tenon \d+\.\d+\.\d+")

    @unittest.skipUnless(shutil.which("script"), "needs script(1)")
    def test_a_bar_on_a_terminal(self):
        command = "'%s' draw x -n 2 -m '%s' -o x.png" % (cases.TENON, MODEL)
        done = subprocess.run(["script", "-qec", command, "/dev/null"], cwd=self.folder.name, capture_output=True, timeout=100)
        self.assertIn(b"[##############################] 2/2", done.stdout)


if __name__ == "__main__":
    cases.main()

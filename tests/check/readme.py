# SPDX-License-Identifier: MIT
"""The program in README.md is examples/simple.c, which is built and run: word for word, behind its head."""
import os
import re
import sys

root = sys.argv[1]
with open(os.path.join(root, "README.md")) as f:
    shown = re.findall(r"^```c\n(.*?)^```$", f.read(), re.S | re.M)
with open(os.path.join(root, "examples", "simple.c")) as f:
    program = re.sub(r"\A(//[^\n]*\n)+", "", f.read())
if shown != [program]:
    sys.exit("README.md shows %d programs in C; wanted is one, that of examples/simple.c" % len(shown))

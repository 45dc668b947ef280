# SPDX-License-Identifier: Apache-2.0
"""docs/api.md: each piece of C in it compiles without a warning, runs, and finds what it says."""

import os
import re
import shlex
import shutil
import subprocess

from runner import EMULATOR, Skip, case, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGE = os.path.join(ROOT, "docs", "api.md")


@case
def pieces_of_the_page_compile_and_hold(c):
    if EMULATOR:
        raise Skip("a compiler for this machine makes programs that the emulator does not run")
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    prelude, = re.findall(r"^```c prelude\n(.*?)^```$", text, re.M | re.S)
    pieces = re.findall(r"^```c\n(.*?)^```$", text, re.M | re.S)
    c.expect(len(pieces) == 17, f"{len(pieces)} pieces")
    program = prelude
    for number, piece in enumerate(pieces):
        program += f"\nstatic int piece_{number}(void)\n{{\n{piece}}}\n"
    program += "\nint main(void)\n{\n"
    for number in range(len(pieces)):
        program += f'    if (piece_{number}() != 0)\n        return fprintf(stderr, "piece {number}\\n"), 1;\n'
    c.file("pieces.c", program + "    return 0;\n}\n")
    library = os.environ["BLOOMERY_SHARED"]
    compiler = shlex.split(os.environ.get("CC") or "cc")
    done = subprocess.run([*compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I",
                           os.path.join(ROOT, "include"), "pieces.c", library, "-o", "pieces",
                           "-Wl,-rpath," + os.path.dirname(library)], cwd=c.directory, capture_output=True, text=True,
                          check=False)
    c.expect(done.returncode == 0, done.stderr[:1500])
    done = subprocess.run([c.path("pieces")], cwd=c.directory, capture_output=True, text=True, check=False)
    c.expect(done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}")
    c.expect("plum: definitely not there" in done.stdout and "a megabyte is enough for" in done.stdout and
             "apple is new\n1000 of 1000 keys" in done.stdout, done.stdout)
    done = subprocess.run([c.path("pieces")], cwd=c.directory, capture_output=True, text=True, check=False)
    c.expect(done.returncode == 0 and "apple is new" not in done.stdout, f"a second run: {done.stdout}{done.stderr}")


@case
def piece_in_cxx_compiles_and_holds(c):
    compiler = shlex.split(os.environ.get("CXX") or "c++")
    if EMULATOR or shutil.which(compiler[-1]) is None:
        raise Skip("no C++ compiler for the machine that runs the test")
    with open(PAGE, encoding="utf-8") as file:
        piece, = re.findall(r"^```cpp\n(.*?)^```$", file.read(), re.M | re.S)
    c.file("piece.cpp", "#include <bloomery/bloomery.hpp>\n#include <cstdio>\n"
           f"int main()\n{{\nbloomery::error error;\n{piece}}}\n")
    library = os.environ["BLOOMERY_SHARED"]
    done = subprocess.run([*compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I",
                           os.path.join(ROOT, "include"), "piece.cpp", library, "-o", "piece",
                           "-Wl,-rpath," + os.path.dirname(library)], cwd=c.directory, capture_output=True, text=True,
                          check=False)
    c.expect(done.returncode == 0, done.stderr[:1500])
    done = subprocess.run([c.path("piece")], cwd=c.directory, capture_output=True, text=True, check=False)
    c.expect(done.returncode == 0 and done.stdout == "apple: seen before\n", f"{done.returncode}: {done.stdout}")


@case
def piece_of_readme_compiles_and_answers(c):
    if EMULATOR:
        raise Skip("a compiler for this machine makes programs that the emulator does not run")
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        piece, = re.findall(r"^```c\n(.*?)^```$", file.read(), re.M | re.S)
    include, _, body = piece.partition("\n\n")
    c.file("piece.c", f"{include}\n#include <stdio.h>\nstatic int fail(const char *text)\n{{\n    return puts(text), 1;\n}}\n"
           f"int main(void)\n{{\n{body}    return 0;\n}}\n")
    library = os.environ["BLOOMERY_SHARED"]
    done = subprocess.run([*shlex.split(os.environ.get("CC") or "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-I",
                           os.path.join(ROOT, "include"), "piece.c", library, "-o", "piece",
                           "-Wl,-rpath," + os.path.dirname(library)], cwd=c.directory, capture_output=True, text=True,
                          check=False)
    c.expect(done.returncode == 0, done.stderr[:1500])
    done = subprocess.run([c.path("piece")], cwd=c.directory, capture_output=True, text=True, check=False)
    c.expect(done.returncode == 0 and done.stdout == "possibly\n", f"{done.returncode}: {done.stdout}")
    c.run("query first.bloom", stdin="850101312345\n", stdout="850101312345\n")


main()

# SPDX-License-Identifier: Apache-2.0
"""bloomery.c and bloomery.h of scripts/amalgamate: compiled without a warning in every form, they show what
the library shows and write the files that the command writes."""

import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile

from runner import checks, expect, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.environ["BLOOMERY_TOOL"]
CC = os.environ.get("CC", "cc").split()
WARNINGS = ["-I.", "-std=c11", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
OBJECTS = tempfile.TemporaryDirectory()  # what several tests link
NO_DIALECTS, NO_SIEVE = "-DBLOOMERY_NO_DIALECTS", "-DBLOOMERY_NO_SIEVE"


def symbols():
    """scripts/check-symbols, as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("check_symbols", os.path.join(ROOT, "scripts", "check-symbols"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    loader.exec_module(module)
    return module


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr[:3000]}")
    return done.stdout


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def compiled(folder, name, *options):
    """The single file as the object NAME, which can stand in a shared library; made once for all tests."""
    kept = os.path.join(OBJECTS.name, name)
    if not os.path.exists(kept):
        run([*CC, *WARNINGS, "-fPIC", *options, "-c", "bloomery.c", "-o", kept], folder)
    return kept


def one_file_makes_the_commands_files(folder):
    run([*CC, *WARNINGS, compiled(folder, "whole.o"), "single_file.c", "-lm", "-o", "program"], folder)
    run(["./program"], folder)
    for name, options in (("single.bloom", []), ("single.guava", ["--dialect", "guava"])):
        run([TOOL, "build", "-q", "-n", "1000", "-p", "0.01", *options, "-o", "of-command", "lines"], folder)
        expect(read(folder, name) == read(folder, "of-command"), f"{name} is not what the command makes")
        os.unlink(os.path.join(folder, "of-command"))
    queued = run([TOOL, "sieve", "export", "single.sieve"], folder)
    expect(queued == "", f"the queue has {queued!r}: what was pushed twice was popped once")


def one_file_shows_what_the_library_shows(folder):
    run([*CC, "-shared", compiled(folder, "whole.o"), "-lm", "-o", "one.so"], folder)
    shown = symbols().defined(os.path.join(folder, "one.so"), "-D")
    with open(os.path.join(ROOT, "include", "bloomery", "near.h"), encoding="utf-8") as file:
        declared = symbols().declared(ROOT) - set(symbols().PUBLIC.findall(file.read()))  # which it does not have
    expect({name for name in shown if not name.startswith("_")} == declared,
           f"others are shown: {sorted(set(shown) ^ declared)[:9]}")


def embedded_with_hidden_names_it_shows_nothing(folder):
    hidden = compiled(folder, "hidden.o", NO_DIALECTS, NO_SIEVE, "-fvisibility=hidden", "-DBLOOMERY_PUBLIC=")
    run([*CC, "-shared", hidden, "-lm", "-o", "hidden.so"], folder)
    shown = {name for name in symbols().defined(os.path.join(folder, "hidden.so"), "-D") if not name.startswith("_")}
    expect(not shown, f"these are shown: {sorted(shown)[:9]}")


def small_it_needs_no_loader_and_links_statically(folder):
    small = compiled(folder, "small.o", NO_DIALECTS, NO_SIEVE)
    run([*CC, *WARNINGS, NO_DIALECTS, NO_SIEVE, "-static", small, "single_file.c", "-lm", "-o", "static"], folder)
    run(["./static"], folder)
    wanted = subprocess.run(["nm", "-u", small], capture_output=True, text=True, cwd=folder, check=True).stdout
    expect(" dl" not in wanted, "it calls dlopen, which a static program cannot")


def without_parts_it_compiles_and_works(folder):
    small = compiled(folder, "small.o", NO_DIALECTS, NO_SIEVE)
    run([*CC, *WARNINGS, NO_DIALECTS, NO_SIEVE, small, "single_file.c", "-lm", "-o", "program"], folder)
    run(["./program"], folder)
    run([*CC, *WARNINGS, NO_DIALECTS, "bloomery.c", "single_file.c", "-lm", "-o", "program"], folder)
    run(["./program"], folder)
    run([TOOL, "build", "-q", "-n", "1000", "-p", "0.01", "-o", "of-command", "lines"], folder)
    expect(read(folder, "single.bloom") == read(folder, "of-command"), "without dialects it makes another filter")
    shown = subprocess.run(["nm", "program"], capture_output=True, text=True, cwd=folder, check=True).stdout
    expect("bloomery_murmur3" not in shown and "guava" not in shown, "dialects are in it all the same")


def clang_has_no_warning_either(folder):
    clang = shutil.which("clang-14") or shutil.which("clang")
    if clang is None:
        return "no clang"
    run([clang, *WARNINGS, NO_SIEVE, "-c", "bloomery.c", "-o", "clang.o"], folder)
    return None


def libraries_that_are_there_are_used(folder):
    for library in ("libsodium", "libcrypto"):
        if subprocess.run(["pkg-config", "--exists", library], check=False).returncode != 0:
            return f"no {library}"
    run([*CC, *WARNINGS, "-DBLOOMERY_HAVE_SODIUM", "-DBLOOMERY_HAVE_LIBCRYPTO", "-DBLOOMERY_SYSTEM_XXHASH", "-DNDEBUG",
         "bloomery.c", "single_file.c", "-lm", "-lsodium", "-ldl", "-o", "program"], folder)
    run(["./program"], folder)
    return None


def the_documented_line_makes_an_object_without_asserts(folder):
    with open(os.path.join(ROOT, "docs", "install.md"), encoding="utf-8") as file:
        line, = re.findall(r"^    (cc .*-c bloomery\.c)(?: +#.*)?$", file.read(), re.M)
    run(["sh", "-c", f'cc() {{ command {" ".join(CC)} "$@"; }}; {line}'], folder)
    needed = run(["nm", "-u", "bloomery.o"], folder).split()
    expect("__assert_fail" not in needed and "log2" in needed, f"{line}: needs {needed}")


CPP = """#include "bloomery.h"
int main()
{
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    bloomery_sieve_options sieve = BLOOMERY_SIEVE_OPTIONS;
    bloomery_error error = {};
    bloomery_filter *filter = bloomery_new(10, 0.1, &error);
    if (filter == nullptr)
        return 1;
    bloomery_free(filter);
    return options.struct_bytes == sizeof options && sieve.struct_bytes == sizeof sieve ? 0 : 1;
}
"""


EXPERIMENTAL = """#include "bloomery.h"
int main(void)
{
    return bloomery_hash_name(BLOOMERY_HASH_XXH3_64) != 0 ? 0 : 1;
}
"""


def what_is_experimental_is_seen_on_demand_alone(folder):
    with open(os.path.join(folder, "try.c"), "w", encoding="utf-8") as file:
        file.write(EXPERIMENTAL)
    run([*CC, *WARNINGS, "-DBLOOMERY_EXPERIMENTAL", compiled(folder, "whole.o"), "try.c", "-lm", "-o", "try"], folder)
    run(["./try"], folder)
    refused = subprocess.run([*CC, *WARNINGS, "-c", "try.c"], cwd=folder, capture_output=True, text=True, check=False)
    expect(refused.returncode != 0 and "bloomery_hash_name" in refused.stderr, "seen by programs that did not ask")


def cpp_programs_use_it(folder):
    compiler = shutil.which("c++")
    if compiler is None:
        return "no C++ compiler"
    with open(os.path.join(folder, "program.cpp"), "w", encoding="utf-8") as file:
        file.write(CPP)
    whole = compiled(folder, "whole.o")
    run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "program.cpp", whole, "-lm", "-o", "cpp"], folder)
    run(["./cpp"], folder)
    return None


def set_up(c):
    run([os.path.join(ROOT, "scripts", "amalgamate"), c.directory], ROOT)
    shutil.copy(os.path.join(ROOT, "tests", "repo", "single_file.c"), c.directory)
    c.file("lines", "".join(f"key {i}\n" for i in range(1000)))
    return (c.directory,)


checks(one_file_makes_the_commands_files, one_file_shows_what_the_library_shows,
       embedded_with_hidden_names_it_shows_nothing, small_it_needs_no_loader_and_links_statically,
       without_parts_it_compiles_and_works, clang_has_no_warning_either, libraries_that_are_there_are_used,
       cpp_programs_use_it, what_is_experimental_is_seen_on_demand_alone,
       the_documented_line_makes_an_object_without_asserts, arguments=set_up)
if __name__ == "__main__":
    main()

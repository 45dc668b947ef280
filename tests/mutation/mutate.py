#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the checks can fail: breaks the code on purpose and expects a named test to go red.

    mutate.py [--all] [PART OF A NAME]...

Each break is one piece of a function replaced by another (place.py finds it): a checksum that skips its last span, a
rename before the sync, a lock that locks nothing. The tree is copied, the copy broken and built, and
the test that guards the broken promise is run - first on the whole code, where it must pass, then on
the broken one, where it must fail. A break whose piece is no longer in the source fails too: then it
has to be written anew.

Without --all only the breaks marked quick run (a minute); with it all (some minutes). `mutate.py
--list` tells them. Needs the compiler (CC, or cc), pkg-config, and the libraries of the build; for the
break of the lock also those of the command; for those of the module redis-tools and for those of the
package of Python its headers, else they are skipped.
The breaks themselves are in breaks.py.

Build: nothing to build beforehand. Suite: quick and repo; long with --all.
"""

import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from breaks import BREAKS
from place import Lost, Sources

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CC = shlex.split(os.environ.get("CC", "cc"))
# What runs programs made for another processor (scripts/cross).
EMULATOR = shlex.split(os.environ.get("BLOOMERY_EMULATOR", ""))
# All of it can stand in a shared library, as the module does.
FLAGS = ["-std=gnu11", "-O1", "-g0", "-fPIC", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64"]
# What is a server when it is called redis-server.
SERVER = shutil.which("redis-check-rdb")
# The npm packages of the module's clients, where a build has fetched them.
PACKAGES = os.environ.get("BLOOMERY_PACKAGES", os.path.join(ROOT, "build", "tests", "module", "packages"))
# The filter of system calls that the module's servers run behind, where a build has made it.
FILTER = os.environ.get("BLOOMERY_SERVICE_FILTER", os.path.join(ROOT, "build", "tests", "module", "service_filter"))
PYTHON_HEADERS = sysconfig.get_path("include")
SECONDS = 300  # no build and no single test takes longer


class Broken(Exception):
    """Something that must work before anything can be shown does not."""


class Missing(Exception):
    """This machine lacks what the test needs."""


def pkg_config(what, *packages):
    """Flags of libraries; none for those that are not there."""
    flags = []
    for package in packages:
        result = subprocess.run(["pkg-config", what, package], capture_output=True, text=True,
                                check=False)
        flags += shlex.split(result.stdout) if result.returncode == 0 else []
    return flags


def has_package(package):
    return subprocess.run(["pkg-config", "--exists", package], check=False).returncode == 0


def run(command, **more):
    """A command's exit status and all it said."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", timeout=SECONDS, check=False, **more)
    return result.returncode, result.stdout


def compile_all(jobs):
    """(source, object, flags) each; as many at once as there are processors."""
    def one(job):
        source, target, flags = job
        status, said = run([*CC, *FLAGS, *flags, "-MMD", "-MF", target + ".d", "-c", source, "-o", target])
        if status != 0:
            raise Broken(f"{source} does not compile:\n{said}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, jobs))


class Tree:
    """A copy of the sources that can be broken, with its objects."""

    PARTS = ["include", "src", "sieve", "tool", "scripts", "lineage", "tests/support", "tests/property", "tests/sieve", "tests/unit",
             "tests/vectors", "tests/cli", "tests/dialect", "tests/reference", "tests/module", "tests/python", "module",
             "python", "fuzz"]

    def __init__(self, folder):
        self.root = os.path.join(folder, "tree")
        self.objects = os.path.join(folder, "objects")
        os.mkdir(self.objects)
        for part in self.PARTS:
            shutil.copytree(os.path.join(ROOT, part), os.path.join(self.root, part),
                            ignore=shutil.ignore_patterns("__pycache__"))
        sodium = has_package("libsodium")
        crypto = has_package("libcrypto")
        self.library_flags = ["-I" + self.path("include"), "-I" + self.path("src"), "-I" + self.root, "-DBLOOMERY_LIMITS_SWITCH",
                              *(["-DBLOOMERY_HAVE_SODIUM"] if sodium else []),
                              *(["-DBLOOMERY_HAVE_LIBCRYPTO"] if crypto else [])]
        self.tool_flags = ["-I" + self.path("include"), "-I" + self.path("tool"), "-I" + self.root,
                           "-DBLOOMERY_TOOL_SWITCH",
                           *(["-DBLOOMERY_HAVE_LIBCRYPTO"] if crypto else []),
                           *(["-DBLOOMERY_HAVE_LIBBZ2"] if os.path.exists("/usr/include/bzlib.h") else []),
                           *(["-DBLOOMERY_HAVE_LIBLZ4"] if has_package("liblz4") else []),
                           *(["-DBLOOMERY_HAVE_LIBLZMA"] if has_package("liblzma") else []),
                           *(["-DBLOOMERY_HAVE_LIBZSTD"] if has_package("libzstd") else []),
                           *pkg_config("--cflags", "jansson", "libarchive", "zlib", "libcrypto")]
        self.test_flags = self.library_flags + ([] if sodium else ["-DBLOOMERY_TEST_NO_SODIUM"])
        self.done = {}
        self.places = Sources(self.root)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def sources(self, part):
        """All C files of a part, relative to the tree."""
        found = []
        for folder, _, names in os.walk(self.path(part)):
            if folder.endswith("/none"):  # second forms, for machines without a system
                continue
            found += [os.path.relpath(os.path.join(folder, name), self.root)
                      for name in names if name.endswith(".c")]
        return sorted(found)

    def library(self):
        """All C files of the library, relative to the tree."""
        return self.sources("src") + self.sources("sieve")

    def flags_for(self, source):
        if source.startswith(("src/", "sieve/")):
            return self.library_flags
        if source.startswith(("fuzz/", "tests/module/")):
            return self.library_flags + ["-I" + self.root]
        if source.startswith("python/"):
            return self.library_flags + ["-DPy_LIMITED_API=0x030b0000", "-I" + PYTHON_HEADERS, "-I" + self.path("tool"), "-I" + self.root]
        if source.startswith("tests/unit/"):
            return self.test_flags + ["-I" + self.path("tool"), "-I" + self.root]
        return self.tool_flags if source.startswith(("tool/", "lineage/")) else self.test_flags

    def objects_of(self, sources, broken=None):
        """Objects of these sources, compiled where need be. What a break touches is compiled anew and
        forgotten: a header touches what included it when it was whole."""
        jobs, objects = [], []
        for source in sources:
            touched = broken is not None and (
                source == broken or (broken.endswith(".h") and self.includes(source, broken)))
            target = os.path.join(self.objects, source.replace("/", "_") + (".broken" if touched else ""))
            target += ".o"
            if touched or source not in self.done:
                jobs.append((self.path(source), target, self.flags_for(source)))
            if not touched:
                self.done[source] = target
            objects.append(target)
        compile_all(jobs)
        return objects

    def includes(self, source, header):
        """Whether a source includes a header, as the compiler said; one that was never compiled may."""
        if source not in self.done:
            return True
        with open(self.done[source] + ".d", encoding="utf-8") as rule:
            return self.path(header) in (os.path.normpath(word) for word in rule.read().split())

    def program(self, name, broken=None):
        """A test program, linked."""
        support = [f"tests/support/{part}.c" for part in ("support", "bounds", "columns", "faults", "forge", "specimens", "team")]
        if name.startswith("sieve/"):
            parts = [*(f"tests/sieve/{part}.c" for part in ("stream", "life")), "tests/support/sieves.c"]
            sources = [f"tests/{name}.c", *parts, *support, *self.library()]
        else:
            sources = [f"tests/property/{name}.c", *support, *self.library()]
        target = os.path.join(self.objects, name.replace("/", "_"))
        status, said = run([*CC, *self.objects_of(sources, broken), "-o", target,
                            *pkg_config("--libs", "cmocka", "libxxhash", "libsodium"), "-lm",
                            "-lpthread"])
        if status != 0:
            raise Broken(f"{name} does not link:\n{said}")
        return target

    def command(self, broken=None, test=None):
        """The command, linked; or a test of its parts, which has a main() of its own."""
        sources = [source for source in self.sources("tool") if source != "tool/describe_options.c" and
                   (test is None or source != "tool/main.c")]
        sources += self.library() + ([f"tests/{test}.c", "tests/support/support.c"] if test else [])
        target = os.path.join(self.objects, os.path.basename(test or "bloomery"))
        libraries = pkg_config("--libs", "jansson", "libarchive", "zlib", "libcrypto", "libsodium",
                               *(["cmocka", "libxxhash"] if test else []))
        status, said = run([*CC, *self.objects_of(sources, broken), "-o", target, *libraries, "-lm",
                            "-lpthread"])
        if status != 0:
            raise Broken(f"{test or 'the command'} does not link:\n{said}")
        return target

    def experiment(self, broken=None):
        """The experiment, linked."""
        target = os.path.join(self.objects, "bloomery-experiment")
        sources = self.sources("lineage") + self.sources("tool/base") + self.library()
        status, said = run([*CC, *self.objects_of(sources, broken), "-o", target,
                            *pkg_config("--libs", "jansson", "zlib", "libcrypto", "libsodium"), "-lm", "-lpthread"])
        if status != 0:
            raise Broken(f"the experiment does not link:\n{said}")
        return target

    def server_module(self, broken=None):
        """The module of servers, linked."""
        target = os.path.join(self.objects, "bloomery.so")
        sources = self.sources("module") + self.library()
        status, said = run([*CC, *self.objects_of(sources, broken), "-shared", "-o", target,
                            "-Wl,--version-script=" + self.path("module/exports.map"),
                            *pkg_config("--libs", "libsodium"), "-lm", "-lpthread"])
        if status != 0:
            raise Broken(f"the module does not link:\n{said}")
        return target

    def stand_in(self, parts, target, broken=None):
        """The module in one program with the stand-in for a server, linked."""
        target = os.path.join(self.objects, target)
        sources = [*parts, "tests/module/stand_in.c", *self.sources("module"), *self.library()]
        status, said = run([*CC, *self.objects_of(sources, broken), "-o", target,
                            *pkg_config("--libs", "cmocka", "libsodium"), "-lm", "-lpthread"])
        if status != 0:
            raise Broken(f"{target} does not link:\n{said}")
        return target

    def server(self):
        """A server, by the name under which it is one."""
        target = os.path.join(self.objects, "redis-server")
        if not os.path.exists(target):
            os.symlink(SERVER, target)
        return target

    def driver(self, broken=None):
        """The driver of the tests of dialects, linked."""
        target = os.path.join(self.objects, "driver")
        sources = ["tests/dialect/driver.c", *self.library()]
        status, said = run([*CC, *self.objects_of(sources, broken), "-o", target,
                            *pkg_config("--libs", "libsodium"), "-lm", "-lpthread"])
        if status != 0:
            raise Broken(f"the driver does not link:\n{said}")
        return target

    def fuzzer(self, name, broken=None):
        """A fuzz target as a plain test, linked: the files of its name; look has the other parts of sieve's, and
        server the module and the stand-in."""
        if name == "server":
            return self.stand_in(["fuzz/server.c", "fuzz/regression.c"], "fuzz_server", broken)
        parts = [source for source in self.sources("fuzz") if source.startswith(f"fuzz/{name}") or
                 (name == "look" and source.startswith("fuzz/sieve_"))]
        target = os.path.join(self.objects, "fuzz_" + name)
        status, said = run([*CC, *self.objects_of([*parts, "fuzz/regression.c", *self.library()], broken),
                            "-o", target, *pkg_config("--libs", "libsodium"), "-lm", "-lpthread"])
        if status != 0:
            raise Broken(f"the fuzz target {name} does not link:\n{said}")
        return target

    def package(self, broken=None):
        """The folder with the package of Python, its extension linked."""
        if not os.path.exists(os.path.join(PYTHON_HEADERS, "Python.h")):
            raise Missing("Python's headers (python3-dev) are not here")
        target = os.path.join(self.objects, "python")
        shutil.copytree(self.path("python", "bloomery"), os.path.join(target, "bloomery"), dirs_exist_ok=True)
        status, said = run([*CC, *self.objects_of(self.sources("python") + self.sources("tool/units") + self.library(), broken), "-shared",
                            "-o", os.path.join(target, "bloomery", "_native.abi3.so"),
                            *pkg_config("--libs", "libsodium", "libcrypto"), "-lm", "-lpthread"])
        if status != 0:
            raise Broken(f"the package of Python does not link:\n{said}")
        return target

    def preloaded(self, *parts):
        """A library that is loaded before those of a program."""
        target = os.path.join(self.objects, parts[0] + ".so")
        if not os.path.exists(target):
            status, said = run([*CC, "-std=gnu11", "-O1", "-D_GNU_SOURCE", "-fPIC", "-shared",
                                *(self.path(f"tests/support/{part}.c") for part in parts), "-o", target])
            if status != 0:
                raise Broken(f"the library {parts[0]} does not build:\n{said}")
        return target

    def faults(self):
        """The library of faults."""
        return self.preloaded("faulty_io", "faulty_power")

    def run_test(self, test, broken=None):
        """Runs one test by name. True: it passed; False: it failed. What was said."""
        program, name = test.rsplit("/", 1)
        environment = {**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP", "BLOOMERY_TEST_FILTER": name,
                       "BLOOMERY_TEST_LONG": "", "PYTHONDONTWRITEBYTECODE": "1"}
        if program.startswith("cli/"):
            environment["BLOOMERY_TOOL"] = self.command(broken)
            environment["BLOOMERY_COUNTED_CALLS"] = self.preloaded("counted_calls")
            environment["BLOOMERY_OPTIONS_TABLE"] = self.preloaded("options_table")
            environment["BLOOMERY_FAULTY_IO"] = self.faults()
            if program.endswith("/test_experiment.py"):
                environment["BLOOMERY_EXPERIMENT"] = self.experiment(broken)
            status, said = run([sys.executable, self.path("tests", program), name], env=environment)
            ran = re.search(r"\b1 (passed|failed)", said)
        elif program.startswith("module/"):
            environment |= {"BLOOMERY_MODULE": self.server_module(broken), "BLOOMERY_SERVER": self.server(),
                            "BLOOMERY_TOOL": sys.executable,
                            "BLOOMERY_PACKAGES": PACKAGES, "BLOOMERY_SERVICE_FILTER": FILTER}
            status, said = run([sys.executable, self.path("tests", program), name], env=environment)
            if re.search(r"\b1 skipped", said):
                raise Missing(said.splitlines()[0])
            ran = re.search(r"\b1 (passed|failed)", said)
        elif program.startswith("python/"):
            environment |= {"PYTHONPATH": self.package(broken) + ":" + self.path("tests", "cli"),
                            "BLOOMERY_TOOL": self.command(broken) if program.endswith(("_deduper.py", "_keys.py")) else sys.executable,
                            "BLOOMERY_VECTORS": self.path("tests", "vectors")}
            status, said = run([sys.executable, self.path("tests", program), name], env=environment)
            if re.search(r"\b1 skipped", said):
                raise Missing(said.splitlines()[0])
            ran = re.search(r"\b1 (passed|failed)", said)
        elif program in ("stand_in", "stand_in_cuckoo"):
            source = program.replace("stand_in", "server")
            made = self.stand_in([f"tests/module/{source}.c"], "server_" + program, broken)
            status, said = run([made], env=environment)
            ran = re.search(rf"^(not )?ok \d+ - {name}$", said, re.M)
        elif program.startswith("dialect/"):
            environment["BLOOMERY_DIALECT_DRIVER"] = self.driver(broken)
            status, said = run([sys.executable, self.path("tests", program), name], env=environment)
            ran = re.search(r"\b(1 passed|1 failed)", said)
        elif program == "fuzz":
            status, said = run([*EMULATOR, self.fuzzer(name, broken), "40", self.path("fuzz/corpus", name)],
                               env=environment)
            ran = re.search(r"^\d+ passed", said, re.M)
        else:
            arguments = {"save_faults": [self.faults()], "sieve/power": [self.faults()],
                         "sieve/faults": [self.faults()], "golden": [self.path("tests/vectors")],
                         "static_files": [self.path("tests/vectors")]}
            made = (self.command(broken, program) if program.startswith("unit/")
                    else self.program(program, broken))
            status, said = run([*EMULATOR, made, *arguments.get(program, [])],
                               env=environment)
            ran = re.search(rf"^(not )?ok 1 - {name}$", said, re.M)
        # A signal (an assert of the library, say) ends a test before it can say so.
        if not ran and status >= 0:
            raise Broken(f"{test} did not run:\n{said}")
        return status == 0, said


def show(tree, item, whole):
    """Whether a break is noticed; a sentence where it is not."""
    if item.test not in whole:
        whole[item.test], said = tree.run_test(item.test)
        if not whole[item.test]:
            return f"{item.test} fails on the whole code:\n{said}"
    file, right, wrong = tree.places.broken(item.place, item.edits)
    path = tree.path(file)
    try:
        with open(path, "w", encoding="utf-8") as out:
            out.write(wrong)
        passed, _ = tree.run_test(item.test, file)
    finally:
        with open(path, "w", encoding="utf-8") as out:
            out.write(right)
    return f"{item.test} does not notice it" if passed else None


def chosen(arguments):
    """The breaks that the command line asks for."""
    parts = [part for part in arguments if not part.startswith("-")]
    every = "--all" in arguments or parts
    return [item for item in BREAKS if (every or item.quick)
            and (not parts or any(part in item.name for part in parts))]


def main():
    items = chosen(sys.argv[1:])
    if SERVER is None:
        for item in [item for item in items if item.test.startswith("module/")]:
            print(f"# skipped {item.name}: no redis-check-rdb here (redis-tools)")
            items.remove(item)
    if "--list" in sys.argv:
        for item in BREAKS:
            print(f"{item.name}: {item.place} -> {item.test}{' (quick)' if item.quick else ''}")
        return 0
    failed = 0
    whole = {}
    with tempfile.TemporaryDirectory(prefix="bloomery-break-") as folder:
        tree = Tree(folder)
        for item in BREAKS:  # those that do not run now too: a piece that is gone shows at once
            try:
                tree.places.broken(item.place, item.edits)
            except Lost as error:
                print(f"not ok - {item.name} has its place\n# {error}", flush=True)
                failed += 1
        for item in items:
            try:
                trouble = show(tree, item, whole)
            except Missing as what:
                print(f"# skipped {item.name}: {what}", flush=True)
                continue
            except (Broken, Lost, subprocess.TimeoutExpired) as error:
                trouble = str(error)
            print(f"{'not ok' if trouble else 'ok'} - {item.name} turns {item.test} red", flush=True)
            if trouble:
                failed += 1
                print("# " + trouble.replace("\n", "\n# "), flush=True)
    print(f"{max(len(items) - failed, 0)} passed, {failed} failed")
    return 1 if failed or not items else 0


if __name__ == "__main__":
    sys.exit(main())

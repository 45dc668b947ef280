#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures everything that docs/benchmarks.md and docs/results show, and has report.py make text, chart and pages of it.

    bench/run.py BUILD [--full] [--steps NAME,NAME] [--docs FOLDER]
    bench/run.py BUILD --steps commands --only readme [--lines NUMBER] [--docs FOLDER]

BUILD is a build of type custom: -O3 without asserts, as installed, but with the BLOOMERY_CPU switch, which
the step `levels` needs. Results go to BUILD/bench-results: results.json, benchmarks.svg, report.txt. A step
that is not asked for keeps what it measured last, with that run's date and command. `--only readme` measures only what
the table of README.md shows, slow programs included, and keeps it as a run of its own.

    filters    bench.c: our filters, libbloom, the split-block stand-in, physical limits
    levels     the same for each kernel, scalar, AVX2 and AVX-512
    guava      GuavaBench.java on a JVM
    threads    one thread and several, and a filter for each thread
    open       microseconds to open
    commands   the command beside sort, awk, grep and Guava programs; files in the page cache
    floors     the command beside bare loops that do the same job, and nothing else (floor.c)
    instructions  instructions per key of each kernel, which nothing else on the machine changes: by valgrind, and
               for AVX-512, which valgrind does not know, by single steps
    kinds      the kinds beside each other; removing; what is done to whole filters
    static     static filters beside binary fuse ones, each kernel, and the limit of their memory
    sieve      the sieve beside other seen-sets, a process for each; its memory engine; opening after a kill
    server     the module in Redis and Valkey, beside the least that a command costs (server.py); its filters
               without a server, beside what the memory allows
"""

import argparse
import datetime
import itertools
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time

import report
import server

HERE = os.path.dirname(os.path.abspath(__file__))
GUAVA = "/usr/share/java/guava.jar"
STEPS = report.STEPS
MILLION = 1_000_000
# Runs a program and writes its times, its peak memory and how it ended. What the system counts as a program's peak begins
# with that of the process that starts it, so a small one does.
START = """
import os, sys, time
begin = time.monotonic()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
wall, code = time.monotonic() - begin, os.waitstatus_to_exitcode(status)
os.write(int(sys.argv[1]), f"{wall} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss} {code}".encode())
"""


class Bench:
    """One run: where the programs are and where results go."""

    def __init__(self, build, full):
        self.full = full
        self.build = os.path.abspath(build)
        self.program = os.path.join(self.build, "bench", "bench")
        self.tool = os.path.join(self.build, "tool", "bloomery")
        self.folder = os.path.join(self.build, "bench-results")
        self.data = os.path.join(self.folder, "data")
        self.classes = os.path.join(self.folder, "java")
        os.makedirs(self.data, exist_ok=True)
        self.commands = []

    def say(self, *words):
        """Progress."""
        print(*words, flush=True)

    def call(self, arguments, **environment):
        """Runs one of our programs and returns what it printed."""
        shown = " ".join([f"{k}={v}" for k, v in environment.items()] + [
            shlex.quote(os.path.relpath(word, self.build) if word.startswith(self.build) else word)
            for word in arguments])
        self.commands.append(shown)
        self.say("$", shown)
        return subprocess.run(arguments, check=True, text=True, cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              env=dict(os.environ, **environment)).stdout

    def measure(self, what, *arguments, **environment):
        """Runs bench and returns the rows it wrote."""
        path = os.path.join(self.folder, "rows.json")
        # Debian's C library gives malloc huge pages if this is set: the peer gets the pages that we use.
        environment.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
        print(self.call([self.program, what, *arguments, "--json", path], **environment))
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)[what]
        os.remove(path)
        return rows

    def java(self):
        """The compiled program, or None where Java is missing."""
        if shutil.which("javac") is None or not os.path.exists(GUAVA):
            self.say("no JDK or no Guava: left out (Debian: libguava-java, openjdk-17-jdk-headless)")
            return None
        subprocess.run(["javac", "-cp", GUAVA, "-d", self.classes,
                        os.path.join(HERE, "GuavaBench.java")], check=True)
        return ["java", "-Xmx4g", "-XX:+UseTransparentHugePages", "-cp",
                f"{self.classes}:{GUAVA}", "GuavaBench"]

    # ---- steps

    def filters(self):
        """Every contestant that is C."""
        if not self.full:
            return self.measure("filters", "--sizes", "1M,20M", "--rates", "1e-2,1e-4", "--asks",
                                "1M")
        rows = self.measure("filters", "--sizes", "1M", "--rates", "1e-2,1e-3,1e-4", "--also",
                            "blocked-4")
        # The slow ones between the ends of the rates tell little and take long.
        for rate, most in (("1e-2", "100M"), ("1e-3", "1M"), ("1e-4", "100M")):
            rows += self.measure("filters", "--sizes", "20M", "--rates", rate, "--slow-most", most,
                                 "--also", "blocked-4")
            rows += self.measure("filters", "--sizes", "100M", "--rates", rate, "--slow-most", most,
                                 "--also", "blocked-4", "--types", "integers")
        rows += self.measure("filters", "--sizes", "100M", "--rates", "1e-2", "--types", "ids,urls",
                             "--slow-most", "20M")
        # Two GB a filter, and up to six of them.
        if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") > 16 << 30:
            for rate, names in (("1e-2", "blocked-1,column,split-block,line,line-bare,line-whole"),
                                ("1e-3", "blocked-1,column,split-block"),
                                ("1e-4", "blocked-2,column-2,two-lines")):
                rows += self.measure("filters", "--sizes", "1G", "--rates", rate, "--types",
                                     "integers", "--only", names, "--batch-only", "1")
        return rows

    def levels(self):
        """The kernels of all processors up to this one, each in processes beside its own limit. The
        processes take turns, so that a disturbance hits all alike."""
        merged = {}
        sizes = "1M,20M,100M" if self.full else "1M,20M"
        for _ in range(3):
            for level in ("scalar", "avx2", "avx512"):
                for row in self.measure("filters", "--sizes", sizes, "--rates", "1e-2", "--types",
                                        "integers", "--only", "blocked-1,column,line",
                                        "--batch-only", "1", "--parts", "3", BLOOMERY_CPU=level):
                    first = merged.setdefault((row["keys"], level, row["name"]),
                                              {**row, "level": level})
                    if first["ns"] is not row["ns"]:
                        for phase, times in row["ns"].items():
                            first["ns"][phase] += times
                        first["asked"] += row["asked"]
                        first["found"] += row["found"]
        return list(merged.values())

    def guava(self):
        """Guava's filter; its rows have the form of bench's."""
        java = self.java()
        if java is None:
            return []
        cases = [("integers", 1), ("ids", 1), ("urls", 1), ("integers", 20), ("ids", 20)]
        if self.full:
            cases += [("urls", 20), ("integers", 100)]
        rows = []
        for rate in ("1e-2", "1e-4") if self.full else ("1e-2",):
            for kind, millions in cases:
                if rate == "1e-2" or millions <= 20:
                    out = self.call([*java, "filter", kind, str(millions * MILLION), rate, "5",
                                     "1000000"])
                    self.say(out.strip())
                    rows.append(json.loads(out))
        return rows

    def threads(self):
        """One thread and two."""
        count = str(max(2, len(os.sched_getaffinity(0))))
        return self.measure("threads", "--sizes", "100M" if self.full else "20M", "--threads",
                            count if self.full else "2", "--parts", "5")

    def open(self):
        """Opening a small file and a large one."""
        return self.measure("open")

    def kinds(self):
        """Every kind in the same cases, and the operations that only some have."""
        sizes = "1M,20M" if self.full else "1M"
        rows = self.measure("filters", "--sizes", sizes, "--rates", "1e-2,1e-4", "--types",
                            "integers,ids", "--asks", "1M", "--batch-only", "1", "--only",
                            "blocked-1,blocked-2,blocked-fresh,classic,counting-4,counting-8,"
                            "scalable,scalable-grown")
        # A cuckoo filter has no lower rates than 1 in 200, and few keys in its memory there.
        rows += self.measure("filters", "--sizes", sizes, "--rates", "2e-2", "--types", "integers,ids", "--asks", "1M",
                             "--batch-only", "1", "--only", "blocked-1,classic,counting-4,cuckoo,cuckoo-server")
        rows += self.measure("remove", "--sizes", "20M" if self.full else "1M")
        rows += self.measure("several", "--sizes", "200M" if self.full else "20M", "--parts", "7")
        members = (20 if self.full else 2) * MILLION
        ids = self.lines_files(members, MILLION // 2 * (20 if self.full else 2))[0]
        for name, options in (("dedupe", []), ("dedupe --exact", ["--exact"]),
                              ("dedupe --exact=128", ["--exact=128"])):
            rows.append(self.timed(name, "distinct", members, 0, [
                self.tool, "dedupe", "-q", *options, ids], repeats=5))
        return rows

    def static(self):
        """Static filters: built three times, in processes that take turns, as levels does it."""
        sizes = "1M,20M,100M" if self.full else "1M"
        peers = "fuse8,fuse16,fuse8-unsorted,fuse16-unsorted"
        limits = "static-line,static-line-bare"
        runs = [("", "1e-2,1e-3,0.00390625,1.52587890625e-05",
                 f"static,static-column,blocked-1,{peers},{limits}")]
        runs += [(level, "1e-2", f"static,static-column,{limits}") for level in ("scalar", "avx2", "avx512", "avx512-vpopcntdq")]
        merged = {}
        for _ in range(3):
            for level, rates, names in runs:
                environment = {"BLOOMERY_CPU": level} if level else {}
                for row in self.measure("filters", "--sizes", sizes, "--rates", rates, "--types", "integers",
                                        "--only", names, "--parts", "3", **environment):
                    row = {**row, "level": level, "built": [row["built"]]}
                    first = merged.setdefault((level, row["keys"], row["rate"], row["name"]), row)
                    if first is not row:
                        for phase, times in row["ns"].items():
                            first["ns"][phase] += times
                        for key in ("asked", "found", "built"):
                            first[key] += row[key]
        return list(merged.values())

    def timed(self, name, what, lines, asked, command, output=None, repeats=1):
        """Runs a command `repeats` times and gives its times as a row."""
        row = {"name": name, "what": what, "lines": lines, "asked": asked, "wall": [], "cpu": [],
               "memory": 0, "command": shlex.join(os.path.basename(word) for word in command)}
        self.commands.append(row["command"])
        for _ in range(repeats):
            ready, told = os.pipe()
            with open(output or os.devnull, "wb") as sink, os.fdopen(ready, encoding="ascii") as answer:
                with subprocess.Popen([sys.executable, "-IS", "-c", START, str(told), *command], stdin=subprocess.DEVNULL,
                                      stdout=sink, cwd=self.data, pass_fds=[told], env=dict(os.environ, LC_ALL="C")):
                    os.close(told)
                    wall, cpu, peak, code = answer.read().split()
            if code not in ("0", "1"):
                sys.exit(f"run.py: {row['command']}: exit {code}")
            row["wall"].append(float(wall))
            row["cpu"].append(float(cpu))
            row["memory"] = max(row["memory"], int(peak) * 1024)
        self.say(f"{name:10} {what:10} {lines:>9} {asked:>9} wall {min(row['wall']):7.3f} s"
                 f"  cpu {min(row['cpu']):7.3f} s  {row['memory'] >> 20} MiB")
        return row

    def lines_files(self, members, questions):
        """Two files of IDs, made once and left in the page cache."""
        paths = []
        for count, seed in ((members, 1), (questions, 2)):
            path = os.path.join(self.data, f"ids-{count}-{seed}.txt")
            if not os.path.exists(path):
                with open(path, "wb") as file:
                    subprocess.run([self.tool, "generate", "ids", "-n", str(count), "--seed",
                                    str(seed)], check=True, stdout=file)
            with open(path, "rb") as file:
                while file.read(1 << 24):
                    pass
            paths.append(path)
        return paths

    def bloomery_both(self, ids, asked, members, questions, jobs=""):
        """A filter of the first file, and the lines of the second that are possibly in it."""
        name, more = ("bloomery -j " + jobs, ["-j", jobs]) if jobs else ("bloomery", [])
        filter_path = os.path.join(self.data, "ids.bloom")
        rows = [self.timed(name, "build", members, 0, [
                    self.tool, "build", "-q", "-p", "0.01", *more, "-o", filter_path, ids], repeats=7),
                self.timed(name, "query", 0, questions, [
                    self.tool, "query", *more, filter_path, asked], os.path.join(self.data, "maybe.txt"), repeats=7)]
        os.remove(filter_path)
        return rows

    def guava_lines(self, ids, asked, members, questions):
        """The same by a program with Guava's filter, where there is Java."""
        java = self.java()
        return [] if java is None else [self.timed("guava", "both", members, questions, [
            *java, "lines", str(members), "0.01", ids, asked], os.path.join(self.data, "guava.txt"), repeats=3)]

    def awk_both(self, ids, asked, members, questions):
        """The lines of the second file that are in the first."""
        return self.timed("awk", "both", members, questions, [
            "awk", "NR==FNR{s[$0];next} $0 in s", ids, asked], os.path.join(self.data, "exact.txt"))

    def sort_both(self, ids, asked, members, questions):
        """The same by sorting both files: the time of all three programs, the memory of the largest."""
        row = self.timed("sort", "both", members, questions, [
            "sh", "-c", 'sort "$0" -o sorted-1 && sort "$1" -o sorted-2 && comm -12 sorted-1 sorted-2', ids, asked],
            os.path.join(self.data, "common.txt"))
        for name in ("sorted-1", "sorted-2"):
            os.remove(os.path.join(self.data, name))
        return row

    def commands_of(self, members, questions, slow):
        """The rows of one size; `slow` programs too, or not."""
        ids, asked = self.lines_files(members, questions)
        both = (ids, asked, members, questions)
        rows = [row for jobs in ("", "1") for row in self.bloomery_both(*both, jobs)]
        rows += [*self.guava_lines(*both), self.sort_both(*both),
                 self.timed("sort -u", "distinct", members, 0, ["sort", "-u", ids])]
        if slow:
            rows.append(self.timed("awk", "distinct", members, 0, ["awk", "!s[$0]++", ids]))
            rows.append(self.awk_both(*both))
            rows.append(self.timed("grep -Fxf", "both", members, questions, [
                "grep", "-Fxf", ids, asked], os.path.join(self.data, "exact.txt")))
        self.compare("exact.txt" if slow else "common.txt", rows, questions)
        return rows

    def repeated_lines(self, lines):
        """A file of IDs, three in five of them distinct: after three new ones come two of those before, drawn at
        random."""
        path = os.path.join(self.data, f"repeated-{lines}.txt")
        if not os.path.exists(path):
            ids, _ = self.lines_files(lines // 5 * 3, 1)
            # In a process of its own: memory that this program once had counts as its children's.
            child = os.fork()
            if child == 0:
                self.write_repeated(ids, path, lines)
                os._exit(0)
            os.waitpid(child, 0)
        with open(path, "rb") as file:
            while file.read(1 << 24):
                pass
        return path

    @staticmethod
    def write_repeated(ids, path, lines):
        """Writes that file."""
        with open(ids, "rb") as file:
            text = file.read()
        width, state = text.index(b"\n") + 1, 1
        with open(path + ".new", "wb") as file:
            for first in range(0, lines // 5 * 3, 3):
                file.write(text[first * width:(first + 3) * width])
                for _ in range(2):
                    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                    old = (state >> 32) % (first + 3)
                    file.write(text[old * width:(old + 1) * width])
        os.rename(path + ".new", path)

    def dedupe_of(self, lines, slow, names=None):
        """The rows of one size for lines that come again; of all programs, or of those of some names."""
        path = self.repeated_lines(lines)
        rows = []
        for name, more in (("bloomery", []), ("bloomery -j 1", ["-j", "1"]),
                           ("bloomery --exact", ["--exact"]),
                           ("bloomery --exact -j 1", ["--exact", "-j", "1"])):
            if names is None or name in names:
                rows.append(self.timed(name, "dedupe", lines, 0, [
                    self.tool, "dedupe", "-q", *more, path], repeats=7))
        java = self.java()
        if java is not None:
            # Planned as well as can be: for the distinct lines, at the rate that is our default.
            rows.append(self.timed("guava", "dedupe", lines, 0, [
                *java, "distinct", str(lines // 5 * 3), "1e-6", path], repeats=3))
        rows.append(self.timed("sort -u", "dedupe", lines, 0, ["sort", "-u", path]))
        if slow:
            rows.append(self.timed("awk", "dedupe", lines, 0, ["awk", "!s[$0]++", path]))
        return rows

    def compare(self, exact, rows, questions):
        """What an exact program finds, all must find; filters may find one in a hundred more."""
        known = self.lines_of(exact)
        programs = {row["name"] for row in rows if row["what"] in ("both", "query")}
        for program, name in (("sort", "common.txt"), ("bloomery", "maybe.txt"), ("guava", "guava.txt")):
            if program not in programs:
                continue
            found = self.lines_of(name)
            if not known <= found:
                sys.exit(f"run.py: {name} lost a line that is in {exact}")
            more = len(found - known) / (questions - len(known))
            self.say(f"{exact} has {len(known)} lines, all of them are in {name}; rate {more:.5f}")

    def lines_of(self, name):
        """The distinct lines of an output."""
        with open(os.path.join(self.data, name), "rb") as file:
            return set(file)

    def commands_step(self):
        """The command beside others: the slow ones at a tenth, unless all is wanted."""
        rows = []
        if not self.full:
            rows = self.commands_of(2 * MILLION, MILLION, True) + self.dedupe_of(2 * MILLION, True)
        return (rows + self.commands_of(20 * MILLION, 10 * MILLION, self.full) +
                self.dedupe_of(20 * MILLION, self.full))

    def jobs_of(self, lines):
        """The rows of README.md's table: as many lines, three in five of them distinct; as many keys, and half as
        many lookups."""
        both = (*self.lines_files(lines, lines // 2), lines, lines // 2)
        rows = [*self.dedupe_of(lines, True, ("bloomery",)), *self.bloomery_both(*both), *self.guava_lines(*both),
                self.sort_both(*both), self.awk_both(*both)]
        self.compare("exact.txt", rows, lines // 2)
        return rows

    # ---- floors and instructions

    @staticmethod
    def processor_has(flag):
        """Whether the system names it among the processor's features."""
        try:
            with open("/proc/cpuinfo", encoding="utf-8") as file:
                return any(flag in line.split() for line in file if line.startswith("flags"))
        except OSError:
            return False

    def counted(self, level):
        """The rows of a level, counted by callgrind."""
        folder = os.path.join(self.folder, "callgrind")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        path = os.path.join(self.folder, "rows.json")
        self.call(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={folder}/out", self.program,
                   "instructions", "--json", path], BLOOMERY_CPU=level)
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["instructions"]
        os.remove(path)
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                head = [line.split() for line in itertools.islice(file, 30)]
            number = next((words[-1] for words in head if words[:3] == ["desc:", "Trigger:", "Client"]), None)
            if number is not None:
                rows[int(number)]["instructions"] = int(next(words[1] for words in head if words[:1] == ["summary:"]))
        shutil.rmtree(folder)
        if not all(row["instructions"] for row in rows):
            sys.exit("run.py: callgrind did not count every row: was bench built without valgrind/callgrind.h?")
        return rows

    def instructions(self):
        """What a key takes at every level of this processor."""
        rows = []
        if shutil.which("valgrind") is None:
            self.say("no valgrind: plain C and AVX2 are not counted (Debian: valgrind)")
        else:
            for level in ("scalar", "avx2") if self.processor_has("avx2") else ("scalar",):
                rows += [{**row, "level": level} for row in self.counted(level)]
        if self.processor_has("avx512vl"):
            rows += [{**row, "level": "avx512"} for row in self.measure(
                "instructions", "--only", "blocked-1,column,pair,inline,blocked-2,column-2,scalable",
                BLOOMERY_CPU="avx512")]
        return rows

    def floors(self):
        """Each command beside the bare loop, with one thread, in rounds: every program once in each."""
        members, questions, known = (20, 10, 12) if self.full else (2, 1, 1.2)
        members, questions, known = (round(count * MILLION) for count in (members, questions, known))
        ids, asked = self.lines_files(members, questions)
        repeated = self.repeated_lines(members)
        bare = os.path.join(self.build, "bench", "floor")
        kept = os.path.join(self.data, "floor.bloom")
        made = os.path.join(self.data, "made.bloom")
        if not self.processor_has("avx2"):
            self.say("the bare loops need AVX2: left out")
            return []
        subprocess.run([self.tool, "build", "-q", "-n", str(members), "-p", "0.01", "-o", kept, ids], check=True)
        loops = [("read", "read", [bare, "read", ids]), ("split", "split", [bare, "split", ids]),
                 ("hash", "hash", [bare, "hash", ids]), ("build", "floor", [bare, "build", ids, str(members), "0.01"]),
                 ("query", "floor", [bare, "query", asked, kept]),
                 ("dedupe", "floor", [bare, "dedupe", repeated, str(known), "1e-6"])]
        build, dedupe = [self.tool, "build", "-q", "-p", "0.01", "-j", "1", "-o", made], [self.tool, "dedupe", "-q", "-j", "1"]
        commands = [("build", "build -n", [*build, "-n", str(members), ids]), ("build", "build", [*build, ids]),
                    ("query", "query -c", [self.tool, "query", "-c", "-j", "1", kept, asked]),
                    ("dedupe", "dedupe", [*dedupe, repeated]),
                    ("dedupe", "dedupe -n", [*dedupe, "-n", str(known), repeated]),
                    ("dedupe", "dedupe --exact", [*dedupe, "--exact", repeated])]
        levels = ["avx2", "avx512"] if self.processor_has("avx512vl") else ["avx2"]
        runs = [(job, name, "avx2", command) for job, name, command in loops]
        runs += [(job, name, level, command) for job, name, command in commands for level in levels]
        merged = {}
        for turn in range(7):
            for i in range(len(runs)):
                job, name, level, command = runs[(i + turn) % len(runs)]
                os.environ["BLOOMERY_CPU"] = level
                lines, queries = (0, questions) if job == "query" else (members, 0)
                row = {**self.timed(name, job, lines, queries, command), "level": level}
                first = merged.setdefault((job, name, level), row)
                if first is not row:
                    first["wall"] += row["wall"]
                    first["cpu"] += row["cpu"]
                    first["memory"] = max(first["memory"], row["memory"])
        os.environ.pop("BLOOMERY_CPU")
        for path in (kept, made):
            os.remove(path)
        return [merged[job, name, level] for job, name, level, _ in runs]

    # ---- the sieve

    def in_folder(self, program, *arguments, keep=False, codes=(0,)):
        """Runs a program of bench/sieve* that works in a directory of its own, and returns the row it wrote."""
        path, folder = os.path.join(self.folder, "row.json"), os.path.join(self.data, "sieve")
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        command = [os.path.join(self.build, "bench", program), *arguments, "--directory", folder, "--json", path]
        shown = shlex.join([os.path.basename(command[0]), *arguments])
        self.commands.append(shown)
        self.say("$", shown)
        # What others left to be written is not this one's doing.
        os.sync()
        code = subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode
        if code not in codes:
            sys.exit(f"run.py: {shown}: exit {code}")
        if code != 0:
            return None
        with open(path, encoding="utf-8") as file:
            row = json.load(file)
        os.remove(path)
        return row

    @staticmethod
    def peak_of(process):
        """The most memory that a process had so far; 0 where it has ended."""
        try:
            with open(f"/proc/{process}/status", encoding="ascii") as file:
                for line in file:
                    if line.startswith("VmHWM:"):
                        return int(line.split()[1]) * 1024
        except (FileNotFoundError, ProcessLookupError):
            pass
        return 0

    def sort_row(self, memory, load):
        """sort -u over the same URLs, from a pipe into a file."""
        folder = os.path.join(self.data, "sieve")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        out = os.path.join(folder, "sorted")
        command = ["sort", "-u", f"--buffer-size={memory}b", "-T", folder, "-o", out]
        keys = [os.path.join(self.build, "bench", "sieve-peers"), "keys", *load]
        self.commands.append(shlex.join(["sieve-peers", *keys[1:]]) + " | LC_ALL=C " + " ".join(command[:3]))
        self.say("$", self.commands[-1])
        os.sync()
        peak, begin = 0, time.monotonic()
        with subprocess.Popen(keys, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as writer:
            with subprocess.Popen(command, stdin=writer.stdout, env=dict(os.environ, LC_ALL="C")) as child:
                writer.stdout.close()
                done = 0
                # Asked while it runs: what the system counts at its end begins with what we have ourselves.
                while done == 0:
                    peak = max(peak, self.peak_of(child.pid))
                    time.sleep(0.02)
                    done, status, usage = os.wait4(child.pid, os.WNOHANG)
                child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit("run.py: sort failed")
        seconds, found = time.monotonic() - begin, 0
        with open(out, "rb") as file:
            while block := file.read(1 << 24):
                found += block.count(b"\n")
        row = {"name": "sort -u", "seconds": seconds, "found": found, "kept": False,
               "peak": peak, "anonymous": 0, "disk": os.stat(out).st_blocks * 512,
               "disk_read": usage.ru_inblock * 512, "disk_written": usage.ru_oublock * 512}
        self.say(f"sort -u {found} different, {seconds:.1f} s")
        return row

    def seen_sets(self, urls, repeats, memory, names, rounds, slow_rounds):
        """The same load to each, in an order that turns from round to round."""
        load = ["--urls", str(urls), "--repeats", str(repeats)]
        rows = []
        for turn in range(rounds):
            entrants = [name for name in names if turn < slow_rounds or name not in ("lmdb", "sqlite")]
            for i in range(len(entrants)):
                name = entrants[(i + turn) % len(entrants)]
                if name == "sieve":
                    row = self.in_folder("sieve", *load, "--memory", str(memory), "--drain",
                                         *(["--again"] if turn == 0 else []))
                elif name == "sort":
                    row = self.sort_row(memory, load)
                else:
                    row = self.in_folder("sieve-peers", name, *load, "--memory", str(memory))
                if row["found"] != urls:
                    sys.exit(f"run.py: {name} found {row['found']} different URLs of {urls}")
                rows.append({**row, "what": "urls", "urls": urls, "pushes": urls + round(urls * repeats),
                             "memory": memory})
        return rows

    def peers_there(self):
        """All seen-sets that were built."""
        text = subprocess.run([os.path.join(self.build, "bench", "sieve-peers"), "list"], check=True, text=True,
                              capture_output=True).stdout
        return ["sieve", "sort", *text.split()]

    def recovery(self, urls, memory):
        """A process that is killed, and how long the next one takes to begin."""
        load = ["--urls", str(urls), "--memory", str(memory)]
        self.in_folder("sieve", *load, "--drain", "--die-after", str(urls * 7 // 10), codes=(-9,))
        row = self.in_folder("sieve", "open", "--memory", str(memory), keep=True)
        return [{**row, "what": "recovery", "urls": urls, "memory": memory}]

    def sieve(self):
        """18 MB for the whole process, beside whatever the others take."""
        memory = 18_000_000
        names = self.peers_there()
        rounds, slow_rounds = (3, 2) if self.full else (2, 1)
        rows = self.seen_sets(10 * MILLION, 0, memory, names, rounds, slow_rounds)
        rows += self.seen_sets(2 * MILLION, 4, memory, names, rounds, slow_rounds)
        rows += self.recovery((100 if self.full else 10) * MILLION, memory)
        if self.full:
            rows += self.seen_sets(100 * MILLION, 0, memory, ["sieve", "set", "sort"], 1, 1)
        shutil.rmtree(os.path.join(self.data, "sieve"), ignore_errors=True)
        keys, parts = ("20M", "5") if self.full else ("5M", "3")
        path = os.path.join(self.folder, "rows.json")
        print(self.call([os.path.join(self.build, "bench", "sieve"), "memory", "--keys", keys, "--threads", "2",
                         "--parts", parts, "--json", path]))
        with open(path, encoding="utf-8") as file:
            rows += [{**row, "does": row["what"], "what": "memory"} for row in json.load(file)]
        os.remove(path)
        return rows

    def server(self):
        """The module in every server that is here."""
        programs = server.programs_of(self.build)
        if programs is None:
            self.say("no module: left out (meson configure BUILD -Dmodule=enabled)")
            return []
        self.commands.append("bench/server.py" + (" --full" if self.full else ""))
        options = {**server.options_of(self.full), "folder": self.folder}
        rows = [row for size in options["sizes"]
                for row in self.measure("dialect", "--sizes", str(size), "--parts", "7" if self.full else "3")]
        return rows + [row for program in server.servers(self.folder) for row in server.measure(programs, program, options)]


def machine():
    """What the numbers depend on."""
    facts = {"processors": os.cpu_count(), "system": f"{platform.system()} {platform.release().split('-')[0]}",
             "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")}
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "cpu family", "model", "cache size"):
                facts.setdefault(name.strip().replace(" ", "_"), value.strip())
    huge = "/sys/kernel/mm/transparent_hugepage/enabled"
    if os.path.exists(huge):
        with open(huge, encoding="utf-8") as file:
            facts["huge_pages"] = file.read().split("[")[1].split("]")[0]
    facts["compiler"] = subprocess.run(["cc", "--version"], check=False, text=True,
                                       capture_output=True).stdout.splitlines()[0]
    if shutil.which("java"):
        facts["java"] = subprocess.run(["java", "-version"], check=False, text=True,
                                       capture_output=True).stderr.splitlines()[0]
    return facts


def options_of(build):
    """How that directory was built."""
    text = subprocess.run(["meson", "introspect", "--buildoptions", build], check=True, text=True,
                          capture_output=True).stdout
    wanted = ("buildtype", "optimization", "b_ndebug", "b_lto", "c_args")
    return {row["name"]: row["value"] for row in json.loads(text) if row["name"] in wanted}


def main():
    parser = argparse.ArgumentParser(description="run the benchmarks and report them")
    parser.add_argument("build")
    parser.add_argument("--full", action="store_true", help="all sizes and rates, slow rivals too")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--only", choices=["readme"], help="of the step commands: only what README.md shows")
    parser.add_argument("--lines", type=int, default=20 * MILLION, help="with --only: lines, to try it (default 20000000)")
    parser.add_argument("--docs", metavar="FOLDER",
                        help="also write README.md, benchmarks.md, its chart and results/ there")
    options = parser.parse_args()
    if options.only and options.steps != "commands":
        parser.error("--only readme goes with --steps commands")
    bench = Bench(options.build, options.full or bool(options.only))
    path = os.path.join(bench.folder, "results.json")
    results = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
    for step in options.steps.split(","):
        if step not in STEPS:
            parser.error(f"{step} is not a step")
        bench.commands = []
        begin = time.monotonic()
        if options.only:
            step, rows = "jobs", bench.jobs_of(options.lines)
        else:
            rows = getattr(bench, "commands_step" if step == "commands" else step)()
            if step == "commands":  # it has those of README.md too
                results.pop("jobs", None)
        results[step] = {"rows": rows, "commands": bench.commands, "full": bench.full,
                         "seconds": round(time.monotonic() - begin),
                         "date": datetime.date.today().isoformat()}
        results["machine"] = machine()
        results["build"] = options_of(options.build)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    report.write(results, bench.folder, options.docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())

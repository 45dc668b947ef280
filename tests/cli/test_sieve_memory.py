# SPDX-License-Identifier: Apache-2.0
"""sieve --memory: the same number is the same sieve everywhere, and the process keeps to it."""

import gzip
import json
import lzma
import os
import subprocess
import time

from runner import case, has, main
from sieves import memory_as_users_see_it, status

SHARE = 4300000  # of the command itself: tool/command/sieve/sieve_command.h
# Memory that is allocated and never touched counts for nothing, unless this fills it.
os.environ.pop("MALLOC_PERTURB_", None)

MOST_BESIDE = 4 << 20  # beside --memory, for lines of more than 256 KiB: --help


def peak_of(c, line, stdin=None):
    """Runs the command and returns the most memory that it had, looked at until it ends; 0 where it was too quick."""
    peak = 0
    with open(c.path(stdin) if stdin else "/dev/null", "rb") as source:
        process = c.start(line, stdin=source, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                facts = dict(text.split(":", 1) for text in file)
            # Between fork and exec it is still the process of these tests.
            if facts["Name"].strip() == "bloomery" and "VmHWM" in facts:
                peak = max(peak, int(facts["VmHWM"].split()[0]) * 1024)
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(0.001)  # between two looks
    said = process.stderr.read().decode()
    c.expect(process.returncode == 0 or (process.returncode == 1 and "contains" in line), f"{line}: {process.returncode}: {said}")
    return peak


@case
def the_same_memory_is_never_refused(c):
    # What a command has in memory when it opens the sieve differs by input. A log was full here to the last key
    # that a batch had room for.
    urls = "".join(f"http://example.org/page/{i:012}\n" for i in range(270000))
    c.run("sieve push -q --memory 8300000 --partitions 1 w", stdin=urls)
    c.run("sieve push -q --memory 8300000 w", stdin="x" * 1000000 + "\n")
    for line in ("status", "verify", "pop", "contains", "flush"):
        c.run(f"sieve {line} --memory 8300000 w", stdin="y\n", stdout=None, stderr=None, code=1 if line == "contains" else 0)
    c.expect(status(c, "w")["new"] == 270001, "a key was lost")


@case
def the_memory_of_the_sieve_is_what_was_given_less_a_share(c):
    c.run("sieve push -q --memory 9MB --partitions 4 s", stdin="a\n")
    for memory in (9000000, 18000000, 20000001):
        report = status(c, f"--memory {memory} s")
        c.expect(report["memory_budget"] == memory - SHARE, f"{memory}: {report}")
    plan = json.loads(c.run("plan --sieve -n 1e9 --memory 18MB --json", stdout=None)[0])
    c.expect(plan["memory"] == 18000000 - SHARE, f"{plan}")
    c.expect(abs(plan["budget_rate"] - 2 ** (-8 * plan["memory"] / 1e9)) < 1e-9, f"{plan}")
    c.run("plan --sieve -n 1e9 --memory 18MB", stdout=has("92.7 %  of new keys that the best structure in the sieve's memory would drop"))


@case
def less_memory_than_before_decides_in_pieces(c):
    for name, order in (("plain", ""), ("ordered", "--ordered")):
        lines = "".join(f"{name} {i * 7919 % 100003}\n" for i in range(100003))
        c.run(f"sieve push -q --partitions 1 {order} {name}", stdin=lines)
        said = c.run(f"sieve flush --memory 1MB {name}", code=2, stderr=has("the minimum that works is "))[1].decode()
        least = said.split("the minimum that works is ")[1].split()[0].replace(",", "")
        came = c.run(f"sieve pop --memory {least} -n 100003 --done {name}", stdout=None)[0].decode()
        c.expect(came == lines, f"{name}: {len(came)} bytes of {len(lines)} came out, or in another order")


@case
def the_process_keeps_to_its_memory(c):
    memory_as_users_see_it()
    c.run("generate urls -n 300k", stdout_file=open(c.path("urls"), "wb"))  # pylint: disable=consider-using-with
    c.file("more", "".join(f"http://example.org/{i}/{i * i}\n" for i in range(100000)))
    for number, (options, memory) in enumerate((("--partitions 16", 18000000), ("--partitions 1 --ordered", 9000000), ("--partitions 256 --ordered", 12000000),
                                                ("-F 1 -d / --payload 3", 8000000))):
        for line in (f"sieve push --print {options} --memory {memory} s{number} urls", f"sieve push --memory {memory} s{number} more",
                     f"sieve pop --memory {memory} -n 1000 --done s{number}", f"sieve status --memory {memory} s{number}",
                     f"sieve verify --memory {memory} s{number}", f"sieve flush --memory {memory} s{number}",
                     f"sieve contains --memory {memory} s{number} urls"):
            used = peak_of(c, line)
            c.expect(used <= memory, f"{line}: {used} bytes of {memory}")


@case
def long_lines_take_what_help_says(c):
    memory_as_users_see_it()
    for bytes_each, count in ((250000, 200), (1000000, 64)):
        c.file("lines", "".join(f"{i} " + "x" * (bytes_each - 8) + "\n" for i in range(count)))
        for number, (options, memory) in enumerate((("--partitions 16", 8000000), ("--partitions 16 --ordered", 8000000), ("--partitions 256 --ordered", 12000000),
                                                    ("--engine memory -n 1M", 18000000))):
            name = f"s{number}-{bytes_each}"
            for line in (f"push {options}", "status", "flush", "pop -n 9 --done", "contains", "verify"):
                used = peak_of(c, f"sieve {line} --memory {memory} {name}", "lines" if line.startswith(("push", "contains")) else None)
                most = memory + (MOST_BESIDE if bytes_each > 256 << 10 else 0)
                c.expect(used <= most, f"{bytes_each} bytes, {line} {options}: {used} bytes of {most}")


@case
def the_least_memory_that_works_is_named(c):
    for number, options in enumerate(("--leases 1", "--leases 20000 --partitions 64")):
        s = f"s{number}"
        said = c.run(f"sieve push {options} --memory 4100000 {s}", stdin="a\n", code=2, stderr=has("the minimum that works is "))[1].decode()
        least = int(said.split("the minimum that works is ")[1].split()[0].replace(",", ""))
        c.run(f"sieve push -q {options} --memory {least} {s}", stdin="a\n")
        c.run(f"sieve status --memory {least - 200000} {s}", code=2, stderr=has(f"the minimum that works is {least:,} bytes"))


@case
def packed_inputs_take_their_window(c):
    memory_as_users_see_it()
    text = "".join(f"http://example.org/page/{i:012}\n" for i in range(2500000)).encode()
    windows = {"gzip": 0, "xz8": 8 << 20, "xz64": 64 << 20}
    c.file("gzip", gzip.compress(text, 1))
    for name in ("xz8", "xz64"):
        chain = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": windows[name]}]
        c.file(name, lzma.compress(text, lzma.FORMAT_XZ, filters=chain))
    for name, window in windows.items():
        used = peak_of(c, f"sieve push -q --memory 8MB s-{name} {name}")
        c.expect(used <= 8000000 + MOST_BESIDE + window, f"{name}: {used} bytes")
    c.run("sieve push --help", stdout=has("has usually up to 8 MiB, 64 MiB with xz"))


@case
def a_saved_filter_is_verified_within_the_memory(c):
    memory_as_users_see_it()
    lines = "".join(f"http://example.org/page/{i:012}\n" for i in range(200000))
    c.run("sieve push -q --engine memory --on-full=warn -n 5M --memory 26MB s", stdin=lines)
    c.run("sieve pop --done s", stdout=None)
    c.expect(any(name.startswith("filter.") for name in os.listdir(c.path("s"))), "it is saved")
    for line in ("status", "verify", "pop", "contains", "export"):
        used = peak_of(c, f"sieve {line} --memory 26MB s")
        c.expect(used <= 26000000, f"{line}: {used} bytes")


@case
def asking_for_long_lines_takes_what_help_says(c):
    memory_as_users_see_it()
    c.run("sieve push -q --memory 8MB s", stdin="".join(f"{i}\n" for i in range(100000)))
    for bytes_each in (2000000, 8300000):
        c.file("lines", "".join(f"{i} " + "X" * bytes_each + "\n" for i in range(6)))
        for rule in ("", "--lower"):
            process = subprocess.run(c.arguments(f"sieve contains -v --flush --memory 8MB {rule} s"), cwd=c.directory, check=False,
                                     stdin=open(c.path("lines"), "rb"), capture_output=True)  # pylint: disable=consider-using-with
            c.expect(process.returncode == (0 if bytes_each < 2 << 20 else 2), f"{process.stderr!r}")
            used = peak_of(c, f"sieve contains -vc --memory 8MB {rule} s", "lines") if bytes_each < 2 << 20 else 0
            c.expect(used <= 8000000 + MOST_BESIDE, f"{bytes_each} {rule}: {used} bytes")


@case
def too_many_partitions_are_refused_at_once(c):
    c.run("sieve push --partitions 256 --memory 5MB s", stdin="a\n", code=2, stderr=has("--memory 5,000,000 bytes is too little", "the minimum that works is "))
    c.expect(c.names() == [], f"{c.names()}")


main()

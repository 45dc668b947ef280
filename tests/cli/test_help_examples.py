# SPDX-License-Identifier: Apache-2.0
"""The examples at the end of each help, and of the pages of the manual, work as they stand there."""

import gzip
import os
import re
import shlex
import shutil
import subprocess

import documents
from runner import EMULATOR, SECONDS, TOOL, Difference, Skip, case, main

# They work with many millions of lines, and a test with fewer.
SMALLER = {"generate ids -n 20M": "generate ids -n 20k", "generate urls -n 1M": "generate urls -n 10k"}
# What no test can run: it waits for lines without end, or needs an installed explorer and a browser.
NOT_RUN = (r"tail -[fF] .*", r"xdg-open .*", r"bloomery explore\b.*")
# Programs of the reader's own.
OWN = "visit() { cat \"$@\"; }; urls-of() { cat \"$@\"; }; "
KEYS = "".join(f"key {i}\n" for i in range(2000))
# Files that examples name. Those that end in .gz are packed.
TEXTS = {
    "ids.txt": KEYS + "850101312345\n", "urls.txt": KEYS + "http://example.org/new\n",
    **{name: KEYS for name in ("tokens.txt", "words.txt", "words-1.txt", "words-2.txt", "members.txt", "lines.txt",
                               "a.gz", "urls.gz")},
    "today.txt": "new today\nkey 7\n", "left.txt": "key 7\n", "asked.txt": "key 7\nno key\n", "visited.txt": "key 9\n",
    "seeds.txt": "http://example.org/\nhttp://example.org/a\n", "page.html": "http://example.org/b\n",
    "people.csv": "id,name\n1,Ann\n2,Bob\n", "log.gz": "".join(f"day\tGET\tkey {i}\n" for i in range(5)) + "day\tGET\tno key\n",
    "in/a.jsonl.gz": '{"text":"one\\ntwo"}\n{"text":"two"}\n', "crawls/job/requests.seen": "0123456789abcdef0123456789abcdef01234567\n",
}
# Filters and a sieve that examples name, made before them.
MADE = """bloomery build -q -n 5M -p 0.01 --folds 4 -o ids.bloom ids.txt
for name in seen monday tuesday wednesday today a b; do bloomery build -q -n 10k -p 0.0001 -o $name.bloom ids.txt; done
echo banned | bloomery build -q -n 1000 -p 0.0001 -o banned.bloom
bloomery build -q --kind counting -n 10k -p 0.01 -o members.bloom members.txt
for name in a b; do bloomery build -q --dialect dcso -n 10k -p 0.01 -o $name.bf ids.txt; done
for name in one other; do bloomery build -q --dialect guava -n 10k -p 0.01 -o $name.bf ids.txt; done
seq 1000 | bloomery build -q --dialect guava -n 1000 -p 0.01 --int64 -o seen.bf
bloomery sieve push crawl ids.txt && bloomery sieve pop -n 30 crawl && echo http://example.org/ | bloomery sieve mark crawl && bloomery sieve flush crawl"""


def prepare(c, folder):
    """A folder with all files that examples name."""
    for name, text in TEXTS.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(c.path(path)), exist_ok=True)
        c.file(path, gzip.compress(text.encode()) if name.endswith(".gz") else text)
    os.mkdir(c.path(os.path.join(folder, "bin")))
    c.file(os.path.join(folder, "bin", "bloomery"), "#!/bin/sh\nexec " + shlex.join([*EMULATOR, TOOL]) + ' "$@"\n')
    os.chmod(c.path(os.path.join(folder, "bin", "bloomery")), 0o755)
    shell(c, folder, MADE)


def like(c, folder, other):
    """A folder with the files of another one. Filters are replaced as a whole, so they can be shared."""
    shutil.copytree(c.path(folder), c.path(other),
                    copy_function=lambda source, target: (os.link if source.endswith(".bloom") else shutil.copy2)(source, target))


def shell(c, folder, line, codes=(0,)):
    there = c.path(folder)
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", OWN + line], cwd=there, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=SECONDS, check=False,
                          env={**os.environ, "PATH": os.path.join(there, "bin") + ":" + os.environ["PATH"]})
    c.expect(done.returncode in codes, f"{folder}: {line}: {done.returncode}: {done.stderr.decode()[-400:]}")


def examples(text):
    """The lines of a help that are examples: two blanks, and the command in it."""
    text = re.sub(r" *\\\n +", " ", text)
    found = []
    for line in re.findall(r"^  (\S.*)$", text, re.M):
        line = re.split(r" {2,}", line)[0]
        if re.match(r"(bloomery|zcat|tail|visit|urls-of|xdg-open|cut|seq|printf|cat|echo) ", line) and "bloomery " in line:
            found.append(line)
    return found


def commands_of(c):
    known = documents.options_of_the_command(TOOL)
    return {name: c.run(name.split() + ["--help"], stdout=None)[0].decode() for name in known}, known


@case
def examples_of_each_help_work(c):
    if EMULATOR:
        raise Skip("an emulator's help is that of others")
    helps, known = commands_of(c)
    helps[""] = c.run("help", stdout=None)[0].decode()
    prepare(c, "all")
    ran = 0
    for name, text in helps.items():
        folder = "of-" + name.replace(" ", "-")
        like(c, "all", folder)
        for line in examples(text):
            wrong = [option for called, words in documents.calls(line, known)
                     for option in documents.unknown_options(called, words, known)]
            c.expect(not wrong, f"{name}: {line}: no help has {wrong}")
            if any(re.fullmatch(pattern, line) for pattern in NOT_RUN):
                continue
            for number, smaller in SMALLER.items():
                line = line.replace(number, smaller)
            codes = (0, 1) if " compare " in line else (0,)
            try:  # after those before it, or by itself
                shell(c, folder, line, codes)
            except Difference:
                like(c, "all", f"{folder}-{ran}")
                shell(c, f"{folder}-{ran}", line, codes)
            ran += 1
    c.expect(ran >= 50, f"{ran} examples")


@case
def examples_of_the_manual_work(c):
    prepare(c, "manual")
    known = {} if EMULATOR else documents.options_of_the_command(TOOL)
    ran = 0
    for name in sorted(os.listdir(os.path.join(documents.ROOT, "man"))):  # pages, and templates of pages
        text = documents.read(os.path.join("man", name)).partition(".SH EXAMPLES\n")[2].partition("\n.SH")[0]
        for line in re.findall(r"^(?!\.)(.*\bbloomery .*)$", text.replace("\\-", "-").replace("\\(aq", "'"), re.M):
            wrong = [option for called, words in documents.calls(line, known)
                     for option in documents.unknown_options(called, words, known)]
            c.expect(not wrong, f"{name}: {line}: no help has {wrong}")
            if not any(re.fullmatch(pattern, line) for pattern in NOT_RUN):
                shell(c, "manual", line)
                ran += 1
    c.expect(ran >= 10, f"{ran} examples")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples do what examples/README.md says of them.

What the crawler must visit is computed here from the same web by another way: reachability over addresses that were
normalised with urllib.
"""

import os
import re
import shlex
import signal
import subprocess
import urllib.parse

from runner import checks, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")
WEB = os.path.join(EXAMPLES, "web.txt")
START = "http://example.org/"
CRAWLER = [*shlex.split(os.environ.get("BLOOMERY_EMULATOR", "")), os.environ.get("BLOOMERY_CRAWLER", "")]
BATCH = 10  # of the crawler


def normal(address):
    """Scheme and host in lower case, no default port, no fragment, a path."""
    parts = urllib.parse.urlsplit(address)
    host = parts.netloc.lower().removesuffix(":80")
    return urllib.parse.urlunsplit((parts.scheme.lower(), host, parts.path or "/", parts.query, ""))


def distances():
    """{page: how far it is from the start}, in the order of a search by breadth."""
    with open(WEB, encoding="utf-8") as file:
        links = {line.split()[0]: line.split()[1:] for line in file}
    found, waiting = {START: 0}, [START]
    for page in waiting:
        for link in map(normal, links.get(page, [])):
            if link not in found:
                found[link] = found[page] + 1
                waiting.append(link)
    return found


def crawl(directory, *more):
    """What a whole run prints: [(distance, page)], and its closing line."""
    result = subprocess.run([*CRAWLER, WEB, directory, START, *more], capture_output=True, text=True,
                            check=False, timeout=60)
    assert result.returncode == 0, result.stderr
    return [visited(line) for line in result.stdout.splitlines()], result.stderr


def visited(line):
    """(distance, page) of a line."""
    distance, page = line.rstrip("\n").removesuffix(" (not found)").split(" ", 1)
    return int(distance), page


def every_page_is_visited_once(folder):
    wanted = distances()
    lines, said = crawl(os.path.join(folder, "crawl"))
    pages = [page for _, page in lines]
    assert sorted(pages) == sorted(wanted), set(pages) ^ set(wanted)
    assert f"{len(wanted)} pages" in said, said
    assert len(wanted) == 20 and "http://nobody.example.com/" not in pages and pages[0] == START
    for distance, page in lines:
        # Partitions come out one after the other, so a page may be met on a longer way first.
        assert distance >= wanted[page], (distance, page)


def a_finished_crawl_has_nothing_to_do(folder):
    directory = os.path.join(folder, "crawl")
    crawl(directory)
    assert crawl(directory)[0] == []


def a_killed_crawl_goes_on(folder):
    wanted = distances()
    for lines in (0, 1, 2, 5, 9, 12, 15):
        directory = os.path.join(folder, f"crawl-{lines}")
        before = []
        with subprocess.Popen([*CRAWLER, WEB, directory, START, "15"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as child:
            while len(before) < lines:
                before.append(visited(child.stdout.readline())[1])
            child.send_signal(signal.SIGKILL)
            before += [visited(line)[1] for line in child.stdout if line.endswith("\n")]
        after = [page for _, page in crawl(directory)[0]]
        assert sorted(set(before + after)) == sorted(wanted), set(before + after) ^ set(wanted)
        # What was not committed comes again: one batch, and no page twice in one run.
        assert len(before) + len(after) <= len(wanted) + BATCH, (before, after)
        assert len(set(after)) == len(after) and len(set(before)) == len(before)
        assert crawl(directory)[0] == []


checks(every_page_is_visited_once, a_finished_crawl_has_nothing_to_do, a_killed_crawl_goes_on)
if __name__ == "__main__":
    main(command=False)

# SPDX-License-Identifier: Apache-2.0
"""The queue of docs/server.md: a script that pushes what is new, and a crawler that is killed while it works.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import os
import random
import signal
import subprocess

from live import HERE, Error, Server
from runner import Skip, case, main

ROOT = os.path.dirname(os.path.dirname(HERE))
PYTHON = "/usr/bin/python3"
FILTER, QUEUE = "{crawl}:seen", "{crawl}:todo"


def text_of(*path):
    """A file of the project."""
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def push(server, most, *items):
    """The script's reply."""
    return server.ask("EVAL", text_of("examples", "push_new.lua"), 2, FILTER, QUEUE, most, *items)


def queued(server):
    """What waits in the queue."""
    return [fields[1].decode() for _, fields in server.ask("XRANGE", QUEUE, "-", "+")]


@case
def the_script_of_the_page_is_that_of_the_example(c):
    shown = text_of("docs", "server.md").splitlines()
    script = text_of("examples", "push_new.lua").splitlines()
    c.expect(len(script) <= 7 and any(shown[at:at + len(script)] == script for at in range(len(shown))), "docs/server.md has another one")


@case
def the_script_pushes_what_is_new_and_nothing_if_the_queue_is_full(c):
    server = Server(c, options=["--appendonly", "yes", "--appendfsync", "always"])
    server.ask("BF.RESERVE", FILTER, "0.000001", 1000)
    c.expect(push(server, 100, "a", "b", "a", "c") == 3 and queued(server) == ["a", "b", "c"], f"{queued(server)}")
    c.expect(push(server, 100, "b", "d", "a") == 1 and queued(server) == ["a", "b", "c", "d"], f"{queued(server)}")
    before = server.digest(FILTER)
    c.expect(push(server, 6, "e", "f", "g") == -1 and queued(server) == ["a", "b", "c", "d"], "it is full")
    c.expect(server.digest(FILTER) == before, "and nothing is marked as seen")
    c.expect(push(server, 7, "e", "f", "g") == 3, "there is room")
    many = [f"http://example.org/{number}" for number in range(5000)]
    c.expect(push(server, 1 << 20, *many) == 5000 and server.ask("XLEN", QUEUE) == 5007, "5,000 at once")
    names = [words[0] for words in server.aof_commands()]
    c.expect(b"BF.ADD" in names and b"XADD" in names and b"EVAL" not in names, f"replicated by what it did: {set(names)}")
    before = server.ask("DEBUG", "DIGEST")
    server.kill()
    server.start()
    c.expect(server.ask("DEBUG", "DIGEST") == before, "after a power cut both are there")


@case
def a_full_filter_is_an_error_and_loses_no_item(c):
    server = Server(c)
    server.ask("BF.RESERVE", FILTER, "0.000001", 3, "NONSCALING")
    reply = push(server, 100, "a", "b", "c", "d", "e")
    c.expect(isinstance(reply, Error) and "non scaling filter is full" in reply, f"{reply}")
    c.expect(queued(server) == ["a", "b", "c"] and server.ask("BF.MEXISTS", FILTER, "d", "e") == [0, 0], f"{queued(server)}")


def make_web(pages):
    """Pages with links to some others; all are reached from the first one."""
    rnd = random.Random(5)
    return {f"http://example.org/{page}": [f"http://example.org/{rnd.randrange(pages)}" for _ in range(8)] +
            [f"http://example.org/{2 * page + more}" for more in (1, 2) if 2 * page + more < pages] for page in range(pages)}


@case
def a_crawler_that_is_killed_loses_no_address(c):
    if subprocess.run([PYTHON, "-c", "import redis"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("no python3-redis here")
    server = Server(c, options=["--appendonly", "yes"])
    web = make_web(200)
    c.file("web.txt", "".join(" ".join([page, *links]) + "\n" for page, links in web.items()))

    def crawler(*start):
        return c.spawn([PYTHON, os.path.join(ROOT, "examples", "queue_crawler.py"), str(server.port), c.path("web.txt"), *start],
                       stdout=subprocess.PIPE, text=True, env={**os.environ, "IDLE_MS": "300"})

    killed = crawler("http://example.org/0")
    visited = [killed.stdout.readline().strip() for _ in range(20)]
    crawlers = [crawler(), crawler()]
    visited += [killed.stdout.readline().strip() for _ in range(5)]
    killed.send_signal(signal.SIGKILL)
    visited += killed.communicate()[0].split()
    for process in crawlers:
        visited += process.communicate(timeout=60)[0].split()
        c.expect(process.returncode == 0, "a crawler failed")
    c.expect(set(visited) == set(web), f"{len(set(visited))} of {len(web)} pages were visited")
    # What the killed one had printed and not acknowledged comes once more.
    c.expect(len(visited) <= len(web) + 1, f"{len(visited) - len(web)} pages were visited twice")
    c.expect(server.ask("XLEN", QUEUE) == 0 and server.ask("BF.CARD", FILTER) == len(web), "the queue is empty")


main()

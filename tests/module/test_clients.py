# SPDX-License-Identifier: Apache-2.0
"""Clients that others wrote, by the functions that they bring for BF.*: the npm package `redis` in both protocols,
Debian's python3-redis in the one that it has. What they do is in client.mjs and client.py.

The npm packages are those of package-lock.json beside this, fetched into the build folder (BLOOMERY_PACKAGES) once.
Where node, npm, the registry or the package is missing the cases are skipped. And the command, whose commands make keys.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import fcntl
import filecmp
import os
import re
import shutil
import subprocess

from live import HERE, Server
from runner import Skip, case, main

PACKAGES = os.path.abspath(os.environ.get("BLOOMERY_PACKAGES", "build/tests/module/packages"))
PYTHON = "/usr/bin/python3"
TOOL = os.environ.get("BLOOMERY_TOOL", "build/tool/bloomery")
FILES = ["package.json", "package-lock.json", ".npmrc"]
SECONDS = 120


def said_by(*command, **more):
    """The exit status of a program, and what it printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, **more)
    except subprocess.TimeoutExpired:
        return 1, f"{command[0]} did not end within {SECONDS} s"
    return done.returncode, done.stdout + done.stderr


def packages():
    """The folder with the npm packages, which are fetched where they are not there or of another lock file."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise Skip(f"no {program} here")
    version = re.match(r"v(\d+)", said_by("node", "--version")[1])
    if version is None or int(version[1]) < 18:
        raise Skip("this Node is older than 18")
    os.makedirs(PACKAGES, exist_ok=True)
    with open(os.path.join(PACKAGES, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests of two servers at once
        fetched = os.path.join(PACKAGES, "fetched")
        if not (os.path.exists(fetched) and filecmp.cmp(fetched, os.path.join(HERE, "package-lock.json"), shallow=False)):
            for name in FILES:
                shutil.copyfile(os.path.join(HERE, name), os.path.join(PACKAGES, name))
            status, said = said_by("npm", "ci", "--loglevel=error", cwd=PACKAGES)
            if status != 0:
                raise Skip(f"npm could not fetch the packages: {said[-200:]}")
            shutil.copyfile(os.path.join(PACKAGES, "package-lock.json"), fetched)
    return PACKAGES


def acts(c, server, command):
    """A client does what it does, and the filter that it put together is the one that it took apart."""
    status, said = said_by(*command)
    if status == 77:
        raise Skip(said.strip())
    c.expect(status == 0 and "all acts" in said, said[-1500:])
    one, other = server.digest("grown", "loaded")
    c.expect(one == other and one != "0" * 40, f"{one} and {other}")
    one, other = server.digest("cuckoo", "cuckoo loaded")
    c.expect(one == other and one != "0" * 40, f"cuckoo filters: {one} and {other}")


def by_node(c, protocol):
    """The npm package in a protocol."""
    folder = packages()
    server = Server(c)
    acts(c, server, ["node", os.path.join(HERE, "client.mjs"), folder, str(server.port), protocol])


@case
def the_npm_client_works_in_resp2(c):
    by_node(c, "2")


@case
def the_npm_client_works_in_resp3(c):
    by_node(c, "3")


@case
def debians_python_client_works(c):
    if not os.access(PYTHON, os.X_OK):
        raise Skip(f"no {PYTHON} here")
    server = Server(c)
    acts(c, server, [PYTHON, os.path.join(HERE, "client.py"), str(server.port)])


@case
def keys_come_from_the_command_by_its_own_commands(c):
    """A file that the command built, as commands for the server: the key is the file, byte for byte."""
    server = Server(c)
    c.file("items", "".join(f"{number}\n" for number in range(3000)))
    for dialect, family in (("redisbloom", "BF"), ("redisbloom-cuckoo", "CF")):
        c.expect(said_by(TOOL, "build", "-q", "-n", "1000", "--dialect", dialect, "-o", c.path(family), c.path("items"))[0] == 0, dialect)
        done = subprocess.run([TOOL, "convert", "-q", "--from", dialect, "--to", dialect, "--redis-key", family, "-o", "-", c.path(family)],
                              capture_output=True, timeout=SECONDS, check=False)
        c.expect(done.returncode == 0, f"{dialect}: {done.stderr}")
        server.client.socket.sendall(done.stdout)
        replies = [server.client.reply() for _ in range(done.stdout.count(b".LOADCHUNK"))]
        c.expect(len(replies) > 2 and set(replies) == {b"+OK\r\n"}, f"{dialect}: {replies}")
        c.expect(server.ask(f"{family}.MEXISTS", family, *range(3000)) == [1] * 3000, f"{dialect} has lost an item")
        dump, (iterator, data) = b"", server.ask(f"{family}.SCANDUMP", family, 0)
        while iterator != 0:
            dump += data
            iterator, data = server.ask(f"{family}.SCANDUMP", family, iterator)
        c.expect(dump == c.read(family), f"{dialect}: the key is another filter")


main()

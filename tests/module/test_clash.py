# SPDX-License-Identifier: Apache-2.0
"""Beside another module that has BF.* or CF.*, their types, or the name: ours loads all the same, as BLOOM.*.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import os

from live import MODULE, Server
from runner import case, main

CLASH = os.path.abspath(os.environ.get("BLOOMERY_CLASH", "build/tests/module/clash.so"))
AOF = ["--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no"]


def beside(c, *wants):
    """A server with the other module, then ours."""
    server = Server(c, module=False, options=AOF)
    server.stop()
    server.options += ["--loadmodule", CLASH, *wants, "--loadmodule", MODULE]
    return server.start()


def use(c, server, family, type_name):
    """What it is called, and that it outlives a restart by an AOF of commands."""
    c.expect(server.ask(f"{family}.ADD", "k", "x") == 1 and server.ask("BLOOM.EXISTS", "k", "x") == 1, "it works")
    server.ask("BLOOM.MADD", "k", "x", "y")
    c.expect(server.ask("TYPE", "k") == type_name, server.ask("TYPE", "k"))
    found = [words[0].decode() for words in server.aof_commands() if words[1:2] == [b"k"]]
    c.expect(found == [f"{family}.INSERT", f"{family}.MADD"], f"{found}")
    before = server.digest("k")
    server.ask("BGREWRITEAOF")
    server.wait_for(lambda: server.info("persistence")["aof_rewrite_in_progress"] == "0" and
                    server.info("persistence")["aof_rewrites"] != "0", "rewritten")
    server.stop()
    server.start()
    c.expect(server.digest("k") == before, "another digest after the restart")


@case
def commands_of_another_module_stay_its_own(c):
    server = beside(c, "command")
    c.expect(server.ask("BF.ADD", "k", "x") == "another module", "BF.ADD is the other's")
    c.expect(server.ask("COMMAND", "INFO", "bf.exists") == [None], "and none of BF.* is ours")
    c.expect("bf.add" in server.log(), "the log says so")
    use(c, server, "BLOOM", "MBbloom--")


@case
def a_type_that_is_taken_is_left_alone(c):
    server = beside(c, "type")
    use(c, server, "BLOOM", "bloomery-")


@case
def a_module_name_that_is_taken_is_left_alone(c):
    server = beside(c, "name")
    names = {module[1] for module in server.ask("MODULE", "LIST")}
    c.expect({b"bf", b"bloomery"} <= names, f"{names}")
    use(c, server, "BF", "MBbloom--")


@case
def cuckoo_filters_of_another_module_stay_its_own(c):
    server = beside(c, "cuckoo")
    c.expect(server.ask("CF.ADD", "c", "x") == "another module" and server.ask("COMMAND", "INFO", "cf.exists") == [None], "CF.*")
    c.expect("cf.add" in server.log(), "the log says so")
    c.expect(server.ask("BLOOM.CF.ADD", "c", "x") == 1 and server.ask("BLOOM.CF.ADDNX", "c", "y") == 1, "it works")
    server.ask("BLOOM.CF.DEL", "c", "x")
    c.expect(server.ask("TYPE", "c") == "bloomcuck", server.ask("TYPE", "c"))
    found = [words[0].decode() for words in server.aof_commands() if words[1:2] == [b"c"]]
    c.expect(found == ["BLOOM.CF.RESERVE", "BLOOM.CF.ADD", "BLOOM.CF.ADDNX", "BLOOM.CF.DEL"], f"{found}")
    before = server.digest("c")
    use(c, server, "BF", "MBbloom--")
    c.expect(server.digest("c") == before, "another digest after the restart")


@case
def all_three_taken_leave_room_for_ours(c):
    server = beside(c, "command", "type", "name")
    c.expect(server.ask("CONFIG", "GET", "bloomery.bf-initial-size")[1] == b"100", "settings have the module's name")
    use(c, server, "BLOOM", "bloomery-")


main()

# SPDX-License-Identifier: Apache-2.0
"""Replies byte for byte: those that the reference gave, in both protocols.

tests/vectors/server/replies.json.gz has 1,244 commands and what the reference (level 8.10) replied to each, in
RESP2 and in RESP3. DIFFERENCES is what we do otherwise, and why. fixtures.json.gz has what the reference
2.4.23 saved, as payloads of RDB and commands of an AOF, and what it said of these keys.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import base64
import hashlib
import os
import re
import shlex
import shutil
import subprocess

from live import HERE, SECONDS, Server, sealed, vector
from runner import Skip, case, main

# Command -> (our reply, why).
DIFFERENCES = {
    "COPY a acopy": (b":1\r\n", "a filter can be copied; the reference refuses"),
}
LONG = 4000  # longer replies are recorded as their length and SHA-256
NAMES = ["reserve", "add", "madd", "insert", "exists", "mexists", "card", "info", "debug", "scandump", "loadchunk", "clear", "merge",
         "rotate"]
CUCKOO_NAMES = ["reserve", "add", "addnx", "insert", "insertnx", "exists", "mexists", "count", "del", "compact", "info", "debug",
                "scandump", "loadchunk"]


def shortened(reply):
    """A reply as it was recorded."""
    if len(reply) < LONG:
        return reply
    return b"len=%d sha256=%s" % (len(reply), hashlib.sha256(reply).hexdigest().encode())


def without_script(reply):
    """An error of a script without the name that the server gave it: its hash, or "on"."""
    return re.sub(rb"script: (\w+)(, | on )", b"script: ", reply) if reply.startswith(b"-") else reply


def copy_chunks(client, family, source, target):
    """SCANDUMP of one key, LOADCHUNK of another: all replies."""
    iterator, replies = b"0", b""
    while True:
        reply = client.raw(f"{family}.SCANDUMP", source, iterator)
        replies += reply
        iterator = reply.split(b"\r\n")[1][1:]
        if iterator == b"0" or not reply.startswith(b"*"):
            return replies
        replies += client.raw(f"{family}.LOADCHUNK", target, iterator, reply.split(b"\r\n", 3)[3][:-2])


def compare(c, resp):
    """All recorded replies of a protocol."""
    client = Server(c).connect(resp)
    seen = set()
    for number, row in enumerate(vector("server", "replies.json.gz")):
        words = [word.encode("latin1") for word in row["words"]]
        command = " ".join(row["words"])
        if words[0] in (b"@copychunks", b"@copychunks_cf"):
            reply = copy_chunks(client, "CF" if words[0].endswith(b"cf") else "BF", words[1], words[2])
        else:
            reply = client.raw(*words)
        expected = row["resp3" if resp == 3 and "resp3" in row else "resp2"].encode("latin1")
        if command in DIFFERENCES:
            c.expect(expected != DIFFERENCES[command][0], f"{command}: no difference any more")
            expected = DIFFERENCES[command][0]
            seen.add(command)
        reply, expected = without_script(reply), without_script(expected)
        c.expect(shortened(reply) == expected, f"RESP{resp} {number} {command[:80]!r}: {reply[:200]!r}, not {expected[:200]!r}")
    c.expect(seen == set(DIFFERENCES), f"{seen}")


@case
def recorded_replies_of_resp2_come_back(c):
    compare(c, 2)


@case
def recorded_replies_of_resp3_come_back(c):
    compare(c, 3)


def shown(reply):
    """A reply as redis-cli shows it."""
    if isinstance(reply, list):
        return "\n".join(f"{at}) {shown(value)}" for at, value in enumerate(reply, 1))
    return f"(integer) {reply}" if isinstance(reply, int) else str(reply)


@case
def the_first_minutes_of_the_page_are_what_the_server_replies(c):
    server = Server(c)
    with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "server.md"), encoding="utf-8") as file:
        page = file.read()
    for heading, count in (("First minutes", 9), ("Cuckoo filters", 12)):
        text, said = page.partition(f"## {heading}\n")[2].partition("    > ")[2].partition("\n\n")[0], []
        lines = [re.split(r" +# ", line)[0].strip() for line in ("    > " + text).splitlines()]
        for line in lines:
            if line.startswith("> "):
                said += [line, *shown(server.ask(*line[2:].split())).splitlines()]
        c.expect(said == lines and len(said) == count, f"{heading}: {said}, not {lines}")


@case
def the_file_of_the_page_is_loaded_through_redis_cli(c):
    server = Server(c)
    with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "server.md"), encoding="utf-8") as file:
        convert, load = re.findall(r"^    (bloomery convert .*|redis-cli --pipe .*)$", file.read(), re.M)
    if shutil.which("redis-cli") is None:
        raise Skip("no redis-cli")
    c.file("keys.txt", "".join(f"key {i}\n" for i in range(1000)))
    c.run("build -q --dialect redisbloom -n 1000 -p 0.01 -o seen.bf keys.txt")
    functions = f'bloomery() {{ {shlex.join(c.arguments([]))} "$@"; }}; redis-cli() {{ command redis-cli -p {server.port} "$@"; }}'
    done = subprocess.run(["bash", "-e", "-c", f"{functions}; {convert}; {load}"], cwd=c.directory, capture_output=True,
                          text=True, timeout=SECONDS, check=False)
    c.expect(done.returncode == 0 and "errors: 0" in done.stdout, f"{load}: {done.stdout}{done.stderr}")
    c.expect(server.ask("BF.MEXISTS", "seen", *(f"key {i}" for i in range(1000))) == [1] * 1000, "keys are lost")


@case
def keys_that_the_reference_saved_are_restored(c):
    server = Server(c)
    vectors = vector("server", "fixtures.json.gz")
    for name, row in vectors["keys"].items():
        c.expect(server.ask("RESTORE", name, 0, sealed(base64.b64decode(row["payload"]))) == "OK", name)
        lines = [line.decode() for line in server.ask("BF.DEBUG", name)]
        c.expect(lines == row["debug"], f"{name}: {lines}")
        # Saved again it is the payload that was restored.
        server.ask("CONFIG", "SET", "rdbcompression", "no")
        saved = server.ask("DUMP", name)
        c.expect(server.ask("RESTORE", name + "-again", 0, saved) == "OK", name)
        c.expect(server.digest(name) == server.digest(name + "-again"), name)


@case
def chunks_of_the_references_aof_make_its_keys(c):
    server = Server(c)
    vectors = vector("server", "fixtures.json.gz")
    for words in vectors["chunks"]:
        c.expect(server.ask(*(word.encode("latin1") for word in words)) == "OK", words[1])
    for name, row in vectors["keys"].items():
        c.expect([line.decode() for line in server.ask("BF.DEBUG", name)] == row["debug"], name)
        c.expect(server.ask("RESTORE", "other", 0, sealed(base64.b64decode(row["payload"])), "REPLACE") == "OK", name)
        c.expect(server.digest(name) == server.digest("other"), name)


@case
def cuckoo_filters_that_the_reference_saved_are_restored(c):
    server = Server(c)
    server.ask("CONFIG", "SET", "rdbcompression", "no")
    vectors = vector("server", "fixtures.json.gz")
    for name, row in vectors["cuckoo_keys"].items():
        c.expect(server.ask("RESTORE", name, 0, sealed(base64.b64decode(row["payload"]))) == "OK", name)
        c.expect(server.ask("CF.DEBUG", name).decode() == row["debug"], f"{name}: {server.ask('CF.DEBUG', name)}")
        c.expect(server.ask("RESTORE", name + "-again", 0, server.ask("DUMP", name)) == "OK", name)
        c.expect(server.digest(name) == server.digest(name + "-again"), name)
    for words in vectors["cuckoo_chunks"]:
        name = words[1] + "-aof"
        c.expect(server.ask(words[0], name, *(word.encode("latin1") for word in words[2:])) == "OK", name)
    for name in vectors["cuckoo_keys"]:
        c.expect(server.digest(name) == server.digest(name + "-aof"), f"{name}: the AOF's is another one")


@case
def filters_of_the_vectors_come_out_bit_for_bit(c):
    server = Server(c)
    server.ask("CONFIG", "SET", "rdbcompression", "no")
    vectors = vector("dialect", "redisbloom.json.gz")
    absent = [bytes.fromhex(item) for item in vectors["absent_hex"]]
    for row in vectors["filters"]:
        name = row["name"]
        if row["reserve_args"] is not None:  # else BF.ADD makes it
            c.expect(server.ask("BF.RESERVE", name, *row["reserve_args"]) == "OK", name)
        items = [bytes.fromhex(item) for item in row["inserted_hex"]]
        added = [server.ask("BF.ADD", name, item) for item in items]
        full = "ERR non scaling filter is full"
        c.expect([full if letter == "F" else int(letter) for letter in row["add_returned"]] == added, f"{name}: {added}")
        answers = "".join(str(answer) for answer in server.ask("BF.MEXISTS", name, *absent))
        c.expect(answers == row["absent_answers"], f"{name}: {answers}")
        iterator, chunks = 0, []
        while True:
            iterator, data = server.ask("BF.SCANDUMP", name, iterator)
            if iterator == 0:
                break
            chunks.append({"iter": iterator, "data_hex": data.hex()})
        c.expect(chunks == row["scandump"], f"{name}: other chunks")
        if row["dump_rdb_payload_hex"] is not None:
            payload = bytes.fromhex(row["dump_rdb_payload_hex"])
            c.expect(server.ask("RESTORE", name + "-r", 0, payload) == "OK", name)
            c.expect(server.digest(name) == server.digest(name + "-r"), f"{name}: other digests")
        info = server.ask("BF.INFO", name)
        c.expect(dict(zip(info[::2], info[1::2])) == row["info"], f"{name}: {info}")


@case
def sizes_are_those_of_the_reference(c):
    server = Server(c)
    for row in vector("dialect", "redisbloom.json.gz")["sizing"]:
        words = ["BF.RESERVE", "k", row["error"], row["capacity"]] + (["NONSCALING"] if row["nonscaling"] else [])
        c.expect(server.ask(*words) == "OK", f"{words}")
        line = server.ask("BF.DEBUG", "k")[1].decode()
        expected = f"bytes:{row['bytes']} bits:{row['bits']} hashes:{row['hashes']} hashwidth:64 capacity:{row['entries']} "
        c.expect(line.startswith(expected), f"{words}: {line}")
        server.ask("DEL", "k")


@case
def every_command_has_two_names_and_describes_itself(c):
    server = Server(c)
    for name in NAMES:
        for family in ("bf", "bloom"):
            row = server.ask("COMMAND", "INFO", f"{family}.{name}")[0]
            writes = name in ("reserve", "add", "madd", "insert", "loadchunk", "clear", "merge", "rotate")
            takes = ["denyoom"] if name not in ("clear", "rotate") else []
            c.expect(row[2] == (["write", *takes, "module"] if writes else ["readonly", "module", "fast"]),
                     f"{name}: {row[2]}")
            c.expect(row[3:6] == [1, -1 if name == "merge" else 1, 1], f"{name}: {row[3:6]}")
            flags = ["RW", "insert" if takes else "delete"] if writes else ["RO", "access"]
            expected = [["RW", "access", "insert"], ["RO", "access"]] if name == "merge" else [flags]
            c.expect([place[1] for place in row[8]] == expected, f"{name}: {row[8]}")
            docs = server.ask("COMMAND", "DOCS", f"{family}.{name}")[1]
            facts = dict(zip(docs[::2], docs[1::2]))
            c.expect(facts[b"group"] == b"module" and facts[b"summary"] and facts[b"arguments"], f"{name}: {facts}")
    arity = {name: server.ask("COMMAND", "INFO", f"bf.{name}")[0][1] for name in NAMES}
    c.expect(arity == {"reserve": -4, "add": 3, "madd": -3, "insert": -4, "exists": 3, "mexists": -3, "card": 2,
                       "info": -2, "debug": 2, "scandump": 3, "loadchunk": 4, "clear": 2, "merge": -3,
                       "rotate": -2}, f"{arity}")
    for name in CUCKOO_NAMES:
        for family in ("cf", "bloom.cf"):
            row = server.ask("COMMAND", "INFO", f"{family}.{name}")[0]
            writes = name in ("reserve", "add", "addnx", "insert", "insertnx", "del", "compact", "loadchunk")
            takes = {"del": ["module", "fast"], "compact": ["module"]}.get(name, ["denyoom", "module"])
            c.expect(row[2] == (["write", *takes] if writes else ["readonly", "module", "fast"]), f"{name}: {row[2]}")
            c.expect(row[3:6] == [1, 1, 1], f"{name}: {row[3:6]}")
            does = {"del": "delete", "compact": "update"}.get(name, "insert" if writes else "access")
            c.expect([place[1] for place in row[8]] == [["RW" if writes else "RO", does]], f"{name}: {row[8]}")
            docs = server.ask("COMMAND", "DOCS", f"{family}.{name}")[1]
            facts = dict(zip(docs[::2], docs[1::2]))
            c.expect(facts[b"group"] == b"module" and facts[b"summary"] and facts[b"arguments"], f"{name}: {facts}")
    arity = {name: server.ask("COMMAND", "INFO", f"cf.{name}")[0][1] for name in CUCKOO_NAMES}
    c.expect(arity == {"reserve": -3, "add": 3, "addnx": 3, "insert": -4, "insertnx": -4, "exists": 3, "mexists": -3, "count": 3,
                       "del": 3, "compact": 2, "info": 2, "debug": 2, "scandump": 3, "loadchunk": 4}, f"{arity}")
    c.expect(server.ask("BLOOM.CF.ADD", "c", "x") == 1 and server.ask("CF.EXISTS", "c", "x") == 1, "both names are one command")
    server.ask("BLOOM.ADD", "k", "x")
    c.expect(server.raw("BF.EXISTS", "k", "x") == b":1\r\n", "both names are one command")
    found = [module[3] for module in server.ask("MODULE", "LIST") if module[1] == b"bf"]  # a server may have some of its own
    c.expect(found == [81000], f"{found}")


@case
def a_user_may_do_what_it_is_allowed_to(c):
    server = Server(c)
    # Before 7.2 a module has no way to name the categories of its commands.
    version = [int(part) for part in server.info("server")["redis_version"].split(".")]
    server.ask("ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@read" if version >= [7, 2] else "+bf.exists")
    reader = server.connect()
    reader.ask("AUTH", "reader", "x")
    c.expect(reader.ask("BF.EXISTS", "k", "x") == 0, "readers may ask")
    c.expect(str(reader.ask("BF.ADD", "k", "x")).startswith("NOPERM"), "and not add")


@case
def long_commands_answer_as_short_ones_do(c):
    server = Server(c)
    items = [f"item {i}" for i in range(1000)]
    server.ask("BF.RESERVE", "few", "0.001", 700, "NONSCALING")
    server.ask("BF.RESERVE", "many", "0.001", 700, "NONSCALING")
    reply = server.ask("BF.MADD", "many", *items)
    c.expect(reply[-1] == "ERR non scaling filter is full" and reply.count(1) == 700, f"{reply[-3:]}")
    one_by_one = []
    for item in items:
        one_by_one.append(server.ask("BF.ADD", "few", item))
        if isinstance(one_by_one[-1], str):
            break
    c.expect(reply == one_by_one and server.digest("few") == server.digest("many"), "both are one filter")
    asked = server.ask("BF.MEXISTS", "many", *items)
    c.expect(asked == [server.ask("BF.EXISTS", "few", item) for item in items], "and answer the same")


@case
def memory_of_a_key_is_the_references_number(c):
    server = Server(c)
    server.ask("BF.RESERVE", "m", "0.05", 1000)
    told = server.ask("BF.INFO", "m", "SIZE")[0]
    server.ask("SET", "s", "")
    server.ask("SET", "n", 1)  # what the server adds for the key itself, which one server after the other counts otherwise
    own = server.ask("MEMORY", "USAGE", "n")
    c.expect(0 <= server.ask("MEMORY", "USAGE", "m") - told <= own + 32, f"{server.ask('MEMORY', 'USAGE', 'm')}, {told}, {own}")


@case
def words_of_options_may_be_anywhere(c):
    server = Server(c)
    c.expect(server.ask("BF.RESERVE", "EXPANSION", "0.01", 100) == "ERR bad expansion", "also as the key's name")
    c.expect(server.ask("BF.RESERVE", "NONSCALING", "0.01", 100) == "OK", "also as the key's name")
    c.expect(server.ask("BF.INFO", "NONSCALING", "EXPANSION") == [None], "and it does not scale")
    c.expect(server.ask("BF.RESERVE", "k", "0.01", 100, "nonscaling", "expansion", "0") == "OK", "0 is none")
    c.expect(server.ask("BF.RESERVE", "l", "0.01", 100, "NONSCALING", "EXPANSION", "40000") ==
             "Nonscaling filters cannot expand", "the order of errors")
    c.expect(server.ask("BF.INSERT", "n", "CAPACITY", 1 << 31, "ITEMS", "x") == "Bad capacity", "too many")
    c.expect(server.ask("BF.INSERT", "n", "CAPACITY", 5, "ERROR") .endswith("'bf.insert' command"), "no value")


main()

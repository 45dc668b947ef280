# SPDX-License-Identifier: Apache-2.0
"""Payloads that nobody saved: RESTORE and LOADCHUNK refuse them, the key stays, and the server lives.

Some thousand, from a fixed seed. Each payload is right for the server (its checksum fits), so that the
module gets to see it.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import random
import struct

from live import PAYLOAD_END, Error, Server, sealed
from runner import case, main

ROUNDS = 3000


def sources(server):
    """Keys of one link and of several, a window, and cuckoo filters of one sub-filter and of several."""
    server.ask("CONFIG", "SET", "rdbcompression", "no")
    server.ask("BF.RESERVE", "one", "0.01", 40, "NONSCALING")
    server.ask("BF.MADD", "one", *range(30))
    server.ask("BF.RESERVE", "several", "0.01", 4)
    server.ask("BF.MADD", "several", *range(40))
    server.ask("BF.RESERVE", "window", "0.01", 40, "GENERATIONS", 3, "EVERY", 1000000, "AT", 2_000_000_000_000)
    server.ask("BF.MADD", "window", *range(30))
    server.ask("BF.ROTATE", "window")
    server.ask("BF.MADD", "window", *range(20, 40))
    server.ask("CF.RESERVE", "cuckoo", 60, "EXPANSION", 0)
    server.ask("CF.INSERT", "cuckoo", "ITEMS", *range(50))
    server.ask("CF.RESERVE", "cuckoos", 8, "EXPANSION", 2, "BUCKETSIZE", 3)
    server.ask("CF.INSERT", "cuckoos", "ITEMS", *range(60))
    server.ask("CF.DEL", "cuckoos", 1)
    return ["one", "several", "window", "cuckoo", "cuckoos"]


NUMBERS = [0, 1, 7, 63, 64, 65, 255, 65535, 65536, 2 ** 31, 2 ** 32 - 1, 2 ** 40, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1]


def mutated(rnd, data):
    """A payload with some of it changed."""
    data = bytearray(data)
    for _ in range(rnd.choice([1, 1, 1, 2, 4])):
        at = rnd.randrange(len(data))
        way = rnd.randrange(6)
        if way == 0:
            data[at] ^= 1 << rnd.randrange(8)
        elif way == 1:
            data[at] = rnd.randrange(256)
        elif way == 2:
            del data[at:at + rnd.choice([1, 2, 8, 50])]
        elif way == 3:
            data[at:at] = bytes(rnd.randrange(256) for _ in range(rnd.choice([1, 4, 9])))
        elif way == 4:
            data[at:at + 8] = struct.pack("<Q", rnd.choice(NUMBERS))
        else:
            data[at:at + 9] = b"\x81" + struct.pack(">Q", rnd.choice(NUMBERS))
        if not data:
            data = bytearray(b"\0")
    return bytes(data)


def use(server, name):
    """What was taken must work."""
    if server.ask("TYPE", name) == "MBbloomCF":
        for words in (("CF.INFO",), ("CF.DEBUG",), ("CF.SCANDUMP", 0), ("CF.SCANDUMP", 1), ("CF.MEXISTS", *range(50)), ("CF.COUNT", 1),
                      ("CF.INSERT", "ITEMS", *range(50)), ("CF.ADDNX", "x"), *(("CF.DEL", number) for number in range(0, 50, 7)),
                      ("CF.COMPACT",), ("CF.INFO",)):
            reply = server.ask(words[0], name, *words[1:])
            assert not str(reply).startswith(("WRONG", "ERR not")), f"{words}: {reply}"
    else:
        server.ask("BF.MEXISTS", name, *range(50))
        server.ask("BF.MADD", name, *range(50))
        server.ask("BF.INFO", name)
        server.ask("BF.DEBUG", name)
        server.ask("BF.SCANDUMP", name, 0)
    assert server.ask("RESTORE", "again", 0, server.ask("DUMP", name), "REPLACE") == "OK", "what was taken can be saved and loaded"
    assert server.digest(name) == server.digest("again"), "and is the same"
    server.ask("DEL", "again")


def all_is_given_back(server):
    """Servers free large values, and Valkey all that are deleted, in the background: in a moment."""
    server.ask("FLUSHALL")
    server.wait_for(lambda: [server.info("bf")[name] for name in ("bf_memory_bytes", "bf_keys")] == ["0", "0"],
                    "all memory to be given back")


@case
def payloads_that_nobody_saved_leave_the_key_as_it_is(c):
    server = Server(c, arguments=["memory-usage-limit", "50000000"])
    rnd = random.Random(18)
    names = sources(server)
    before = server.digest(*names)
    payloads = [server.ask("DUMP", name)[:-PAYLOAD_END] for name in names]
    taken = 0
    for number in range(ROUNDS):
        # The first byte is the server's, and so are the nine of the type behind it now and then.
        payload = rnd.choice(payloads)
        keep = rnd.choice([1, 10, 10, 10])
        payload = payload[:keep] + mutated(rnd, payload[keep:])
        if rnd.random() < 0.1:
            payload = payload[:rnd.randrange(1, len(payload))]
        reply = server.ask("RESTORE", "one", 0, sealed(payload), "REPLACE")
        if reply == "OK":
            taken += 1
            if server.ask("TYPE", "one") in ("MBbloom--", "bloomwind", "MBbloomCF"):
                use(server, "one")
            server.ask("RESTORE", "one", 0, sealed(payloads[0]), "REPLACE")
        elif number % 50 == 0:
            c.expect(server.digest(*names) == before, f"{number}: the key changed")
    c.expect(server.digest(*names) == before, "the keys changed")
    c.expect(taken < ROUNDS / 2, f"{taken} of {ROUNDS} were taken")
    all_is_given_back(server)


@case
def headers_with_a_seed_or_too_many_keys_are_logged(c):
    """The release after 8 writes flag 2^31 and a seed behind the links; the usual one changes nothing."""
    server = Server(c)
    server.ask("BF.RESERVE", "old", "0.01", 100)
    server.ask("BF.ADD", "old", "x")
    header, bits = server.ask("BF.SCANDUMP", "old", 0)[1], server.ask("BF.SCANDUMP", "old", 1)[1]
    flagged = header[:15] + bytes([header[15] | 0x80]) + header[16:]
    usual = flagged + (0xc6a4a7935bd1e995).to_bytes(8, "little")
    c.expect(server.ask("BF.LOADCHUNK", "new", 1, usual) == "OK", "the usual seed")
    c.expect(server.ask("BF.LOADCHUNK", "new", 1 + len(bits), bits) == "OK" and server.ask("BF.EXISTS", "new", "x") == 1, "its bits")
    for data, sentence in ((flagged + (123).to_bytes(8, "little"), "ERR received data of a later release, with a seed"),
                           (flagged, "ERR received bad data"), (usual + b"x", "ERR received bad data"),
                           (b"\xff" * 8 + header[8:36] + b"\xff" * 8 + header[44:], "ERR received bad data")):
        reply = server.ask("BF.LOADCHUNK", "other", 1, data)
        c.expect(str(reply) == sentence, f"{reply}, not {sentence}")
    c.expect(server.ask("EXISTS", "other") == 0, "a key was made")


@case
def counts_at_their_end_can_be_saved_loaded_and_replicated(c):
    """A count of 2^63 - 1 items is the most that is taken. Adding to it counts no further."""
    server = Server(c)
    server.ask("SET", "precious", "data")
    server.ask("BF.RESERVE", "source", "0.01", 100)
    header = bytearray(server.ask("BF.SCANDUMP", "source", 0)[1])
    struct.pack_into("<Q", header, 0, 2 ** 63 - 1)
    struct.pack_into("<Q", header, 36, 2 ** 63 - 1)
    c.expect(server.ask("BF.LOADCHUNK", "k", 1, bytes(header)) == "OK", "taken")
    for item in "xyz":
        c.expect(server.ask("BF.ADD", "k", item) == 1, "added")
    c.expect(server.ask("BF.CARD", "k") == 2 ** 63 - 1 and server.ask("BF.INFO", "k", "ITEMS") == [2 ** 63 - 1], "the counts")
    use(server, "k")
    before = server.digest("k")
    replica = Server(c, "replica")
    replica.ask("REPLICAOF", "127.0.0.1", server.port)
    replica.wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "a full synchronisation")
    c.expect(replica.digest("k") == before and replica.ask("BF.EXISTS", "k", "x") == 1, "the replica has it")
    server.stop(save=True)
    server.start()
    c.expect(server.digest("k") == before and server.ask("GET", "precious") == b"data", "saved and loaded")


@case
def numbers_of_cuckoo_filters_at_their_end_are_refused_or_kept(c):
    """What a header may say decides nothing that can't be saved, loaded and replicated."""
    server, replica = Server(c), Server(c, "replica")
    server.ask("CF.RESERVE", "source", 16)
    server.ask("CF.ADD", "source", "x")
    header, slots = server.ask("CF.SCANDUMP", "source", 0)[1], server.ask("CF.SCANDUMP", "source", 1)[1]
    replica.ask("REPLICAOF", "127.0.0.1", server.port)
    fields = {"items": (0, 8), "buckets": (8, 8), "deletes": (16, 8), "filters": (24, 8), "bucket": (32, 2), "iterations": (34, 2),
              "growth": (36, 2)}
    taken = []
    for name, (at, size) in fields.items():
        for number in sorted({number % 256 ** size for number in (*NUMBERS, 2, 3, 15, 16, 17, 254, 256, 32768, 32769, 2 ** 63 + 1)}):
            data = header[:at] + number.to_bytes(size, "little") + header[at + size:]
            if name == "buckets" and 2 ** 16 < number < 2 ** 33:
                continue  # gigabytes, which a server may have
            key = f"{name}-{number}"
            reply = server.ask("CF.LOADCHUNK", key, 1, data)
            c.expect(reply in ("OK", "Invalid header", "Couldn't create filter!"), f"{key}: {reply}")
            if reply != "OK":
                continue
            taken.append(key)
            server.ask("CF.LOADCHUNK", key, 1 + len(slots), slots)
            use(server, key)
            for number_of in range(20):
                server.ask("CF.DEL", key, number_of)
            facts = server.ask("CF.INFO", key)
            c.expect(all(0 <= fact < 2 ** 63 for fact in facts[1::2]), f"{key}: {facts}")
    c.expect({"items-0", "items-17", "items-9223372036854775807", "deletes-9223372036854775807", "bucket-1", "growth-0", "iterations-65535"} <= set(taken), f"{taken}")
    c.expect(not {"items-9223372036854775808", "buckets-0", "buckets-3", "filters-0", "bucket-0", "iterations-0", "growth-3", "deletes-9223372036854775808"} &
             set(taken), f"{taken}")
    before = server.ask("DEBUG", "DIGEST")
    replica.wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "a full synchronisation")
    server.ask("WAIT", 1, 10_000)
    c.expect(replica.ask("DEBUG", "DIGEST") == before, "the replica has them")
    server.stop(save=True)
    server.start()
    c.expect(server.ask("DEBUG", "DIGEST") == before, "saved and loaded")


@case
def chunks_that_nobody_dumped_leave_the_key_as_it_is(c):
    server = Server(c, arguments=["memory-usage-limit", "50000000"])
    rnd = random.Random(19)
    names = sources(server)
    families = ["CF" if name.startswith("cuckoo") else "BF" for name in names]
    headers = [server.ask(f"{family}.SCANDUMP", name, 0)[1] for family, name in zip(families, names)]
    before = server.digest(*names)
    saved = {name: server.ask("DUMP", name) for name in ("several", "cuckoos")}
    taken = {"BF": 0, "CF": 0}
    for number in range(ROUNDS):
        if rnd.random() < 0.6:
            which = rnd.randrange(len(names))
            reply = server.ask(f"{families[which]}.LOADCHUNK", "new", 1, mutated(rnd, headers[which]))
            if reply == "OK":
                taken[families[which]] += 1
                use(server, "new")
                server.ask("DEL", "new")
        else:
            name, family = rnd.choice([("several", "BF"), ("cuckoos", "CF")])
            iterator = rnd.choice([rnd.randrange(-5, 300), *NUMBERS[:-2], -2 ** 63])
            data = bytes(rnd.randrange(256) for _ in range(rnd.choice([0, 1, 8, 48, 49, 200, 5000])))
            reply = server.ask(f"{family}.LOADCHUNK", name, iterator, data)
            if reply == "OK":
                taken[family] += 1
                use(server, name)
                server.ask("RESTORE", name, 0, saved[name], "REPLACE")
        if number % 50 == 0:
            c.expect(server.digest(*names) == before, f"{number}: the key changed")
    c.expect(server.digest(*names) == before, "the keys changed")
    c.expect(server.ask("PING") == "PONG" and min(taken.values()) > 0, f"the server lives: {taken}")
    all_is_given_back(server)


@case
def keys_of_other_types_are_refused(c):
    server = Server(c)
    server.ask("SET", "s", "x")
    wrong = "WRONGTYPE Operation against a key holding the wrong kind of value"
    for words in (("BF.RESERVE", "s", "0.1", 5), ("BF.ADD", "s", "x"), ("BF.MADD", "s", "x"), ("BF.INSERT", "s", "ITEMS", "x"),
                  ("BF.CARD", "s"), ("BF.INFO", "s"), ("BF.DEBUG", "s"), ("BF.SCANDUMP", "s", 0), ("BF.LOADCHUNK", "s", 1, "x"),
                  ("CF.RESERVE", "s", 5), ("CF.ADD", "s", "x"), ("CF.INSERTNX", "s", "ITEMS", "x"), ("CF.INFO", "s"), ("CF.DEBUG", "s"),
                  ("CF.SCANDUMP", "s", 0), ("CF.LOADCHUNK", "s", 1, "x")):
        c.expect(server.ask(*words) == wrong, f"{words}")
    c.expect(server.ask("BF.EXISTS", "s", "x") == 0 and server.ask("BF.MEXISTS", "s", "x", "y") == [0, 0], "nothing is in it")
    c.expect(server.ask("GET", "s") == b"x", "and it stays")
    server.ask("BF.ADD", "k", "x")
    c.expect(server.ask("GET", "k") == wrong and server.ask("SADD", "k", "x") == wrong, "and the reverse")


@case
def words_that_are_not_the_numbers_asked_for_make_no_filter(c):
    server = Server(c)
    rates, capacities = ("-inf", "-0", "0", "1e-400", "1", " 0.01", "0.01 ", "1e-320"), ("-0", "0x10", " 5", "5.0", "1e3", 2 ** 64, -2 ** 63)
    growths = ("-1", "32769", 2 ** 31, 2 ** 63, "1.0", "")
    windows = [[*words, *more] for words in (["GENERATIONS", 0], ["GENERATIONS", 1], ["GENERATIONS", 65], ["GENERATIONS", 2 ** 63], ["GENERATIONS", ""])
               for more in ([], ["EXPANSION", 2], ["NONSCALING"], ["EVERY", 5])]
    windows += [["GENERATIONS", 3, "EVERY", period] for period in (0, -1, 10 ** 9 + 1, 2 ** 63 - 1, 2 ** 63, 2 ** 64, "1.5", "")]
    windows += [["GENERATIONS", 3, "EXPANSION", growth] for growth in (1, 2, 2 ** 63)]
    wrong = [["BF.RESERVE", "k", rate, 100] for rate in rates] + [["BF.RESERVE", "k", "0.01", capacity] for capacity in capacities]
    wrong += [["BF.RESERVE", "k", "0.01", 100, "EXPANSION", growth] for growth in growths]
    wrong += [["BF.RESERVE", "k", "0.01", 100, *words] for words in windows]
    for option in ("BUCKETSIZE", "MAXITERATIONS", "EXPANSION"):
        ends = {"BUCKETSIZE": [0, 256], "MAXITERATIONS": [0], "EXPANSION": [32769]}[option]
        wrong += [["CF.RESERVE", "k", 100_000, option, number] for number in (*ends, -1, 65536, 2 ** 31, 2 ** 32, 2 ** 63, 2 ** 64, "x", "1.5", "")]
    wrong += [["CF.RESERVE", "k", capacity] for capacity in (*capacities, 0, 3, 2 ** 30 + 1)]
    for words in wrong:
        c.expect(isinstance(server.ask(*words), Error), f"{words} was taken")
    c.expect(server.ask("DBSIZE") == 0 and server.info("bf")["bf_memory_bytes"] == "0", "nothing was made")


@case
def commands_of_other_kinds_change_no_key(c):
    """Our commands at each type, and every pair of types merged."""
    server = Server(c)
    server.ask("SET", "string", "x")
    server.ask("BF.ADD", "filter", "x")
    server.ask("CF.ADD", "cuckoo", "x")
    server.ask("BF.RESERVE", "window", "0.01", 100, "GENERATIONS", 2)
    kinds = ["string", "filter", "cuckoo", "window"]
    before = server.ask("DEBUG", "DIGEST")
    for words, takes in ((("BF.ROTATE",), {"window"}), (("BF.ROTATE", "COUNT", 1, "AT", 5), {"window"}), (("BF.CLEAR",), {"filter", "window"}),
                         (("BF.ADD", "x"), {"filter", "window"}), (("CF.ADD", "x"), {"cuckoo"}), (("CF.DEL", "x"), {"cuckoo"}),
                         (("CF.COMPACT",), {"cuckoo"}), (("CF.INSERTNX", "ITEMS", "x"), {"cuckoo"}), (("BF.INFO", "ERRORNOW"), {"filter", "window"}),
                         (("CF.SCANDUMP", 0), {"cuckoo"}), (("CF.LOADCHUNK", 1, "x"), set()), (("BF.LOADCHUNK", 1, "x"), set())):
        for kind in set(kinds) - takes:
            c.expect(isinstance(server.ask(words[0], kind, *words[1:]), Error), f"{words} {kind}")
    for target in (*kinds, "missing"):
        for source in (*kinds, "missing"):
            if (target, source) not in (("filter", "filter"), ("missing", "filter")):
                c.expect(isinstance(server.ask("BF.MERGE", target, source), Error), f"MERGE {target} {source}")
    for words in (("CLEAR",), ("CLEAR", "filter", "x"), ("ROTATE",), ("ROTATE", "window", "x"), ("MERGE",), ("MERGE", "filter")):
        c.expect(str(server.ask(f"BF.{words[0]}", *words[1:])).startswith("ERR wrong number of arguments"), f"{words}")
    c.expect(server.ask("BF.MERGE", "filter", "filter", "filter") == "OK" and server.ask("DEBUG", "DIGEST") == before, "nothing has changed")


@case
def items_may_be_empty_large_and_many(c):
    server = Server(c)
    for item in ("", "x" * 4_000_000):
        for words, reply in ((("BF.ADD", "b"), 1), (("BF.EXISTS", "b"), 1), (("CF.ADD", "c"), 1), (("CF.COUNT", "c"), 1), (("CF.DEL", "c"), 1),
                             (("CF.EXISTS", "c"), 0)):
            c.expect(server.ask(*words, item) == reply, f"{words}, {len(item)} bytes")
    many = range(50_000)
    server.ask("BF.RESERVE", "window", "0.0001", len(many), "GENERATIONS", 2)
    for words in (("BF.MADD", "window"), ("BF.MEXISTS", "window"), ("CF.INSERT", "cuckoo", "CAPACITY", 2 * len(many), "ITEMS"), ("CF.MEXISTS", "cuckoo")):
        reply = server.raw(*words, *many)
        c.expect(reply.startswith(b"*50000\r\n") and reply.count(b":1\r\n") > 49_800, f"{words}: {reply.count(b':1')}")
    c.expect(server.ask("BF.ADD", "", "") == 1 and server.ask("CF.EXISTS", "", "") == 0 and server.ask("BF.ROTATE", "") != "OK", "a key without a name")


main()

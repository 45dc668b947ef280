# SPDX-License-Identifier: Apache-2.0
"""What a program in Python does with a filter, by the functions that the package redis brings for BF.* and CF.*.

    /usr/bin/python3 client.py PORT

Debian's package speaks RESP2 alone. Ends with an error where a reply is not what it makes of the
reference's; with 77 where that package is missing.
"""

import sys

try:
    import redis
    from redis.commands.bf import BFBloom, CFBloom  # noqa: F401  pylint: disable=unused-import
except ImportError as missing:
    print(f"no python3-redis here: {missing}")
    sys.exit(77)


def refused(call, text):
    """Whether the server refuses a call with a text."""
    try:
        call()
    except redis.exceptions.ResponseError as error:
        return text in str(error)
    return False


def make_and_ask(bf):
    """Filters and items, one by one and several at a time."""
    assert bf.create("fixed", 0.001, 100, noScale=True) is True
    assert bf.create("grown", 0.01, 10, expansion=3) is True
    assert refused(lambda: bf.create("grown", 0.01, 10), "item exists")
    assert bf.add("grown", "x") == 1 and bf.add("grown", "x") == 0
    assert bf.madd("grown", "x", "y", "z") == [0, 1, 1]
    assert bf.exists("grown", "y") == 1 and bf.exists("grown", "absent") == 0
    assert bf.mexists("grown", "x", "absent", "z") == [1, 0, 1]
    assert bf.mexists("missing", "x", "y") == [0, 0]


def insert(bf):
    """BF.INSERT, and what is full."""
    assert bf.insert("made", ["a", "b", "a"], capacity=50, error=0.001, expansion=4) == [1, 1, 0]
    assert bf.insert("made", ["c"], noCreate=True) == [1]
    assert refused(lambda: bf.insert("missing", ["c"], noCreate=True), "not found")
    assert bf.insert("stays", ["a"], capacity=1, noScale=True) == [1]
    assert refused(lambda: bf.add("stays", "b"), "non scaling filter is full")


def info(bf):
    """BF.INFO as an object."""
    made = bf.info("made")
    assert (made.capacity, made.filterNum, made.insertedNum, made.expansionRate) == (50, 1, 3, 4) and made.size > 90
    assert bf.info("fixed").expansionRate is None
    assert refused(lambda: bf.info("missing"), "not found")


def dump(bf, client):
    """A filter of several links, taken in pieces and put together again under another name."""
    items = [f"item {i}" for i in range(500)]
    bf.madd("grown", *items)
    pieces = iterator = 0
    while True:
        if redis.utils.HIREDIS_AVAILABLE:  # its reader decodes, so the package refuses
            iterator, data = client.execute_command("BF.SCANDUMP", "grown", iterator)
        else:
            iterator, data = bf.scandump("grown", iterator)
        if iterator == 0:
            break
        assert bf.loadchunk("loaded", iterator, data) in (b"OK", "OK", True)
        pieces += 1
    assert pieces == 1 + bf.info("loaded").filterNum
    assert bf.mexists("loaded", *items) == [1] * 500
    assert client.execute_command("BF.CARD", "loaded") == client.execute_command("BF.CARD", "grown")
    assert refused(lambda: bf.loadchunk("none", 1, b"nothing"), "received bad data")


def cuckoo(cf, client):
    """Cuckoo filters: made, filled, emptied, counted, taken in pieces and put together again."""
    assert cf.create("cuckoo", 100, expansion=2, bucket_size=4, max_iterations=30) is True
    assert refused(lambda: cf.create("cuckoo", 100), "item exists")
    assert cf.add("cuckoo", "x") == 1 and cf.add("cuckoo", "x") == 1 and cf.addnx("cuckoo", "x") == 0
    assert cf.count("cuckoo", "x") == 2 and cf.exists("cuckoo", "x") == 1 and cf.exists("cuckoo", "absent") == 0
    assert cf.delete("cuckoo", "x") == 1 and cf.delete("cuckoo", "absent") == 0
    assert refused(lambda: cf.delete("missing", "x"), "Not found")
    assert cf.insert("cuckoo made", ["a", "b", "a"], capacity=50) == [1, 1, 1]
    assert cf.insertnx("cuckoo made", ["a", "c"], nocreate=True) == [0, 1]
    assert cf.mexists("cuckoo made", "a", "absent", "c") == [1, 0, 1]
    assert refused(lambda: cf.insert("missing", ["c"], nocreate=True), "not found")
    made = cf.info("cuckoo")
    assert (made.bucketNum, made.filterNum, made.insertedNum, made.deletedNum, made.bucketSize, made.expansionRate,
            made.maxIteration) == (32, 1, 1, 1, 4, 2, 30) and made.size == 184, vars(made)
    cf.insert("cuckoo", [f"item {i}" for i in range(500)])
    iterator = 0
    while True:
        if redis.utils.HIREDIS_AVAILABLE:
            iterator, data = client.execute_command("CF.SCANDUMP", "cuckoo", iterator)
        else:
            iterator, data = cf.scandump("cuckoo", iterator)
        if iterator == 0:
            break
        assert cf.loadchunk("cuckoo loaded", iterator, data) in (b"OK", "OK", True)
    assert cf.mexists("cuckoo loaded", *(f"item {i}" for i in range(500))) == [1] * 500
    assert refused(lambda: cf.loadchunk("none", 1, b"nothing"), "Invalid header")


def main():
    """All acts."""
    client = redis.Redis("127.0.0.1", int(sys.argv[1]))
    bf = client.bf()
    make_and_ask(bf)
    insert(bf)
    info(bf)
    dump(bf, client)
    cuckoo(client.cf(), client)
    client.set("text", "x")
    assert refused(lambda: bf.add("text", "x"), "Operation against a key holding the wrong kind of value")
    print("all acts")


main()

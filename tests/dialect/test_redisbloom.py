# SPDX-License-Identifier: Apache-2.0
"""RedisBloom's filters: vectors made by RedisBloom 2.8.20 in redis-server 7.0.15."""

import random
import struct

from dialect import Driver, Refused, hostile, main, property_test, statistics, times, vectors
from storage_rates import check_rate
from steps_reference import RedisChain, RedisLink, murmur64a


def keys_of(texts):
    """Bytes."""
    return [bytes.fromhex(text) for text in texts]


def given_by(arguments):
    """The arguments for the library that match these of BF.RESERVE."""
    given = {}
    words = list(arguments or [])
    if words:
        given = {"rate": float(words[0]), "keys": int(words[1])}
    if "NONSCALING" in words:
        given["variant"] = "nonscaling"
    if "EXPANSION" in words:
        given["growth"] = int(words[words.index("EXPANSION") + 1])
    return given


def added(driver, key):
    """1, 0, or F where the filter is full."""
    try:
        return str(driver.add(key))
    except Refused as why:
        if not why.status.endswith("FULL"):
            raise
        return "F"


def chunks_of(driver):
    """What SCANDUMP hands out."""
    found, iterator = [], 0
    while True:
        iterator, data = driver.scandump(iterator)
        if iterator == 0:
            return found
        found.append((iterator, data))


@property_test
def filters_and_answers_are_those_of_redisbloom(check):
    given = vectors("redisbloom.json")
    absent = keys_of(given["absent_hex"])
    with Driver() as driver:
        for one in given["filters"]:
            name = one["name"]
            inserted = keys_of(one["inserted_hex"])
            driver.create("redisbloom", **given_by(one["reserve_args"]))
            check.equal("".join(added(driver, key) for key in inserted), one["add_returned"], name)
            wanted = [(chunk["iter"], bytes.fromhex(chunk["data_hex"])) for chunk in one["scandump"]]
            for way in ("made", "through a Bloomery file", "from chunks", "from one piece"):
                check.equal(driver.ask_all(inserted), one["inserted_exists"], f"{name}, {way}")
                check.equal(driver.ask_all(absent), one["absent_answers"], f"{name}, {way}")
                check.equal(chunks_of(driver), wanted, f"{name}, {way}")
                check.equal(driver.written(), b"".join(data for _, data in wanted), f"{name}, {way}")
                check.equal(driver.info()["adds"], str(one["header"]["size"]), f"{name}, {way}")
                check.equal(int(driver.info()["links"]), one["header"]["nfilters"], f"{name}, {way}")
                if way == "made":
                    driver.through_our_file()
                elif way == "through a Bloomery file":
                    for iterator, data in wanted:
                        driver.loadchunk(iterator, data)
                else:
                    driver.load("redisbloom", b"".join(data for _, data in wanted))


@property_test
def links_are_those_of_redisbloom(check):
    with Driver() as driver:
        for one in vectors("redisbloom.json")["filters"]:
            driver.load("redisbloom", b"".join(bytes.fromhex(chunk["data_hex"]) for chunk in one["scandump"]))
            scaling = one["info"]["Expansion rate"] is not None
            check.equal(driver.info()["variant"], "scaling" if scaling else "nonscaling", one["name"])
            for number, link in enumerate(one["header"]["links"]):
                got = driver.link(number)
                check.equal([got["bits"], got["probes"], got["keys"], got["adds"], float(got["rate"])],
                            [str(link["bits"]), str(link["hashes"]), str(link["entries"]), str(link["size"]), link["error"]],
                            f"{one['name']}, link {number}")


@property_test
def filters_go_on_growing_after_they_were_read(check):
    """What was read in the middle is at the end what it would have been without."""
    given = vectors("redisbloom.json")
    with Driver() as driver:
        for one in given["filters"]:
            inserted = keys_of(one["inserted_hex"])
            half = len(inserted) // 2
            driver.create("redisbloom", **given_by(one["reserve_args"]))
            for part, answers in ((inserted[:half], one["add_returned"][:half]), (inserted[half:], one["add_returned"][half:])):
                check.equal("".join(added(driver, key) for key in part), answers, one["name"])
                driver.load("redisbloom", driver.written())
                driver.through_our_file()
            check.equal(driver.written().hex(), "".join(chunk["data_hex"] for chunk in one["scandump"]), one["name"])


@property_test
def single_keys_set_the_bits_that_they_set_in_redisbloom(check):
    one = vectors("redisbloom.json")["single_key_bits"]
    words = one["params"].split()
    with Driver() as driver:
        driver.create("redisbloom", **given_by(words[1:]))
        check.equal((driver.info()["bits"], driver.info()["probes"]), (str(one["bits"]), str(one["hashes"])), "size")
        for key in one["keys"]:
            positions = driver.positions(bytes.fromhex(key["key_hex"]))
            check.equal(sorted(set(positions)), key["set_bits"], key["key_hex"])


@property_test
def sizing_is_that_of_redisbloom(check):
    with Driver() as driver:
        for row in vectors("redisbloom.json")["sizing"]:
            driver.create("redisbloom", keys=row["capacity"], rate=float(row["error"]), variant="nonscaling" if row["nonscaling"] else "scaling")
            got = driver.written()
            head = struct.unpack("<QIII", got[:20])
            link = struct.unpack("<QQQddIQB", got[20:73])
            check.equal((head[2], *link), (row["options"], row["bytes"], row["bits"], 0, row["link_error"], row["bpe"], row["hashes"],
                                           row["entries"], row["n2"]), str(row))


@property_test
def hashes_are_murmurhash64a(check):
    """The description's against vectors, and the library's positions against the description's, for keys of all
    lengths."""
    rng = random.Random(7)
    keys = [kind for length in range(101) for kind in (rng.randbytes(length), b"\xff" * length, bytes(length))] + [rng.randbytes(100_000)]
    for row in vectors("hashes.json")["rows"]:
        keys.append(bytes.fromhex(row["hex"]))
        for seed, value in row["murmurhash64a"].items():
            check.equal(f"{murmur64a(keys[-1], int(seed)):016x}", value, f"{row['hex']}, seed {seed}")
    with Driver() as driver:
        driver.create("redisbloom", keys=12345, rate=1e-9)
        model = RedisChain(12345, 1e-9)
        for key in keys:
            check.equal(driver.positions(key), model.links[0].positions(key), key.hex()[:300])


@property_test
def chains_are_those_of_the_description(check):
    """Any parameters: against the description, computed here."""
    rng = random.Random(2024)
    with Driver() as driver:
        for number in range(times(24, 60)):
            keys = rng.choice([1, 2, 3, rng.randint(1, 20), rng.randint(20, 200)])
            rate = rng.choice([0.5, 0.25, 0.125, 0.9, 0.2, 0.01, 1e-6, 1e-12, 1e-30, 10 ** rng.uniform(-12, -0.01)])
            growth = rng.choice([1, 2, 3, 4, 100, 32768])
            nonscaling = rng.random() < 0.3
            given = {"keys": keys, "rate": rate, "growth": growth, "variant": "nonscaling" if nonscaling else "scaling"}
            driver.create("redisbloom", **given)
            model = RedisChain(keys, rate, growth, nonscaling)
            pool = [rng.randbytes(rng.randint(0, 100)) for _ in range(rng.randint(1, 120))]
            for key in rng.choices(pool, k=200):
                if growth > 4 and len(model.links) == 2 and model.links[-1].size == model.links[-1].keys:
                    break  # the next one would be for millions of keys
                check.equal(added(driver, key), model.add(key), f"{given}: {key.hex()}")
            others = [rng.randbytes(rng.randint(0, 30)) for _ in range(100)]
            check.equal(driver.ask_all(others), "".join(str(model.ask(key)) for key in others), str(given))
            check.equal(chunks_of(driver), model.chunks(), str(given))
            for number, link in enumerate(model.links):
                check.equal(driver.positions(others[0], number), link.positions(others[0]), f"{given}, link {number}")
            driver.load("redisbloom", model.whole())
            check.equal(driver.written(), model.whole(), str(given))


@property_test
def batches_add_as_single_keys_do(check):
    rng = random.Random(5)
    keys = [rng.randbytes(8) for _ in range(700)]
    keys += keys[:50]
    with Driver() as driver:
        driver.create("redisbloom", keys=20, rate=0.1)
        answers = driver.add_all(keys)
        whole = driver.written()
        driver.create("redisbloom", keys=20, rate=0.1)
        check.equal("".join(str(driver.add(key)) for key in keys), answers, "answers")
        check.equal(driver.written(), whole, "bytes")


@property_test
def what_a_full_filter_refuses_it_says(check):
    with Driver() as driver:
        driver.create("redisbloom", keys=5, rate=0.01, variant="nonscaling")
        for key in (b"1", b"2", b"3", b"4", b"5"):
            check.equal(driver.add(key), 1, "while there is room")
        before = driver.written()
        check.equal(added(driver, b"6"), "F", "full")
        check.equal(added(driver, b"3"), "0", "one that is there")
        check.equal(driver.written(), before, "nothing was changed")


@property_test
def chunks_end_where_links_end_and_at_16_mebibytes(check):
    with Driver() as driver:
        driver.create("redisbloom", keys=40_000_000, rate=0.001, variant="nonscaling")
        chunks = chunks_of(driver)
        sizes = [len(data) for _, data in chunks]
        check.equal(sizes[:2], [73, 1 << 24], "first")
        check.true(all(size == 1 << 24 for size in sizes[1:-1]) and 0 < sizes[-1] <= 1 << 24, f"{sizes}")
        check.equal(sum(sizes[1:]) * 8, int(driver.info()["bits"]), "all bits")
        check.equal([iterator for iterator, _ in chunks], [1 + sum(sizes[1:end]) for end in range(1, len(sizes) + 1)], "iterators")


@property_test
def keys_beyond_two_to_the_thirty_are_for_the_variants_that_say_so(check):
    keys, rate = 2**30 + 1, 0.1
    with Driver() as driver:
        for variant, most in (("scaling", 2**30), ("nonscaling", 2**30), ("large-scaling", 2**40), ("large-nonscaling", 2**40)):
            check.refused(lambda name=variant, count=most + 1: driver.create("redisbloom", keys=count, rate=rate, variant=name), ["BAD_ARGUMENT"], variant)
        for variant, layer_rate in (("large-nonscaling", rate), ("large-scaling", rate / 2)):
            driver.create("redisbloom", keys=keys, rate=rate, variant=variant)
            link = RedisLink(keys, layer_rate)
            check.true(link.bits > 2**32, "positions need more than 32 bits")
            check.equal(driver.info()["bits"], str(link.bits), variant)
            check.equal(driver.info()["variant"], variant.removeprefix("large-"), variant)
            for key in (b"", b"a", b"2147483648"):
                check.equal(driver.positions(key), link.positions(key), variant)
                check.equal(driver.ask(key), 0, variant)
                check.equal(driver.add(key), 1, variant)
                check.equal(driver.ask(key), 1, variant)


@property_test
def chunks_that_do_not_fit_are_refused(check):
    rng = random.Random(9)
    with Driver() as driver:
        driver.create("redisbloom", keys=20, rate=0.1)
        for _ in range(100):
            driver.add(rng.randbytes(9))
        (_, header), *rest = chunks_of(driver)
        whole = driver.written()
        driver.loadchunk(1, header)
        for iterator, data in ((0, b"x"), (2, b"xx"), (1 << 63, b"x"), ((1 << 64) - 1, b""), (rest[0][0] + 1, rest[0][1]), (rest[-1][0] + 1, b"x"),
                               (rest[1][0], rest[0][1] + rest[1][1])):
            check.refused(lambda iterator=iterator, data=data: driver.loadchunk(iterator, data), ["BAD_ARGUMENT"], f"{iterator}, {len(data)} bytes")
        for iterator, data in reversed(rest):
            for half in (data[:len(data) // 2], data):  # in pieces and twice, as nothing forbids
                driver.loadchunk(iterator - len(data) + len(half), half)
        check.equal(driver.written(), whole, "all chunks, in another order")
        for cut in (header[:-1], header + b"\0", header[:20], b""):
            check.refused(lambda cut=cut: driver.loadchunk(1, cut), ["TRUNCATED", "CORRUPT"], f"a header of {len(cut)} bytes")


@property_test
def damaged_dumps_are_refused(check):
    one = max(vectors("redisbloom.json")["filters"], key=lambda one: len(one["header"]["links"]))
    good = b"".join(bytes.fromhex(chunk["data_hex"]) for chunk in one["scandump"])

    def changed(at, form, value):
        return good[:at] + struct.pack(form, value) + good[at + struct.calcsize(form):]

    with Driver() as driver:
        for what, data, statuses in (
                ("no links", changed(8, "<I", 0), ["CORRUPT"]), ("links for 213 GB", changed(8, "<I", (1 << 32) - 1), ["UNSUPPORTED"]),
                ("64 links", changed(8, "<I", 64), ["TRUNCATED", "CORRUPT"]), ("65 links", changed(8, "<I", 65), ["TRUNCATED", "CORRUPT"]),
                ("65537 links", changed(8, "<I", 65537), ["UNSUPPORTED"]),
                ("unknown options", changed(12, "<I", 21), ["CORRUPT"]), ("old options", changed(12, "<I", 4), ["UNSUPPORTED"]),
                ("old options too", changed(12, "<I", 7), ["UNSUPPORTED"]), ("a wrong sum", changed(0, "<Q", 1), ["CORRUPT"]),
                ("no bytes", changed(20, "<Q", 0), ["CORRUPT"]), ("no bits", changed(28, "<Q", 0), ["CORRUPT"]),
                ("2^63 bytes", changed(20, "<Q", 1 << 63), ["CORRUPT"]), ("zero probes", changed(60, "<I", 0), ["CORRUPT"]),
                ("more probes", changed(60, "<I", 9), ["CORRUPT"]), ("error 0", changed(44, "<d", 0.0), ["CORRUPT"]),
                ("error 1", changed(44, "<d", 1.0), ["CORRUPT"]), ("no error", changed(44, "<d", float("nan")), ["CORRUPT"]),
                ("bits per key", changed(52, "<d", float("inf")), ["CORRUPT"]), ("no keys", changed(64, "<Q", 0), ["CORRUPT"]),
                ("2^64 keys", changed(64, "<Q", (1 << 64) - 1), ["CORRUPT"]), ("n2", changed(72, "<B", 9), ["UNSUPPORTED"]),
                ("n2 64", changed(72, "<B", 64), ["CORRUPT"]), ("a byte more", good + b"\0", ["TRUNCATED"]), ("nothing", b"", ["TRUNCATED"])):
            check.refused(lambda data=data: driver.load("redisbloom", data), statuses, what)
        huge = good[:20] + struct.pack("<QQ", 1 << 46, 1 << 49) + good[36:]
        check.refused(lambda: driver.load("redisbloom", huge), ["TRUNCATED"], "64 TiB of bits")
        for given in ({"rate": 1}, {"rate": -1}, {"rate": 2}, {"keys": (1 << 30) + 1}, {"growth": 32769}, {"variant": "other"}, {"bits": 64}, {"probes": 3}):
            check.refused(lambda given=given: driver.create("redisbloom", **given), ["BAD_ARGUMENT"], str(given))
    check.true(hostile(check, "redisbloom", good, header=20 + 53 * len(one["header"]["links"])) > 300, "hardly anything was refused")


def with_seed(whole, seed):
    """A dump as the next release writes it: flag 2^31, and a seed behind the links."""
    options, = struct.unpack_from("<I", whole, 12)
    links, = struct.unpack_from("<I", whole, 8)
    end = 20 + 53 * links
    return whole[:12] + struct.pack("<I", options | 1 << 31) + whole[16:end] + struct.pack("<Q", seed) + whole[end:]


@property_test
def dumps_with_the_usual_seed_are_read_and_others_named(check):
    usual = 0xc6a4a7935bd1e995
    chain = RedisChain(50, 0.02, 2, False)
    keys = [b"%d" % number for number in range(300)]
    for key in keys:
        chain.add(key)
    whole = chain.whole()
    header = 20 + 53 * struct.unpack_from("<I", whole, 8)[0]
    with Driver() as driver:
        driver.load("redisbloom", with_seed(whole, usual))
        check.true(all(driver.ask(key) for key in keys), "a key is lost")
        check.equal(driver.written(), whole, "written as of today")
        driver.loadchunk(1, with_seed(whole, usual)[:header + 8])
        check.refused(lambda: driver.loadchunk(1, with_seed(whole, usual)[:header]), ["TRUNCATED"], "without the seed")
        for seed in (0, 123, usual + 1):
            said = check.refused(lambda seed=seed: driver.load("redisbloom", with_seed(whole, seed)), ["UNSUPPORTED"], f"seed {seed}")
            check.true(said is None or "later release" in str(said), f"{said}")
        check.refused(lambda: driver.load("redisbloom", with_seed(whole[:20] + bytes(8) + whole[28:], 123)), ["CORRUPT"], "damaged too")


@property_test
def headers_of_more_keys_than_a_server_counts_are_refused(check):
    """Their sum saturated, was taken, and could not be loaded from a saved data set."""
    chain = RedisChain(50, 0.02, 2, False)
    for number in range(300):
        chain.add(b"%d" % number)
    whole = chain.whole()

    def with_counts(total, first):
        return struct.pack("<Q", total) + whole[8:36] + struct.pack("<Q", first) + whole[44:]

    rest = sum(struct.unpack_from("<Q", whole, 36 + 53 * i)[0] for i in range(1, struct.unpack_from("<I", whole, 8)[0]))
    with Driver() as driver:
        for total, first in (((1 << 64) - 1, (1 << 64) - 1), (1 << 63, (1 << 63) - rest), (rest - 1, (1 << 64) - 1)):
            check.refused(lambda total=total, first=first: driver.load("redisbloom", with_counts(total, first)), ["CORRUPT"], f"{total}")
        driver.load("redisbloom", with_counts((1 << 63) - 1, (1 << 63) - 1 - rest))


@property_test
def what_headers_say_besides_is_kept(check):
    """A growth in a filter that does not scale, and other bits per key that make the same probes."""
    chain = RedisChain(50, 0.02, 7, True)
    for number in range(30):
        chain.add(b"%d" % number)
    chain.links[0].per_key += 1e-3
    with Driver() as driver:
        driver.load("redisbloom", chain.whole())
        check.equal(driver.written(), chain.whole(), "read and written")
        driver.through_our_file()
        check.equal(driver.written(), chain.whole(), "through a Bloomery file")


@property_test
@statistics
def rates_are_those_of_double_hashing(check):
    for count, rate in ((20, 0.05), (100, 0.005), (400, 0.05)):
        check_rate(check, "redisbloom", count, keys=count, rate=rate, variant="nonscaling")
    measured, _, expected = check_rate(check, "redisbloom", 36, filters=40, asked=30_000, exact=0.15, keys=36, rate=0.0005, variant="nonscaling")
    check.true(expected > 1.5 * 0.0005, f"{measured}, {expected}: steps cost more than that")


@property_test
def rates_far_above_the_requested_one_are_reported(check):
    with Driver() as driver:
        driver.create("redisbloom", keys=1000, rate=1e-6)
        check.true(any("1 in" in text and "1 in 1000000" in text for text in driver.remarks()), str(driver.remarks()))
        driver.create("redisbloom", keys=100_000, rate=0.01)
        check.equal(driver.remarks(), [], "nothing to say")


main()

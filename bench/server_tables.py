# SPDX-License-Identifier: Apache-2.0
"""Tables of the module in servers: what bench/server.py measured, beside what is wanted of it."""

import statistics

from results import ratio
from targets import beside, target

LARGE = 1 << 30


def place(size):
    """Bytes, as the page writes them."""
    if size == 0:
        return "-"
    return f"{size >> 30} GiB" if size % (1 << 30) == 0 else f"{size / 1e6:g} MB"


def servers(results):
    """{server: rows}, in order."""
    found = {}
    for row in results.step("server"):
        if "server" not in row:
            continue
        found.setdefault(row["server"], []).append(row)
    return found


def command(rows, name, size, items=100):
    """Nanoseconds of the server for an item, or None."""
    for row in rows:
        if row["what"] == "command" and (row["name"], row["bytes"], row["items"]) == (name, size, items):
            return statistics.median(row["server_ns"])
    return None


def one(rows, what, **wanted):
    """The row of that sort, or None."""
    return next((row for row in rows if row["what"] == what and
                 all(row[key] == value for key, value in wanted.items())), None)


def command_targets(rows, server, body):
    """Commands beside the least that a command can cost."""
    small = min((row["bytes"] for row in rows if row["what"] == "command" and row["bytes"]), default=36 * 10**6)
    floor, single = command(rows, "floor", 0), command(rows, "floor", 0, 1)
    for size, least in ((LARGE, 0.75), (small, 0.55)):
        absent = command(rows, "MEXISTS, absent", size)
        what = "MEXISTS, absent, of the floor of 100 items"
        if size == LARGE:
            target(body, what, f"{place(size)}, {server}", ratio(floor, absent), 0.7)
        target(body, "MADD, new, of MEXISTS, absent", f"{place(size)}, {server}",
               ratio(absent, command(rows, "MADD, new", size)), least)
    for name in ("EXISTS, absent", "ADD, new"):
        target(body, f"{name}, one by one, of the floor of one item", f"{place(small)}, {server}",
               ratio(single, command(rows, name, small, 1)), 0.6)


def other_targets(rows, server, body):
    """What is done to whole filters."""
    case = f"{place(LARGE)}, {server}"
    reserve, filling = one(rows, "reserve", bytes=LARGE), one(rows, "filling", bytes=LARGE)
    target(body, "RESERVE on the main thread", case, max(reserve["seconds"]) * 1e3 if reserve else None, 5, False,
           " ms")
    if filling is None:
        first = worst = None
    else:
        first = ratio(statistics.median(filling["steady_ns"]), statistics.median(filling["first_ns"]))
        worst = max(filling["slowest"]) * 1e3
    target(body, "first filling, of the steady speed", case, first, 0.5)
    target(body, "the slowest command of it, as the server saw it", case, worst, 50, False, " ms")
    for what, name in (("as its client saw it, 63 others before it, ms", "worst"),
                       ("the same when all pages are there, ms", "steady_worst")):
        beside(body, what, case, max(filling[name]) * 1e3 if filling else None)
    key, load = one(rows, "default key"), one(rows, "stored", name="load", bytes=LARGE)
    # In whole bytes: what the connection's buffers take changes by some KB meanwhile.
    target(body, "bytes of a default key above an empty string", server,
           round(key["filter"] - key["string"]) if key else None, 400, False, digits=4)
    target(body, "peak memory of loading it, above that of an empty server", case, load["stored"] / LARGE if load else None, 2, False,
           " GiB", digits=5)


def in_process(results):
    """{(bytes, pages): {name: ns}} of filters without a server."""
    found = {}
    for row in results.step("server"):
        if row["what"] == "in process":
            found.setdefault((row["bytes"], row["pages"]), {})[row["name"]] = statistics.median(row["ns"])
    return found


def process_targets(results, body):
    """Adding beside asking, and both beside what the memory allows."""
    for (size, pages), ns in in_process(results).items():
        case = f"{place(size)}, pages of {pages}"
        target(body, "adding new keys, times asking for absent ones", case, ns["new"] / ns["absent"], 1.5, False)
        beside(body, "the same of memory: ten lines changed, times two lines read", case,
               ns["ten lines changed"] / ns["two lines read"])
        beside(body, "adding new keys, times ten lines changed", case, ns["new"] / ns["ten lines changed"])


def process_table(results):
    """Filters of the module's, without a server."""
    body = [[place(size), pages, *(f"{value:.1f}" for value in ns.values())]
            for (size, pages), ns in in_process(results).items()]
    names = list(next(iter(in_process(results).values()), {}))
    return ["filter", "pages of", *names], body


def server_targets(results):
    """What issue 18 requires: what, where, measured, wanted, verdict."""
    body = []
    for server, rows in servers(results).items():
        command_targets(rows, server, body)
        other_targets(rows, server, body)
    process_targets(results, body)
    return ["target", "filter, server", "measured", "wanted", ""], body


def server_table(results):
    """Every command."""
    head = ["server", "command", "filter", "items", "server ns an item", "of the floor", "passed ns an item",
            "server busy", "clients busy", "worst ms"]
    body = []
    for server, rows in servers(results).items():
        for row in rows:
            if row["what"] != "command":
                continue
            mine, wall = (statistics.median(row[name]) for name in ("server_ns", "wall_ns"))
            body.append([server, row["name"], place(row["bytes"]), str(row["items"]), f"{mine:.0f}",
                         f"{command(rows, 'floor', 0, row['items']) / mine:.2f}", f"{wall:.0f}",
                         f"{100 * mine / wall:.0f} %", f"{100 * statistics.median(row['clients']):.0f} %",
                         f"{1e3 * max(row['worst']):.1f}"])
    return head, body


def stored_table(results):
    """SAVE, DUMP and loading."""
    body = [[server, row["name"], place(row["bytes"]), "-" if row["name"] == "load" else row["compression"],
             f"{row['seconds']:.2f}", f"{row['stored'] / 1e6:.0f} MB" + (" in memory" if row["name"] == "load" else "")]
            for server, rows in servers(results).items() for row in rows if row["what"] == "stored"]
    return ["server", "does", "filter", "rdbcompression", "seconds", "takes"], body

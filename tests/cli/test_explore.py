# SPDX-License-Identifier: Apache-2.0
"""explore: the page with a file in it, in the browser or where -o says; and the address of a plan."""

import base64
import html
import os
import re
import signal
import stat
import urllib.parse

from runner import EMULATOR, Skip, case, has, main

FAULTY = os.environ.get("BLOOMERY_FAULTY_IO", "")
PLACE = b'<script type="application/octet-stream" id="given-file" data-name=""></script>'
BEFORE, AFTER = "<!doctype html>\n<p>Größe\n".encode(), b"\n<script>'</script>'</script>\n"
FILLED = re.compile(rb'<script type="application/octet-stream" id="given-file" data-name="([^"]*)">'
                    rb'([A-Za-z0-9+/]*={0,2})</script>')
TRY = "try 'bloomery explore --help'\n"
NO_DISPLAY = {"DISPLAY": "", "WAYLAND_DISPLAY": ""}
SAID = "nothing is lost: the page is the file that stdout names\n"


def set_up(c):
    """A page, and an empty temporary directory. Returns what the environment has of it."""
    c.file("page.html", BEFORE + PLACE + AFTER)
    os.mkdir(c.path("tmp"))
    return {"TMPDIR": c.path("tmp"), **NO_DISPLAY}


def parts(c, copy):
    """The name and the bytes in a copy, the rest of which is the page's."""
    c.expect(copy.startswith(BEFORE) and copy.endswith(AFTER), f"the rest of the page: {copy[:300]!r}")
    match = FILLED.fullmatch(copy[len(BEFORE):-len(AFTER)])
    c.expect(match is not None, f"the element: {copy[:300]!r}")
    return html.unescape(match[1].decode()), base64.b64decode(match[2], validate=True)


def copy_of(c, name, **more):
    return c.run(["explore", "--page", "page.html", "-o", "-", name], stdout=None, **more)[0]


def fake_opener(c, environment, code=0):
    """An xdg-open that writes its argument down. Returns an environment with it and a display."""
    os.mkdir(c.path("bin"))
    c.file("bin/xdg-open", f'#!/bin/sh\nprintf %s "$*" > "$SAID"\necho noise\nexit {code}\n')
    os.chmod(c.path("bin/xdg-open"), 0o755)
    return {**environment, "SAID": c.path("said"), "DISPLAY": ":0",
            "PATH": c.path("bin") + ":" + os.environ["PATH"]}


def kept(c):
    """The paths of what is in the temporary directory."""
    return [os.path.join(os.path.realpath(c.path("tmp")), name) for name in os.listdir(c.path("tmp"))]


def installed(c):
    """The installed page, or None."""
    out, _ = c.run("explore --print", stdout=None, stderr=None, code=None)
    return out.decode().rstrip("\n") or None


@case
def bytes_of_a_file_come_back(c):
    set_up(c)
    every = bytes(range(256))
    for size in (1, 2, 3, 4, 5, 255, 256, 257, 65535, 65536, 65537, 200_000):
        for content in ((every * (size // 256 + 1))[:size], b"\xff" * size, bytes(size)):
            c.file("file", content)
            c.expect(parts(c, copy_of(c, "file")) == ("file", content), f"{size} bytes came back otherwise")
            c.expect(parts(c, copy_of(c, "-", stdin=content)) == ("standard input", content),
                     f"{size} bytes of stdin came back otherwise")
    c.run("build -q -n 10 -p 0.01 -o f.bloom", stdin="a\n")
    c.expect(parts(c, copy_of(c, "f.bloom"))[1] == c.read("f.bloom"), "a filter")


@case
def names_stay_names(c):
    set_up(c)
    os.mkdir(c.path("folder"))
    bad = "\ufffd"
    for name, said in (
            (b"ids.bloom", "ids.bloom"), (b"folder/in.it", "in.it"), (b" a b ", " a b "),
            (b'"><script>alert(1)<', '"><script>alert(1)<'), (b"'&amp;'", "'&amp;'"),
            ("Größe☃𝄞".encode(), "Größe☃𝄞"), (b"\xc2\xa0", "\xa0"), (b"\xf4\x8f\xbf\xbf", "\U0010ffff"),
            (b"a\xffb", f"a{bad}b"), (b"a\xc3", f"a{bad}"), (b"\xe2\x98", bad * 2), (b"\xf0\x9d\x84x", bad * 3 + "x"),
            (b"\xc0\xaf", bad * 2), (b"\xe0\x80\xaf", bad * 3), (b"\xed\xa0\x80", bad * 3),
            (b"\xf4\x90\x80\x80", bad * 4), (b"\xf8", bad), (b"\xf0\x80\x80\xaf", bad * 4),
            (b"a\nb\tc\x01\x7f", f"a{bad}b{bad}c{bad}{bad}"), (b"\xc2\x85", bad * 2), (b"--x", "--x")):
        with open(os.path.join(c.directory.encode(), name), "wb") as file:
            file.write(b"x")
        copy = c.run([b"explore", b"--page", b"page.html", b"-o", b"-", b"--", name], stdout=None)[0]
        c.expect(parts(c, copy) == (said, b"x"), f"{name!r} is {parts(c, copy)[0]!r}")
        value = copy[copy.index(b'data-name="') + 11:copy.index(b'">', copy.index(b"data-name"))]
        c.expect(not set(b"<>\"'") & set(value), f"{name!r} is written {value!r}")


@case
def pages_without_one_place_are_refused(c):
    environment = set_up(c)
    c.file("file", "x")
    c.file("none", BEFORE + AFTER)
    c.file("empty", "")
    c.file("filled", BEFORE + PLACE.replace(b'""', b'"a"') + AFTER)
    c.file("twice", BEFORE + PLACE + PLACE + AFTER)
    c.file("end", BEFORE + PLACE)
    for page, said in (("none", "none: is not the explorer, or is of another version: it does not have a place for a file"),
                       ("empty", "empty: is not the explorer"), ("filled", "filled: is not the explorer"),
                       ("twice", "twice: is not the explorer as it was built: it has two places for a file"),
                       ("no/page", "no/page: No such file or directory"), ("tmp", "tmp: is a directory, not a page")):
        for more in ("", "-o out.html"):
            c.run(f"explore --page {page} file {more}", code=2, environment=environment,
                  stderr=has("bloomery: explore: ", said))
    c.run("explore --page end file -o end.html")
    c.expect(c.read("end.html") == BEFORE + PLACE.replace(b'""></', b'"file">eA==</'), "a place at the end")
    c.expect(not kept(c) and "out.html" not in c.names(), "a refused copy was left")


@case
def files_that_cannot_be_in_a_page_are_refused(c):
    environment = set_up(c)
    c.file("empty", "")
    c.file("large", "")
    os.truncate(c.path("large"), (64 << 20) + 1)
    for name, said in (("nosuch", "nosuch: No such file or directory\n"), ("tmp", "tmp: is a directory\n"),
                       ("empty", "empty: the file is empty\n"), ("/dev/null", "/dev/null: the file is empty\n"),
                       ("large", "large: is larger than 64 MiB, which is what a copy of the page takes: "
                        "'bloomery inspect large' describes it, and the page itself opens larger files that "
                        "are dropped there\n"),
                       ("/dev/zero", "'bloomery inspect /dev/zero' describes it")):
        for more in ("", "-o out.html", "-o -"):
            c.run(f"explore --page page.html {name} {more}", code=2, environment=environment,
                  stderr=has("bloomery: explore: ", said))
    c.run("explore --page page.html -", code=2, stderr="bloomery: explore: standard input: the file is empty\n")
    with open("/dev/zero", "rb") as zeros:
        process = c.start("explore --page page.html -", stdin=zeros)
        said = process.communicate(timeout=120)[1]
        c.expect(process.returncode == 2 and b"'bloomery inspect FILE'" in said, f"{said}")
    c.expect(not kept(c) and "out.html" not in c.names(), "a refused file was copied")
    os.truncate(c.path("large"), 64 << 20)
    c.run("explore --page page.html large -o out.html")
    size = len(BEFORE + PLACE + AFTER + b"large") + ((64 << 20) + 2) // 3 * 4
    c.expect(os.path.getsize(c.path("out.html")) == size, "64 MiB is not taken whole")


@case
def wrong_options_are_refused(c):
    set_up(c)
    c.file("file", "x")
    for line, said in (
            ("file page.html", "'page.html': explore takes one file"),
            ("-o out", "name a FILE"), ("file --force", "--force lets -o replace a file; give -o too"),
            ("file -o out --print", "--print is for a copy in the temporary directory"),
            ("file --page ''", "--page: the name is empty")):
        c.run(f"explore {line}", code=2, stderr=has("bloomery: explore: ", said, TRY))
    c.expect(c.names() == ["file", "page.html", "tmp"], f"{c.names()}")


@case
def a_copy_is_its_owners_alone(c):
    environment = set_up(c)
    c.file("file", "\xff")
    os.symlink("tmp", c.path("link"))
    paths = set()
    for umask in (0, 0o022, 0o077, 0o777):
        for folder in (c.path("tmp"), "link"):
            out, _ = c.run("explore --page page.html --print file", stdout=None, umask=umask,
                           environment={**environment, "TMPDIR": folder})
            path = out.decode().removesuffix("\n")
            c.expect(re.fullmatch(r"bloomery-explore-[0-9a-f]{16}\.html", os.path.basename(path)), f"its name: {path}")
            c.expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600, f"its mode with umask {umask:o}")
            with open(path, "rb") as file:
                c.expect(parts(c, file.read()) == ("file", c.read("file")), "its content")
            paths.add(path)
    c.expect(sorted(paths) == sorted(kept(c)) and len(paths) == 8, f"{paths} and {kept(c)}")
    c.run("explore --page page.html file", code=2, environment={**environment, "TMPDIR": c.path("nosuch")},
          stderr=f"bloomery: explore: {c.path('nosuch')}: No such file or directory\n")
    c.run("explore --page page.html file", code=2, environment={**environment, "TMPDIR": c.path("file")},
          stderr=has("Not a directory"))


@case
def without_a_display_the_path_is_printed(c):
    environment = set_up(c)
    c.file("file", "x")
    out, _ = c.run("explore --page page.html file", stdout=None, environment=environment,
                   stderr=f"bloomery: explore: note: no display was found (DISPLAY, WAYLAND_DISPLAY); {SAID}")
    c.expect(out.decode() == kept(c)[0] + "\n", f"{out}")
    page = os.path.realpath(c.path("page.html"))
    c.run("explore --page page.html", stdout=page + "\n", environment=environment, stderr=has(SAID))
    c.run(f"explore --page {page} --print", stdout=page + "\n", environment=environment)
    c.expect(len(kept(c)) == 1, "a page without a file was copied")


@case
def the_opener_is_given_the_path(c):
    environment = fake_opener(c, set_up(c))
    c.file("file", "x")
    for display in ({}, {"DISPLAY": "", "WAYLAND_DISPLAY": "wayland-0"}):
        c.run("explore --page page.html file", stderr="noise\n", environment={**environment, **display})
        c.expect([c.read("said").decode()] == kept(c), f"opened {c.read('said')}, and there is {kept(c)}")
        os.unlink(kept(c)[0])
    c.run("explore --page page.html", stderr="noise\n", environment=environment)
    c.expect(c.read("said").decode() == os.path.realpath(c.path("page.html")), f"opened {c.read('said')}")
    os.unlink(c.path("said"))
    c.run("explore --page page.html --print file", stdout=None, environment=environment)
    c.run("explore --page page.html file -o out.html", environment=environment)
    c.expect("said" not in c.names(), "it was opened where it should not be")


@case
def an_opener_that_fails_loses_nothing(c):
    environment = fake_opener(c, set_up(c), code=3)
    c.file("file", "x")
    line = "explore --page page.html file"
    out, _ = c.run(line, stdout=None, environment=environment, stderr="noise\nbloomery: explore: note: "
                   f"xdg-open failed with exit code 3; {SAID}")
    c.expect([out.decode()[:-1]] == kept(c), f"{out} and {kept(c)}")
    c.file("bin/xdg-open", "#!/bin/sh\nkill -9 $$\n")
    c.run(line, stdout=None, environment=environment, stderr=has(f"xdg-open was ended by signal 9; {SAID}"))
    if not EMULATOR:  # which is found by PATH
        c.run(line, stdout=None, environment={**environment, "PATH": c.path("tmp")},
              stderr=f"bloomery: explore: note: xdg-open is not installed; {SAID}")
    with open("/dev/full", "wb") as full:
        c.run("explore --page page.html --print", stdout_file=full, code=2,
              stderr=has("writing to stdout: No space left on device"))


@case
def output_replaces_nothing_by_accident(c):
    set_up(c)
    c.file("file", "x")
    c.run("explore --page page.html file -o new.html")
    c.expect(parts(c, c.read("new.html")) == ("file", b"x"), "a new file")
    c.file("old.html", "old")
    c.run("explore --page page.html file -o old.html", code=2,
          stderr="bloomery: explore: old.html: exists; --force overwrites it\n")
    c.expect(c.read("old.html") == b"old", "it was overwritten")
    c.run("explore --page page.html file -o old.html --force")
    c.expect(c.read("old.html") == c.read("new.html"), "--force did not overwrite")
    for name, said in (("file", "file: is the file to show; the copy needs another name"),
                       ("./page.html", "./page.html: is the page itself; the copy needs another name"),
                       ("tmp", "tmp: is a directory"), ("no/where", "no/where: directory no does not exist")):
        c.run(f"explore --page page.html file --force -o {name}", code=2, stderr=has(said))
    c.run("build -q -n 10 -p 0.01 -o f.bloom", stdin="a\n")
    before = c.read("f.bloom")
    c.run("explore --page page.html file --force -o f.bloom", code=2, stderr=has("is a filter"))
    c.expect(c.read("f.bloom") == before and c.read("file") == b"x", "an input is gone")
    c.expect(c.names() == ["f.bloom", "file", "new.html", "old.html", "page.html", "tmp"], f"{c.names()}")


@case
def a_full_disk_leaves_nothing(c):
    if not FAULTY or EMULATOR:
        raise Skip("the library that fails was not built")
    environment = set_up(c)
    content = c.file("file", os.urandom(100_000))
    faults = {**environment, "LD_PRELOAD": FAULTY, "FAULTY_IO_ROOT": os.path.realpath(c.path("tmp")),
              "FAULTY_IO_MODE": "fail", "FAULTY_IO_ERRNO": "28"}
    c.file("tmp/old.html", "old")
    for more, calls in (("", ("write 1", "write 2", "write 3", "open 1", "close 1")),
                        ("--force -o tmp/old.html", ("write 1", "write 2", "write 3", "sync 1", "rename 1"))):
        for call in calls:
            c.run(f"explore --page page.html file {more}", code=2, stderr=has("No space left on device"),
                  environment={**faults, "FAULTY_IO_CALLS": call.split()[0], "FAULTY_IO_AT": call.split()[1]})
            c.expect(os.listdir(c.path("tmp")) == ["old.html"], f"{call} left {kept(c)}")
    c.expect(c.read("tmp/old.html") == b"old" and c.read("file") == content, "a file has changed")


@case
def a_signal_leaves_nothing(c):
    environment = {**os.environ, **set_up(c)}
    c.file("file", "")
    os.truncate(c.path("file"), 64 << 20)
    process = c.start("explore --page page.html --print file", env=environment)
    while not kept(c) and process.poll() is None:
        pass
    process.send_signal(signal.SIGTERM)  # 85 MiB are being written
    said = process.communicate(timeout=120)[0]
    c.expect((process.returncode, len(kept(c))) in ((-signal.SIGTERM, 0), (0, 1)),
             f"{process.returncode} {said}: {kept(c)}")
    process = c.start("explore --page page.html -", env=environment)
    process.stdin.write(b"x")
    process.stdin.flush()
    before = kept(c)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=120)
    c.expect(process.returncode == -signal.SIGINT and kept(c) == before, f"{process.returncode}: {kept(c)}")


@case
def an_installed_page_is_found_and_a_missing_one_explained(c):
    environment = set_up(c)
    c.file("file", "x")
    page = installed(c)
    if page is not None:
        c.run("explore file", stdout=None, stderr=has(SAID), environment=environment)
        c.run("plan --url -n 10", stdout=has("file://" + urllib.parse.quote(page)))
        return
    for line in ("explore", "explore --print", "explore file", "explore file -o out.html",
                 "plan --url -n 1M -p 0.01"):
        c.run(line, code=2, environment=environment,
              stderr=has("the explorer is not installed: /", "/bloomery/explorer.html does not exist; "
                         "'make web' makes build-web/explorer.html, --page PAGE names a page, and 'make install' installs it\n"))
    c.expect(not kept(c) and c.names() == ["file", "page.html", "tmp"], "something was left")


# ---- plan --url ------------------------------------------------------------------------------------

@case
def a_plan_is_an_address(c):
    for line, query in (
            ("-n 1M -p 0.01", "n=1000000&p=0.01&m=&k=&kind=blocked"), ("-n 20M", "n=20000000&p=0.0001&m=&k=&kind=blocked"),
            ("-n 1M -p 1e-9", "n=1000000&p=1e-09&m=&k=&kind=blocked"), ("-n 3 -p 1/3", "n=3&p=0.3333333333333333&m=&k=&kind=blocked"),
            ("-n 1M --memory 1MiB", "n=1000000&p=&m=8388608&k=&kind=blocked"),
            ("-p 0.1% --memory 128TiB", "n=&p=0.001&m=1125899906842624&k=&kind=blocked"),
            ("-n 1M -p 0.01 --kind blocked", "n=1000000&p=0.01&m=&k=&kind=blocked"),
            ("-n 1M -p 0.01 --kind classic", "n=1000000&p=0.01&m=&k=&kind=classic"),
            ("-n 1M -p 0.01 --kind static", "n=1000000&p=0.01&m=&k=&kind=static"),
            ("-p 0.01 --kind scalable", "n=1048576&p=0.01&m=&k=&kind=scalable"),
            ("-n 1M -p 0.01 --kind counting --blocks 2", "n=1000000&p=0.01&m=&k=&kind=counting&L=2"),
            ("-n 1M -p 0.01 --blocks 2", "n=1000000&p=0.01&m=&k=&kind=blocked&L=2"),
            ("-n 1M -p 0.01 --blocks 2 --probes 3", "n=1000000&p=0.01&m=&k=3&kind=blocked&L=2"),
            ("-n 1M -p 0.01 --probes 12", "n=1000000&p=0.01&m=&k=12&kind=classic"),
            ("-n 1M --memory 1MiB --probes 5 --kind classic", "n=1000000&p=&m=8388608&k=5&kind=classic")):
        c.run(f"plan --url --page https://filters.example/e.html {line}",
              stdout=f"https://filters.example/e.html?{query}#calculator\n")


@case
def a_path_becomes_an_address(c):
    query = "?n=1000000&p=0.01&m=&k=&kind=blocked#calculator\n"
    here = os.path.realpath(c.directory)
    for page in ("e.html", "a b/100%.html", "ä?#.html", "a:b", "https:/e.html", "-._~", "x&'\"<>"):
        c.run(["plan", "--url", "-n", "1M", "-p", "0.01", "--page", page],
              stdout="file://" + urllib.parse.quote(f"{here}/{page}") + query)
    os.mkdir(c.path("folder"))
    c.file("folder/e.html", "")
    c.run("plan --url -n 1M -p 0.01 --page folder/../folder/e.html", stdout=f"file://{here}/folder/e.html{query}")
    c.run("plan --url -n 1M -p 0.01 --page /a//e.html", stdout=f"file:///a//e.html{query}")
    c.run([b"plan", b"--url", b"-n", b"1M", b"-p", b"0.01", b"--page", b"/\xff\n"], stdout=f"file:///%FF%0A{query}")
    for address in ("file:///e.html", "http://[::1]:8000/", "web+x.1-://e"):
        c.run(f"plan --url -n 1M -p 0.01 --page {address}", stdout=address + query)


@case
def what_no_address_says_is_refused(c):
    page = "--url --page /e.html"
    for line, said in (
            ("-n 1M --json", "--json"), ("--sieve -n 1M", "--sieve"), ("-n 1M --pushes 2M", "--sieve"),
            ("--bits-per-key 10", "--bits-per-key"), ("-n 1M --counter-bits 8", "--counter-bits"),
            ("-n 1M --kind scalable --grow-to 2M", "--grow-to"), ("-n 1M --folds 2", "--folds"),
            ("-n 1M -p 0.01 --memory 1GB", "all of -n, -p and --memory")):
        c.run(f"plan {page} {line}", code=2, stderr=has(f"bloomery: plan: --url does not go with {said}: an address "
                                                        "has two of -n, -p and --memory, and --kind, --blocks and "
                                                        "--probes\n"))
    for line, said in (
            (page, "no size: give two of -n, -p and --memory, or -n alone"), (f"{page} -p 0.01", "no size: "),
            (f"{page} --table", "--table prints a table"), (f"{page} -n 1M more", "'more': plan takes no operands"),
            (f"{page} -n 1M --kind static --blocks 2", "a static filter does not have blocks"),
            (f"{page} -n 1M --kind blocked --probes 12", "a key has at most 8 probes in a block"),
            ("--page /e.html -n 1M", "--page names the explorer for --url"),
            ("--url -n 1M --page ''", "--page: the name is empty"),
            ("--url -n 1M --page 'https://a b'", "--page: an address has no blanks and no control characters"),
            ("--url -n 1M --page https://a/#b", "the plan comes where this address has a '?' or a '#' already"),
            ("--url -n 1M --page https://a/?b", "the plan comes where")):
        c.run(f"plan {line}", code=2, stderr=has("bloomery: plan: ", said, "try 'bloomery plan --help'\n"))
    c.run(f"plan {page} -n 1M --memory 1", code=2, stderr=has("bloomery: plan: "))
    with open("/dev/full", "wb") as full:
        c.run(f"plan {page} -n 1M", stdout_file=full, code=2, stderr=has("No space left on device"))


main()

# SPDX-License-Identifier: Apache-2.0
"""What the documents tell people to type works as it stands there: each command is run here, or by a test
that is named here, or it is listed with the reason why no test can run it. Each option that they name is in
the help of its command."""

import json
import os
import re
import shlex
import shutil
import subprocess
import textwrap

import documents
from documents import ROOT, read
from runner import EMULATOR, SECONDS, TOOL, Difference, Skip, case, main

BUILD = os.path.dirname(os.path.dirname(TOOL))
CI, ROOM = "a step of .ci/run does it; it takes minutes", "minutes, and memory that a test may not have"

# Commands that no test runs as they stand: page, command, reason.
NOT_RUN = (
    (r"README|install|explorer|CONTRIBUTING|benchmarks|results|python|server|sieve|examples|promises|releasing",
     r"make [a-z-]+( \w+=.*)?",
     "it builds, installs or measures; that Make knows the target is looked at here"),
    (r"CONTRIBUTING|install|server|python", r"(\w+=\S+ )?(sudo )?meson (setup|install|test) .*|ninja .*",
     "it builds or installs; the options are looked at here, and .ci/run builds so"),
    (r"install|CONTRIBUTING", r"scripts/install-packages \w+", "it takes root and a network; the set is looked at here"),
    (r"install|python|server", r"sudo apt(-get)? install .*", "root"),
    (r"server", r"sudo systemctl .*|echo 'include .*", "root, and a service; scripts/check-debian loads what the package includes"),
    (r"server", r"python3 examples/queue_crawler\.py .*", "a server; tests/module/test_queue.py runs it"),
    (r"install", r"dpkg-buildpackage .*", "scripts/check-debian does it, with the tools that few machines have"),
    (r"python", r"pip install .*|python3 -m venv .*", "tests/python makes the wheel and installs it"),
    (r"CONTRIBUTING", r"\.ci/run|scripts/run-tests .*", "it runs all tests, this one too"),
    (r"releasing", r"scripts/lint build \d+", "minutes; .ci/run lints with fewer states"),
    (r"CONTRIBUTING", r"build/tests/unit/hashes hashes", "it is a test"),
    (r"CONTRIBUTING", r"BLOOMERY_CPU=scalar qemu-aarch64-static .*", CI),
    (r"CONTRIBUTING", r"scripts/check-interface --write", "it changes the sources; the check runs as a test"),
    (r"benchmarks|sieve|results|goals", r"(\w+=\S+ )*(build-bench/)?bench/\w+ .*", ROOM),
    (r"mathematics", r"python3 tests/reference/crosscheck\.py", "a minute; the long tests run it"),
    (r"mathematics", r"python3 tests/reference/tables\.py", "all tables take 20 seconds; one of them is made here"),
    (r"explorer", r"bloomery explore( ids\.bloom)?", "it opens a browser; tests/cli/test_explore.py does, with another page"),
    (r"explorer", r"bloomery explore --page build-web/explorer\.html .*", "make web makes the page; tests/cli/test_explore.py"),
    (r"README|explorer", r"bloomery plan -n 20M --url", "an installed explorer; tests/cli/test_explore.py prints addresses"),
    (r"server|coming-from", r"redis-cli --pipe < \w+", "a server; tests/module/test_replies.py loads the file of docs/server.md"),
    (r"README|install", r"(man|apropos) (3 )?bloomery\S*", "the manual has to be installed; test_manual.py looks at its pages"),
    (r"format", r"bloomery key fingerprint 1", "it is a constant of the format"),
    (r"results", r"bloomery (dedupe|build -p 0\.01)", "it names what bench/run.py measured"),
    (r"SECURITY|corpora|python|mathematics", r"bloomery (dedupe --unit|build (--lower|--secret-file)|inspect --measure)",
     "it names an option"),
)
# Commands that another test takes out of the page and runs: page, command or "block", test, what the test has.
ELSEWHERE = (
    (r"README", r".*(members|others|distinct)\.txt.*", "tests/cli/test_first_contact.py", "commands_of_readmes_first_screen"),
    (r"README", r".*\b(20M|ids\.bloom|ids\.txt|1M)\b.*", "tests/cli/test_guides.py", "commands_of_the_minute"),
    (r"counting", r"bloomery .*", "tests/cli/test_guides.py", "commands_of_the_counting_page"),
    (r"format", r"printf .*", "tests/cli/test_guides.py", "worked_example_of_the_format"),
    (r"coming-from", r".*", "tests/cli/test_first_contact.py", "commands_here_do_what_was_done_there"),
    (r"near", r"block", "tests/cli/test_guides.py", "commands_of_the_page_on_near_duplicates"),
    (r"what-is", r"block", "tests/cli/test_first_contact.py", "commands_of_the_explanation"),
    (r"install", r"cc -O3 .*", "scripts/check-plain", "docs/install.md"),
    (r"install", r"cc program\.c .*|libraries=.*|export .*", "scripts/check-install", "documented 'cc program.c'"),
    (r"install", r"bloomery = dependency.*", "scripts/check-install", "documented 'bloomery = dependency'"),
    (r"install", r"scripts/amalgamate folder|cc .*-c bloomery\.c", "tests/repo/test_single_file.py", "the_documented_line"),
)
# Options of others that documents name in backquotes, without their program.
OTHERS = {
    "--annotate-only": "datatrove", "--output-directory": "bff", "--no-update-bloom-filter": "bff",
    "--min-ngram-size": "bff", "--long": "zstd", "--gzip": "bloom",
    "--jobs": "poppy", "--pipe": "redis-cli", "--decompress": "gzip", "--low-memory-unused": "wasm-opt",
    "--pipepart": "parallel", "--block": "parallel", "--self-test": "scripts/check-*", "--write": "scripts/check-interface",
    "--steps": "bench/run.py", "--prefix": "meson setup",
}
# What a page has said in other words before its commands.
BEFORE = {"docs/server.md": "bloomery build -q --dialect redisbloom -n 1000 -p 0.01 -o seen.bf keys.txt"}
KNOWN = documents.options_of_the_command(TOOL) if os.access(TOOL, os.X_OK) and not EMULATOR else {}


def matching(table, piece):
    """The rows of NOT_RUN or ELSEWHERE that a piece belongs to."""
    text = "block" if piece.where == "block" else piece.text
    return [row for row in table if re.search(row[0], piece.page) and re.fullmatch(row[1], text, re.S)]


def guide_of(piece):
    """The test that runs the blocks of a page, or None."""
    path = "tests/cli/test_guides.py"
    return path if piece.where == "block" and f'blocks("{os.path.basename(piece.page)}")' in read(path) else None


def pieces():
    return [piece for page in documents.pages() for piece in documents.commands(page)]


def run_here():
    """What no other test runs, and is not listed."""
    return [piece for piece in pieces()
            if not matching(NOT_RUN, piece) and not matching(ELSEWHERE, piece) and guide_of(piece) is None]


def set_up(c, folder):
    """A folder in which the commands of a page find what they name: the sources, a build, and small files."""
    os.makedirs(c.path(os.path.join(folder, "bin")))
    # Whole paths: "ccache cc" would find the script below as its compiler, and run itself without end.
    compiler = [shutil.which(word) or word for word in shlex.split(os.environ.get("CC", "cc"))]
    for name, program in (("bloomery", shlex.join([*EMULATOR, TOOL])), ("cc", shlex.join(compiler))):
        path = os.path.join(folder, "bin", name)
        c.file(path, f'#!/bin/sh\nexec {program} "$@"\n')
        os.chmod(c.path(path), 0o755)
    for name in ("include", "examples", "man", "tests", "scripts"):
        os.symlink(os.path.join(ROOT, name), c.path(os.path.join(folder, name)))
    os.symlink(BUILD, c.path(os.path.join(folder, "build")))
    keys = "".join(f"key {i}\n" for i in range(2000))
    for name, text in {"keys.txt": keys, "more.txt": "another\nand another\n", "asked.txt": "key 7\nno key\n",
                       "ids-20000000-1.txt": keys, "ids-10000000-2.txt": "key 7\nno key\n",
                       "repeated-20000000.txt": keys + keys, "program.c": read("examples/first.c")}.items():
        c.file(os.path.join(folder, name), text)


def run(c, folder, page, text):
    """Runs a piece in bash; returns what it printed."""
    there = c.path(folder)
    environment = {**os.environ, "PATH": os.path.join(there, "bin") + ":" + os.environ["PATH"], "LC_ALL": "C",
                   "PKG_CONFIG_PATH": os.path.join(BUILD, "meson-uninstalled"), "MANPAGER": "cat",
                   "LD_LIBRARY_PATH": os.path.join(BUILD, "src")}
    done = subprocess.run(["bash", "-o", "pipefail", "-e", "-c", text], cwd=there, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=SECONDS, check=False, env=environment)
    c.expect(done.returncode == 0, f"{page}: {text}: {done.returncode}: {done.stderr.decode()[-400:]}")
    return done.stdout.decode()


@case
def each_command_of_a_document_is_run_or_listed(c):
    found = pieces()
    c.expect(len(found) > 150 and sum(piece.where == "block" for piece in found) > 40, f"only {len(found)} commands")
    for table in (NOT_RUN, ELSEWHERE):
        for row in table:
            c.expect(any(row in matching(table, piece) for piece in found), f"no document has the command of {row}")
    for _, command, path, part in ELSEWHERE:
        c.expect(part in read(path), f"{path} does not run {command}: it has no {part}")


@case
def commands_that_no_other_test_runs_work(c):
    compiles = "BLOOMERY_TEST_NO_COMPILER" not in os.environ
    cannot = [] if compiles else ["cc ", "./"]
    cannot += ["build/"] * bool(EMULATOR) + ["man "] * (shutil.which("man") is None)
    ran, shown = 0, {}
    for piece in run_here():
        if piece.text.startswith(tuple(cannot)):
            continue
        folder = re.sub(r"\W", "-", piece.page)
        if not os.path.exists(c.path(folder)):
            set_up(c, folder)
            run(c, folder, piece.page, BEFORE.get(piece.page, "true"))
        shown[piece.text] = run(c, folder, piece.page, piece.text)
        c.expect(piece.shown in (None, shown[piece.text]), f"{piece}: prints {shown[piece.text]!r}")
        ran += 1
    c.expect(ran >= 25, f"{ran} commands")
    c.expect(shown["bloomery query --dialect guava seen.bf asked.txt"] == "key 7\n", "the query of docs/dialects.md")
    for line in ("awk '!s[$0]++' repeated-20000000.txt", "sort -u repeated-20000000.txt"):
        c.expect(shown[line].count("\n") == 2000, f"{line} of docs/results/conditions.md: {shown[line]!r}")
    if compiles:
        c.expect("apple" in shown["./first keys.bloom apple pear apple"], "the first example")


@case
def the_program_of_readme_compiles_and_writes_a_filter(c):
    if "BLOOMERY_TEST_NO_COMPILER" in os.environ:
        raise Skip("programs would have to be instrumented, or made for another processor")
    program, = re.findall(r"^```c\n(.*?)^```$", read("README.md"), re.M | re.S)
    includes, body = re.match(r"((?:#include .*\n)+)([\s\S]*)", program).groups()
    set_up(c, "readme")
    c.file("readme/program.c", f"#include <stdio.h>\n{includes}static int fail(const char *text)\n{{\n    fputs(text, stderr);\n"
           f"    return 1;\n}}\nint main(void)\n{{\n{body}    return 0;\n}}\n")
    said = run(c, "readme", "README.md",
               "cc -Wall -Wextra -Werror program.c $(pkg-config --cflags --libs bloomery) -o program && ./program")
    c.expect(said == "possibly\n", said)
    c.run("query -k 850101312345 readme/first.bloom", stdout="850101312345\n")


@case
def the_cpp_program_of_readme_compiles_and_writes_a_filter(c):
    if "BLOOMERY_TEST_NO_COMPILER" in os.environ or shutil.which("c++") is None:
        raise Skip("programs would have to be instrumented, or made for another processor, or there is no C++")
    program, = re.findall(r"^```cpp\n(.*?)^```$", read("README.md"), re.M | re.S)
    includes, body = re.match(r"((?:#include .*\n)+)([\s\S]*)", program).groups()
    set_up(c, "readme")
    c.file("readme/program.cpp", f"{includes}int main()\n{{\n{textwrap.indent(body, '    ')}    return 0;\n}}\n")
    said = run(c, "readme", "README.md",
               "c++ -std=c++17 -Wall -Wextra -Werror program.cpp $(pkg-config --cflags --libs bloomery) -o program-cpp && ./program-cpp")
    c.expect(said == "possibly\n", said)
    c.run("query -k 850101312345 readme/first.bloom", stdout="850101312345\n")


@case
def numbers_of_readme_are_those_of_the_command(c):
    text = re.sub(r"\s+", " ", read("README.md"))
    systems = len(json.loads(c.run("dialects --json", stdout=None)[0])["dialects"]) - 1  # RedisBloom has two
    c.expect(f"filters of {systems} other systems" in text, f"the command has {systems} dialects")
    bits = {}
    for kind in ("blocked", "classic", "static", "counting"):
        for rate in ("1e-2", "1e-6"):
            plans = json.loads(c.run(f"plan --json -n 20M -p {rate} --kind {kind}", stdout=None)[0])["plans"]
            bits[kind, rate] = next(plan["bits_per_key"] for plan in plans if plan["recommended"])
    less = [round(100 * (1 - bits["classic", rate] / bits["blocked", rate])) for rate in ("1e-2", "1e-6")]
    c.expect(f"less memory ({less[0]} per cent at 1 in 100, {less[1]} at 1 in a million)" in text, f"classic takes {less} % less")
    share = bits["static", "1e-2"] / bits["blocked", "1e-2"]
    c.expect("**static** ones take two thirds of the memory of blocked ones" in text and 0.63 < share < 0.7, f"static takes {share}")
    c.expect("**counting** ones take four times the memory of blocked ones" in text and bits["counting", "1e-2"] == 4 * bits["blocked", "1e-2"], f"{bits}")


@case
def options_of_documents_are_in_the_help(c):
    if EMULATOR:
        raise Skip("an emulator's help is that of others")
    every = {option for options in KNOWN.values() for option in options} | {"--version"}
    sources = [read(os.path.join(folder, name)) for folder in ("bench", "lineage")
               for name in sorted(os.listdir(os.path.join(ROOT, folder))) if name.endswith((".c", ".h", ".py"))]
    looked = 0
    for page in documents.pages():
        text = read(page)
        for piece in [*documents.commands(page), *documents.spans(page, text)]:
            for name, words in documents.calls(piece.text, KNOWN):
                unknown = documents.unknown_options(name, words, KNOWN)
                c.expect(not unknown, f"{page}: '{piece.text}': the help of {name} has no {' '.join(unknown)}")
                looked += 1
            named = re.match(r"--[a-z][a-z0-9-]*", piece.text)
            if named and named.group() not in every and named.group() not in OTHERS:
                c.expect(any(f'"{named.group()}"' in source or f' "{named.group()[2:]}", ' in source for source in sources),
                         f"{page}: no command has an option {named.group()}")
    c.expect(looked > 250, f"{looked} calls")


@case
def options_of_messages_are_in_the_help(c):
    if EMULATOR:
        raise Skip("an emulator's help is that of others")
    every = {option for options in KNOWN.values() for option in options} | {"--version", "--pipe"}
    for folder, _, names in os.walk(os.path.join(ROOT, "tool")):
        for name in sorted(name for name in names if name.endswith((".c", ".h"))):
            text = re.sub(r"/\*.*?\*/", "", read(os.path.join(folder, name)), flags=re.S)
            for words in re.findall(r'"((?:[^"\\]|\\.)*)"', text):
                if words.startswith("  ") or re.fullmatch(r"--[a-z0-9-]+", words):
                    continue  # a line of the help, or a name that is looked up
                words = re.sub(r"(\bzstd -dc|2 GiB with) --long=31\b", "", words)  # another program's option
                wrong = {option for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", words)} - every
                c.expect(not wrong, f"{name}: no help has {' '.join(sorted(wrong))}: {words}")


@case
def targets_sets_and_build_options_of_documents_exist(c):
    sets = set(re.findall(r"^([\w-]+):", read("scripts/packages"), re.M))
    options = dict(re.findall(r"^option\('(\w+)', type: '(\w+)'", read("meson_options.txt"), re.M))
    for page in documents.pages():
        text = read(page)
        for piece in [*documents.commands(page), *documents.spans(page, text)]:
            target = re.match(r"make ([a-z-]+)(?= |$)", piece.text)
            if target and piece.text.split()[1:2] != ["SET"]:
                done = subprocess.run(["make", "-n", "-C", ROOT, target.group(1), "PACKAGES=present", f"BUILD={c.path('b')}"],
                                      capture_output=True, text=True, check=False)
                c.expect(done.returncode == 0, f"{page}: make {target.group(1)}: {done.stderr}")
            wanted = re.match(r"scripts/install-packages (\w+)", piece.text)
            c.expect(not wanted or wanted.group(1) in sets, f"{page}: {piece.text}: no such set")
            for name, value in re.findall(r"(?<=-D)([a-z]\w*)=([\w,]+)", piece.text):
                feature = options.get(name) != "feature" or value in ("enabled", "disabled", "auto")
                c.expect((name in options or name.startswith("b_")) and feature, f"{page}: Meson has no -D{name}={value}")
            if piece.where == "span" and documents.is_path(piece.text) and not re.search(r"^build|\*", piece.text):
                path = os.path.join(ROOT, piece.text)
                c.expect(os.path.exists(path) or os.path.exists(path + ".c"), f"{page}: {piece.text} does not exist")


@case
def wrong_commands_and_options_are_seen(c):
    known = {"build": {"--lower": False, "-o": True, "-q": False}, "sieve push": {"--canon": True}}
    table = (("bloomery build -qo f --lower x", []), ("bloomery build --blocs 2 x", ["--blocs"]),
             ("ls | xargs -P 2 -I {} bloomery build -z {}", ["-z"]), ("build --upper", ["--upper"]),
             ("bloomery sieve push --canon url -n 3 d", ["-n"]), ("for i in 1; do bloomery build -o f -k x; done", ["-k"]))
    for text, wrong in table:
        found = [option for name, words in documents.calls(text, known)
                 for option in documents.unknown_options(name, words, known)]
        c.expect(found == wrong, f"{text}: {found}")
    c.file("a.md", "# A\n\n    bloomery build \\\n        -q x  # comment\n    no command\n\n"
           "`sort \\| uniq -d`, `bloomery add FILE`\n"
           "\n```sh\nls\n```\n\n```console\n$ seq 2\n1\n2\n```\n")
    found = [(piece.where, piece.text, piece.shown) for piece in documents.commands(c.path("a.md"))]
    c.expect(found == [("line", "bloomery build -q x", None), ("span", "sort | uniq -d", None), ("block", "ls\n", None),
                       ("console", "seq 2", "1\n2\n")], f"{found}")
    unlisted = documents.Piece(0, "docs/new.md", "line", "scripts/nothing-runs-this now")
    c.expect(not matching(NOT_RUN, unlisted) and not matching(ELSEWHERE, unlisted), "it counts as run elsewhere")
    set_up(c, "new")
    try:
        run(c, "new", unlisted.page, unlisted.text)
    except Difference:
        return
    c.expect(False, "a command that does not exist passes")


main()

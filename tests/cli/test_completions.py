# SPDX-License-Identifier: Apache-2.0
"""Completions: bash, zsh and fish are asked what they would complete, each in a process of its own.

The files are made of the command's tables of options when it is built; they are beside it."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import time

from runner import EMULATOR, Skip, TOOL, case, main, open_terminal

import documents  # which has the scripts' folder in the path
import option_tables

FOLDER = os.path.join(os.path.dirname(TOOL), "completions")
SECONDS = 60  # a shell that takes longer hangs

# What is typed, and what must be offered for it, in every shell; "*" allows others.
QUESTIONS = (
    ("bloomery bu", {"build"}),
    ("bloomery pl", {"plan", "plot"}),
    ("bloomery help ins", {"inspect"}),
    ("bloomery build --ki", {"--kind"}),
    ("bloomery build --kind c", {"classic", "counting", "cuckoo"}),
    ("bloomery plot --kind st", set()),
    ("bloomery query --with", {"--with-filename", "--with-input"}),
    ("bloomery sieve ex", {"export"}),
    ("bloomery sieve push --engine ", {"disk", "memory"}),
    ("bloomery sieve pop --skip", {"--skip-damaged"}),
    ("bloomery sieve status --skip", set()),
    ("bloomery dedupe --on-full pa", {"pass"}),
    ("bloomery generate u", {"urls"}),
    ("bloomery convert --from gua", {"guava"}),
    ("bloomery query --filter on", {"one.bloom"}),
    ("bloomery query -f on", {"one.bloom"}),
    ("bloomery inspect on", {"one.bloom"}),
    ("bloomery build --temp s", {"sub/"}),
)


def shell(name):
    """The path of a shell. CI has all of them."""
    if not os.path.exists(os.path.join(FOLDER, "bloomery")):
        raise Skip("this build has no completions")
    path = shutil.which(name)
    if path is None:
        if os.environ.get("CI") == "true":
            raise AssertionError(f"{name} is not there: scripts/packages has it for CI")
        raise Skip(f"no {name}")
    return path


def directory_with_files(c):
    c.file("one.bloom", "")
    c.file("other", "")
    os.mkdir(os.path.join(c.directory, "sub"))


def compare(c, name, ask):
    """Asks each question in a shell: ask(line) is the set of what it offers."""
    directory_with_files(c)
    for line, expected in QUESTIONS:
        offered = ask(line)
        c.expect(offered == expected, f"{name}: {line!r} is completed by {sorted(offered)}")


@case
def tables_are_what_the_help_shows(c):
    if EMULATOR:
        raise Skip("an emulator's help is that of others")
    commands, dialects = option_tables.read(os.path.join(os.path.dirname(TOOL), "options.json"))
    c.expect("guava" in dialects and len(dialects) >= 15, f"the dialects: {dialects}")
    for command in commands:
        text = c.run(f"{command['name']} --help", stdout=None)[0].decode()
        described = set()
        for line in text.splitlines():
            if re.match(r" {2,6}(-\w, )?--[a-z]", line):
                described.update(re.findall(r"(?:^ +|, )--([a-z][a-z0-9-]*)", line))
        found = {option["name"] for option in option_tables.listed(command)}
        c.expect(found == described, f"{command['name']}: {sorted(found ^ described)}")
        words = " ".join(text.split())
        for option in option_tables.listed(command):
            said = option_tables.beginning(option["help"])
            c.expect(said in words, f"{command['name']} --{option['name']} is described by {said!r}")
            c.expect(said.count("(") == said.count(")") and len(said) >= 8, f"{said!r} is cut in a group of words")


@case
def every_value_is_offered_that_an_error_lists(c):
    commands, _ = option_tables.read(os.path.join(os.path.dirname(TOOL), "options.json"))
    asked = 0
    for command in commands:
        for option in option_tables.listed(command):
            _, said = c.run(f"{command['name']} --{option['name']}=nonsense", stdout=None, stderr=None, code=None)
            names = re.search(rf"--{option['name']} is ((?:[a-z-]+, )*[a-z-]+ or [a-z-]+), not 'nonsense'", said.decode())
            if names:
                c.expect(set(re.split(r", | or ", names.group(1))) == set(option["words"]), said.decode())
                asked += 1
    c.expect(asked >= 3, f"{asked} options name their values")


@case
def bash_completes(c):
    bash = shell("bash")

    def ask(line):
        words = line.split() + ([""] if line.endswith(" ") else [])
        script = (f"source {shlex.quote(os.path.join(FOLDER, 'bloomery'))}\n"
                  f"COMP_WORDS=({' '.join(shlex.quote(word) for word in words)})\n"
                  f"COMP_CWORD={len(words) - 1}\n_bloomery\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n")
        done = subprocess.run([bash, "--norc", "-c", script], cwd=c.directory, capture_output=True,
                              text=True, timeout=SECONDS, check=False)
        c.expect(done.stderr == "", f"bash: {done.stderr}")
        names = {name for name in done.stdout.splitlines() if name}
        return {name + "/" if os.path.isdir(os.path.join(c.directory, name)) else name for name in names}

    compare(c, "bash", ask)


@case
def bash_completes_after_an_equals_sign(c):
    bash = shell("bash")
    script = (f"source {shlex.quote(os.path.join(FOLDER, 'bloomery'))}\n"
              "COMP_WORDS=(bloomery build --kind = sc)\nCOMP_CWORD=4\n_bloomery\necho \"${COMPREPLY[@]}\"\n"
              "COMP_WORDS=(bloomery build --kind =)\nCOMP_CWORD=3\n_bloomery\necho \"${COMPREPLY[@]}\"\n"
              "COMP_WORDS=(bloomery dedupe --exact =)\nCOMP_CWORD=3\n_bloomery\necho \"${COMPREPLY[@]}\"\n")
    done = subprocess.run([bash, "--norc", "-c", script], capture_output=True, text=True, check=True)
    c.expect(done.stdout == "scalable\nblocked classic counting scalable static cuckoo\n64 128\n", done.stdout)


@case
def fish_completes(c):
    fish = shell("fish")

    def ask(line):
        script = (f"source {shlex.quote(os.path.join(FOLDER, 'bloomery.fish'))}\n"
                  f"complete -C {shlex.quote(line)}\n")
        environment = dict(os.environ, HOME=c.directory, XDG_CONFIG_HOME=c.directory, TERM="dumb")
        done = subprocess.run([fish, "--no-config", "-c", script], cwd=c.directory, capture_output=True,
                              text=True, timeout=SECONDS, check=False, env=environment)
        c.expect(done.stderr == "", f"fish: {done.stderr}")
        return {row.split("\t")[0] for row in done.stdout.splitlines()} - {"fish/"}

    compare(c, "fish", ask)


# The completion system of zsh runs in its line editor only, so a terminal is needed. compadd, which is what
# offers words, is put in front of the true one: -O makes it put into a list those that match.
ZSH_SETUP = """PS1= PS2= RPS1=
unsetopt zle_bracketed_paste 2>/dev/null
fpath=({folder} $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {{
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return $?; fi
    typeset -a __found; builtin compadd -O __found "$@"
    local slash=; [[ -n ${{(M)@:#-/}} || "$*" == *-W*-f* ]] && slash=1
    local word; for word in $__found; do
        [[ -d $word && $word != */ ]] && word=$word/
        print -r -- "<$word>" >> offered
    done
    builtin compadd "$@"
}}
finished() {{ print -r -- "<done>" >> offered; zle kill-whole-line; }}
zle -N finished; bindkey '^X' finished
print -r -- "<ready>" >> offered
"""


def wait_for(path, text, terminal):
    """Waits until the file has the text, and reads the terminal, for else the shell would wait."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.02)[0]:
            os.read(terminal, 65536)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found = file.read()
            if text in found:
                return found
    raise AssertionError(f"zsh did not say {text}")


@case
def zsh_completes(c):
    zsh = shell("zsh")
    offered = os.path.join(c.directory, "offered")
    c.file(".zshrc", ZSH_SETUP.format(folder=shlex.quote(FOLDER)))
    process, terminal = open_terminal(pty.fork)
    if process == 0:
        os.chdir(c.directory)
        environment = dict(os.environ, ZDOTDIR=c.directory, HOME=c.directory, TERM="vt100")
        os.execve(zsh, [zsh, "-o", "no_global_rcs", "-i"], environment)
    try:
        wait_for(offered, "<ready>", terminal)

        def ask(line):
            os.unlink(offered)
            os.write(terminal, line.encode() + b"\t\x18")
            found = wait_for(offered, "<done>", terminal)
            return set(re.findall(r"<([^>]*)>", found)) - {"done"}

        compare(c, "zsh", ask)
    finally:
        os.close(terminal)
        os.kill(process, 9)
        os.waitpid(process, 0)


if __name__ == "__main__":
    main()

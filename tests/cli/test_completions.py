# SPDX-License-Identifier: Apache-2.0
"""Completions: bash, zsh and fish are asked what they would complete, each in a process of its own.

The files are made from the help of the commands, so they are also made again and compared."""

import importlib.machinery
import importlib.util
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

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "tool", "completions")
SECONDS = 60  # a shell that takes longer hangs

# What is typed, and what must be offered for it, in every shell; "*" allows others.
QUESTIONS = (
    ("bloomery bu", {"build"}),
    ("bloomery pl", {"plan", "plot"}),
    ("bloomery help ins", {"inspect"}),
    ("bloomery build --ki", {"--kind"}),
    ("bloomery build --kind c", {"classic", "counting"}),
    ("bloomery plot --kind st", set()),
    ("bloomery query --with", {"--with-filename", "--with-input"}),
    ("bloomery sieve ex", {"export"}),
    ("bloomery sieve push --engine ", {"disk", "memory"}),
    ("bloomery sieve pop --skip", {"--skip-damaged"}),
    ("bloomery sieve status --skip", set()),
    ("bloomery generate u", {"urls"}),
    ("bloomery convert --from gua", {"guava"}),
    ("bloomery query --filter on", {"one.bloom"}),
    ("bloomery query -f on", {"one.bloom"}),
    ("bloomery inspect on", {"one.bloom"}),
    ("bloomery build --temp s", {"sub/"}),
)


def module():
    """scripts/make-completions, as a module."""
    path = os.path.join(ROOT, "scripts", "make-completions")
    loader = importlib.machinery.SourceFileLoader("make_completions", path)
    spec = importlib.util.spec_from_loader("make_completions", loader)
    made = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    loader.exec_module(made)
    return made


def shell(name):
    """The path of a shell. CI has all of them."""
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
def completions_are_as_made_from_the_help(c):
    if EMULATOR:
        raise Skip("an emulator's help is that of others")
    for name, text in module().make_all(TOOL).items():
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            c.expect(file.read() == text, f"tool/completions/{name} is not what the help makes: "
                                          "run scripts/make-completions BUILD/tool/bloomery")


@case
def every_option_of_the_help_is_found(c):
    made = module()
    commands, dialects = made.read_commands(TOOL)
    c.expect("guava" in dialects and len(dialects) >= 15, f"the dialects: {dialects}")
    for name, _, options in commands:
        text = made.help_of(TOOL, *name.split())
        described = set()
        for line in text.splitlines():
            if re.match(r" {2,6}(-\w, )?--[a-z]", line):
                described.update(re.findall(r"(?:^ +|, )--([a-z][a-z0-9-]*)", line))
        found = {option.name for option in options}
        c.expect(found == described, f"{name}: {sorted(found ^ described)}")
        for option in options:
            c.expect(option.value == "" or
                     re.search(rf"--{option.name}(\[=| \[|[ =]){option.value}(?![\w-])", text),
                     f"{name} --{option.name}: its value is {option.value!r}")
            c.expect(re.match(r"[A-Za-z0-9-]", option.brief()) and f" {option.text[:12]}" in text,
                     f"{name} --{option.name} is described by {option.text!r}")


@case
def bash_completes(c):
    bash = shell("bash")

    def ask(line):
        words = line.split() + ([""] if line.endswith(" ") else [])
        script = (f"source {shlex.quote(os.path.join(FOLDER, 'bloomery.bash'))}\n"
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
    script = (f"source {shlex.quote(os.path.join(FOLDER, 'bloomery.bash'))}\n"
              "COMP_WORDS=(bloomery build --kind = sc)\nCOMP_CWORD=4\n_bloomery\necho \"${COMPREPLY[@]}\"\n"
              "COMP_WORDS=(bloomery build --kind =)\nCOMP_CWORD=3\n_bloomery\necho \"${COMPREPLY[@]}\"\n")
    done = subprocess.run([bash, "--norc", "-c", script], capture_output=True, text=True, check=True)
    c.expect(done.stdout == "scalable\nblocked classic counting scalable static\n", done.stdout)


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
    """Until the file has the text. The terminal must be read meanwhile, or the shell waits."""
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

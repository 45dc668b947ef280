# SPDX-License-Identifier: Apache-2.0
"""scripts/install-packages, with an apt-get that only writes down how it was called."""

import os
import shutil
import subprocess

from runner import checks, expect, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# apt-get update finds the lock held, as often as the file `held` says; it prints what apt prints then.
PROGRAMS = {
    "id": "echo 0",
    "dpkg": "[ \"$1\" != --print-architecture ] || echo amd64",
    "dpkg-query": "exit 1",
    "sleep": "echo \"sleep $*\" >>calls",
    "apt-get": """echo "apt-get $*" >>calls
case "$*" in *update*)
    held=$(cat held)
    if [ "$held" -gt 0 ]; then
        echo $((held - 1)) >held
        echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 77 (apt-get)"
        exit 100
    fi;;
esac
[ ! -e broken ] || { echo "E: broken"; exit 100; }""",
}


def install(folder, held, broken=False):
    """Runs the script; returns (exit code, stderr, calls)."""
    for name, text in PROGRAMS.items():
        path = os.path.join(folder, "bin", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)
    with open(os.path.join(folder, "held"), "w", encoding="utf-8") as file:
        file.write(f"{held}\n")
    if broken:
        with open(os.path.join(folder, "broken"), "w", encoding="utf-8"):
            pass
    environment = {name: value for name, value in os.environ.items() if name != "PACKAGES"}
    environment["PATH"] = os.path.join(folder, "bin") + ":" + environment["PATH"]
    done = subprocess.run([os.path.join(ROOT, "scripts", "install-packages"), "demo"], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=60, check=False)
    with open(os.path.join(folder, "calls"), encoding="utf-8") as file:
        return done.returncode, done.stderr, file.read().splitlines()


def a_lock_of_another_apt_is_waited_for(folder):
    code, said, calls = install(folder, 3)
    updates = [call for call in calls if "update" in call]
    expect(code == 0 and len(updates) == 4 and calls.count("sleep 5") == 3, f"{code}, {said}, {calls}")
    expect(said.count("waiting for another apt") == 1, said)
    expect(" install " in calls[-1] and "meson" in calls[-1], calls[-1])
    expect(all("-o DPkg::Lock::Timeout=600" in call for call in calls if call.startswith("apt-get")), f"{calls}")


def it_is_not_waited_for_without_end(folder):
    code, said, calls = install(folder, 1000)
    expect(code == 0 and calls.count("sleep 5") == 120 and "failed in part" in said, f"{code}, {said}, {len(calls)}")


def another_fault_is_not_waited_for(folder):
    code, said, calls = install(folder, 0, broken=True)
    expect(code == 2 and "sleep 5" not in calls and "could not install" in said, f"{code}, {said}, {calls}")


def another_system_is_told_what_to_say(folder):
    """Without apt-get: the line that works is the target that make was called for (not the name of a set)."""
    os.makedirs(os.path.join(folder, "bin"))
    for name in ("sh", "sed", "sort", "tr", "dirname", "cat", "env", "echo"):
        os.symlink(shutil.which(name), os.path.join(folder, "bin", name))
    script = os.path.join(ROOT, "scripts", "install-packages")
    for goals, wanted in (("web", "say: make web PACKAGES=present"), ("", "say: PACKAGES=present, before the command")):
        done = subprocess.run([script, "wasm-page"], capture_output=True, text=True, timeout=60, check=False,
                              env={"PATH": os.path.join(folder, "bin"), "MAKECMDGOALS": goals})
        expect(done.returncode == 2 and done.stderr.rstrip().endswith(wanted), f"{goals}: {done}")
        expect("binaryen" in done.stderr and "make wasm-page" not in done.stderr, done.stderr)
    done = subprocess.run([script, "wasm-page"], capture_output=True, text=True, timeout=60, check=False,
                          env={"PATH": os.path.join(folder, "bin"), "PACKAGES": "present"})
    expect(done.returncode == 0 and done.stderr == "", f"{done}")
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
        expect("export MAKECMDGOALS" in file.read(), "make does not say which target it was called for")


checks(a_lock_of_another_apt_is_waited_for, it_is_not_waited_for_without_end, another_fault_is_not_waited_for,
       another_system_is_told_what_to_say)
if __name__ == "__main__":
    main(command=False)

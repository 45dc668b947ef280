# SPDX-License-Identifier: Apache-2.0
"""The wheel, by Debian's meson-python and without a network: its name, size and needs; and that it runs elsewhere."""

import email
import glob
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import bloomery
from optional import need
from runner import Skip, case, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@case
def a_wheel_is_small_needs_libc_alone_and_runs(c):
    need("mesonpy")
    if shutil.which("patchelf") is None:
        raise Skip("no patchelf here, which meson-python runs")
    if not os.access(ROOT, os.W_OK):
        raise Skip("the sources are read-only, and meson-python writes beside them")
    code = ("import mesonpy; print(mesonpy.build_wheel({!r}, config_settings={{'setup-args': "
            "['-Dlibsodium=disabled', '-Dlibcrypto=disabled']}}))").format(c.directory)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    c.expect(done.returncode == 0, (done.stdout + done.stderr)[-800:])
    wheel, = glob.glob(c.path("*.whl"))
    name = os.path.basename(wheel)
    c.expect("-cp311-abi3-" in name, f"it is called {name}")
    c.expect(os.path.getsize(wheel) < 2 << 20, f"{os.path.getsize(wheel)} bytes")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(c.path("site"))
    c.expect({"bloomery/__init__.py", "bloomery/_lines.py", "bloomery/_native.pyi", "bloomery/py.typed", "bloomery/_native.abi3.so",
              "bloomery/scrapy.py", "bloomery/compat/rbloom.py", "bloomery/compat/pybloom_live.py"} <= set(names), f"{names}")
    c.expect(not [each for each in names if not each.startswith(("bloomery/", "bloomery-"))], f"{names}")
    c.expect({"bloomery/__main__.py", "bloomery/_columns.py", "bloomery/_dedupe.py", "bloomery/_html.py", "bloomery/LICENSE"} <= set(names), f"{names}")
    with open(glob.glob(c.path("site/bloomery-*.dist-info/METADATA"))[0], encoding="utf-8") as file:
        made = email.message_from_file(file)
    for field in ("Name", "Version", "Summary", "License", "Requires-Python", "Classifier", "Description-Content-Type"):
        c.expect(sorted(made.get_all(field, [])) == sorted(metadata().get_all(field, [])), f"{field}: {made.get_all(field)}")
    c.expect(made.get_payload().strip() == metadata().get_payload().strip(), "another description")
    done = subprocess.run(["readelf", "-d", c.path("site/bloomery/_native.abi3.so")], capture_output=True, text=True,
                          check=True)
    needed = {line.split("[")[1].split("]")[0] for line in done.stdout.splitlines() if "NEEDED" in line}
    c.expect(needed <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"} and "RUNPATH" not in done.stdout,
             f"it needs {needed}")
    done = subprocess.run(["nm", "-D", "--defined-only", c.path("site/bloomery/_native.abi3.so")], capture_output=True,
                          text=True, check=True)
    c.expect([line.split()[-1] for line in done.stdout.splitlines()] == ["PyInit__native"], done.stdout[:400])
    code = "import bloomery; f = bloomery.Filter.build(map(str, range(100)), count=100); print(f.count_many(['7', 'x']), bloomery.__file__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": c.path("site")})
    c.expect(done.stdout.split() == ["1", c.path("site/bloomery/__init__.py")], done.stdout + done.stderr)


def metadata(*arguments):
    """What scripts/python-metadata prints, as fields; with an address, as TOML."""
    text = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "python-metadata"), *arguments], capture_output=True,
                          text=True, check=True).stdout
    return tomllib.loads(text) if arguments else email.message_from_string(text)


@case
def metadata_are_what_an_index_takes(c):
    said = metadata()
    c.expect(said["License"] == "Apache-2.0" and said["Version"] == bloomery.__version__, f"{said.items()}")
    c.expect(said["Requires-Python"] == ">=3.11" and "Programming Language :: Python :: 3.13" in said.get_all("Classifier"), "Python")
    text = said.get_payload()
    c.expect(text.startswith("# bloomery") and len(text) > 1000, text[:200])
    links = [link for link in re.findall(r"\]\(([^)]*)\)", text) if not link.startswith("https://")]
    c.expect(links == [], f"links that an index can't follow: {links}")
    for program in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
        done = subprocess.run([sys.executable, "-X", "dev", "-c", program], cwd=c.directory, capture_output=True, text=True, check=False)
        c.expect((done.returncode, done.stdout, done.stderr) == (0, "True\n", ""), f"{program}: {done}")


@case
def addresses_come_from_one_place(c):
    address = "https://example.org/bloomery"
    urls = metadata(address + "/")["project"]["urls"]
    c.expect(set(urls) == {"Homepage", "Documentation", "Changelog", "Issues"} and
             all(url.startswith(address) for url in urls.values()), f"{urls}")
    c.expect("urls" not in tomllib.loads(open(os.path.join(ROOT, "pyproject.toml"), encoding="utf-8").read())["project"], "twice")


main()

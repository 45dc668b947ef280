# SPDX-License-Identifier: Apache-2.0
"""The wheel, by Debian's meson-python and without a network: its name, size and needs; and that it runs elsewhere."""

import glob
import os
import shutil
import subprocess
import sys
import zipfile

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


main()

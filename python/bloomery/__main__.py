# SPDX-License-Identifier: Apache-2.0
"""python -m bloomery: what this package is, and the command of the same name."""

import os
import shutil
import sys

import bloomery

HELP = f"""\
The Python package bloomery {bloomery.__version__}: Bloom filters with a chosen rate.

  python -m bloomery                show this help
  python -m bloomery --version      print the version
  python -m bloomery show FILE...   print what filters are in files
  python -m bloomery COMMAND ...    run the command bloomery, which is installed
                                    separately

In Python:

  from bloomery import Filter
  seen = Filter(1_000_000, 0.001)
  seen.add("a key")                 # True: it was new
  "a key" in seen                   # True
  seen.save("seen.bloom")

help(bloomery.Filter) describes all methods. Wrappers for other packages'
users are in bloomery.compat, and what Scrapy needs is in bloomery.scrapy.
"""


def show(names):
    """Prints a line for each file. 2 if one of them can't be read."""
    status = 0
    for name in names:
        try:
            with bloomery.Filter.open(name) as filter_:
                print(f"{name}: {filter_}")
        except (OSError, bloomery.Error, ValueError) as error:
            print(f"bloomery: {name}: {error}", file=sys.stderr)
            status = 2
    return status


def main(arguments):
    """The exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(HELP, end="")
        return 0
    if arguments[0] == "--version":
        print(f"bloomery {bloomery.__version__} (Python package)")
        return 0
    if arguments[0] == "show":
        return show(arguments[1:])
    command = shutil.which("bloomery")
    if command is None:
        print("bloomery: the command bloomery is not installed: this is the Python package alone, which has "
              "'python -m bloomery show FILE...'", file=sys.stderr)
        return 2
    os.execv(command, [command, *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

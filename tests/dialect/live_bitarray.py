# SPDX-License-Identifier: Apache-2.0
"""The example bloom.py of Debian's python3-bitarray, on a string: run by the Python that has bitarray, so no
part of the tests' own.

    live_bitarray.py EXAMPLE

A line of JSON in, one out: {"n", "p", "keys", "asked"} of a filter for n keys at rate p, to which the keys are
added and which is asked the others; {"m", "k", "positions" of each key, "bits" in hexadecimal as tofile() has
them, "answers"}. Keys are texts or numbers.
"""

import importlib.util
import json
import sys


def load(path):
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    """Answers until the input ends."""
    example = load(sys.argv[1])
    for line in sys.stdin:
        given = json.loads(line)
        made = example.BloomFilter(given["n"], given["p"])
        for key in given["keys"]:
            made.add(key)
        # The example calls it _hashes; nothing else gives its positions.
        positions = [list(made._hashes(key)) for key in given["keys"]]  # pylint: disable=protected-access
        print(json.dumps({"m": made.m, "k": made.k, "positions": positions, "bits": made.array.tobytes().hex(),
                          "answers": [int(key in made) for key in given["asked"]]}), flush=True)


main()

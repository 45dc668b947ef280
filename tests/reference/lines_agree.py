#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints with what chance two random lines of whole numbers agree: the constants of src/dialects/clickhouse.c.

    python3 tests/reference/lines_agree.py [MOST]

Line (x, y) is floor(x + i y) for i = 0 .. r-1, with x and y uniform in [0, 1): how often a sum a + i b has
wrapped at 2^64. Two lines agree at r steps where their difference is a straight line of whole numbers, that is
where their second differences are equal. For y between two fractions with denominators below r the second
differences depend on x alone, and the lengths of x that belong to each are linear in y; so all areas are exact
fractions, and the chance is the sum of their squares. The last column is what the code takes from row 17 on.

    chance, r = 3: 0.375 = (1/4)^2 + (1/2)^2 + (1/4)^2
"""

import math
import sys
from fractions import Fraction


def areas(steps):
    """The area of (x, y) for each sequence of second differences."""
    found = {}
    ends = sorted({Fraction(a, b) for b in range(1, steps) for a in range(b + 1)})
    for low, high in zip(ends, ends[1:]):
        middle = (low + high) / 2
        # x where floor(x + i y) steps up, which moves with y but passes no other such point.
        order = sorted(range(1, steps), key=lambda i, y=middle: -i * y % 1)
        bounds = [lambda y: 0]
        bounds += [lambda y, i=i, m=middle: -i * y - math.floor(-i * m) for i in order]
        bounds.append(lambda y: 1)
        for left, right in zip(bounds, bounds[1:]):
            x = (left(middle) + right(middle)) / 2
            line = [math.floor(x + i * middle) for i in range(steps)]
            bends = tuple(a - 2 * b + c for a, b, c in zip(line, line[1:], line[2:]))
            length = (right(low) - left(low) + right(high) - left(high)) / 2
            found[bends] = found.get(bends, 0) + (high - low) * length
    assert sum(found.values()) == 1
    return found


def main():
    for steps in range(3, int(sys.argv[1]) + 1 if len(sys.argv) > 1 else 20):
        chance = sum(area * area for area in areas(steps).values())
        print(f"{steps:3}  {float(chance):.6g}  {2 / steps ** 2:.4g}")


if __name__ == "__main__":
    main()

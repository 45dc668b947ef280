#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exact false-positive rates of Bloom filters: the reference that src/plan/ is tested against.

The C planner sums non-negative terms in double precision: it steps chances forward key by key and
weighs them with binomial laws. This file shares no step with it. It uses one closed form, in
integers and in decimals with enough digits that cancellation does not matter.

One array of cells. Throw t times, uniformly and independently, into m cells, and let X be the
number of distinct cells hit. A query throws k times and passes if every one of its throws lands in
a cell that was hit. Let D be the number of distinct cells of the query. By inclusion and exclusion
over the cells that were missed,

    E[(X/m)^k] = sum_i  c_i (1 - i/m)^t      with   c_i = (-1)^i E[C(D, i)]
    E[C(D, i)] = C(m, i) * sum_r (-1)^r C(i, r) (1 - r/m)^k

(the second line is inclusion and exclusion again, now over the cells that the query misses).

A line of words. A key sets one bit in each word of a window W of cyclically consecutive words. Its
windows given, words are independent arrays of cells, so if a query tests k_w bits of word w,

    P(all set) = sum over i_1 .. i_8 of  c_i1 c_i2 .. c_i8  g(i)^j     after j keys
    g(i)       = mean over the windows W of the product over w in W of (1 - i_w/m)

and a query's own windows are summed over. The dependence on j is a sum of powers, so averaging over
a random j, the load of a line, is averaging powers, which a multinomial law does in closed form: if
T keys each choose one of N lines, then

    E[a_1^load_1 ... a_B^load_B] = (1 - sum_b (1 - a_b) / N)^T

for B different lines. A blocked filter's rate is therefore a finite sum of T-th powers, for any N
and any number of keys, with no approximation. docs/mathematics.md, sections 3 to 5, derives this.

    python3 tests/reference/rates.py --header > tests/unit/plan_reference.h
    python3 tests/reference/rates.py --coinciding > src/plan/coinciding_table.c
    python3 tests/reference/rates.py blocked 1024 2 5 40000        (lines N, L, k, keys)
    python3 tests/reference/rates.py classic 65536 7 6000          (bits m, k, keys)

crosscheck.py proves this file by other roads; tables.py prints the tables of docs/mathematics.md.
"""

import sys
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, prod

# The terms of the largest sum here (k = 64, classic) stay below 2^64, and those of four lines in
# one below 2^40; the smallest rate of interest is above 1e-60: 160 digits leave more than 70
# correct ones.
getcontext().prec = 160

WORDS, WORD_BITS = 8, 64
LINE_BITS = WORDS * WORD_BITS


# ---- One array of cells ------------------------------------------------------------------------


@lru_cache(maxsize=None)
def weights(cells, probes):
    """c_0 .. c_probes as fractions: E[(X_t/cells)^probes] = sum_i c_i (1 - i/cells)^t."""
    result = []
    for i in range(min(probes, cells) + 1):
        hit_all = sum((-1) ** r * comb(i, r) * (cells - r) ** probes for r in range(i + 1))
        result.append(Fraction((-1) ** i * comb(cells, i) * hit_all, cells**probes))
    return result


@lru_cache(maxsize=None)
def decimal_weights(cells, probes):
    return [Decimal(c.numerator) / Decimal(c.denominator) for c in weights(cells, probes)]


def power(base, exponent):
    """base ** exponent for Decimals, where 0 ** 0 is 1."""
    return Decimal(1) if exponent == 0 else base**exponent


def occupancy_moment(cells, probes, throws):
    """E[(X_throws / cells)^probes] as a fraction. For small numbers of throws: it is exact."""
    return sum(
        c * Fraction(cells - i, cells) ** throws for i, c in enumerate(weights(cells, probes))
    )


def classic_rate(bits, probes, keys):
    """The rate of a classic filter of `bits` bits that holds `keys` distinct keys."""
    if keys == 0:
        return Decimal(0)
    total = Decimal(0)
    for i, c in enumerate(decimal_weights(bits, probes)):
        total += c * power(Decimal(bits - i) / Decimal(bits), probes * keys)
    return total


# ---- An array of lines -------------------------------------------------------------------------


def window(first, probes, words):
    return [(first + i) % words for i in range(probes)]


def covers(probes, times, words):
    """How often each word of a line is tested by `times` windows: {counts: ways}, counts that are
    one another's rotation or mirror image being one."""
    result = {}
    for starts in combinations_with_replacement(range(words), times):
        ways = factorial(times)
        for start in set(starts):
            ways //= factorial(starts.count(start))
        counts = [0] * words
        for start in starts:
            for word in window(start, probes, words):
                counts[word] += 1
        turned = [tuple(counts[i:] + counts[:i]) for i in range(words)]
        least = min(turned + [t[::-1] for t in turned])
        result[least] = result.get(least, 0) + ways
    return result


@lru_cache(maxsize=None)
def line_terms(probes, times, words=WORDS, word_bits=WORD_BITS):
    """(terms, whole, unit): P(`times` absent picks are all set in a line that j picks came to) is
    the sum of (a / whole) (g / unit)^j over the pairs (g, a) of `terms`, all of them integers."""
    raw = {}
    base = times + 1
    for counts, ways in covers(probes, times, words).items():
        parts = [(0, ways)]
        for word, count in enumerate(counts):
            scaled = [int(c * word_bits**count) for c in weights(word_bits, count)]
            parts = [(code + i * base**word, a * c) for code, a in parts
                     for i, c in enumerate(scaled) if c != 0]
        for code, a in parts:
            raw[code] = raw.get(code, 0) + a
    windows = [window(first, probes, words) for first in range(words)]
    terms = {}
    for code, a in raw.items():
        left = [word_bits - code // base**word % base for word in range(words)]
        g = sum(prod(left[word] for word in one) for one in windows)
        terms[g] = terms.get(g, 0) + a
    whole = words**times * word_bits**(probes * times)
    return [(g, a) for g, a in sorted(terms.items()) if a != 0], whole, words * word_bits**probes


def line_moment(probes, times, load):
    """The same chance for one load, as a fraction."""
    terms, whole, unit = line_terms(probes, times)
    return Fraction(sum(a * g**load for g, a in terms), whole * unit**load)


def coincidences(lines_per_key):
    """How the lines of a query can coincide: (the group sizes, number of such set partitions)."""
    return {
        1: [((1,), 1)],
        2: [((1, 1), 1), ((2,), 1)],
        3: [((1, 1, 1), 1), ((2, 1), 3), ((3,), 1)],
        4: [((1, 1, 1, 1), 1), ((2, 1, 1), 6), ((2, 2), 3), ((3, 1), 4), ((4,), 1)],
    }[lines_per_key]


def falling(n, steps):
    product = 1
    for i in range(steps):
        product *= n - i
    return product


def joined(groups, probes, words, word_bits):
    """The terms of several different lines together: {sum of (unit - g): product of the a}."""
    sums = {0: 1}
    for times in groups:
        terms, _, unit = line_terms(probes, times, words, word_bits)
        then = {}
        for missed, a in sums.items():
            for g, b in terms:
                then[missed + unit - g] = then.get(missed + unit - g, 0) + a * b
        sums = then
    return sums


def groups_rate(lines, per_key, probes, groups, keys, words, word_bits):
    """P(all probes are set | the query's lines coincide in groups of these sizes)."""
    picks = keys * per_key
    unit = words * word_bits**probes
    whole = words**per_key * word_bits**(probes * per_key)
    total = Decimal(0)
    for missed, a in joined(groups, probes, words, word_bits).items():
        total += a * power(1 - Decimal(missed) / (unit * lines), picks)
    return total / whole


def blocked_rate(lines, per_key, probes, keys, words=WORDS, word_bits=WORD_BITS):
    """The rate of a blocked filter of `lines` lines in which a key sets one bit in each of `probes`
    words of each of `per_key` lines, once it holds `keys` distinct keys."""
    if keys == 0:
        return Decimal(0)
    total = Decimal(0)
    for groups, partitions in coincidences(per_key):
        ways = partitions * falling(lines, len(groups))
        if ways > 0:
            share = Decimal(ways) / Decimal(lines) ** per_key
            total += share * groups_rate(lines, per_key, probes, groups, keys, words, word_bits)
    return total


def blocked_limit(load, probes):
    """f1: the rate of one line in a filter of endlessly many lines with `load` keys a line: the
    load is then Poisson, and the rate of the filter is f1 ** L."""
    terms, whole, unit = line_terms(probes, 1)
    load = Decimal(load)
    return sum(a * (-load * (unit - g) / unit).exp() for g, a in terms) / whole


# ---- The table of src/plan/coinciding_table.c --------------------------------------------------


TABLE_LOADS = list(range(1, 8)) + [(4 + i) * 2 * 2**octave for octave in range(7) for i in range(4)]
TABLE_LOADS.append(1024)
FIXED_BITS = 420  # of fractions; E[f^4] is at least 2^-180, and the terms are below 2^40


def fixed_moments(probes, times, loads):
    """E[f^times] for some loads, ascending, with numbers of fixed point: quick, for many loads."""
    terms, whole, unit = line_terms(probes, times)
    bases = [(g << FIXED_BITS) // unit for g, _ in terms]
    powers, now, result = [1 << FIXED_BITS] * len(bases), 0, []
    for load in loads:
        for _ in range(load - now):
            powers = [p * b >> FIXED_BITS for p, b in zip(powers, bases)]
        now = load
        total = sum(p * a for p, (_, a) in zip(powers, terms))
        result.append(Decimal(total) / Decimal(whole << FIXED_BITS))
    return result


def print_coinciding(out):
    out.write(TABLE_TOP)
    for probes in range(1, 9):
        out.write("    {\n")
        once = fixed_moments(probes, 1, TABLE_LOADS)
        for times in (2, 3, 4):
            both = zip(once, fixed_moments(probes, times, TABLE_LOADS))
            pairs = times * (times - 1) // 2
            excess = [float((many.ln() - times * one.ln()) / pairs) for one, many in both]
            words = [f"{x if abs(x) > 1e-20 else 0:.7e}F" for x in excess]
            out.write("        {\n")
            for i in range(0, len(words), 5):
                out.write("            " + ", ".join(words[i:i + 5]) + ",\n")
            out.write("        },\n")
        out.write("    },\n")
    out.write("};\n/* clang-format on */\n")


TABLE_TOP = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* Generated; do not edit:  tests/reference/rates.py --coinciding > src/plan/coinciding_table.c */
#include "plan/blocked_rate.h"

/* clang-format off */
const float bloomery_coinciding_table[8][BLOOMERY_COINCIDING_MAX - 1]
                                     [BLOOMERY_COINCIDING_NODES] = {
"""


# ---- The table for tests/unit/plan.c -----------------------------------------------------------


def most_keys(rate_of, target):
    """The most keys, at least 1, for which rate_of(keys) <= target."""
    if rate_of(1) > target:
        return 1
    high = 2
    while rate_of(high) <= target:
        high *= 4
    low = high // 4
    while high - low > max(1, low // 50):  # two digits are enough: any n is a fair test
        middle = (low + high) // 2
        if rate_of(middle) <= target:
            low = middle
        else:
            high = middle
    return max(1, low)


TARGETS = [Decimal(t) for t in "0.5 0.1 1e-2 1e-3 1e-4 1e-6 1e-9 1e-12".split()]


def blocked_rows():
    sizes = [1, 2, 3, 7, 16, 255, 256, 1024, 10**4, 10**6, 10**9]
    probes_of = {1: [1, 2, 3, 4, 5, 6, 7, 8], 2: [1, 2, 3, 5, 6, 7, 8], 3: [1, 2, 3, 4, 7, 8],
                 4: [1, 2, 3, 4, 7, 8]}
    for per_key in (1, 2, 3, 4):
        choices = probes_of[per_key]
        for row, lines in enumerate(sizes):
            for step in range(3):
                pick = (row + step * 3) % len(choices)
                probes = choices[pick]
                # A rate that this many probes are for, or one off it, in turn.
                target = TARGETS[min(len(TARGETS) - 1, pick + (row + step) % 3)]
                yield lines, per_key, probes, target
    for lines, per_key, probes, target in [
        (1, 1, 8, "1e-6"),
        (1, 2, 8, "1e-9"),
        (1, 3, 8, "1e-12"),
        (1, 4, 8, "1e-15"),
        (2, 4, 3, "1e-9"),
        (3, 4, 8, "1e-2"),
        (1000, 1, 8, "1e-9"),
        (1000, 2, 8, "1e-12"),
        (1000, 3, 8, "1e-12"),
        (4096, 1, 8, "1e-9"),
        (4096, 2, 8, "1e-15"),
        (4096, 4, 8, "1e-15"),
        (78125000, 1, 8, "1e-2"),
    ]:
        yield lines, per_key, probes, Decimal(target)


def classic_rows():
    sizes = [8, 64, 100, 512, 1000, 4096, 65536, 10**6, 2**33, 2**40]
    choices = [1, 2, 3, 5, 7, 10, 13, 20, 30]
    for row, bits in enumerate(sizes):
        for step in range(4):
            pick = (row + step * 2) % len(choices)
            target = TARGETS[min(len(TARGETS) - 1, pick * 8 // 9 + step % 2)]
            yield bits, choices[pick], target
    for bits, probes, target in [
        (8, 8, "0.5"),
        (8, 12, "0.5"),
        (8, 64, "0.5"),
        (63, 64, "1e-3"),
        (64, 64, "1e-3"),
        (65, 64, "1e-3"),
        (512, 64, "1e-6"),
        (191701168, 7, "1e-2"),
        (191701168, 10, "1e-2"),
        (2**25, 7, "1e-4"),
        (16, 3, "0.1"),
        (4095, 3, "1e-2"),
        (4097, 3, "1e-2"),
        (200000, 13, "1e-4"),
    ]:
        yield bits, probes, Decimal(target)


def header_rows():
    """Rows of (kind, size, L, k, keys, rate), one per shape and number of keys."""
    seen = set()

    def fresh(row, rate):
        if row not in seen:
            seen.add(row)
            yield row + (rate,)

    for lines, per_key, probes, target in blocked_rows():
        keys = most_keys(lambda n: blocked_rate(lines, per_key, probes, n), target)
        row = ("BLOOMERY_BLOCKED", lines, per_key, probes, keys)
        yield from fresh(row, blocked_rate(lines, per_key, probes, keys))
    for bits, probes, target in classic_rows():
        keys = most_keys(lambda n: classic_rate(bits, probes, n), target)
        row = ("BLOOMERY_CLASSIC", bits, 0, probes, keys)
        yield from fresh(row, classic_rate(bits, probes, keys))


HEADER_TOP = """\
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated; do not edit:  python3 tests/reference/rates.py --header > tests/unit/plan_reference.h
 *
 * Exact false-positive rates, computed with 160 digits and rounded to 17. They come from a closed
 * form that the C code does not use, so that the two can disagree.
 */
#ifndef PLAN_REFERENCE_H
#define PLAN_REFERENCE_H

#include <bloomery/bloomery.h>

/* A filter of `size` blocks (blocked) or bits (classic) that holds `keys` distinct keys. */
struct plan_reference_row {
    bloomery_kind kind;
    uint64_t size;
    uint32_t blocks_per_key;
    uint32_t probes;
    uint64_t keys;
    double rate;
};

/* clang-format off */
static const struct plan_reference_row plan_reference[] = {
"""

HEADER_END = """\
};
/* clang-format on */

#endif /* PLAN_REFERENCE_H */
"""


def print_header(out):
    out.write(HEADER_TOP)
    for kind, size, per_key, probes, keys, rate in header_rows():
        out.write(f"    {{{kind}, {size}u, {per_key}, {probes}, {keys}u, {rate:.16e}}},\n")
    out.write(HEADER_END)


def main(arguments):
    if arguments == ["--header"]:
        print_header(sys.stdout)
    elif arguments == ["--coinciding"]:
        print_coinciding(sys.stdout)
    elif len(arguments) == 5 and arguments[0] == "blocked":
        print(f"{blocked_rate(*map(int, arguments[1:])):.16e}")
    elif len(arguments) == 4 and arguments[0] == "classic":
        print(f"{classic_rate(*map(int, arguments[1:])):.16e}")
    else:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

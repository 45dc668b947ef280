#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves rates.py, and with it the table that tests/unit/plan.c compares the planner with.

Each check takes another road to the same number: enumerating every possible filter, stepping the
distribution forward, summing over every load, or building the structure with random bits and asking
it. A check prints one line; the first that fails ends the run with exit code 1.

    python3 tests/reference/crosscheck.py          all checks, about a minute
"""

import itertools
import math
import os
import random
import sys
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from io import StringIO
from math import comb

import rates

HERE = os.path.dirname(os.path.abspath(__file__))


def need(holds, message):
    if not holds:
        raise SystemExit("crosscheck: " + message)


def close(a, b, tolerance=Decimal("1e-60")):
    """Equal but for the last of 160 digits. Fractions are brought to digits first."""
    if isinstance(a, Fraction):
        a = Decimal(a.numerator) / a.denominator
    if isinstance(b, Fraction):
        b = Decimal(b.numerator) / b.denominator
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


# ---- Occupancy: three roads --------------------------------------------------------------------


def occupancy_distribution(cells, throws):
    """P(X = x) for x = 0 .. cells, stepped forward one throw at a time."""
    now = [Fraction(1)] + [Fraction(0)] * cells
    for _ in range(throws):
        then = [Fraction(0)] * (cells + 1)
        for x, p in enumerate(now):
            if p:
                then[x] += p * Fraction(x, cells)
                if x < cells:
                    then[x + 1] += p * Fraction(cells - x, cells)
        now = then
    return now


def moments_by_recurrence(cells, highest, throws, one=Fraction(1)):
    """E[(X_t / cells)^i] for i = 0 .. highest, as src/plan/classic_rate.c steps them."""
    step = []
    for i in range(highest + 1):
        row = [one * 0] * (i + 1)
        row[i] = one - one * i / cells
        for r in range(i):
            before = comb(i, r - 1) if r > 0 else 0
            row[r] = (one * comb(i, r) - one * before / cells) / cells ** (i - r)
            need(row[r] > 0 or i > cells, "a coefficient of the recurrence is not positive")
        need(row[i] >= 0 or i > cells, "the recurrence subtracts")
        step.append(row)
    now = [one] + [one * 0] * highest
    for _ in range(throws):
        now = [sum(c * now[r] for r, c in enumerate(row)) for row in step]
    return now


def check_occupancy():
    for cells, throws in itertools.product((1, 2, 3, 5, 8, 13), (0, 1, 2, 5, 9, 20)):
        law = occupancy_distribution(cells, throws)
        stepped = moments_by_recurrence(cells, 9, throws)
        for probes in range(1, 10):
            direct = sum(p * Fraction(x, cells) ** probes for x, p in enumerate(law))
            need(direct == stepped[probes], f"recurrence, m {cells} k {probes} t {throws}")
            closed = rates.occupancy_moment(cells, probes, throws)
            need(direct == closed, f"closed form, m {cells} k {probes} t {throws}")
    stepped = moments_by_recurrence(512, 22, 600, Decimal(1))
    for probes in (1, 5, 22):
        need(
            close(stepped[probes], rates.occupancy_moment(512, probes, 600)),
            f"recurrence at 512 cells, k {probes}",
        )
    return "occupancy: distribution = recurrence = closed form, coefficients positive"


# ---- Filters: every one of them ----------------------------------------------------------------


def line_masks(words, probes, word_bits):
    """Every way to set bits in a line, each as likely as the next."""
    for first in range(words):
        for places in itertools.product(range(word_bits), repeat=probes):
            mask = 0
            for i, place in enumerate(places):
                mask |= 1 << ((first + i) % words * word_bits + place)
            yield mask


def additions(lines, per_key, probes, words, word_bits):
    """Every way to add a key, each as likely as the next: one bit mask over all cells."""
    cells = words * word_bits
    one_line = [mask << (line * cells) for line in range(lines)
                for mask in line_masks(words, probes, word_bits)]
    for choice in itertools.product(one_line, repeat=per_key):
        mask = 0
        for part in choice:
            mask |= part
        yield mask


def live_rate(filled, lines, per_key, probes, words, word_bits):
    """The share of a random query's choices that find all bits set, from the bits of each word."""
    mean = Fraction(0)
    for line in range(lines):
        share = []
        for word in range(words):
            bits = filled >> ((line * words + word) * word_bits) & ((1 << word_bits) - 1)
            share.append(Fraction(bits.bit_count(), word_bits))
        for first in range(words):
            mean += math.prod(share[(first + i) % words] for i in range(probes))
    return (mean / (words * lines)) ** per_key


def counted(masks):
    """Masks with their number, so that enumerating filters stays small."""
    result = {}
    for mask in masks:
        result[mask] = result.get(mask, 0) + 1
    return result


def rate_by_enumeration(keys_of, keys, live=None):
    """Adds every combination of keys, asks every query. The live rate is checked on the way."""
    ways = sum(keys_of.values())
    filters = {0: 1}
    for _ in range(keys):
        then = {}
        for filled, number in filters.items():
            for mask, times in keys_of.items():
                union = filled | mask
                then[union] = then.get(union, 0) + number * times
        filters = then
    total = Fraction(0)
    for filled, number in filters.items():
        passing = sum(times for mask, times in keys_of.items() if mask & ~filled == 0)
        if live:
            need(Fraction(passing, ways) == live(filled), "the live rate is not exact")
        total += Fraction(passing, ways) * number
    return total / ways**keys


def check_enumeration():
    shapes = 0
    # (words, bits of a word, most lines, most lines of a key): what can be enumerated in seconds
    for words, word_bits, most, per_most in [(2, 2, 2, 4), (3, 2, 2, 2), (3, 1, 3, 3), (4, 1, 2, 3),
                                             (5, 1, 1, 4), (8, 1, 1, 4), (2, 3, 1, 3)]:
        for lines, per_key in itertools.product(range(1, most + 1), range(1, per_most + 1)):
            for probes in range(1, min(words, 8) + 1):
                masks = (words * word_bits**probes * lines) ** per_key
                if masks > 20000:
                    continue
                keys_of = counted(additions(lines, per_key, probes, words, word_bits))
                if len(keys_of) > 150:
                    continue
                layout = (lines, per_key, probes, words, word_bits)
                for keys in (1, 2, 3):
                    exact = rate_by_enumeration(keys_of, keys, lambda f: live_rate(f, *layout))
                    closed = rates.blocked_rate(*layout[:3], keys, words, word_bits)
                    need(close(exact, closed), f"N, L, k, words, bits {layout}, n {keys}")
                    shapes += 1
    for bits, probes, keys in itertools.product((1, 2, 3, 5), (1, 2, 3), (1, 2, 3)):
        places = itertools.product(range(bits), repeat=probes)
        exact = rate_by_enumeration(counted(sum({1 << p for p in one}) for one in places), keys)
        need(close(exact, rates.classic_rate(bits, probes, keys)), f"classic {bits} {probes} {keys}")
        shapes += 1
    return f"all filters of {shapes} tiny shapes enumerated: rate and live rate as in rates.py"


# ---- Lines of eight words: step by step, and the sum over loads ---------------------------------


def moment_steps(order):
    """One throw more into 64 cells: rows of (3.2)."""
    cells = Fraction(rates.WORD_BITS)
    rows = []
    for i in range(order + 1):
        rows.append([(comb(i, r) - (comb(i, r - 1) if r > 0 else 0) / cells) / cells ** (i - r)
                     for r in range(i)] + [1 - i / cells])
    return rows


STEPS = moment_steps(4)


@lru_cache(maxsize=None)
def stepped(counts, probes, load):
    """E[product of (x_c / 64)^counts_c] after `load` keys, from that after one key less."""
    if load == 0:
        return Fraction(0 if any(counts) else 1)
    least = min(min(counts[i:] + counts[:i], (counts[i:] + counts[:i])[::-1])
                for i in range(len(counts)))
    if least != counts:
        return stepped(least, probes, load)
    total = Fraction(0)
    for first in range(rates.WORDS):
        window = rates.window(first, probes, rates.WORDS)
        for lower in itertools.product(*[range(counts[w] + 1) for w in window]):
            factor, then = Fraction(1), list(counts)
            for word, r in zip(window, lower):
                factor *= STEPS[counts[word]][r]
                then[word] = r
            total += factor * stepped(tuple(then), probes, load - 1)
    return total / rates.WORDS


def line_by_steps(probes, times, load):
    """E[f^times]: the mean over all windows that a query can draw."""
    total = sum(ways * stepped(counts, probes, load)
                for counts, ways in rates.covers(probes, times, rates.WORDS).items())
    return total / rates.WORDS**times


def check_steps():
    shapes = [(k, 1, j) for k in range(1, 8) for j in (0, 1, 3)]
    shapes += [(1, 4, 5), (2, 2, 4), (2, 4, 3), (3, 2, 3), (3, 3, 2), (5, 2, 2), (8, 2, 1)]
    for probes, times, load in shapes:
        need(line_by_steps(probes, times, load) == rates.line_moment(probes, times, load),
             f"a line's steps, k {probes}, times {times}, load {load}")
    return f"{len(shapes)} lines of eight words stepped key by key"


def rate_by_loads(lines, per_key, probes, keys):
    """The sum over the loads of the query's lines, coincidences included, term by term."""
    trials = keys * per_key
    total = Decimal(0)
    for groups, partitions in rates.coincidences(per_key):
        ways = partitions * rates.falling(lines, len(groups))
        if ways == 0:
            continue
        tables = [[decimal(rates.line_moment(probes, g, load)) for load in range(trials + 1)]
                  for g in groups]
        inner = Decimal(0)
        for loads in itertools.product(range(trials + 1), repeat=len(groups)):
            rest = trials - sum(loads)
            if rest < 0 or (rest > 0 and lines == len(groups)):
                continue
            arrangements = math.factorial(trials) // math.factorial(rest)
            term = Decimal(1)
            for load, table in zip(loads, tables):
                arrangements //= math.factorial(load)
                term *= table[load]
            share = Fraction((lines - len(groups)) ** rest * arrangements, lines**trials)
            inner += term * share.numerator / share.denominator
        total += inner * ways / Decimal(lines) ** per_key
    return total


def check_loads():
    shapes = [(1, 1, 3, 9), (7, 1, 6, 60), (256, 1, 8, 40), (2, 2, 3, 12), (5, 2, 5, 12)]
    shapes += [(100, 2, 2, 14), (1, 3, 2, 5), (2, 3, 3, 5), (3, 3, 2, 5), (9, 3, 4, 6)]
    shapes += [(1, 4, 2, 4), (2, 4, 2, 4), (3, 4, 1, 4), (6, 4, 3, 3), (9, 4, 8, 2)]
    for shape in shapes:
        need(close(rate_by_loads(*shape), rates.blocked_rate(*shape)), f"loads of {shape}")
    return f"{len(shapes)} blocked shapes summed over every load"


# ---- The structure itself ----------------------------------------------------------------------


def random_key(source, lines, per_key, probes):
    """What a key touches, drawn freely: (line, mask) pairs; lines may repeat."""
    touched = []
    for _ in range(per_key):
        mask, first = 0, source.randrange(rates.WORDS)
        for i in range(probes):
            word = (first + i) % rates.WORDS
            mask |= 1 << (word * rates.WORD_BITS + source.randrange(rates.WORD_BITS))
        touched.append((source.randrange(lines), mask))
    return touched


def line_share(filled, probes):
    """f: the mean over windows of the product of the words' shares of set bits."""
    full = (1 << rates.WORD_BITS) - 1
    share = [(filled >> (w * rates.WORD_BITS) & full).bit_count() / rates.WORD_BITS
             for w in range(rates.WORDS)]
    return sum(math.prod(share[w] for w in rates.window(first, probes, rates.WORDS))
               for first in range(rates.WORDS)) / rates.WORDS


def simulate_blocked(source, lines, per_key, probes, keys, filters, queries):
    """(false positives, queries, mean live rate, its standard error, fills)."""
    hits, lives, fills = 0, [], []
    for _ in range(filters):
        filled = [0] * lines
        for _ in range(keys):
            for line, mask in random_key(source, lines, per_key, probes):
                filled[line] |= mask
        live = math.fsum(line_share(f, probes) for f in filled) / lines
        lives.append(live**per_key)
        fills.append(sum(f.bit_count() for f in filled) / (512 * lines))
        for _ in range(queries):
            asked = random_key(source, lines, per_key, probes)
            hits += all(mask & ~filled[line] == 0 for line, mask in asked)
    mean = math.fsum(lives) / filters
    spread = math.fsum((x - mean) ** 2 for x in lives) / (filters - 1)
    return hits, filters * queries, mean, math.sqrt(spread / filters), fills


def check_simulation():
    source = random.Random(20261)
    shapes = [(1, 1, 6, 50, 400), (7, 1, 5, 420, 60), (64, 1, 6, 3300, 12), (2, 2, 3, 110, 200)]
    shapes += [(16, 2, 3, 830, 40), (3, 3, 2, 160, 150), (20, 3, 2, 1060, 30)]
    shapes += [(3, 4, 2, 150, 120), (4, 1, 8, 200, 100), (1, 4, 8, 30, 200), (2, 2, 8, 60, 200)]
    worst = 0.0
    for lines, per_key, probes, keys, filters in shapes:
        exact = float(rates.blocked_rate(lines, per_key, probes, keys))
        hits, asked, mean, error, _ = simulate_blocked(
            source, lines, per_key, probes, keys, filters, 300
        )
        # Queries to one filter share its live rate, so the spread of live rates adds to theirs.
        deviation = math.sqrt(exact * (1 - exact) / asked + error**2)
        pulls = abs(hits / asked - exact) / deviation, abs(mean - exact) / error
        worst = max(worst, *pulls)
        need(max(pulls) < 4.5, f"simulated N {lines} L {per_key} k {probes} n {keys}: {pulls}")
    return f"{len(shapes)} blocked shapes built and asked: worst deviation {worst:.1f} sigma"


def check_simulation_classic():
    source = random.Random(20262)
    worst = 0.0
    for bits, probes, keys, filters in [(16, 3, 3, 20000), (64, 7, 6, 6000), (1000, 7, 100, 600)]:
        exact = float(rates.classic_rate(bits, probes, keys))
        lives = []
        for _ in range(filters):
            hit = {source.randrange(bits) for _ in range(probes * keys)}
            lives.append((len(hit) / bits) ** probes)
        mean = math.fsum(lives) / filters
        spread = math.fsum((x - mean) ** 2 for x in lives) / (filters - 1)
        pull = abs(mean - exact) / math.sqrt(spread / filters)
        worst = max(worst, pull)
        need(pull < 4.5, f"simulated classic m {bits} k {probes} n {keys}: {pull}")
    return f"3 classic shapes built: worst deviation {worst:.1f} sigma"


# ---- Estimates ---------------------------------------------------------------------------------


def fill_moments(lines, per_key, probes, keys):
    """Mean and standard deviation of the fill of a blocked filter, exactly (section 9)."""
    trials = keys * per_key
    cells, total = rates.LINE_BITS, lines * rates.LINE_BITS
    hit = Fraction(probes, cells * lines)
    clear = rates.power(1 - decimal(hit), trials)
    other_line = rates.power(1 - 2 * decimal(hit), trials) if lines > 1 else Decimal(0)
    mean = total * clear
    second = mean + total * (rates.WORD_BITS - 1) * rates.power(1 - 2 * decimal(hit), trials)
    for distance in range(1, rates.WORDS):
        both = Fraction(sum({0, distance} <= set(rates.window(first, probes, rates.WORDS))
                            for first in range(rates.WORDS)), rates.WORDS)
        either = 2 * hit - both / rates.WORD_BITS**2 / lines
        second += total * rates.WORD_BITS * rates.power(1 - decimal(either), trials)
    second += total * (total - cells) * other_line
    return 1 - clear, (second - mean * mean).sqrt() / total


def decimal(fraction):
    return Decimal(fraction.numerator) / fraction.denominator


def check_estimates():
    source = random.Random(20263)
    for lines, per_key, probes, keys, filters in [(12, 1, 6, 600, 400), (12, 2, 3, 630, 400),
                                                  (12, 4, 8, 120, 400)]:
        fills = simulate_blocked(source, lines, per_key, probes, keys, filters, 0)[4]
        mean, deviation = map(float, fill_moments(lines, per_key, probes, keys))
        seen = math.fsum(fills) / filters
        need(abs(seen - mean) < 4.5 * deviation / math.sqrt(filters), "the mean fill")
        spread = math.sqrt(math.fsum((f - seen) ** 2 for f in fills) / (filters - 1))
        need(abs(spread / deviation - 1) < 4.5 / math.sqrt(2 * filters), "the spread of the fill")
        q = probes / (512 * lines)
        estimates = [math.log(1 - f) / (per_key * math.log(1 - q)) for f in fills]
        bias = math.fsum(estimates) / filters - keys
        slope = 1 / ((1 - mean) * per_key * -math.log(1 - q))
        need(abs(bias) < 4.5 * deviation * slope / math.sqrt(filters) + 1, "the estimate")
    return "fill: mean, spread and the estimated keys agree with built filters"


# ---- Folding and the generated file ------------------------------------------------------------


def fastrange(hash_, lines):
    return hash_ * lines >> 64


def check_folding():
    source = random.Random(20264)
    for _ in range(200000):
        lines = 2 * source.randrange(1, 1 << source.randrange(1, 41))
        hash_ = source.getrandbits(64)
        need(fastrange(hash_, lines) >> 1 == fastrange(hash_, lines // 2), "folding")
    return "fastrange folds: 200000 hashes"


def check_limit():
    for per_key, probes, load in [(1, 6, 50), (1, 8, 50), (2, 3, 100), (4, 3, 60)]:
        limit = rates.blocked_limit(load, probes) ** per_key
        scaled = []
        for lines in (10**4, 10**6):
            exact = rates.blocked_rate(lines, per_key, probes, load * lines // per_key)
            scaled.append((exact / limit - 1) * lines)
        # The error falls as 1/N: scaled by N it stays, whatever N is.
        need(abs(scaled[0] / scaled[1] - 1) < Decimal("0.01"), "the Poisson limit")
    return "the Poisson limit is reached as 1/N"


def check_header():
    path = os.path.join(HERE, "..", "unit", "plan_reference.h")
    text = StringIO()
    rates.print_header(text)
    with open(path, encoding="ascii") as file:
        need(file.read() == text.getvalue(), "plan_reference.h is not what rates.py prints")
    return "plan_reference.h is what rates.py prints"


def check_coinciding():
    path = os.path.join(HERE, "..", "..", "src", "plan", "coinciding_table.c")
    text = StringIO()
    rates.print_coinciding(text)
    with open(path, encoding="ascii") as file:
        need(file.read() == text.getvalue(), "coinciding_table.c is not what rates.py prints")
    return "coinciding_table.c is what rates.py prints"


def main():
    for check in (
        check_occupancy,
        check_enumeration,
        check_steps,
        check_loads,
        check_limit,
        check_folding,
        check_estimates,
        check_simulation_classic,
        check_simulation,
        check_header,
        check_coinciding,
    ):
        print(check(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

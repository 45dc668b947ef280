#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of docs/mathematics.md from the reference formulas in rates.py.

    python3 tests/reference/tables.py          all of them, about 20 seconds
    python3 tests/reference/tables.py NAME     one: probes, small, expansion, misuse, shortcut,
                                               poisson, coincidence, joint, bits, sizes, reads,
                                               estimate, claims
"""

import math
import sys
from decimal import Decimal, getcontext
from functools import lru_cache

import rates
from crosscheck import fill_moments

getcontext().prec = 70  # the largest sum here cancels some 40 digits

RATES = [1e-2, 1e-3, 1e-4, 1e-6, 1e-9]


def classic_limit(bits_per_key, probes):
    return (-math.expm1(-probes / bits_per_key)) ** probes


def line_limit(load, probes):
    return float(rates.blocked_limit(Decimal(load), probes))


def split_limit(load):
    """One 256-bit block of eight 32-bit words, a key sets one bit in each; Poisson load."""
    total = Decimal(0)
    for i in range(9):
        stay = (Decimal(31) / 32) ** i
        total += (-1) ** i * math.comb(8, i) * (-Decimal(load) * (1 - stay)).exp()
    return float(total)


def crossing(rate_of, target, low, high):
    """The x between low and high at which rate_of, which rises, reaches the target."""
    for _ in range(50):
        middle = (low + high) / 2
        if rate_of(middle) <= target:
            low = middle
        else:
            high = middle
    return low


@lru_cache(maxsize=None)
def classic_best(rate):
    """(bits per key, k) that classic needs in the limit of many keys, k whole."""
    return min((1 / crossing(lambda x: classic_limit(1 / x, k), rate, 1e-9, 10), k)
               for k in range(1, 65))


@lru_cache(maxsize=None)
def blocked_best(rate, per_key):
    """The same for blocked with L lines per key."""
    best = (math.inf, 0)
    for probes in range(1, 33):
        load = crossing(lambda x: line_limit(x, probes) ** per_key, rate, 1e-9, 1000)
        best = min(best, (512 * per_key / load, probes))
    return best


def row(*cells):
    print("| " + " | ".join(str(c) for c in cells) + " |")


def head(*cells):
    row(*cells)
    row(*["---"] * len(cells))


def print_probes():
    """Section 2: what k costs when it is whole, and when it is not the best."""
    head("m/n", "best real k", "best whole k", "rate at it", "rate at k = 7", "0.6185^(m/n)")
    for ratio in (4, 6, 8, 10, 12, 16, 20, 24, 32):
        best = min(range(1, 65), key=lambda k: classic_limit(ratio, k))
        least = math.exp(-ratio * math.log(2) ** 2)
        row(ratio, f"{ratio * math.log(2):.2f}", best, f"{classic_limit(ratio, best):.3e}",
            f"{classic_limit(ratio, 7):.3e}", f"{least:.3e}")


def print_small():
    """Section 3: the limit formula against the exact rate of a classic filter."""
    head("m", "k", "n", "exact", "limit formula", "limit / exact")
    for bits, probes, keys in [(16, 3, 3), (64, 7, 6), (64, 20, 2), (512, 7, 53), (512, 20, 18),
                               (1000, 7, 104), (4096, 13, 214), (65536, 20, 2279),
                               (10**6, 20, 34778), (10**9, 20, 34777787)]:
        exact = float(rates.classic_rate(bits, probes, keys))
        limit = classic_limit(bits / keys, probes)
        row(bits, probes, keys, f"{exact:.4e}", f"{limit:.4e}", f"{limit / exact:.6f}")


def shortcut(load, probes):
    """A line's rate with E[(X/512)^k] replaced by (E[X]/512)^k, load Poisson."""
    total, weight = 0.0, math.exp(-load)
    for j in range(int(load + 40 * math.sqrt(load) + 40)):
        total += weight * (1 - (1 - 1 / 512) ** (j * probes)) ** probes
        weight *= load / (j + 1)
    return total


def print_shortcut():
    """Section 4: what the shortcut for the occupancy moment costs."""
    head("p", "L", "k", "keys a line", "exact f1", "shortcut", "filter's rate, shortcut / exact")
    for rate in RATES + [1e-12]:
        for per_key in (1, 2, 3):
            bits, probes = blocked_best(rate, per_key)
            load = 512 * per_key / bits
            exact, short = line_limit(load, probes), shortcut(load, probes)
            row(f"{rate:g}", per_key, probes, f"{load:.2f}", f"{exact:.4e}", f"{short:.4e}",
                f"{(short / exact) ** per_key:.4f}")


def print_bits():
    """Section 6: bits per key in the limit of many keys."""
    head("p", "information limit", "classic (k)", "L = 1 (k)", "L = 2 (k per line)",
         "L = 3 (k per line)", "256-bit split block", "chosen")
    for rate in [0.5, 0.1] + RATES[:3] + [1e-5] + RATES[3:] + [1e-12, 1e-15]:
        classic, k = classic_best(rate)
        blocked = [blocked_best(rate, per_key) for per_key in (1, 2, 3)]
        split = 256 / crossing(split_limit, rate, 1e-9, 500)
        near = [i + 1 for i in range(3) if blocked[i][0] <= 1.1 * classic]
        chosen = near[0] if near else 1 + min(range(3), key=lambda i: blocked[i][0])
        row(f"{rate:g}", f"{-math.log2(rate):.2f}", f"{classic:.2f} ({k})",
            *[f"{bits:.2f} ({probes})" for bits, probes in blocked], f"{split:.2f}",
            f"L = {chosen}, {blocked[chosen - 1][0] / classic - 1:+.1%}")


def print_misuse():
    """Section 4: a line layout sized with the classic formula, as much software does."""
    head("p asked", "m/n", "k", "rate with 512-bit lines", "times p", "with 256-bit split blocks",
         "times p")
    for rate in RATES:
        ratio = -math.log2(rate) / math.log(2)
        probes = round(-math.log2(rate))
        real = line_limit(512 / ratio, probes)
        split = split_limit(256 / ratio)
        row(f"{rate:g}", f"{ratio:.2f}", probes, f"{real:.3e}", f"{real / rate:.2f}",
            f"{split:.3e}", f"{split / rate:.2f}")


def print_reads():
    """Section 10: lines read per question."""
    head("p", "L", "k", "absent: 1 + f1 + f1^2", "present: L", "classic, absent",
         "classic, present: k")
    for rate in RATES:
        bits, whole = classic_best(rate)
        fill = -math.expm1(-whole / bits)
        classic = sum(fill**i for i in range(whole))
        for per_key in (1, 2, 3):
            f1 = rate ** (1 / per_key)
            _, probes = blocked_best(rate, per_key)
            row(f"{rate:g}", per_key, probes, f"{sum(f1**i for i in range(per_key)):.4f}", per_key,
                f"{classic:.2f}", whole)


def print_estimate():
    """Section 9: the standard error of the estimated number of keys."""
    head("kind", "keys", "size", "L", "k", "fill", "standard error in keys", "relative")
    for keys, lines, per_key, probes in [(10**3, 20, 1, 6), (10**6, 19376, 1, 6),
                                         (10**9, 19375008, 1, 6), (10**6, 38752, 2, 6)]:
        mean, deviation = fill_moments(lines, per_key, probes, keys)
        miss = (1 - (Decimal(511) / 512) ** probes) / lines
        error = deviation / ((1 - mean) * per_key * -(1 - miss).ln())
        row("blocked", keys, f"{lines} lines", per_key, probes, f"{mean:.4f}", f"{error:.1f}",
            f"{error / keys:.2e}")
    for keys, bits, probes in [(10**3, 9600, 7), (10**6, 9592955, 7), (10**9, 9592954731, 7)]:
        load = probes * keys / bits
        error = math.sqrt(bits) / probes * math.sqrt(math.expm1(load) - load)
        row("classic", keys, f"{bits} bits", "", probes, f"{-math.expm1(-load):.4f}",
            f"{error:.1f}", f"{error / keys:.2e}")


def least_lines(keys, rate, per_key):
    """(N, k): the fewest lines for these keys, found with the exact rate and no rounding."""
    best = (1 << 40, 0)
    for probes in range(1, 33):
        if rates.blocked_rate(best[0], per_key, probes, keys) > rate:
            continue
        low, high = 0, best[0]
        while high - low > 1:
            middle = (low + high) // 2
            if rates.blocked_rate(middle, per_key, probes, keys) <= rate:
                high = middle
            else:
                low = middle
        if high < best[0]:
            best = (high, probes)
    return best


def print_sizes():
    """Section 7: small filters, exactly, and what rounding to 16 lines costs."""
    head("keys", "p", "L", "least N (k)", "N built", "least k there", "bits per key",
         "rate as built")
    for keys, rate in [(1, 1e-2), (10, 1e-2), (100, 1e-2), (1000, 1e-2), (10**4, 1e-2),
                       (14000, 1e-2), (10**6, 1e-2), (20000000, 1e-2), (1000, 1e-4),
                       (10**5, 1e-4)]:
        per_key = 1 if rate == 1e-2 else 2
        goal = Decimal(str(rate))
        lines, best = least_lines(keys, goal, per_key)
        built = lines if lines < 256 else -(-lines // 16) * 16
        probes = next(k for k in range(1, 33)
                      if rates.blocked_rate(built, per_key, k, keys) <= goal)
        row(keys, f"{rate:g}", per_key, f"{lines} ({best})", built, probes,
            f"{built * 512 / keys:.3f}",
            f"{rates.blocked_rate(built, per_key, probes, keys):.4e}")


def binomial_rate(lines, trials, times, probes, more=0):
    """E[g(load + more)], g the (times k)-th occupancy moment, load Binomial(trials, 1/lines)."""
    total = Decimal(0)
    for i, c in enumerate(rates.decimal_weights(512, times * probes)):
        stay = (Decimal(512 - i) / 512) ** probes
        total += c * stay**more * rates.power(1 - (1 - stay) / lines, trials)
    return total


def loads_apart(lines, per_key, probes, keys, corrected):
    """The rate with the loads of different lines taken as independent, and, if corrected, times
    exp(-T sum over pairs of (change/rate)(change/rate) / N^2): section 5."""
    trials, total = per_key * keys, Decimal(0)
    for groups, partitions in rates.coincidences(per_key):
        value, relative = Decimal(1), []
        for times in groups:
            rate = binomial_rate(lines, trials, times, probes)
            value *= rate
            relative.append(binomial_rate(lines, trials, times, probes, 1) / rate - 1)
        pairs = (sum(relative) ** 2 - sum(r * r for r in relative)) / 2
        if corrected:
            value *= (-trials * pairs / Decimal(lines) ** 2).exp()
        total += value * partitions * rates.falling(lines, len(groups)) / Decimal(lines) ** per_key
    return total


def print_coincidence():
    """Section 5: what it costs when the two lines of a query are one (many lines, L = 2)."""
    head("p", "k", "F(g_2) / F(g)^2", "N at which coincidences add 1 % of the rate")
    for rate in RATES + [1e-12, 1e-15]:
        bits, probes = blocked_best(rate, 2)
        load, twice = Decimal(2 * 512 / bits), Decimal(0)
        for i, c in enumerate(rates.decimal_weights(512, 2 * probes)):
            twice += c * (-load * (1 - (Decimal(512 - i) / 512) ** probes)).exp()
        ratio = twice / rates.blocked_limit(load, probes) ** 2
        row(f"{rate:g}", probes, f"{ratio:.3g}", f"{100 * (ratio - 1):.3g}")


def print_joint():
    """Section 5: independent loads against the exact sum."""
    head("N", "L", "k", "n", "exact", "independent", "corrected")
    for lines, per_key, probes, keys in [
        (100, 2, 13, 930), (100, 3, 9, 1000), (256, 2, 13, 2528), (256, 3, 9, 2768),
        (1024, 2, 3, 54000), (1024, 2, 13, 10112), (1024, 2, 19, 4600), (1024, 3, 9, 11072),
        (1024, 3, 14, 5800), (10**4, 3, 9, 108000), (10**6, 3, 9, 10800000),
    ]:
        exact = rates.blocked_rate(lines, per_key, probes, keys)
        errors = [loads_apart(lines, per_key, probes, keys, c) / exact - 1 for c in (False, True)]
        row(lines, per_key, probes, keys, f"{exact:.3e}", *[f"{e:+.1e}" for e in errors])


def print_poisson():
    """Section 4: the limit of many lines against the exact sum, L = 1."""
    head("N", "k", "n", "exact", "Poisson limit", "limit / exact")
    for probes, load in ((6, 50), (22, 6)):
        for lines in (1, 2, 10, 100, 1000, 10**4, 10**6):
            exact = rates.blocked_rate(lines, 1, probes, load * lines)
            limit = rates.blocked_limit(load, probes)
            row(lines, probes, load * lines, f"{exact:.4e}", f"{limit:.4e}",
                f"{limit / exact:.5f}")


def expansion(bits, probes, keys):
    """The moment from mean and variance, as src/plan/occupancy.c has it for many bits."""
    throws = probes * keys
    mean = -math.expm1(throws * math.log1p(-1 / bits))
    load = throws / bits
    variance = math.exp(-load) * (-math.expm1(-load) - load * math.exp(-load)) / bits
    return mean**probes * math.exp(probes * (probes - 1) / 2 * variance / mean**2)


def print_expansion():
    """Section 3: mean and variance against the exact rate."""
    head("m", "k", "n", "exact", "limit formula", "mean and variance")
    for bits, probes, keys in [(4097, 5, 1), (4097, 7, 428), (4097, 13, 214), (4097, 30, 97),
                               (4097, 64, 66), (65536, 13, 3419), (65536, 30, 1519),
                               (10**6, 30, 23190)]:
        exact = float(rates.classic_rate(bits, probes, keys))
        row(bits, probes, keys, f"{exact:.3e}",
            f"{classic_limit(bits / keys, probes) / exact - 1:+.1e}",
            f"{expansion(bits, probes, keys) / exact - 1:+.1e}")


def print_claims():
    """Numbers quoted in running text."""
    budget = 18e6 * 8 / 1e9
    print(f"1e9 keys in 18 MB: {budget:.3f} bits a key; best possible rate {2 ** -budget:.4f}")
    print(f"1e9 keys at 1e-4: information limit {1e9 * math.log2(1e4) / 8 / 2**30:.3f} GiB,"
          f" classic {1e9 * classic_best(1e-4)[0] / 8 / 2**30:.3f} GiB,"
          f" L = 2 {1e9 * blocked_best(1e-4, 2)[0] / 8 / 2**30:.3f} GiB")
    print(f"2e7 keys at 1e-2, m = 191701168: k = 7 gives {classic_limit(191701168 / 2e7, 7):.6f}")
    print(f"m/n = 20, k = 10: {classic_limit(20, 10):.7f}; k = 14: {classic_limit(20, 14):.7f}")
    print(f"1.44 = 1/ln 2 = {1 / math.log(2):.4f}; 0.6185 = {math.exp(-math.log(2) ** 2):.4f}")


TABLES = {
    "probes": print_probes,
    "small": print_small,
    "expansion": print_expansion,
    "misuse": print_misuse,
    "shortcut": print_shortcut,
    "poisson": print_poisson,
    "coincidence": print_coincidence,
    "joint": print_joint,
    "bits": print_bits,
    "sizes": print_sizes,
    "reads": print_reads,
    "estimate": print_estimate,
    "claims": print_claims,
}


def main(arguments):
    for name in arguments or TABLES:
        if name not in TABLES:
            print(__doc__.strip(), file=sys.stderr)
            return 2
        print(f"{name}: {TABLES[name].__doc__}\n")
        TABLES[name]()
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

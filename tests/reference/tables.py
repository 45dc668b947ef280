#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of docs/mathematics.md from the reference formulas in rates.py.

    python3 tests/reference/tables.py          all of them, about 20 seconds
    python3 tests/reference/tables.py NAME     one: probes, small, expansion, misuse, shortcut,
                                               poisson, again, coincidence, joint, bits,
                                               fastest, sizes, hashes, counters, reads,
                                               estimate, overlap, claims
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


@lru_cache(maxsize=None)
def line_parts(probes):
    """Pairs (1 - g, coefficient) of f1 in the limit of many lines."""
    terms, whole, unit = rates.line_terms(probes, 1)
    return [(Decimal(unit - g) / unit, Decimal(a) / whole) for g, a in terms]


def line_limit(load, probes):
    load = Decimal(load)
    return float(sum(a * (-load * missed).exp() for missed, a in line_parts(probes)))


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
def blocked_bits(rate, per_key, probes):
    """The bits per key that blocked needs with L lines per key and k bits in each."""
    one = rate ** (1 / per_key)
    return 512 * per_key / crossing(lambda x: line_limit(x, probes), one, 1e-9, 5000)


@lru_cache(maxsize=None)
def blocked_best(rate, per_key):
    """The least of them, and its k."""
    return min((blocked_bits(rate, per_key, probes), probes) for probes in range(1, 9))


def blocked_taken(rate, per_key):
    """The same as planned: with eight bits in one line where they cost at most 2 %."""
    best = blocked_best(rate, per_key)
    if per_key > 1:
        return best
    fastest = blocked_bits(rate, per_key, 8)
    return (fastest, 8) if fastest <= 1.02 * best[0] else best


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
    """A line's rate with E[f] replaced by the share of set bits to the k-th power, load Poisson."""
    total, weight = 0.0, math.exp(-load)
    for j in range(int(load + 40 * math.sqrt(load) + 40)):
        total += weight * (1 - (1 - probes / 512) ** j) ** probes
        weight *= load / (j + 1)
    return total


def print_shortcut():
    """Section 4: what the shortcut for a line's chance costs."""
    head("p", "L", "k", "keys a line", "exact f1", "shortcut", "filter's rate, shortcut / exact")
    for rate in RATES + [1e-12]:
        for per_key in (1, 2, 4):
            bits, probes = blocked_best(rate, per_key)
            load = 512 * per_key / bits
            exact, short = line_limit(load, probes), shortcut(load, probes)
            row(f"{rate:g}", per_key, probes, f"{load:.2f}", f"{exact:.4e}", f"{short:.4e}",
                f"{(short / exact) ** per_key:.4f}")


def print_bits():
    """Section 6: bits per key in the limit of many keys."""
    head("p", "information limit", "classic (k)", "L = 1 (k)", "L = 2", "L = 3", "L = 4",
         "256-bit split block", "planned")
    for rate in [0.5, 0.1] + RATES[:3] + [1e-5] + RATES[3:4] + [1e-7, 1e-8] + RATES[4:] + [1e-12]:
        classic, k = classic_best(rate)
        blocked = [blocked_best(rate, per_key) for per_key in (1, 2, 3, 4)]
        split = 256 / crossing(split_limit, rate, 1e-9, 500)
        near = [i + 1 for i in range(4) if blocked[i][0] <= 1.1 * classic]
        chosen = near[0] if near else 1 + min(range(4), key=lambda i: blocked[i][0])
        bits, probes = blocked_taken(rate, chosen)
        row(f"{rate:g}", f"{-math.log2(rate):.2f}", f"{classic:.2f} ({k})",
            *[f"{bits:.2f} ({probes})" for bits, probes in blocked], f"{split:.4g}",
            f"L = {chosen}, k = {probes}: {bits:.2f}, {bits / classic - 1:+.1%}")


def print_fastest():
    """Section 6: what k = 8 costs over the best k."""
    head("p", "best k, bits", "k = 8", "over")
    for rate in [0.1, 0.03, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6]:
        bits, probes = blocked_best(rate, 1)
        fastest = blocked_bits(rate, 1, 8)
        row(f"{rate:g}", f"{probes}, {bits:.2f}", f"{fastest:.2f}", f"{fastest / bits - 1:+.1%}")


def print_misuse():
    """Section 4: a line layout sized with the classic formula, as much software does."""
    head("p wanted", "m/n", "k (8 at most)", "rate with our lines", "times p",
         "with 256-bit split blocks", "times p")
    for rate in RATES:
        ratio = -math.log2(rate) / math.log(2)
        probes = min(8, round(-math.log2(rate)))
        real = line_limit(512 / ratio, probes)
        split = split_limit(256 / ratio)
        row(f"{rate:g}", f"{ratio:.2f}", probes, f"{real:.3e}", f"{real / rate:.2f}",
            f"{split:.3e}", f"{split / rate:.2f}")


def print_reads():
    """Section 10: lines read per question."""
    head("p", "L", "k", "absent: 1 + f1 + .. + f1^(L-1)", "present: L", "classic, absent",
         "classic, present: k")
    for rate in RATES:
        bits, whole = classic_best(rate)
        fill = -math.expm1(-whole / bits)
        classic = sum(fill**i for i in range(whole))
        for per_key in (1, 2, 3, 4):
            f1 = rate ** (1 / per_key)
            _, probes = blocked_best(rate, per_key)
            row(f"{rate:g}", per_key, probes, f"{sum(f1**i for i in range(per_key)):.4f}", per_key,
                f"{classic:.2f}", whole)


def print_estimate():
    """Section 9: the standard error of the estimated number of keys."""
    head("kind", "keys", "size", "L", "k", "fill", "standard error in keys", "relative")
    for keys, lines, per_key, probes in [(10**3, 20, 1, 8), (10**6, 19728, 1, 8),
                                         (10**9, 19724352, 1, 8), (10**6, 39456, 2, 8),
                                         (10**6, 19376, 1, 6)]:
        mean, deviation = fill_moments(lines, per_key, probes, keys)
        miss = Decimal(probes) / 512 / lines
        error = deviation / ((1 - mean) * per_key * -(1 - miss).ln())
        row("blocked", keys, f"{lines} lines", per_key, probes, f"{mean:.4f}", f"{error:.1f}",
            f"{error / keys:.2e}")
    for keys, bits, probes in [(10**3, 9600, 7), (10**6, 9592955, 7), (10**9, 9592954731, 7)]:
        load = probes * keys / bits
        error = math.sqrt(bits) / probes * math.sqrt(math.expm1(load) - load)
        row("classic", keys, f"{bits} bits", "", probes, f"{-math.expm1(-load):.4f}",
            f"{error:.1f}", f"{error / keys:.2e}")


def least_lines(keys, rate, per_key):
    """{k: the fewest lines for these keys}, found with the exact rate and no rounding."""
    least = {}
    for probes in range(1, 9):
        high = 1
        while rates.blocked_rate(high, per_key, probes, keys) > rate and high < 1 << 24:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            if rates.blocked_rate(middle, per_key, probes, keys) <= rate:
                high = middle
            else:
                low = middle
        least[probes] = high
    return least


def rounded(lines):
    return lines if lines < 256 else -(-lines // 16) * 16


def print_sizes():
    """Section 7: small filters, exactly, and what rounding to 16 lines costs."""
    head("keys", "p", "L", "least N (k)", "least N with k = 8", "N built", "k", "bits per key",
         "rate as built")
    for keys, rate in [(1, 1e-2), (10, 1e-2), (100, 1e-2), (1000, 1e-2), (10**4, 1e-2),
                       (14000, 1e-2), (10**6, 1e-2), (20000000, 1e-2), (1000, 1e-4),
                       (10**5, 1e-4)]:
        per_key = 1 if rate == 1e-2 else 2
        goal = Decimal(str(rate))
        least = least_lines(keys, goal, per_key)
        lines, best = min((lines, probes) for probes, lines in least.items())
        if per_key == 1 and rounded(least[8]) <= 1.02 * rounded(lines):
            built, probes = rounded(least[8]), 8
        else:
            built = rounded(lines)
            probes = next(k for k in range(1, 9)
                          if rates.blocked_rate(built, per_key, k, keys) <= goal)
        row(keys, f"{rate:g}", per_key, f"{lines} ({best})", least[8], built, probes,
            f"{built * 512 / keys:.3f}",
            f"{rates.blocked_rate(built, per_key, probes, keys):.4e}")


def binomial_rate(lines, trials, times, probes, more=0):
    """E[E[f^times | load + more]], load Binomial(trials, 1/lines)."""
    terms, whole, unit = rates.line_terms(probes, times)
    total = Decimal(0)
    for g, a in terms:
        stay = Decimal(g) / unit
        total += a * stay**more * rates.power(1 - (1 - stay) / lines, trials)
    return total / whole


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


def print_again():
    """Section 5: E[f^i] / E[f]^i of one line."""
    head("k", "keys in the line", "E[f]", "i = 2", "i = 3", "i = 4")
    for probes, load in [(1, 50), (3, 2), (3, 10), (3, 60), (6, 2), (6, 10), (6, 60), (8, 2),
                         (8, 10), (8, 30), (8, 60), (8, 200)]:
        once = rates.line_moment(probes, 1, load)
        row(probes, load, f"{float(once):.3e}",
            *[f"{float(rates.line_moment(probes, i, load) / once**i):.5f}" for i in (2, 3, 4)])


def poisson_moment(load, probes, times):
    terms, whole, unit = rates.line_terms(probes, times)
    load = Decimal(load)
    return sum(a * (-load * (unit - g) / unit).exp() for g, a in terms) / whole


def print_coincidence():
    """Section 5: what it costs when lines of a query are one (many lines)."""
    head("p", "L", "k", "F(g_2) / F(g)^2", "N at which coincidences add 1 % of the rate")
    for rate in RATES + [1e-12]:
        for per_key in (2, 3, 4):
            bits, probes = blocked_best(rate, per_key)
            load = Decimal(per_key * 512 / bits)
            ratio = poisson_moment(load, probes, 2) / poisson_moment(load, probes, 1) ** 2
            pairs = per_key * (per_key - 1) // 2
            row(f"{rate:g}", per_key, probes, f"{ratio:.3g}", f"{100 * pairs * (ratio - 1):.3g}")


def print_joint():
    """Section 5: independent loads against the exact sum."""
    head("N", "L", "k", "n", "exact", "independent", "corrected")
    for lines, per_key, probes, keys in [
        (16, 4, 7, 362), (100, 2, 8, 900), (256, 2, 8, 2500), (256, 4, 6, 2700),
        (1024, 2, 3, 54000), (1024, 2, 8, 10000), (1024, 3, 8, 11000), (1024, 4, 7, 11600),
        (1024, 4, 8, 400), (10**4, 3, 8, 108000), (10**6, 3, 8, 10800000),
    ]:
        exact = rates.blocked_rate(lines, per_key, probes, keys)
        errors = [loads_apart(lines, per_key, probes, keys, c) / exact - 1 for c in (False, True)]
        row(lines, per_key, probes, keys, f"{exact:.3e}", *[f"{e:+.1e}" for e in errors])


def print_poisson():
    """Section 4: the limit of many lines against the exact sum, L = 1."""
    head("N", "k", "n", "exact", "Poisson limit", "limit / exact")
    for probes, load in ((8, 50), (8, 2)):
        for lines in (1, 2, 10, 100, 1000, 10**4, 10**6):
            exact = rates.blocked_rate(lines, 1, probes, load * lines)
            limit = rates.blocked_limit(load, probes)
            row(lines, probes, load * lines, f"{exact:.4e}", f"{limit:.4e}",
                f"{limit / exact:.5f}")


def expansion(bits, probes, keys):
    """The moment from mean and variance, as src/plan/classic_rate.c has it for many bits."""
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


def print_hashes():
    """Section 12: what 64 bits of hash cost."""
    head("keys", "n / 2^64", "least rate planned with 64 bits")
    for keys in (10**6, 2 * 10**7, 10**8, 10**9, 10**10, 10**11, 10**12):
        row(f"{keys:.0e}", f"{keys / 2**64:.2e}", f"{100 * keys / 2**64:.2e}")


def parts_read(parts, probes, go_on):
    """Cache lines of a line of counters that are read, word by word (section 10)."""
    total = 0.0
    for first in range(8):
        seen = set()
        for i in range(probes):
            part = (first + i) % 8 * parts // 8
            total += go_on**i if part not in seen else 0
            seen.add(part)
    return total / 8


def print_counters():
    """Section 10: cache lines read in a filter of counters."""
    head("p", "L", "k", "4 bits: absent", "present", "8 bits: absent", "present")
    for rate, per_key in [(1e-2, 1), (1e-3, 1), (1e-4, 2), (1e-6, 2)]:
        _, probes = blocked_taken(rate, per_key)
        f1, cells = rate ** (1 / per_key), []
        for parts in (4, 8):
            absent = parts_read(parts, probes, f1 ** (1 / probes))
            absent *= sum(f1**i for i in range(per_key))
            cells += [f"{absent:.2f}", f"{per_key * parts_read(parts, probes, 1):.2f}"]
        row(f"{rate:g}", per_key, probes, *cells)


def print_overlap():
    """Section 14: common keys of two filters planned for a million keys at 1 %."""
    lines, probes = 19728, 8
    hit = probes / (512 * lines)

    def spread(keys):
        if keys == 0:
            return 0.0
        fill, deviation = fill_moments(lines, 1, probes, keys)
        return float(deviation / (1 - fill)) ** 2

    head("keys in A", "in B", "in both", "standard error", "of J", "fill of the AND",
         "fill with the common keys alone")
    for one, other, common in [(500000, 500000, 0), (500000, 500000, 1000),
                               (500000, 500000, 100000), (500000, 500000, 500000),
                               (10000, 990000, 1000), (1000000, 1000000, 500000)]:
        union = one + other - common
        parts = spread(one) + spread(other)
        scale = -math.log1p(-hit)
        error = math.sqrt(max(0.0, spread(union) - parts + 2 * spread(common))) / scale
        share = (one + other) / union
        jaccard = parts * (1 - 2 * share) + 2 * spread(common) + share**2 * spread(union)
        jaccard = math.sqrt(max(0.0, jaccard)) / scale / union if common < union else 0.0
        empty = [math.exp(n * math.log1p(-hit)) for n in (one, other, union, common)]
        row(one, other, common, f"{error:.0f}", f"{jaccard:.1e}",
            f"{1 - empty[0] - empty[1] + empty[2]:.4f}", f"{1 - empty[3]:.4f}")


def print_claims():
    """Numbers quoted in running text."""
    budget = 18e6 * 8 / 1e9
    print(f"1e9 keys in 18 MB: {budget:.3f} bits a key; best possible rate {2 ** -budget:.4f}")
    print(f"1e9 keys at 1e-4: information limit {1e9 * math.log2(1e4) / 8 / 2**30:.3f} GiB,"
          f" classic {1e9 * classic_best(1e-4)[0] / 8 / 2**30:.3f} GiB,"
          f" L = 2 {1e9 * blocked_taken(1e-4, 2)[0] / 8 / 2**30:.3f} GiB")
    print(f"2e7 keys at 1e-2, m = 191701168: k = 7 gives {classic_limit(191701168 / 2e7, 7):.6f}")
    print(f"m/n = 20, k = 10: {classic_limit(20, 10):.7f}; k = 14: {classic_limit(20, 14):.7f}")
    print(f"1.44 = 1/ln 2 = {1 / math.log(2):.4f}; 0.6185 = {math.exp(-math.log(2) ** 2):.4f}")
    for rate, per_key in [(1e-2, 1), (1e-3, 1), (1e-4, 2), (1e-6, 2)]:
        bits, probes = blocked_taken(rate, per_key)
        print(f"2e7 keys at {rate:g}: L = {per_key}, k = {probes}, {bits:.2f} bits a key,"
              f" {2e7 * bits / 8 / 2**20:.1f} MiB")
    classic = [512 / (-math.log2(rate) / math.log(2)) for rate in RATES]
    best = [min(line_limit(load, k) for k in range(1, 9)) for load in classic]
    print("classic size, best k for a line: times p",
          ", ".join(f"{b / rate:.3g}" for b, rate in zip(best, RATES)))
    print(f"keys of a line at 1 %, L = 1, k = 8: {512 / blocked_bits(1e-2, 1, 8):.2f}")


TABLES = {
    "probes": print_probes,
    "small": print_small,
    "expansion": print_expansion,
    "misuse": print_misuse,
    "shortcut": print_shortcut,
    "poisson": print_poisson,
    "again": print_again,
    "coincidence": print_coincidence,
    "joint": print_joint,
    "bits": print_bits,
    "fastest": print_fastest,
    "sizes": print_sizes,
    "hashes": print_hashes,
    "counters": print_counters,
    "reads": print_reads,
    "estimate": print_estimate,
    "overlap": print_overlap,
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

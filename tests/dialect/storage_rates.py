# SPDX-License-Identifier: Apache-2.0
"""Measured rates against those that the library derives from a rule."""

import math
import random

from dialect import Driver


def spread(rate, count):
    """Five standard deviations of a measured rate: one in a million comes out further."""
    return 5 * math.sqrt(max(rate, 1 / count) / count)


def check_rate(check, dialect, count, filters=None, asked=None, exact=0.04, **given):
    """Filters of `count` keys each: the answers for absent keys must match the live rate of these very bits, and on the
    average over filters the expected one. `exact`: how exact the library's own numbers are, relatively."""
    rng = random.Random(count)
    filters = filters or max(2, min(40, 3000 // count))
    asked = asked or 120000 // filters
    hits = live = expected = live_squares = estimated = 0.0
    with Driver() as driver:
        for _ in range(filters):
            driver.create(dialect, **given)
            driver.add_all([rng.randbytes(12) for _ in range(count)])
            info = driver.info(scan=True)
            live += float(info["live"]) / filters
            live_squares += float(info["live"]) ** 2 / filters
            expected += float(info["expected"]) / filters
            estimated += float(info["estimate"]) / filters
            hits += driver.ask_all([rng.randbytes(13) for _ in range(asked)]).count("1")
    name = f"{dialect} {given}"
    measured = hits / (filters * asked)
    bound = spread(measured, filters * asked)
    check.true(abs(measured - live) <= bound + exact * live, f"{name}: live {live}, measured {measured} +- {bound}")
    between = 5 * math.sqrt(max(0, live_squares - live * live) / filters)
    check.true(abs(live - expected) <= between + bound + 2 * exact * live, f"{name}: expected {expected}, live {live} +- {between}")
    check.true(abs(estimated - count) <= 5 + 0.05 * count, f"{name}: {estimated} keys are estimated")
    return measured, live, expected

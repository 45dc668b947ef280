# SPDX-License-Identifier: Apache-2.0
"""Rows of one table that can't be in another, before they are joined.

    python3 frames.py

A join of a small table with a large one reads all keys of the large one. A filter of the small one's keys
takes a few bits each. It drops nearly all rows of the large table that have no partner, whole columns at
a time and without making Python objects; the join then sees what is left. No partner is lost: a
filter has no false negatives.

Introduces: a filter of a column; contains_many over a pandas column, of integers and of texts.
"""

import numpy
import pandas

import bloomery


def semi_join(large, small, column):
    """The rows of `large` that can have a partner in `small`."""
    keys = bloomery.Filter(len(small), 0.001)
    keys.add_many(small[column].to_numpy())
    maybe = numpy.asarray(keys.contains_many(large[column].to_numpy()))
    return large[maybe.astype(bool)]


def main():
    random = numpy.random.default_rng(1)
    orders = pandas.DataFrame({"customer": random.integers(0, 1_000_000, 200_000), "euros": random.integers(1, 99, 200_000)})
    called = pandas.DataFrame({"customer": numpy.arange(0, 1_000_000, 500), "agent": "A"})

    left = semi_join(orders, called, "customer")
    joined = left.merge(called, on="customer")
    whole = orders.merge(called, on="customer")
    print(f"{len(orders)} orders, {len(left)} of them can have a partner, {len(joined)} have one")
    print("the same as without the filter:", joined.sort_values(["customer", "euros"], ignore_index=True).equals(
        whole.sort_values(["customer", "euros"], ignore_index=True)))

    # Texts go the same way. Fixed width (dtype S or U) is the quickest; object columns are refused.
    names = pandas.DataFrame({"mail": [f"user{i}@example.org" for i in range(1000)]})
    unsubscribed = bloomery.Filter(1000, 1e-6)
    unsubscribed.add_many(list(names["mail"][:100]))
    kept = names[~numpy.asarray(unsubscribed.contains_many(names["mail"].to_numpy(dtype="S"))).astype(bool)]
    print(f"{len(names)} names, {len(kept)} are written to")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The chart: ns per key of each filter at a rate of 1e-2, integer keys, a panel per size, one axis.

    1 M    query              add
           blocked-1  ■■■■ 1.5   ■■■■■ 1.9
           ...
           1 ns   10   100        (logarithmic: one step to the right is as many times slower)
"""

import math
from xml.sax.saxutils import escape

NAMES = (("line", "plain loop over one cache line, as reference", "#9aa3ad"),
         ("blocked-1", "Bloomery, blocked, L = 1", "#b5482a"),
         ("blocked-2", "Bloomery, blocked, L = 2", "#d98b5f"),
         ("classic", "Bloomery, classic", "#e8c39e"),
         ("split-block", "split-block stand-in", "#33658a"),
         ("libbloom", "libbloom", "#86bbd8"),
         ("guava", "Guava (JVM)", "#c5dbe8"))
SIZES = ((10**6, "1 M keys"), (2 * 10**7, "20 M keys"), (10**8, "100 M keys"), (10**9, "1 G keys"))
LEAST, MOST = 1, 1000
LABELS, PLOT, GAP, BAR, TOP = 262, 260, 70, 16, 56


def length(ns):
    """Pixels of a bar."""
    return max(1.0, PLOT * math.log(min(max(ns, LEAST), MOST) / LEAST) / math.log(MOST / LEAST))


def bars(results, keys, top, out):
    """One panel; the height it takes."""
    y = top
    for name, label, colour in NAMES:
        row = results.find(("integers", keys, 1e-2), name)
        if row is None or not row.rate_holds():
            continue
        out.append(f'<text x="{LABELS - 8}" y="{y + 12}" text-anchor="end">{escape(label)}</text>')
        for column, operation in enumerate(("absent", "add")):
            ns = row.best(operation)
            if ns is None:
                continue
            x = LABELS + column * (PLOT + GAP)
            out.append(f'<rect x="{x}" y="{y + 2}" width="{length(ns):.1f}" height="{BAR - 4}" '
                       f'fill="{colour}"/>')
            out.append(f'<text x="{x + length(ns) + 5:.1f}" y="{y + 12}">{ns:.1f}</text>')
        y += BAR
    return y - top


def draw(results):
    """The whole picture as SVG."""
    out, y = [], TOP
    for keys, title in SIZES:
        if results.find(("integers", keys, 1e-2), "blocked-1") is None:
            continue
        out.append(f'<text x="12" y="{y + 12}" font-weight="bold">{title}</text>')
        y += BAR
        y += bars(results, keys, y, out) + 14
    width, height = LABELS + 2 * PLOT + GAP + 60, y + 24
    axis = []
    for column, title in enumerate(("query, absent keys", "add")):
        x = LABELS + column * (PLOT + GAP)
        axis.append(f'<text x="{x}" y="40" font-weight="bold">{title}, ns per key</text>')
        for tick in (1, 10, 100, 1000):
            at = x + PLOT * math.log(tick) / math.log(MOST)
            axis.append(f'<line x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{y}" stroke="#ddd"/>')
            axis.append(f'<text x="{at:.1f}" y="{y + 14}" text-anchor="middle">{tick}</text>')
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">\n'
            f'<rect width="{width}" height="{height}" fill="#fff"/>\n'
            '<text x="12" y="18" font-size="13" font-weight="bold">Integer keys, rate 1e-2: '
            'the faster of single calls and batches, logarithmic</text>')
    return "\n".join([head, *axis, *out, "</svg>"]) + "\n"

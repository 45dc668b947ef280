# SPDX-License-Identifier: Apache-2.0
"""A filter as a notebook shows it: its facts, and a bar of how full it is."""

import html

SCANNED = 1 << 28  # bytes of cells that are read for a drawing: some 30 ms
WIDTH = 240


def _rate(rate):
    return f"{rate:.3g} (1 in {1 / rate:,.0f})" if rate else "unknown"


def of(filter_):
    """The HTML of a bloomery.Filter: what its attribute _repr_html_ returns."""
    if filter_.closed:
        return "<b>bloomery.Filter</b>, closed"
    facts = filter_.info(scan=filter_.nbytes <= SCANNED)
    rows = [("kind", facts.kind + (f", {facts.dialect}" if facts.dialect else "")),
            ("planned keys", f"{facts.planned_keys:,}" if facts.planned_keys else "unknown"),
            ("planned rate", _rate(facts.planned_rate)), ("memory", f"{facts.bytes:,} bytes"), ("adds", f"{facts.adds:,}")]
    if facts.live_rate is not None:
        rows += [("rate now", _rate(facts.live_rate) if facts.live_rate else "0")]
        if facts.estimated_keys is not None:
            rows += [("keys, estimated", f"{facts.estimated_keys:,.0f}")]
    if facts.note:
        rows += [("note", facts.note)]
    body = "".join(f'<tr><th style="text-align:left">{html.escape(name)}</th><td style="text-align:left">'
                   f"{html.escape(value)}</td></tr>" for name, value in rows)
    return f"<b>bloomery.Filter</b><table>{body}</table>" + (_bar(facts.fill, facts.kind) if facts.fill is not None else "")


def _bar(fill, kind):
    """The share of the cells that are set; half of them is what most filters are planned for. A cuckoo filter's may all be taken."""
    full = round(WIDTH * min(max(fill, 0), 1), 1)
    words = f"{fill:.1%} of the " + ("slots are taken" if kind == "cuckoo" else "cells are set")
    half = "" if kind == "cuckoo" else f'<line x1="{WIDTH / 2}" x2="{WIDTH / 2}" y1="0" y2="16" stroke="#555"/>'
    return (f'<svg width="{WIDTH}" height="30" role="img" aria-label="{words}">'
            f'<rect width="{WIDTH}" height="12" fill="#ddd"/><rect width="{full}" height="12" fill="#2a6fb0"/>{half}'
            f'<text x="0" y="27" font-size="11" fill="currentColor">{words}</text></svg>')

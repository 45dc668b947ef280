# SPDX-License-Identifier: Apache-2.0
"""Packages that a machine may lack: a case that needs one is skipped then."""

import importlib

from runner import Skip


def need(name):
    """The module of this name."""
    try:
        return importlib.import_module(name)
    except ImportError as why:
        raise Skip(f"no {name} here") from why


def raises(c, kinds, *parts):
    """A context: what is within must raise one of these, with these parts in its text."""
    return Raises(c, kinds, parts)


class Raises:
    """See raises."""

    def __init__(self, c, kinds, parts):
        self.c, self.kinds, self.parts = c, kinds, parts
        self.error = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.c.expect(kind is not None, f"nothing was raised, not {self.kinds}")
        self.c.expect(issubclass(kind, self.kinds), f"{kind.__name__} was raised: {value}")
        for part in self.parts:
            self.c.expect(part in str(value), f"the text lacks {part!r}: {value}")
        self.error = value
        return True

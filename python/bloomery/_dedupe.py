# SPDX-License-Identifier: Apache-2.0
"""Documents without what occurred before in them or in others: bloomery.Deduper."""

import os as _os
import time as _time
import warnings as _warnings
from _collections_abc import Iterable, Iterator, Mapping  # which every interpreter has loaded

from bloomery._native import Filter, _Deduper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeVar

    Path = str | bytes | _os.PathLike[str] | _os.PathLike[bytes]
    Unit = Literal["document", "paragraph", "ngram", "near"]
    _Self = TypeVar("_Self", bound="Deduper")
    _Document = TypeVar("_Document", str, Mapping[str, Any])

_CLEAN, _MARK, _LOOK, _LEARN = range(4)  # as the extension numbers them
_PLANNED, _PASSING = 1, 2
_AHEAD = 1 << 20  # characters
_WAIT = 0.05  # seconds for which a batch is collected


class Deduper:
    """Takes out of documents what occurred before, as 'bloomery dedupe --unit' does, by the same code.

        seen = Deduper("paragraph", keys=1_000_000)
        for text in seen.clean(texts):
            ...
        print(seen.report()["paragraphs_removed"])
        seen.save("seen.bloom")                # a later run goes on: Deduper.open("seen.bloom")

    unit: what is compared.
        "document"   texts: a repeated one is dropped
        "paragraph"  lines of texts: a repeated one is cut out, and a text with nothing left is dropped
        "ngram"      runs of `ngram` words: a paragraph or a text goes if a share of `threshold` of its runs
                     is repeated (13 words, 0.8)
        "near"       texts by signatures: one that resembles an earlier one is dropped. `threshold` is the
                     similarity from which it should be (0.8), `ngram` the words of a shingle (5); also
                     permutations, bands, rows, add_all (docs/near.md)

    keys: how many different ones there will be; documents, with "near". Without it, the filter begins small and
    grows. rate: how often a new key is taken for a repeated one (1e-6; "ngram" 1e-4; "near" 1e-5 a document).
    memory: bytes that the filter may take. on_full: "grow" (the default without memory), "stop" (raises Full) or
    "pass" (nothing more is remembered). exact: 64 or 128 bits of each key in place of a filter, without a rate.

    min_words: texts or paragraphs with fewer words stay, and are not compared. trim, lower, upper: what is done to
    texts before they are compared. against: filters, or their files, that were made by the same options; what they
    have counts as seen. no_add: nothing is remembered, and documents are compared with `against`, with what
    learn() was given, and with the file of open(). secret: as for Filter.

    A document is a str, or a mapping that has its text as `field`. With `annotate="name"` nothing is removed: a
    mapping with repeated text gets a member `name` that lists it. Threads may share a Deduper.
    """

    def __init__(
        self,
        unit: "Unit" = "document",
        *,
        keys: float | None = None,
        rate: float | None = None,
        memory: int | None = None,
        on_full: 'Literal["grow", "stop", "pass"] | None' = None,
        exact: "Literal[64, 128] | None" = None,
        ngram: int | None = None,
        threshold: float | None = None,
        permutations: int | None = None,
        bands: int | None = None,
        rows: int | None = None,
        add_all: bool = False,
        min_words: int = 0,
        trim: bool = False,
        lower: bool = False,
        upper: bool = False,
        against: "Filter | Path | Iterable[Filter | Path]" = (),
        no_add: bool = False,
        secret: bytes | bool | None = None,
        field: str = "text",
        annotate: str | None = None,
    ) -> None:
        if not isinstance(unit, str):
            raise TypeError(f"unit must be a str, not {type(unit).__name__}")
        self._start(unit, field, annotate, against, {
            "keys": keys, "rate": rate, "memory": memory, "on_full": on_full, "exact": exact, "ngram": ngram,
            "threshold": threshold, "permutations": permutations, "bands": bands, "rows": rows, "add_all": add_all,
            "min_words": min_words, "trim": trim, "lower": lower, "upper": upper, "no_add": no_add, "secret": secret})

    def _start(self, unit: str | None, field: str, annotate: str | None, against: "Any", options: "dict[str, Any]") -> None:
        for name, value in (("field", field), ("annotate", annotate)):
            if not isinstance(value, str) and (name == "field" or value is not None):
                raise TypeError(f"{name} must be a str, not {type(value).__name__}")
        if isinstance(against, (str, bytes, _os.PathLike, Filter)):
            against = (against,)
        secret = options.get("secret")
        self._against = tuple(other if isinstance(other, Filter) else
                              Filter.open(other, secret=None if isinstance(secret, bool) else secret)
                              for other in against)
        self._field, self._annotate = field, annotate
        self._options = {name: value for name, value in options.items() if name not in ("path", "data")}
        self._units = _Deduper(unit, against=self._against, **options)

    @classmethod
    def open(cls: "type[_Self]", path: "Path", *, unit: "Unit | None" = None, field: str = "text", annotate: str | None = None,
             against: "Filter | Path | Iterable[Filter | Path]" = (), **options: "Any") -> "_Self":
        """A Deduper that goes on with what save() or the command's --state wrote.

        What its keys are is in the file: the unit, and the words of a run, or the bands. The other options are those
        of the class, but for keys and exact: `threshold` of "ngram", `min_words`, `on_full`, `memory`, `secret` ...

            seen = Deduper.open("seen.bloom")
        """
        for name in ("keys", "exact", "path", "data"):
            if name in options:
                raise TypeError(f"{name} is not an option of a file that exists")
        self = cls.__new__(cls)
        self._start(unit, field, annotate, against, {**options, "path": path})
        return self

    def save(self, path: "Path") -> None:
        """Writes what was seen to a file: as a whole, or not at all. The command goes on with it as its --state.

            seen.save("seen.bloom")
        """
        self._units.save(path)

    @property
    def filter(self) -> Filter:
        """A copy of the filter: for info(), against=, and other machines' parts (merge)."""
        return self._units.filter()

    def _text_of(self, document: "Any", number: int) -> str | None:
        if isinstance(document, str):
            if self._annotate is not None:
                raise TypeError("annotate= adds a member to mappings; spans(text) lists what is repeated in a str")
            return document
        if not isinstance(document, Mapping):
            advice = "; decode() it" if isinstance(document, (bytes, bytearray)) else ""
            raise TypeError(f"document {number}: a document is a str, or a mapping with the text as its "
                            f"{self._field!r}, not {type(document).__name__}{advice}")
        if self._annotate is not None and self._annotate in document:
            raise ValueError(f"document {number} has a member {self._annotate!r} already: choose another name")
        text = document.get(self._field)
        return text if isinstance(text, str) else None

    def _batches(self, documents: "Iterator[Any]", most: int) -> "Iterator[tuple[list[Any], list[str | None]]]":
        """Documents and their texts. What an iterator raises comes after the documents before it."""
        failed, number, more = None, 0, True
        while more:
            batch: list[Any] = []
            texts: list[str | None] = []
            size, until = 0, _time.monotonic() + _WAIT
            try:
                for document in documents:
                    text = self._text_of(document, number)
                    batch.append(document)
                    texts.append(text)
                    number += 1
                    size += len(text) if text is not None else 0
                    if len(batch) >= most or size >= _AHEAD or _time.monotonic() >= until:
                        break
                else:
                    more = False
            except BaseException as error:  # pylint: disable=broad-exception-caught
                failed, more = error, False
            if batch:
                yield batch, texts
        if failed is not None:
            raise failed

    def _judge(self, texts: list[str | None], way: int) -> "Any":
        answers = self._units.judge(texts, way)
        news = self._units.news()
        if news & _PLANNED:
            _warnings.warn("the filter now holds the keys that it was planned for; its rate rises from now on",
                           RuntimeWarning, stacklevel=4)
        if news & _PASSING:
            _warnings.warn("the filter is full: nothing more is remembered, and what is new stays each time",
                           RuntimeWarning, stacklevel=4)
        return answers

    def clean(self, documents: "Iterable[_Document]", *, batch: int = 256) -> "Iterator[_Document]":
        """Yields what is left of each document, in their order; dropped ones are left out.

            for document in Deduper("ngram").clean(map(json.loads, open("in.jsonl"))):
                print(json.dumps(document))

        A str becomes a str. A mapping from which something is cut becomes a dict with the rest of the text; one
        whose text is whole, or that has none, is yielded itself. Up to `batch` documents, or a million characters,
        are read ahead of those that were yielded, and count as seen; from a slow source each one comes out at once.
        """
        if isinstance(documents, str):
            raise TypeError("clean() takes documents, not one text: give a list of texts")
        if batch < 1:
            raise ValueError("batch must be at least 1")
        return self._clean(iter(documents), batch)

    def _clean(self, documents: "Iterator[Any]", most: int) -> "Iterator[Any]":
        change = self._cut if self._annotate is None else self._mark
        way = _CLEAN if self._annotate is None else _MARK
        for batch, texts in self._batches(documents, most):
            answers = self._judge(texts, way)
            for document, answer in zip(batch, answers):
                if answer is True or answer is None:
                    yield document
                elif answer is not False:
                    yield change(document, answer)
            if len(answers) < len(batch):
                self._units.raise_full()

    def _cut(self, document: "Any", text: str) -> "Any":
        return text if isinstance(document, str) else {**document, self._field: text}

    def _mark(self, document: "Any", answer: "Any") -> "Any":
        dropped, spans, seen = answer
        bands = self._units.bands
        if bands:
            member = {"bands": seen, "of": bands, "similarity": float(f"{spans[0][2] if spans else 0:.3g}"), "drop": dropped}
        else:
            member = {"spans": [[start, end, int(share) if share == 1 else share] for start, end, share in spans],
                      "drop": dropped}
        return {**document, self._annotate: member}

    def spans(self, document: "str | Mapping[str, Any]") -> list[tuple[int, int, float]]:
        """What clean() would take out of a document now: (start, end, share) each, and nothing is remembered.

            for start, end, share in seen.spans(text):
                print(text[start:end])

        `share` is that of its runs of words that were seen, and 1 for whole texts and paragraphs; with "near" it is
        an estimate of the similarity. What is repeated within the document alone is not listed. Of a text that goes
        whole by the share of all its runs, only the paragraphs that would go by their own share are listed.
        """
        text = self._text_of(document, 0) if not isinstance(document, str) else document
        answer = self._judge([text], _LOOK)[0]
        spans: list[tuple[int, int, float]] = [] if answer is None else answer[1]
        return spans

    def learn(self, documents: "Iterable[str | Mapping[str, Any]]") -> int:
        """Takes documents for seen, without judging them: those of earlier collections, or of a test set. How many
        they were.

            held = Deduper("ngram", no_add=True)
            held.learn(test_set)
            training = list(held.clean(training))     # without what the test set has
        """
        if isinstance(documents, str):
            raise TypeError("learn() takes documents, not one text: give a list of texts")
        count = 0
        for _, texts in self._batches(iter(documents), 256):
            learned = self._judge(texts, _LEARN)
            count += learned
            if learned < len(texts):
                self._units.raise_full()
        return count

    def report(self) -> "dict[str, Any]":
        """What was judged so far, by the names of the command's --json: documents, paragraphs_removed, bytes (of
        memory), expected_wrong_removals ... input_bytes and removed_bytes are those of texts.
        """
        return self._units.report()

    def __repr__(self) -> str:
        facts = self.report()
        unit = "near" if "near" in facts else facts["unit"]
        return (f"<bloomery.{type(self).__name__} of unit {unit!r}: {facts['documents']:,} documents, "
                f"{facts['documents_dropped']:,} dropped, {facts['documents_changed']:,} changed, {facts['bytes']:,} bytes>")

    def __getstate__(self) -> "dict[str, Any]":
        return {**self.__dict__, "_units": self._units.filter().to_bytes()}

    def __setstate__(self, state: "dict[str, Any]") -> None:
        self.__dict__.update(state)
        options = {name: value for name, value in self._options.items()
                   if name not in ("keys", "exact") and not (name == "secret" and isinstance(value, bool))}
        self._units = _Deduper(None, against=self._against, data=state["_units"], **options)

# SPDX-License-Identifier: Apache-2.0
"""What the installed headers declare, for the scripts that read them: make-manual and check-interface."""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = ["bloomery", "builder", "records", "dialect", "near", "sieve", "inline", "experimental"]
# A comment or none, and a declaration: of a public function, or of one that is compiled into the caller.
# An attribute may stand behind it. A name that ends in an underscore is a step of others, and not for programs.
DECLARED = re.compile(r"^(?:BLOOMERY_PUBLIC\s+|(?:BLOOMERY_INLINE_ALWAYS_ )?static inline\s+)"
                      r"([^;{]*?\b(bloomery_\w*[a-z0-9])\s*\([^;{]*?\))"
                      r"(?:\s+BLOOMERY_USE_RESULT)?\s*[;{]", re.M)
COMMENT = re.compile(r"/\*(?!-)(.*?)\*/", re.S)
SECTION = re.compile(r"^/\* ---- (\d+)\.? +(.*?) -+ \*/$", re.M)
CONTINUES = re.compile(r"(The same|As |Like |Estimates)")


class Function:
    """A public function: its names' page, its declaration and its description."""

    def __init__(self, name, declaration, text, section, before):
        self.name, self.declaration, self.text = name, declaration, text
        self.section, self.before = section, before


class Header:
    """An installed header: its opening comment, its functions and its types."""

    def __init__(self, name, text):
        self.name = name
        self.page = "bloomery.h" if name == "bloomery" else f"bloomery_{name}.h"
        self.include = f"bloomery/{name}.h"
        comments = list(COMMENT.finditer(text))
        self.opening = plain(comments[1].group(1))  # the first one is the licence
        self.functions = functions_of(text[comments[1].end():])
        self.types = types_of(text[comments[1].end():])


def plain(comment):
    """A comment's lines without what makes them a comment."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() if at else line.strip()
             for at, line in enumerate(comment.split("\n"))]
    return "\n".join(lines).strip("\n").rstrip()


def comment_before(text, end):
    """The comment that ends where a declaration begins, or None."""
    found = None
    for match in COMMENT.finditer(text, 0, end):
        found = match
    if found is None or found.group(0).startswith("/* ----"):
        return None
    # Constants that belong to a function stand between.
    if re.sub(r"enum \{[^}]*\};|#define [^\n]*", "", text[found.end():end]).strip():
        return None
    return plain(found.group(1))


def functions_of(text):
    """What a header declares, in its order. A declaration without a comment shares the one before it."""
    found, at_section, before = [], "", None
    sections = [(match.start(), match.group(2)) for match in SECTION.finditer(text)]
    end_of_last = -1
    for match in DECLARED.finditer(text):
        section = next((name for start, name in reversed(sections) if start < match.start()), "")
        said = comment_before(text, match.start())
        inline = not match.group(0).startswith("BLOOMERY_PUBLIC")
        if said is None and (inline or end_of_last < 0 or text[end_of_last:match.start()].strip()):
            raise ValueError(f"{match.group(2)} has no comment")
        if section != at_section:
            at_section, before = section, None
        declaration = re.sub(r"\s+", " ", match.group(1)) + ";"
        if said is None:
            found[-1].append(Function(match.group(2), declaration, "", section, None))
        else:
            found.append([Function(match.group(2), declaration, said, section,
                                   before if CONTINUES.match(said) else None)])
            before = match.group(2)
        end_of_last = match.end()
    return found


def types_of(text):
    """The declarations of types and constants with their comments, as they stand. A struct that has its name
    before it has its fields is taken where these are."""
    pieces, at = [], 0
    later = {f"typedef struct {name} {name};" for name in re.findall(r"^struct (\w+) \{", text, re.M)}
    pattern = re.compile(r"^(?:(?:typedef (?:struct|enum)|struct)\b[^;{]*\{.*?^\}[^;]*;|typedef [^;{]*;|enum [^;{]*\{.*?\};"
                         r"|#define BLOOMERY_[A-Z_0-9]+ (?:[^\n]*\\\n)*[^\n]*)", re.M | re.S)
    for match in pattern.finditer(text):
        if match.start() < at or "BLOOMERY_PUBLIC" in match.group(0)[:30] or "_H\n" in match.group(0) + "\n" or \
                match.group(0) in later:
            continue
        start = match.start()
        for comment in COMMENT.finditer(text, at, match.start()):
            if not text[comment.end():match.start()].strip() and not comment.group(0).startswith("/* ----"):
                start = comment.start()
        pieces.append(text[start:match.end()])
        at = match.end()
    return pieces


def type_name(declaration):
    """The name of a type of types_of, or None for a constant."""
    match = re.search(r"\}\s*(bloomery_\w+);\s*$|^typedef [^;{]*?\(\*(bloomery_\w+)\)|^typedef struct \w+ (bloomery_\w+);"
                      r"|^struct (bloomery_\w+) \{",
                      COMMENT.sub("", declaration).strip())
    return next(filter(None, match.groups()), None) if match else None


def read_headers():
    """All installed headers, the main one first."""
    headers = []
    for name in HEADERS:
        with open(os.path.join(ROOT, "include", "bloomery", name + ".h"), encoding="utf-8") as file:
            headers.append(Header(name, file.read()))
    return headers

# SPDX-License-Identifier: Apache-2.0
"""The tables of options that tool/describe_options.c prints, for the scripts that make the manual's pages and the
shells' completions of them."""

import json
import re


def read(path):
    """(commands in order, those of the sieve behind it as "sieve push"; the names of dialects)"""
    with open(path, encoding="utf-8") as file:
        tables = json.load(file)
    commands = []
    for command in tables["commands"]:
        commands += [command, *command["parts"]]
    for command in commands:
        for group in command["groups"]:
            complete(group["options"])
            for option in group["options"]:
                option["dialects"] = option["words"] == tables["dialects"]
    return commands, tables["dialects"]


def complete(options):
    """An option that is described with the next one gets its description: "--lower, --upper"."""
    for at in range(len(options) - 1, -1, -1):
        options[at]["shared"] = options[at]["help"] is None
        if options[at]["help"] is None:
            options[at]["help"] = options[at + 1]["help"]


def listed(command):
    """The options that its help lists, each once: the first row of a name is the option, others describe it."""
    found = {}
    for group in command["groups"]:
        for option in group["options"] if not group["unlisted"] else ():
            found.setdefault(option["name"], option)
    return list(found.values())


def optional(option):
    """Whether its value may be missing: --exact[=BITS]."""
    return (option["argument"] or "").startswith("[")


def argument(option):
    """What its value is called, "" if it has none."""
    return re.split(r"\[", (option["argument"] or "").strip("[]="))[0]


# What only says when an option is of use: "with --dialect: one of our files".
CONDITION = re.compile(r"(with|of|in|for) |what if|(disk|memory) engine")


def beginning(text):
    """The first part of a description that tells something: up to a full stop, or to a semicolon or a colon where
    that is more than a few words or a condition; never within brackets or quotes."""
    text = text.partition("\n")[0]
    depth, quoted = 0, False
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "'" and (quoted or at == 0 or text[at - 1] in " ("):
            quoted = not quoted
        if depth > 0 or quoted or character not in ".;:" or not re.match(r"\s|$", text[at + 1:]):
            continue
        if character == "." or (at >= 18 and not (character == ":" and CONDITION.match(text))):
            return text[:at]
    return text

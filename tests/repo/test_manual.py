# SPDX-License-Identifier: Apache-2.0
"""The manual: every public function has a page, and the formatter has nothing to say about any page."""

import functools
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile

from runner import checks, expect, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

def script(name):
    """A script of the project, as a module."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), os.path.join(ROOT, "scripts", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def paths_of_commands():
    """The pages of section 1: of the source, and of the build where those with options were made."""
    folders = [os.path.join(ROOT, "man"), os.environ.get("BLOOMERY_PAGES", "")]
    paths = [os.path.join(folder, name) for folder in folders if os.path.isdir(folder)
             for name in sorted(os.listdir(folder)) if name.endswith(".1")]
    expect(len(paths) > 10 or "BLOOMERY_PAGES" not in os.environ, f"too few pages: {paths}")
    return paths


def every_public_function_and_type_has_a_page(pages):
    public = script("check-symbols").declared(ROOT)
    folder = os.path.join(ROOT, "include", "bloomery")
    headers = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".h") and name != "embedded.h"]
    types = set()
    for path in headers:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        types |= set(re.findall(r"^(?:\} |typedef struct \w+ |typedef [^;{]*?\(\*)(bloomery_\w+)(?=;|\))", text, re.M))
    missing = {name for name in public | types if name + ".3" not in pages}
    expect(len(public) > 80 and len(types) > 30 and not missing, f"no page: {sorted(missing)}")
    further = {page[:-2] for page in pages if not page.endswith(".h.3")} - public - types - {"bloomery"}
    expect(further == {"bloomery_bands_bytes", "bloomery_key_of", "bloomery_inline_may_contain",
                       "bloomery_inline_may_contain_hash", "bloomery_inline_add", "bloomery_inline_add_hash",
                       *(f"bloomery_keys_of_{form}" for form in ("list", "integers", "strings", "hashes"))},
           f"pages of what is not public, or none of what is compiled in: {sorted(further)}")


def a_page_has_its_declaration_and_its_comment(pages):
    page = pages["bloomery_may_contain_keys.3"]
    expect(page == ".so man3/bloomery_add_keys.3\n", page)
    page = pages["bloomery_new.3"]
    expect("bloomery_filter *bloomery_new(uint64_t keys, double rate," in page and "error);" in page, page)
    page = pages["bloomery_expected_rate.3"]
    for part in (".SH NAME\nbloomery_expected_rate \\- the false\\-positive rate that",
                 "#define BLOOMERY_EXPERIMENTAL\n.B #include <bloomery/experimental.h>",
                 "double bloomery_expected_rate(const bloomery_filter *filter, uint64_t keys);",
                 "0 for 0 keys; more than 2^48 keys count as 2^48.", ".BR bloomery.h (3)"):
        expect(part in page, f"{part!r} is not in {page}")
    for name, text in pages.items():
        expect(text.startswith(".so ") or all(f".SH {section}\n" in text for section in
                                              ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO")), name)


def apropos_says_what_each_page_is_for(pages):
    known = script("manual_names.py").NAMES
    expect(not set(known) - {name[:-2] for name in pages}, f"no such page: {sorted(set(known) - {n[:-2] for n in pages})}")
    said = {}
    for name, text in pages.items():
        if text.startswith(".so "):
            continue
        line = re.search(r"^\.SH NAME\n(.+) \\- (.+)$", text, re.M).group(2).replace("\\-", "-")
        expect(len(line) <= 90, f"{name}: {line} is too long for a line")
        expect(not re.match(r"(The same|The batches|Like|As|By|Union|Intersection|Back|Takes it|These|All|Whether|\")\b", line),
               f"{name}: {line} says nothing by itself")
        kind = "type" if "typedef" in text.partition(".SH DESCRIPTION")[0] else "function"
        expect((line, kind) not in said, f"{name} and {said.get((line, kind))} are both: {line}")
        said[line, kind] = name
    expect(len(said) > 100, f"{len(said)} pages")


def the_overview_leads_to_all_functions(pages):
    page = pages["bloomery.3"]
    missing = [name for name in script("check-symbols").declared(ROOT) if not re.search(rf"\b{name}\b", page)]
    expect(not missing, f"bloomery.3 lacks {missing}")
    expect("bloomery_new(100000, 0.001, &error)" in page and ".BR bloomery_sieve.h (3)" in page, page[:2000])


def pages_of_types_have_their_declaration(pages):
    for part in ("struct bloomery_create_options {", "uint64_t memory_limit;", "What a new filter is besides its plan."):
        expect(part in pages["bloomery_create_options.3"], pages["bloomery_create_options.3"])
    expect("BLOOMERY_FULL = \\-10," in pages["bloomery_status.3"], pages["bloomery_status.3"])
    expect("typedef struct bloomery_filter bloomery_filter;" in pages["bloomery_filter.3"], pages["bloomery_filter.3"])


def pages_name_only_pages_that_are_there(pages):
    commands = {os.path.basename(path)[:-2] for path in paths_of_commands()}
    others = {"grep (1)", "sort (1)", "cmp (1)", "xz (1)"}
    texts = dict(pages)
    for path in paths_of_commands():
        with open(path, encoding="utf-8") as file:
            texts[os.path.basename(path)] = file.read()
    for name, text in texts.items():
        for page, section in re.findall(r"^\.BR (\S+) \(([13])\)", text, re.M):
            page = page.replace("\\-", "-")
            there = page in commands if section == "1" else page + ".3" in pages
            expect(there or f"{page} ({section})" in others, f"{name} names {page}({section})")


def the_formatter_has_nothing_to_say(pages):
    groff = shutil.which("groff")
    if groff is None:
        expect(os.environ.get("CI") != "true", "no groff: scripts/packages has it for CI")
        return "no groff"
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "man3"))
        for name, text in pages.items():
            with open(os.path.join(folder, "man3", name), "w", encoding="utf-8") as file:
                file.write(text)
        paths = [os.path.join("man3", name) for name in pages if not pages[name].startswith(".so ")]
        paths += paths_of_commands()
        for path in paths:
            done = subprocess.run([groff, "-man", "-ww", "-z", "-Tutf8", path], cwd=folder, capture_output=True,
                                  text=True, check=False)
            expect(done.returncode == 0 and done.stderr == "", f"{path}: {done.stderr}")
        broken = os.path.join(folder, "broken.1")
        with open(broken, "w", encoding="utf-8") as file:
            file.write(".TH A 1\n.SH NAME\n.nosuch\n")
        done = subprocess.run([groff, "-man", "-ww", "-z", "-Tutf8", broken], capture_output=True, text=True, check=False)
        expect("nosuch" in done.stderr, "the formatter lets a wrong page pass")
    return None


@functools.lru_cache
def all_pages():
    maker = script("make-manual")
    return maker.make_pages(maker.read_headers())


checks(every_public_function_and_type_has_a_page, a_page_has_its_declaration_and_its_comment,
       apropos_says_what_each_page_is_for, the_overview_leads_to_all_functions, pages_of_types_have_their_declaration,
       pages_name_only_pages_that_are_there, the_formatter_has_nothing_to_say, arguments=lambda c: (all_pages(),))
if __name__ == "__main__":
    main(command=False)

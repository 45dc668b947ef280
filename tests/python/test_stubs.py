# SPDX-License-Identifier: Apache-2.0
"""The type stubs name what is there, and mypy takes them, and the programs that users write by them."""

import ast
import inspect
import os
import subprocess
import sys

import bloomery
from bloomery import _native
from optional import need
from runner import case, main

PACKAGE = os.path.dirname(os.path.abspath(bloomery.__file__))
IMPLICIT = {"__doc__", "__module__", "__new__", "__init__", "__dict__", "__weakref__", "__hash__", "__eq__", "__ne__", "__lt__",
            "__gt__", "__repr__", "__sizeof__", "__reduce_ex__", "__ror__", "__rand__", "__rxor__", "__rsub__", "__weaklistoffset__",
            "__buffer__", "__release_buffer__"}  # the last two since Python 3.12
ORDERS = {"__le__", "__ge__"}  # come with every comparison


def stub():
    """{class or "": {name: node}} of the stub."""
    with open(os.path.join(PACKAGE, "_native.pyi"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found = {"": {}}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {part.name if hasattr(part, "name") else part.target.id: part for part in node.body
                                if isinstance(part, (ast.FunctionDef, ast.AnnAssign))}
        elif isinstance(node, ast.FunctionDef):
            found[""][node.name] = node
        elif isinstance(node, ast.AnnAssign):
            found[""][node.target.id] = node
    return found


def keywords_of(text):
    """The names of the parameters in a signature, "name(a, b=1, *, c) -> ..."."""
    head = text[text.index("(") + 1:text.index(")")]
    return [part.split("=")[0].strip() for part in head.replace("\n", " ").split(",") if part.strip() not in ("", "...")]


@case
def the_stub_names_what_the_extension_has(c):
    stubs = stub()
    classes = {name for name, value in vars(_native).items() if inspect.isclass(value) and not name.startswith("_")}
    c.expect({name for name in stubs if name and not name.startswith("_")} == classes, "classes")
    names = {name for name, value in vars(_native).items() if not name.startswith("_") and not inspect.isclass(value)}
    c.expect(set(stubs[""]) - {"__version__"} == names, f"functions: {set(stubs['']) ^ names}")
    for name in ("Filter", "Builder", "Sieve", "Near", "BoolColumn", "_Deduper"):
        there = set(vars(getattr(_native, name))) - IMPLICIT - (ORDERS if name == "BoolColumn" else set())
        stubbed = set(stubs[name]) - IMPLICIT
        c.expect(there == stubbed, f"{name}: {there ^ stubbed}")
    for name in ("Info", "Plan", "Comparison", "Dialect", "Item", "SieveInfo"):
        c.expect(tuple(stubs[name]) == getattr(_native, name).__match_args__, f"{name}: other fields")


@case
def signatures_in_docstrings_are_those_of_the_stub(c):
    stubs = stub()
    compared = 0
    for name in ("Filter", "Builder", "Sieve", "Near"):
        for method, node in stubs[name].items():
            text = _native.__dict__[name].__text_signature__ if method == "__new__" else getattr(getattr(_native, name), method).__doc__
            if method.startswith("__") and method != "__new__" or not isinstance(node, ast.FunctionDef) or not text or "(" not in text:
                continue
            if any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list):
                continue
            said = [part.lstrip("*") for part in keywords_of(text)]
            arguments = node.args
            stubbed = [a.arg for a in arguments.posonlyargs + arguments.args if a.arg not in ("self", "cls")]
            stubbed += [arguments.vararg.arg] if arguments.vararg else []
            stubbed += [a.arg for a in arguments.kwonlyargs] + ([arguments.kwarg.arg] if arguments.kwarg else [])
            if "..." in text.split("\n")[0]:
                c.expect(set(filter(None, said)) <= set(stubbed), f"{name}.{method}: {said}, {stubbed}")
            else:
                c.expect([part for part in said if part] == stubbed, f"{name}.{method}: {said}, {stubbed}")
            compared += 1
    c.expect(compared > 35, f"only {compared} were compared")


@case
def editors_see_the_arguments_of_each_method(c):
    stubs, seen = stub(), 0
    for name in ("Filter", "Builder", "Sieve", "Near", ""):
        for method, node in stubs[name].items():
            value = getattr(getattr(_native, name) if name else _native, method, None)
            if method.startswith("__") or not isinstance(node, ast.FunctionDef) or not callable(value):
                continue
            arguments = node.args
            expected = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs if a.arg not in ("self", "cls")]
            expected += [a.arg for a in (arguments.vararg, arguments.kwarg) if a]
            shown = [part for part in inspect.signature(value).parameters if part not in ("self", "type")]
            c.expect(sorted(shown) == sorted(expected), f"{name}.{method}: {shown}, not {expected}")
            seen += 1
    c.expect(seen > 50, f"only {seen} were looked at")


PROGRAM = '''
import pathlib
from bloomery import Builder, Deduper, Filter, Info, Item, Sieve, duplicated, plan, unique

f = Filter(1000, 0.01, kind="blocked")
new: bool = f.add("a")
there: bool = b"a" in f
count: int = f.add_many(["a", b"b", 3])
f.save(pathlib.Path("/tmp/x"))
facts: Info = f.info(scan=True)
rate: float | None = facts.live_rate
both: Filter = f | Filter.from_bytes(f.to_bytes())
size: int = plan(1000, 0.01).bytes
with Sieve() as s:
    items: list[Item] = s.pop(5)
    s.ack(items)
builder = Builder(0.001)
builder.add_many(map(str, range(10)))
g: Filter = builder.finish()
seen = Deduper("ngram", keys=1000, threshold=0.5, against=[f, pathlib.Path("/tmp/x")])
for text in seen.clean(["a", "b"]):
    shout: str = text.upper()
for document in seen.clean([{"text": "a", "id": 5}]):
    number: object = document["id"]
where: list[tuple[int, int, float]] = seen.spans("a")
again: Deduper = Deduper.open(pathlib.Path("/tmp/y"), min_words=3)
firsts: list[str] = list(unique(["a", "b"]))
marks: list[bool] = duplicated(["a"]).tolist()
'''
WRONG = 'from bloomery import Filter\nf = Filter(1000)\nf.add(1.5)\nFilter(10, kind="x")\nf.no_such\n'


@case
def mypy_takes_the_package_and_finds_faults(c):
    need("mypy")
    c.file("program.py", PROGRAM)
    c.file("wrong.py", WRONG)
    def check(*files):
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", c.path("cache"), *files],
                              capture_output=True, text=True, check=False, cwd=c.directory,
                              env={**os.environ, "MYPYPATH": os.path.dirname(PACKAGE)})
    done = check("program.py")
    c.expect(done.returncode == 0, done.stdout[-800:])
    done = check("wrong.py")
    c.expect(done.returncode == 1 and done.stdout.count("error:") == 3, done.stdout)


main()

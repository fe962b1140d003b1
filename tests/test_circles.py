"""Arrows between the files of a crate only point down.

A circle of files is one file in several pieces: none of them can be read, tested or replaced by itself. A part may
name the whole that it is a part of (`use super::...` up to a folder's `mod.rs`), which names its parts: that is a
family and no circle, and is left out. A name is imported from the file that has it, not from the crate's door
(`lib.rs`), which has all files below it.

A type whose methods stand in many files needs no `use` to go in a circle: there, `self.x(...)` counts for the file that
has `fn x`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import ROOT

#: Files of a circle that is borne, by crate: classes of Python have methods that make one another.
FILES_AT_MOST = {"python": 3}
#: The same of files whose methods of one type call one another.
METHODS_AT_MOST = 3
CRATES = sorted(path.name for path in (ROOT / "crates").iterdir() if (path / "src").is_dir())

#: `use` with its imports; not behind `#[cfg(test)]`, as tests may look at everything.
USE = re.compile(r"^(?P<test>#\[cfg\(test\)\]\n)?(?:pub(?:\([\w: ]+\))? )?use (?P<tree>[^;]+);", re.MULTILINE)

Graph = dict[str, set[str]]


def modules(crate: Path) -> dict[str, Path]:
    """Every module of a crate but its tests and its door, by its path: `flash::victim` for `flash/victim/mod.rs`."""
    found = {}
    for path in sorted(crate.rglob("*.rs")):
        parts = path.relative_to(crate).with_suffix("").parts
        if parts[0] not in ("lib", "tests"):
            found["::".join(parts[:-1] if parts[-1] == "mod" else parts)] = path
    return found


def leaves(tree: str) -> Iterator[str]:
    """The paths that a tree of `use` imports: `a::{b, c::d}` is `a::b` and `a::c::d`."""
    tree = re.sub(r"\s+", " ", tree).strip()
    group = re.fullmatch(r"((?:\w+::)*)\{(.*)\}", tree)
    if group is None:
        yield tree.split(" as ")[0]
        return
    depth, item = 0, ""
    for letter in f"{group[2]},":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if item.strip():
                yield from (group[1] + leaf for leaf in leaves(item))
            item = ""
        else:
            item += letter


def module_of(path: str, here: str, names: set[str]) -> str | None:
    """The module of ours that a path means, as it is written in the module `here`; `None` for another crate's."""
    first, *rest = path.split("::")
    base = here.split("::")
    if first == "crate":
        base = []
    elif first == "super":
        base = base[:-1]
        while rest and rest[0] == "super":
            base, rest = base[:-1], rest[1:]
    elif first != "self":
        if f"{here}::{first}" not in names:
            return None
        rest = [first, *rest]
    target = [*base, *rest]
    while target and "::".join(target) not in names:
        target.pop()
    return "::".join(target) or None


def imports(crate: Path) -> Graph:
    """For each module those that its `use` lines name, itself and the wholes that it is a part of left out."""
    files = modules(crate)
    graph: Graph = {here: set() for here in files}
    for here, leaf in named(files):
        name = module_of(leaf, here, set(files))
        if name and name != here and not here.startswith(f"{name}::"):
            graph[here].add(name)
    return graph


def named(files: dict[str, Path]) -> Iterator[tuple[str, str]]:
    """Every path that a module imports, by the module; those of tests left out."""
    for here, file in files.items():
        text = re.sub(r"//.*", "", file.read_text(encoding="utf-8")).split("#[cfg(test)]\nmod tests")[0]
        for use in USE.finditer(text):
            if not use["test"] and not here.endswith("tests"):
                yield from ((here, leaf) for leaf in leaves(use["tree"]))


def reached(graph: Graph, start: str) -> set[str]:
    """The imports of a module, by way of others as well."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        more = graph[ahead.pop()] - found
        found |= more
        ahead.extend(more)
    return found


def circles(graph: Graph) -> list[set[str]]:
    """Modules each of which imports all others of its circle, directly or not."""
    reach = {name: reached(graph, name) for name in graph}
    found = []
    for name in graph:
        circle = {other for other in reach[name] if name in reach[other]}
        if circle and circle not in found:
            found.append(circle)
    return found


def through_the_door(crate: Path) -> list[str]:
    """The imports from the crate itself, and so from a file above."""
    files = modules(crate)
    return [
        f"{here}: {leaf}"
        for here, leaf in named(files)
        if leaf.split("::")[0] == "crate" and module_of(leaf, here, set(files)) is None
    ]


@pytest.mark.parametrize("crate", CRATES)
def test_arrows_only_point_down(crate: str) -> None:
    source = ROOT / "crates" / crate / "src"
    large = [sorted(circle) for circle in circles(imports(source)) if len(circle) > FILES_AT_MOST.get(crate, 0)]
    assert not large, f"files that import one another in a circle: {large}"
    assert through_the_door(source) == []


def test_imports_are_found() -> None:
    graph = imports(ROOT / "crates" / "ftl" / "src")
    assert sum(map(len, graph.values())) > len(graph), "the `use` lines are not found"


#: The beginning of an `impl`, the type that it is for, and how far it is indented.
IMPL = re.compile(r"^(?P<indent> *)impl(?:<[^{]*?>)? (?:[\w:<>, ']+ for )?(?P<type>\w+)[^{;]*\{", re.MULTILINE)
#: A call of a method of the same type, or in a closure that is given the same object as `host`.
CALL = re.compile(r"\b(?:self|Self|host)(?:\.|::)(\w+)(?:::<[^>]*>)?\(")


def calls(crate: Path) -> dict[str, Graph]:
    """For each type with methods in several files: which of the files call methods that stand in which others."""
    defined: dict[tuple[str, str], set[str]] = {}
    called: dict[tuple[str, str], set[str]] = {}
    for here, file in modules(crate).items():
        text = re.sub(r"//.*", "", file.read_text(encoding="utf-8")).split("#[cfg(test)]\nmod tests")[0]
        for impl in IMPL.finditer(text):
            end = text.find(f"\n{impl['indent']}}}", impl.end())
            body = text[impl.end() : end]
            for name in re.findall(r"\bfn (\w+)", body):
                defined.setdefault((impl["type"], name), set()).add(here)
            called.setdefault((impl["type"], here), set()).update(CALL.findall(body))
    graphs: dict[str, Graph] = {}
    for (kind, here), names in called.items():
        places = [defined.get((kind, name), set()) for name in names]
        graphs.setdefault(kind, {})[here] = set().union(*(files for files in places if here not in files))
    return {kind: graph for kind, graph in graphs.items() if len(graph) > 1}


@pytest.mark.parametrize("crate", CRATES)
def test_methods_of_a_type_call_in_no_large_circle(crate: str) -> None:
    for kind, graph in calls(ROOT / "crates" / crate / "src").items():
        whole = {name: found & graph.keys() for name, found in graph.items()}
        large = [sorted(circle) for circle in circles(whole) if len(circle) > METHODS_AT_MOST]
        assert not large, f"files whose methods of {kind} call one another in a circle: {large}"


@pytest.mark.parametrize("kind", ["Engine", "Decider", "Interface", "BackEnd"])
def test_methods_of_the_host_call_downwards_only(kind: str) -> None:
    """A page operation goes from state to state, and no state's file calls one above it."""
    assert circles(calls(ROOT / "crates" / "sim" / "src").get(kind, {})) == []


def test_machines_of_the_engine_know_each_other_downwards_only() -> None:
    """The host uses the array and the accounts, the array the accounts, the accounts neither."""
    graph = imports(ROOT / "crates" / "sim" / "src")
    floors = ("accounts", "array", "host")
    for name, used in graph.items():
        for floor, machine in enumerate(floors):
            if name == f"engine::{machine}" or name.startswith(f"engine::{machine}::"):
                above = tuple(f"engine::{higher}" for higher in floors[floor + 1 :])
                up = sorted(other for other in used if other.startswith(above)) if above else []
                assert not up, f"{name} uses what is above it: {up}"
    assert any("engine::array" in used for name, used in graph.items() if name.startswith("engine::host"))


def test_a_circle_is_found(tmp_path: Path) -> None:
    for path, text in {
        "lib.rs": "mod a;\nmod b;\nmod c;\n",
        "a.rs": "use crate::b::{self, B};\n",
        "b/mod.rs": "mod part;\nuse std::fmt;\nuse self::part::Part;\nuse crate::c::C;\n",
        "b/part.rs": "use super::B;\npub(super) use super::super::{\n    a::{A, Other as Another},\n    c::C,\n};\n",
        "c.rs": "#[cfg(test)]\nuse crate::a::A;\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    graph = imports(tmp_path)
    assert graph == {"a": {"b"}, "b": {"b::part", "c"}, "b::part": {"a", "c"}, "c": set()}
    assert circles(graph) == [{"a", "b", "b::part"}]


def test_calls_between_files_of_a_type_are_found(tmp_path: Path) -> None:
    for path, text in {
        "lib.rs": "mod a;\nmod b;\nmod c;\n",
        "a.rs": "struct Big<T>(T);\nimpl<T: Copy> Big<T> {\n    fn one(&self) {\n        self.two::<T>(1);\n    }\n}\n",
        "b.rs": "impl<T> Big<T> {\n    fn two<U>(&self) {\n        self.with(|host, at| host.three(at));\n    }\n}\n",
        "c.rs": "impl Big<u8> {\n    fn three(&self) {\n        self.one(); // self.two()\n    }\n}\n"
        "impl Small {\n    fn one(&self) {\n        self.two();\n    }\n}\n",
    }.items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    found = calls(tmp_path)
    assert found == {"Big": {"a": {"b"}, "b": {"c"}, "c": {"a"}}}
    assert circles(found["Big"]) == [{"a", "b", "c"}]

"""Arrows between the files of a crate only point down.

A circle of files is one file in several pieces: none of them can be read, tested or replaced by itself. A part may
name the whole that it is a part of (`use super::...` up to a folder's `mod.rs`), which names its parts: that is a
family and no circle, and is left out. A name is imported from the file that has it, not from the crate's door
(`lib.rs`), which has all files below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import ROOT

#: Files of a circle that is borne, by crate: the engine's, until it is several machines; classes of Python whose methods
#: make one another.
FILES_AT_MOST = {"sim": 3, "python": 3}
CRATES = sorted(path.name for path in (ROOT / "crates").iterdir() if (path / "src").is_dir())

#: `use` with what it imports; not behind `#[cfg(test)]`, as tests may look at everything.
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
    """What a module imports, by way of others as well."""
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
    """What is imported from the crate itself, and so from a file above."""
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

"""Who may import whom, in both languages, and how long a file may be."""

from __future__ import annotations

import ast
import builtins
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import ROOT

#: Allowed dependencies of each crate. `nand` <- `ftl` <- `sim`; `trace` <- `analysis`, `sim`; `settings` <- `analysis`,
#: `sim`, `live`; `live` uses what replays do; the bindings may import all, nothing imports them.
CRATES = {
    "bits": set[str](),
    "settings": set[str](),
    "nand": {"bits"},
    "trace": {"bits"},
    "ftl": {"bits", "nand"},
    "analysis": {"bits", "settings", "trace"},
    "sim": {"analysis", "bits", "ftl", "nand", "settings", "trace"},
    "live": {"bits", "ftl", "nand", "settings", "sim", "trace"},
    "python": {"nand", "ftl", "settings", "sim", "trace", "analysis", "live"},
}

#: The modules of the Python API, the only ones that reach the core; one or a few in each room.
MAY_IMPORT_CORE = {
    "flashtwin",
    "flashtwin.causes.replaying",
    "flashtwin.characterization.measuring",
    "flashtwin.drives.history",
    "flashtwin.live.drives",
    "flashtwin.live.linux",
    "flashtwin.live.recording",
    "flashtwin.recipes.workloads",
    "flashtwin.replays.aged",
    "flashtwin.replays.presets",
    "flashtwin.replays.running",
    "flashtwin.replays.studies",
    "flashtwin.results.folder",
    "flashtwin.results.keys",
    "flashtwin.traces.reading",
    "flashtwin.traces.scan",
    "flashtwin.traces.trace",
}

#: The input of a report: files and their columns, read without the core.
READING = {
    "flashtwin.errors",
    "flashtwin.judgement.choosing",
    "flashtwin.judgement.evidence",
    "flashtwin.judgement.facts",
    "flashtwin.judgement.judging",
    "flashtwin.judgement.ledger",
    "flashtwin.judgement.reasons",
    "flashtwin.judgement.verdict",
    "flashtwin.results.figures",
    "flashtwin.results.ground",
    "flashtwin.results.keys",
    "flashtwin.results.names",
    "flashtwin.results.over",
    "flashtwin.results.reading",
    "flashtwin.results.rows",
    "flashtwin.results.schema",
    "flashtwin.results.sweeps",
    "flashtwin.results.trees",
    "flashtwin.results.variation",
    "flashtwin.units",
}

#: Modules that read and write nothing and know nothing of the core; they import one another at most.
PURE = {
    "flashtwin.errors",
    "flashtwin.results.figures",
    "flashtwin.results.names",
    "flashtwin.results.responses",
    "flashtwin.results.rows",
    "flashtwin.results.schema",
    "flashtwin.results.trees",
    "flashtwin.results.variation",
    "flashtwin.sweeps.across",
    "flashtwin.sweeps.plan",
    "flashtwin.units",
}

LINES_AT_MOST = 600
PACKAGE = ROOT / "python" / "flashtwin"


def test_crates_depend_only_downwards() -> None:
    metadata = json.loads(
        subprocess.run(
            ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
    )
    found = {}
    for package in metadata["packages"]:
        name = package["name"].removeprefix("flashtwin-")
        ours = (dependency["name"] for dependency in package["dependencies"] if dependency["kind"] != "dev")
        found[name] = {other.removeprefix("flashtwin-") for other in ours if other.startswith("flashtwin-")}
    assert found.keys() == CRATES.keys()
    for name, dependencies in found.items():
        assert dependencies <= CRATES[name], f"{name} must not depend on {dependencies - CRATES[name]}"


def test_the_ftl_has_no_clock_and_no_files() -> None:
    for path in (ROOT / "crates" / "ftl" / "src").rglob("*.rs"):
        text = path.read_text(encoding="utf-8")
        for forbidden in ("std::time", "std::fs", "std::io", "std::thread", "Instant::now"):
            assert forbidden not in text, f"{path.relative_to(ROOT)} uses {forbidden}"


def modules() -> list[tuple[str, Path]]:
    """Every module of the package with its file."""
    files = sorted(PACKAGE.rglob("*.py"))
    return [
        (".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"), path)
        for path in files
    ]


def imported(module: str, path: Path) -> set[str]:
    """Every module of ours that a module imports, at the top or inside functions."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return {name for name in names if name.startswith("flashtwin")}


@pytest.mark.parametrize(("module", "path"), modules(), ids=[name for name, _ in modules()])
def test_python_modules_keep_to_their_layer(module: str, path: Path) -> None:
    imports = imported(module, path)
    if not module.startswith("flashtwin.cli"):
        assert not {name for name in imports if name.startswith("flashtwin.cli")}, "nobody imports the command line"
    if module not in MAY_IMPORT_CORE:
        assert not {name for name in imports if name.startswith("flashtwin._core")}, "only the API reaches the core"
    for room in {"flashtwin.report", "flashtwin.judgement"} & {".".join(module.split(".")[:2])}:
        above = (
            {name for name in of_modules(imports) if not name.startswith(room)} if module.startswith(room) else set()
        )
        assert above <= READING, f"the report reads result files and imports only what is pure, not {above - READING}"


def of_modules(imports: set[str]) -> set[str]:
    """The modules among the imports: not the packages that they are in, nor the names that they define."""
    return imports & {name for name, path in modules() if path.name != "__init__.py" or name == "flashtwin.report"}


@pytest.mark.parametrize("module", sorted(PURE))
def test_what_is_called_pure_imports_nothing_impure_of_ours(module: str) -> None:
    found = dict(modules())
    assert of_modules(imported(module, found[module])) <= PURE


def test_rooms_are_empty_at_the_door() -> None:
    """A package's `__init__` imports nothing, so that one of its modules loads without the others."""
    rooms = {name: path for name, path in modules() if path.name == "__init__.py" and name.count(".") == 1}
    for name in rooms.keys() - {"flashtwin.cli", "flashtwin.papers", "flashtwin.report"}:
        assert not imported(name, rooms[name]), name


def test_no_two_classes_have_one_name() -> None:
    """A reader of `Run` in one module must not wonder which of four is meant."""
    found: dict[str, list[str]] = {}
    for module, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
    assert not {name: where for name, where in found.items() if len(where) > 1}


def test_what_is_heard_of_work_is_declared_once() -> None:
    found = {path.stem for _, path in modules() if "Callable[[str], None]" in path.read_text(encoding="utf-8")}
    assert found == {"progress"}, "`Notify` is part of the protocol of `flashtwin.progress`"


#: Python's own that the language asks for: of names and methods that are not there; Ctrl-C, and the end of a worker.
ASKED_FOR = {"AttributeError", "NotImplementedError", "KeyboardInterrupt", "SystemExit"}


@pytest.mark.parametrize(("module", "path"), modules(), ids=[name for name, _ in modules()])
def test_errors_are_of_the_one_family(module: str, path: Path) -> None:
    raised = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            raised |= {error.id} if isinstance(error, ast.Name) else set()
    own = {name for name in raised - ASKED_FOR if isinstance(getattr(builtins, name, None), type)}
    assert not own, f"{module} raises {own}: who catches FlashtwinError does not catch these"


def sources() -> Iterator[Path]:
    for folder, ending in (
        ("crates", "*.rs"),
        ("python", "*.py"),
        ("tests", "*.py"),
        ("benches", "*.*"),
        ("evidence", "*.py"),
        ("docs", "*.py"),
    ):
        yield from sorted((ROOT / folder).rglob(ending))


def test_no_file_is_long() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    long = {str(path.relative_to(ROOT)): count for path, count in lines.items() if count > LINES_AT_MOST}
    assert not long, f"one thing a file, at most {LINES_AT_MOST} lines: {long}"

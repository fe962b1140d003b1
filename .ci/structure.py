"""Checks who may import whom in both languages, and the length of files. `make lint` runs it.

python .ci/structure.py [ROOT]      prints each fault, exit 1 if there is any
"""

import ast
import builtins
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

#: Dependencies that each crate may have. Nothing imports the bindings (`python`).
CRATES = {
    "bits": "", "settings": "", "nand": "bits", "trace": "bits", "ftl": "bits nand", "analysis": "bits settings trace",
    "sim": "analysis bits ftl nand settings trace", "live": "bits ftl nand settings sim trace",
    "python": "nand ftl settings sim trace analysis live", "c": "sim trace",
    "fuzz": "bits live sim trace",
}  # fmt: skip
#: Calls that the FTL may not make, because it has no clock and no files.
FORBIDDEN_IN_FTL = ("std::time", "std::fs", "std::io", "std::thread", "Instant::now")
#: Modules of Python that reach the core, one or a few in each room.
REACH_CORE = {
    "", "causes.replaying", "characterization.measuring", "drives.history", "live.drives", "live.linux",
    "live.recording", "recipes.workloads", "replays.aged", "replays.presets", "replays.folders", "replays.running",
    "replays.virtual", "results.folder", "results.keys", "traces.foreign", "traces.frames", "traces.reading",
    "traces.scan", "traces.trace",
}  # fmt: skip
#: Modules that read and write nothing and know nothing of the core: they import one another at most.
PURE = {
    "errors", "results.figures", "results.names", "results.responses", "results.rows", "results.schema",
    "results.trees", "results.variation", "sweeps.across", "sweeps.plan", "units",
}  # fmt: skip
#: A report and its sentences are made of result files alone: rooms and modules that they may import.
OF_REPORTS = ("errors", "judgement", "results", "units")
#: Rooms whose `__init__` imports something.
FURNISHED = {"cli", "papers", "report"}
#: Python's own errors that the language asks for.
ASKED_FOR = {"AttributeError", "NotImplementedError", "KeyboardInterrupt", "SystemExit"}
LINES_AT_MOST = 600
SOURCES = {"crates": "*.rs", "python": "*.py", "tests": "*.py", "benches": "*.*", "evidence": "*.py", "docs": "*.py"}
#: Files of a circle that is allowed: classes of the bindings make one another, and methods of a type call one another.
CIRCLE_AT_MOST = {"python": 3}
METHODS_AT_MOST = 3
#: The structs of the engine's host, whose methods call downwards only.
HOST = {"Engine", "Decider", "Interface", "BackEnd"}

Graph = dict[str, set[str]]


def lengths(root: Path) -> Iterator[str]:
    """Files that are too long."""
    for folder, ending in SOURCES.items():
        for path in sorted((root / folder).rglob(ending)):
            if (count := len(path.read_text(encoding="utf-8").splitlines())) > LINES_AT_MOST:
                yield f"{path.relative_to(root)}: {count} lines; one thing a file, at most {LINES_AT_MOST} lines"


def crates(root: Path) -> Iterator[str]:
    """Crates that depend on others above or beside them, and a clock or a file in the FTL."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    told = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    for package in json.loads(told)["packages"]:
        name = package["name"].removeprefix("flashtwin-")
        ours = {one["name"] for one in package["dependencies"] if one["kind"] != "dev"}
        used = {one.removeprefix("flashtwin-") for one in ours if one.startswith("flashtwin-")}
        if over := used - set(CRATES.get(name, "").split()):
            yield f"crates/{name}: must not depend on {', '.join(sorted(over))}"
    for path in sorted((root / "crates/ftl/src").rglob("*.rs")):
        text = path.read_text(encoding="utf-8")
        yield from (f"{path.relative_to(root)}: uses {call}" for call in FORBIDDEN_IN_FTL if call in text)


def package(root: Path) -> Iterator[str]:
    """Modules of Python that import what is above them, classes of one name, errors of no family."""
    files = {
        ".".join(path.relative_to(root / "python/flashtwin").with_suffix("").parts)
        .removesuffix("__init__")
        .rstrip("."): path
        for path in sorted((root / "python/flashtwin").rglob("*.py"))
    }
    classes: dict[str, str] = {}
    rooms: Graph = {}
    for module, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = imported(module, path.name == "__init__.py", tree)
        faults = (*layers(module, used, files), *results(module, path.read_text(encoding="utf-8"), tree))
        yield from (f"flashtwin.{module}: {fault}" for fault in faults)
        for name in {module, *(used & files.keys())} - {""} if module else ():
            rooms.setdefault(module.split(".", 1)[0], set()).add(name.split(".", 1)[0])
            rooms.setdefault(name.split(".", 1)[0], set())
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                other = classes.setdefault(node.name, module)
                if other != module:
                    yield f"flashtwin.{module}: flashtwin.{other} has a class {node.name} already"
            if isinstance(node, ast.Raise) and node.exc is not None:
                error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                own = isinstance(error, ast.Name) and isinstance(getattr(builtins, error.id, None), type)
                if own and error.id not in ASKED_FOR:
                    yield f"flashtwin.{module}: raises {error.id}, which `except FlashtwinError` does not catch"
        if "Callable[[str], None]" in path.read_text(encoding="utf-8") and module != "progress":
            yield f"flashtwin.{module}: declares a callback; `Notify` of `flashtwin.progress` is that"
    for circle in circles({room: used - {room} for room, used in rooms.items()}):
        yield f"flashtwin: rooms import one another in a circle: {', '.join(sorted(circle))}"


#: A file of results by its ending. Shown are those of the command line's help, and data of the package.
FILE = re.compile(r"\S*\w\.(json|parquet|csv|md|html)")
SHOWN = {"OUTPUT.parquet", "schema.json", "verdicts.json"}
#: Where tables are read and written. Requests from a frame become a trace's file.
PARQUET = re.compile(r"^\s*(from pyarrow import .*\bparquet\b|import pyarrow\.parquet)", re.MULTILINE)
TABLES_IN = {
    "results.documents", "results.folder", "results.frames", "traces.foreign", "traces.frames", "traces.joining",
}  # fmt: skip


def results(module: str, text: str, tree: ast.Module) -> Iterator[str]:
    """Names of files outside of `results.names`, but in docstrings, and Parquet outside of its modules."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs}
    for name in texts - SHOWN if module != "results.names" else ():
        if isinstance(name, str) and FILE.fullmatch(name):
            yield f"names the file {name}; put it into results.names"
    if PARQUET.search(text) and module not in TABLES_IN:
        yield "reads or writes Parquet; results.folder and results.frames do"


def imported(module: str, is_room: bool, tree: ast.Module) -> set[str]:
    """Modules and names of ours that a module imports, at the top or inside functions."""
    here = f"flashtwin.{module}".rstrip(".").split(".")
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) + is_room - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return {name.removeprefix("flashtwin.") for name in names if name.startswith("flashtwin.")}


def layers(module: str, used: set[str], files: dict[str, Path]) -> Iterator[str]:
    """Faults of one module."""
    room = module.split(".", 1)[0]
    modules = {name for name in used if name in files and files[name].name != "__init__.py"}
    if room != "cli" and any(name.split(".")[0] == "cli" for name in used):
        yield "imports the command line"
    if module not in REACH_CORE and any(name.split(".")[0] == "_core" for name in used):
        yield "reaches the core; one of the modules of REACH_CORE should"
    if room in ("report", "judgement"):
        above = {name for name in modules if name.split(".")[0] not in (*OF_REPORTS, room)} | modules & {
            "results.folder"
        }
        yield from (f"is about result files, and imports {name}" for name in sorted(above))
    if module in PURE:
        yield from (f"is called pure, and imports {name}" for name in sorted(modules - PURE))
    if files[module].name == "__init__.py" and "." not in module and module and module not in FURNISHED and used:
        yield "the door of a room imports something"


#: `use` with its imports; not behind `#[cfg(test)]`, because tests may look at everything.
USE = re.compile(r"^(?P<test>#\[cfg\(test\)\]\n)?(?:pub(?:\([\w: ]+\))? )?use (?P<tree>[^;]+);", re.MULTILINE)
#: The beginning of an `impl`, its type, and its indent; a call of a method of the same type.
IMPL = re.compile(r"^(?P<indent> *)impl(?:<[^{]*?>)? (?:[\w:<>, ']+ for )?(?P<type>\w+)[^{;]*\{", re.MULTILINE)
CALL = re.compile(r"\b(?:self|Self|host)(?:\.|::)(\w+)(?:::<[^>]*>)?\(")


def circles_of_rust(root: Path) -> Iterator[str]:
    """Files of a crate that import one another, or whose methods of a type call one another, in a circle."""
    for source in sorted((root / "crates").glob("*/src")):
        crate, texts = source.parent.name, modules(source)
        graph, doors = imports(texts)
        yield from (f"crates/{crate}: {door} from the crate's door, a file above" for door in doors)
        large = [one for one in circles(graph) if len(one) > CIRCLE_AT_MOST.get(crate, 0)]
        yield from (f"crates/{crate}: files import one another in a circle: {', '.join(sorted(one))}" for one in large)
        for kind, called in calls(texts).items():
            most = 0 if crate == "sim" and kind in HOST else METHODS_AT_MOST
            for one in circles(called):
                if len(one) > most:
                    yield f"crates/{crate}: methods of {kind} call one another in a circle: {', '.join(sorted(one))}"
        if crate == "sim":
            yield from machines(graph)


def imports(texts: dict[str, str]) -> tuple[Graph, list[str]]:
    """For each module those that it names, without itself and the wholes it is a part of; imports from the door."""
    graph: Graph = {here: set() for here in texts}
    doors = []
    for here, text in texts.items():
        trees = (use["tree"] for use in USE.finditer(text) if not use["test"] and not here.endswith("tests"))
        for leaf in (leaf for tree in trees for leaf in leaves(tree)):
            name = module_of(leaf, here, set(texts))
            if name is None and leaf.split("::", 1)[0] == "crate":
                doors.append(f"{here} imports {leaf}")
            elif name and name != here and not here.startswith(f"{name}::"):
                graph[here].add(name)
    return graph, doors


def machines(graph: Graph) -> Iterator[str]:
    """The host uses the array and the accounts, the array the accounts, the accounts neither."""
    floors = ["engine::accounts", "engine::array", "engine::host"]
    for name, used in graph.items():
        for floor, machine in enumerate(floors):
            if name == machine or name.startswith(f"{machine}::"):
                up = sorted(other for other in used if other.startswith(tuple(floors[floor + 1 :]) or ("-",)))
                yield from (f"crates/sim: {name} uses {other}, which is above it" for other in up)


def modules(source: Path) -> dict[str, str]:
    """Code without comments and tests by module: `flash::victim` for `flash/victim/mod.rs`; not tests and the door."""
    found = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        if parts[0] not in ("lib", "tests"):
            text = re.sub(r"//.*", "", path.read_text(encoding="utf-8")).split("#[cfg(test)]\nmod tests")[0]
            found["::".join(parts[:-1] if parts[-1] == "mod" else parts)] = text
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
    """The module of ours that a path in the module `here` means; None for another crate's."""
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


def calls(texts: dict[str, str]) -> dict[str, Graph]:
    """For each type with methods in several files: which of the files call methods of which others."""
    defined: dict[tuple[str, str], set[str]] = {}
    called: dict[str, dict[str, set[str]]] = {}
    for here, text in texts.items():
        for impl in IMPL.finditer(text):
            body = text[impl.end() : text.find(f"\n{impl['indent']}}}", impl.end())]
            for name in re.findall(r"\bfn (\w+)", body):
                defined.setdefault((impl["type"], name), set()).add(here)
            called.setdefault(impl["type"], {}).setdefault(here, set()).update(CALL.findall(body))
    graphs = {}
    for kind, by_file in called.items():
        places = {
            here: [files for name in names if here not in (files := defined.get((kind, name), set()))]
            for here, names in by_file.items()
        }
        graphs[kind] = {here: set().union(*files) & by_file.keys() for here, files in places.items()}
    return graphs


def circles(graph: Graph) -> list[set[str]]:
    """Nodes each of which reaches all others of its circle."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        ahead = [start]
        while ahead:
            more = graph[ahead.pop()] - found
            found |= more
            ahead.extend(more)
        return found

    reach = {name: reached(name) for name in graph}
    found: list[set[str]] = []
    for name in graph:
        circle = {other for other in reach[name] if name in reach[other]}
        if circle and circle not in found:
            found.append(circle)
    return found


def main() -> int:
    """Prints all faults and returns the exit status."""
    root = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parent.parent
    faults = [fault for check in (lengths, crates, package, circles_of_rust) for fault in check(root)]
    print(*faults, sep="\n", end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())

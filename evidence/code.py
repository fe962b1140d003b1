"""The code behind a figure: a digest over that code, without comments and tests."""

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Files that decide the outcome of a replay.
REPLAY = (
    "crates/bits/src", "crates/trace/src", "crates/nand/src", "crates/ftl/src", "crates/sim/src", "systems",
    "devices/*.toml", "evidence/studies/drives.py",
)  # fmt: skip
#: Drives that were fitted. Only studies that replay on one depend on them.
TWINS = ("devices/real",)
#: Files that decide the facts of a trace.
ANALYSIS = ("crates/bits/src", "crates/trace/src", "crates/analysis/src")
#: Files that decide the traces made from recipes.
RECIPES = ("crates/bits/src", "crates/trace/src", "workloads")
PAPERS = ("python/flashtwin/papers",)


@functools.cache
def digest(paths: tuple[str, ...], root: Path = ROOT) -> str:
    """Sixteen hex digits that change with the code of these files and folders, which may be patterns.

    Raises:
        FileNotFoundError: nothing is there by one of these names. If it was renamed, rename it in its study as well.
    """
    found = hashlib.sha256()
    for path in sorted({file for name in paths for place in _places(root, name) for file in _files(place)}):
        found.update(f"{os.path.relpath(path, root)}\n{_substance(path)}\n".encode())
    return found.hexdigest()[:16]


def _places(root: Path, name: str) -> list[Path]:
    found = list(root.glob(name))
    if not found:
        raise FileNotFoundError(root / name)
    return found


def _files(path: Path) -> Iterator[Path]:
    """The code of a folder without its tests, which are folders or files of that name, or the file itself."""
    if path.is_file():
        yield path
        return
    for file in path.rglob("*"):
        is_test = "tests" in file.relative_to(path).with_suffix("").parts
        if file.suffix in {".rs", ".py", ".toml"} and file.is_file() and not is_test:
            yield file


def _substance(path: Path) -> str:
    """The lines of a file that may change a figure: no comment lines, no blank ones, no unit tests at a file's end."""
    text = path.read_text(encoding="utf-8")
    comment = "#"
    if path.suffix == ".rs":
        comment = "//"
        text = text.partition("\n#[cfg(test)]\nmod ")[0]
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.lstrip().startswith(comment))

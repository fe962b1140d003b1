"""`make new-policy KIND=victim NAME=oldest`: a new policy as a copy of an existing one, in both places that it needs.

Writes the policy's file, and its module and row in `mod.rs`. The copy works at once; change its body, its comments and,
where it behaves differently, the traits of its row. With `FILE=oldest.py` the policy is one in Python, in that file
alone. docs/adding-a-policy.md has the contracts.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


#: The folder of each kind of policy, and the shortest one in it, which is the model.
FAMILIES = {
    "allocation": ("flash/allocation", "dynamic"),
    "victim": ("flash/victim", "fifo"),
    "eviction": ("dedup/eviction", "lru-writes"),
    "redirection": ("redirection", "home"),
    "replication": ("content/replication", "on-line"),
    "placement": ("content/replication/placement", "random"),
}

#: Of each kind of policy in Python: its parameters, what the model does, and its body.
IN_PYTHON = {
    "victim": ("plane, blocks", "The block with the fewest valid pages.",
        "closed = np.flatnonzero(blocks.closed)\nreturn closed[blocks.valid[closed].argmin()]"),
    "placement": ("home, chips", "The emptiest chip that may hold the copy.",
        "return np.where(chips.may, chips.free_pages, -1).argmax()"),
    "degree": ("popularity, drive", "A copy for each read.", "return min(1 + popularity, drive.chips)"),
    "replication.period": ("contents, chips, budget", "A copy of what has none, on the chip after its home chip.",
        "chip = (contents.home + 1) % len(chips.free_pages)\n"
        "may = (contents.pages == 1) & (chips.free_pages[chip] > len(chip))\n"
        "return contents.content[may], chip[may]"),
    "redirection": ("copies, table", "The copy on the least loaded chip.", "return table.load[:copies].argmin()"),
    "allocation": ("address, chips, drive", "All planes in turn.", "return address % drive.planes"),
    "partition": ("partitions, pages", "Pages written twice or more since the last call are hot.",
        "return np.where(pages.writes >= 2, 0, partitions - 1)"),
    "eviction": ("victims, entries", "The entries that were written least recently.",
        "return np.argsort(entries.written)[:victims]"),
}  # fmt: skip


class PolicyError(ValueError):
    """A policy that cannot be added; the message names the cause and the cure."""


def add(kind: str, name: str, model: str | None = None, root: Path = ROOT) -> list[Path]:
    """Adds a policy under a name for TOML, such as `least-worn`; returns the files that it wrote.

    Raises:
        PolicyError: there is no such kind or model, or the name is taken or not of small letters and hyphens.
    """
    _check(kind, name, FAMILIES)
    folder = root / "crates/ftl/src" / FAMILIES[kind][0]
    doors = folder / "mod.rs"
    text = doors.read_text(encoding="utf-8")
    model = model or FAMILIES[kind][1]
    row = _row(text, model)
    module = folder / f"{name.replace('-', '_')}.rs"
    if module.exists() or _row(text, name) is not None:
        raise PolicyError(f"{module}: there is a policy '{name}' already; choose another name")
    found = None if row is None else re.search(r"\b([a-z_]+)::([A-Z]\w+)", row[1])
    if row is None or found is None:
        raise PolicyError(f"{doors}: has no policy '{model}' with a file of its own; name another with MODEL=")
    old_module, old_type = found.groups()
    names = {old_module: module.stem, old_type: _camel(name), _camel(model): _camel(name)}
    source = (folder / f"{old_module}.rs").read_text(encoding="utf-8")
    module.write_text(_renamed(_without_header(source, model, name), names), encoding="utf-8")
    comment, body = row
    line = f"    /// Like `{model}`, of which it is a copy.\n"
    text = text.replace(comment + body, comment + body + line + _attributes(comment) + _renamed(body, names))
    text = text.replace(f"mod {old_module};\n", f"mod {old_module};\nmod {module.stem};\n", 1)
    doors.write_text(text, encoding="utf-8")
    return [module, doors]


def add_in_python(kind: str, name: str, file: Path) -> list[Path]:
    """Writes a policy in Python into a new file; returns the file.

    Raises:
        PolicyError: there is no such kind, the name is not of small letters and hyphens, or the file exists.
    """
    _check(kind, name, IN_PYTHON)
    if file.exists():
        raise PolicyError(f"{file}: there is such a file already; choose another name")
    parameters, does, body = IN_PYTHON[kind]
    lines = body.replace("\n", "\n    ")
    numpy = "import numpy as np\n" if "np." in body else ""
    file.write_text(
        f'''"""`{name}`, to be changed. Name its source here, and try it: ft.check_policy({name.replace("-", "_")})."""

{numpy}import flashtwin as ft


@ft.policy("{kind}")
def {name.replace("-", "_")}({parameters}):
    """{does}"""
    {lines}
''',
        encoding="utf-8",
    )
    return [file]


def _check(kind: str, name: str, kinds: Collection[str]) -> None:
    if kind not in kinds:
        raise PolicyError(f"there is no kind '{kind}'; give one of {', '.join(kinds)}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise PolicyError(f"'{name}' is no name of a policy; write it like least-worn")


def _row(text: str, name: str) -> tuple[str, str] | None:
    """The comment and the row of a policy in its `mod.rs`."""
    found = re.search(rf"((?:    (?:///|#\[)[^\n]*\n)+)(    {_camel(name)}\b[^;\n]*=>[^;]*;\n)", text)
    return None if found is None else (found[1], found[2])


def _attributes(comment: str) -> str:
    """The traits of a row; there is one default already."""
    return "".join(line for line in comment.splitlines(keepends=True) if line.lstrip().startswith("#[schemars"))


def _renamed(text: str, names: dict[str, str]) -> str:
    return re.sub("|".join(rf"\b{old}\b" for old in names), lambda found: names[found[0]], text)


def _without_header(source: str, model: str, name: str) -> str:
    body = re.sub(r"\A(?://![^\n]*\n)+", "", source)
    return f"//! `{name}`: a copy of `{model}`, to be changed. Name its source here.\n{body}"


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


def main() -> int:
    """Adds a policy from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind")
    parser.add_argument("name")
    parser.add_argument("--model")
    parser.add_argument("--file", help="a new file for a policy in Python")
    asked = parser.parse_args()
    try:
        in_python = asked.file and add_in_python(asked.kind, asked.name, Path(asked.file).resolve())
        written = in_python or add(asked.kind, asked.name, asked.model or None)
    except PolicyError as error:
        print(f"flashtwin: {error}", file=sys.stderr)
        return 2
    for path in written:
        print(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    return 0


if __name__ == "__main__":
    sys.exit(main())

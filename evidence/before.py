"""What the pages said before the engine was mended: their tables, read out of the repository's own history.

python -m evidence.before      writes docs/evidence/before.json again, from the commit named below
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from evidence.places import DATA, ROOT
from flashtwin import folder

#: The last commit whose pages were made by the old engine.
COMMIT = "637b8c3"
PAGES = ("comparison", "captured-traces", "reproduction")


def main() -> int:
    """Writes the tables of the old pages."""
    record = {
        "stage": "before",
        "command": "python -m evidence.before",
        "commit": COMMIT,
        "data": {page: tables(old(f"docs/{page}.md")) for page in PAGES},
    }
    folder.write_text(DATA / "before.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return 0


def old(path: str) -> str:
    """A file as it was."""
    command = ["git", "show", f"{COMMIT}:{path}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def tables(text: str) -> dict[str, list[dict[str, Any]]]:
    """Every table of a page, below the heading that stands before it; a second one below the same is numbered.

    A row is a mapping from the words of the first row, as they stand there; nothing is computed.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    heading, lines = "", text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if line.startswith("| ---"):
            head = distinct(cells(lines[number - 1]))
            name = distinct([*found, heading])[-1]
            found[name] = []
            for row in lines[number + 1 :]:
                if not row.startswith("|"):
                    break
                found[name].append(dict(zip(head, cells(row), strict=True)))
    return found


def distinct(names: list[str]) -> list[str]:
    """The names, with a number after each that was there before: `p99`, `p99 2`."""
    found: list[str] = []
    for name in names:
        label, again = name, 2
        while label in found:
            label, again = f"{name} {again}", again + 1
        found.append(label)
    return found


def cells(row: str) -> list[str]:
    """The cells of a row, without the marks of code."""
    return [cell.strip().strip("`") for cell in row.strip().strip("|").split("|")]


if __name__ == "__main__":
    sys.exit(main())

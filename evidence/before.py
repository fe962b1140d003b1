"""What the pages said before the engine was mended: their tables and some figures of their sentences, out of git.

python -m evidence.before      writes docs/evidence/before.json again, from the commit named below
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

from evidence.places import DATA, ROOT
from flashtwin.results import folder

#: The last commit whose pages were made by the old engine.
COMMIT = "637b8c3"
PAGES = ("comparison", "captured-traces", "reproduction")
#: Figures that stood in sentences: by name, the page and the words around the one number that is kept.
SAID: dict[str, tuple[str, str]] = {
    "idle: reads of ca-ssd, us": ("comparison", r"`ca-ssd` reads in (NUMBER) us"),
    "idle: reads of rr-ssd-online at 0 on trans, us": ("comparison", r"slower \((NUMBER) us, `ca-ssd`"),
    "idle: reads of ca-ssd on trans, us": ("comparison", r"us, `ca-ssd` (NUMBER)\); after 1 ms"),
    "idle: reads of rr-ssd-online at 1 ms on trans, us": ("comparison", r"after 1 ms of idle time (NUMBER),"),
    "merging: ds-ftl below static": ("reproduction", r"At 1,000 times the clock DS-FTL's reads take (NUMBER) % less"),
    "merging: static that merges": ("reproduction", r"merges the reads of a page (NUMBER) % less"),
    "merging, captured: ds-ftl below static": ("captured-traces", r"a page gains NUMBER % where DS-FTL gains (NUMBER)"),
    "merging, captured: static that merges": ("captured-traces", r"reads of a page gains (NUMBER) % where"),
    "copies, captured: webvm": ("captured-traces", r"(NUMBER), NUMBER and NUMBER % of all programs"),
    "copies, captured: mail": ("captured-traces", r"NUMBER, (NUMBER) and NUMBER % of all programs"),
    "copies, captured: homes": ("captured-traces", r"NUMBER, NUMBER and (NUMBER) % of all programs"),
    "online: reads, mean": ("reproduction", r"for reads it gains (NUMBER) % on average"),
    "redirected writes: webmail": ("reproduction", r"`webmail` (NUMBER) % \(published 29.2\)"),
    "ideal: reads, mean": ("reproduction", r"(NUMBER) on average \(published 17 to 57"),
}
NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d+)?"


def main() -> int:
    """Writes the tables of the old pages."""
    record = {
        "stage": "before",
        "command": "python -m evidence.before",
        "commit": COMMIT,
        "data": {page: tables(old(f"docs/{page}.md")) for page in PAGES} | {"said": said()},
    }
    folder.write_text(DATA / "before.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return 0


def said() -> dict[str, str]:
    """Figures of sentences, as they stood there.

    Raises:
        ValueError: a sentence is not on its page, or is there twice.
    """
    found = {}
    for name, (page, words) in SAID.items():
        text = " ".join(old(f"docs/{page}.md").split())
        there = re.findall(words.replace("NUMBER", NUMBER), text)
        if len(there) != 1:
            raise ValueError(f"{name}: {len(there)} places on {page}")
        found[name] = there[0]
    return found


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

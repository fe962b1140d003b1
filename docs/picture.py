"""The picture of the crates: which there are, what each is, and which knows which. From `cargo metadata`, as SVG."""

from __future__ import annotations

import json
import subprocess
import textwrap
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 262, 104
GAP_X, GAP_Y = 36, 64
#: What uses the crates without being one: the package that people import, and the drawing's last word.
PYTHON = ("python/flashtwin", "The package and the command line: charts, pages, papers.", ("flashtwin-python",))


def crates(root: Path) -> dict[str, tuple[str, list[str]]]:
    """What each crate is, and the crates that it uses."""
    told = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"],  # noqa: S607 - where rustup put it
        cwd=root,
        capture_output=True,
        check=True,
    )
    packages = json.loads(told.stdout)["packages"]
    known = {package["name"] for package in packages}
    uses = {
        package["name"]: [
            dependency["name"]
            for dependency in package["dependencies"]
            if dependency["name"] in known and dependency["kind"] is None
        ]
        for package in packages
    }
    return {package["name"]: (package["description"], sorted(uses[package["name"]])) for package in packages}


def direct(uses: dict[str, list[str]]) -> dict[str, list[str]]:
    """Without what is used through another crate as well: such arrows say nothing new."""

    def below(name: str) -> set[str]:
        return set(uses[name]).union(*(below(one) for one in uses[name]))

    return {
        name: [one for one in used if not any(one in below(other) for other in used if other != one)]
        for name, used in uses.items()
    }


def picture(root: Path) -> str:
    """The whole drawing: who uses others stands above them."""
    found = crates(root)
    name, text, used = PYTHON
    boxes = {one: what for one, (what, _) in found.items()} | {name: text}
    uses = direct({one: below for one, (_, below) in found.items()} | {name: list(used)})

    def level(one: str) -> int:
        return 1 + max((level(below) for below in uses[one]), default=-1)

    levels: dict[int, list[str]] = {}
    for one in sorted(boxes):
        levels.setdefault(level(one), []).append(one)
    widest = max(map(len, levels.values()))
    full = widest * (WIDTH + GAP_X) + GAP_X
    place: dict[str, tuple[float, float]] = {}

    def below_users(one: str) -> float:
        users = [place[user][0] for user in place if one in uses[user]]
        return sum(users) / len(users) if users else full / 2

    for at in sorted(levels, reverse=True):
        names = sorted(levels[at], key=below_users)
        left = (full - len(names) * (WIDTH + GAP_X) + GAP_X) / 2
        for column, one in enumerate(names):
            place[one] = (left + column * (WIDTH + GAP_X), GAP_X + (max(levels) - at) * (HEIGHT + GAP_Y))
    height = 2 * GAP_X + (max(levels) + 1) * (HEIGHT + GAP_Y) - GAP_Y
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full} {height}" font-family="sans-serif" role="img">',
        "<title>The crates, and which uses which</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#5a6772"/></marker></defs>',
        f'<rect width="{full}" height="{height}" fill="#fff"/>',
        *(arrow(place[one], place[below]) for one in sorted(uses) for below in uses[one]),
        *(box(one, boxes[one], *place[one]) for one in sorted(boxes)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def arrow(above: tuple[float, float], below: tuple[float, float]) -> str:
    """From one box to another that it uses."""
    x, y = above[0] + WIDTH / 2, above[1] + HEIGHT
    to_x, to_y = below[0] + WIDTH / 2, below[1]
    return (
        f'<path d="M{x:g} {y:g} C{x:g} {y + GAP_Y:g} {to_x:g} {to_y - GAP_Y:g} {to_x:g} {to_y:g}" '
        'fill="none" stroke="#5a6772" stroke-width="1.6" marker-end="url(#tip)"/>'
    )


def box(name: str, text: str, x: float, y: float) -> str:
    """A crate with its name and what it is."""
    lines = textwrap.wrap(text, 36)
    words = "".join(f'<tspan x="{x + 14:g}" dy="17">{escape(line)}</tspan>' for line in lines)
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="7" fill="#e3f1ef" stroke="#00796b"/>'
        f'<text x="{x + 14:g}" y="{y + 24:g}" font-size="16" font-weight="bold" fill="#0b3b36">'
        f"{escape(name.removeprefix('flashtwin-'))}</text>"
        f'<text x="{x + 14:g}" y="{y + 29:g}" font-size="12.5" fill="#26333a">{words}</text>'
    )

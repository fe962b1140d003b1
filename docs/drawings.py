"""Drawings of mechanisms for docs/model.md and docs/systems.md, as SVG."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

LINE, DARK = "#5a6772", "#26333a"
#: Fill and border of boxes by their role.
COLOURS = {
    "table": ("#e3f1ef", "#00796b"),
    "valid": ("#b9dcd7", "#00796b"),
    "invalid": ("#e4e7ea", "#9aa5ad"),
    "free": ("#ffffff", "#9aa5ad"),
    "copy": ("#ffe0cc", "#d2571a"),
    "unit": ("#fff4d6", "#b8860b"),
}


def drawing(title: str, width: float, height: float, parts: Iterable[str]) -> str:
    """The whole file."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        'font-family="sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" fill="{LINE}"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def box(text: str, x: float, y: float, width: float, height: float, role: str = "table") -> str:
    """A box with a line of text in its middle."""
    fill, border = COLOURS[role]
    shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="{fill}" stroke="{border}"/>'
    return shape + (label(text, x + width / 2, y + height / 2 + 4.5, anchor="middle") if text else "")


def label(text: str, x: float, y: float, *, anchor: str = "start", size: float = 13, bold: bool = False) -> str:
    """A line of text."""
    style = f'font-size="{size:g}" text-anchor="{anchor}" fill="{DARK}"' + (' font-weight="bold"' if bold else "")
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(text)}</text>'


def arrow(x: float, y: float, to_x: float, to_y: float, *, dashed: bool = False) -> str:
    """A straight arrow."""
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<path d="M{x:g} {y:g} L{to_x:g} {to_y:g}" fill="none" stroke="{LINE}" stroke-width="1.6"{dash} '
        'marker-end="url(#tip)"/>'
    )


def mapping() -> str:
    """Three logical pages, two of them with content A, in four systems: tables, flash pages, and a read of LPN 2."""
    #: Of a system: LPN -> table entry or chip; entry -> chips; text and role of chips; chips that may serve the read.
    systems: dict[str, tuple[dict[int, str | int], dict[str, list[int]], dict[int, tuple[str, str]], list[int]]] = {
        "conventional": ({1: 0, 2: 1, 3: 2}, {}, {0: ("A", "valid"), 1: ("A", "valid"), 2: ("B", "valid")}, [1]),
        "ca-ssd": ({1: "A", 2: "A", 3: "B"}, {"A": [0], "B": [2]}, {0: ("A", "valid"), 2: ("B", "valid")}, [0]),
        "rr-ssd": (
            {1: "A", 2: "A", 3: "B"},
            {"A": [0, 1], "B": [2]},
            {0: ("A", "valid"), 1: ("A, replica", "copy"), 2: ("B", "valid")},
            [0, 1],
        ),
        "ds-ftl": ({1: 0, 2: 1, 3: 2}, {}, {0: ("A", "valid"), 1: ("A, duplicate", "copy"), 2: ("B", "valid")}, [0, 1]),
    }
    parts = []
    wide, step = 410, 56
    for place, (name, (lpns, table, chips, readers)) in enumerate(systems.items()):
        left, top = 20 + place % 2 * (wide + 30), 20 + place // 2 * 250
        parts.append(label(name, left, top + 16, size=16, bold=True))
        row = [top + 34 + step * at for at in range(3)]
        for at, target in enumerate(lpns.values()):
            parts.append(box(f"LPN {at + 1}", left, row[at], 66, 34))
            end = (
                (left + 128, row["AB".index(target) * 2] + 17)
                if isinstance(target, str)
                else (left + 268, row[target] + 17)
            )
            parts.append(arrow(left + 66, row[at] + 17, *end))
        for entry, targets in table.items():
            at = "AB".index(entry) * 2
            parts.append(box(f"VPN {entry}", left + 128, row[at], 66, 34))
            parts += [arrow(left + 194, row[at] + 17, left + 268, row[chip] + 17) for chip in targets]
        for chip in range(3):
            text, role = chips.get(chip, ("", "free"))
            parts.append(box(text, left + 268, row[chip], 110, 34, role))
            parts.append(
                label(f"channel {chip}" if name == "ds-ftl" else f"chip {chip}", left + 268, row[chip] - 3, size=10)
            )
        where = " or ".join(str(chip) for chip in readers)
        kind = "channel" if name == "ds-ftl" else "chip"
        least = ", the less loaded one" if len(readers) > 1 else ""
        parts.append(label(f"read of LPN 2: {kind} {where}{least}", left, row[2] + 58))
    return drawing("Mapping of three logical pages in four systems", 2 * wide + 60, 510, parts)


def unit() -> str:
    """The four queues of a die, the die, and the channel that its chip shares."""
    queues = ("1 host reads", "2 host programs", "3 collection, wear levelling", "4 background jobs")
    parts = [label("queues of one die", 20, 26, bold=True)]
    for at, name in enumerate(queues):
        y = 40 + 46 * at
        parts.append(box(name, 20, y, 200, 32))
        parts += [box("", 230 + 24 * (2 - waiting), y + 5, 20, 22, "valid") for waiting in range(3 - at % 2)]
        parts.append(arrow(306, y + 16, 380, 124))
    parts += [
        label("first operation", 384, 80, size=11),
        label("that can start", 384, 94, size=11),
        box("die", 384, 104, 90, 40, "unit"),
        arrow(474, 124, 548, 124),
        box("channel: one transfer at a time", 548, 106, 226, 36, "unit"),
        label("other dies and chips", 560, 196, size=12),
        arrow(620, 182, 640, 146),
        arrow(774, 124, 830, 124),
        box("controller", 830, 106, 92, 36),
    ]
    return drawing("Four queues of a die, and the channel that its chip shares", 942, 236, parts)


def collection() -> str:
    """Blocks of a plane: valid pages of the victim move to the active block, then the victim is erased."""
    valid, invalid, free = "valid", "invalid", "free"
    blocks = {
        "active, host": [valid, valid, valid, free, free, free],
        "active, collection": [valid, valid, free, free, free, free],
        "victim": [invalid, valid, invalid, invalid, valid, invalid],
        "closed": [valid, valid, valid, invalid, valid, valid],
        "free": [free] * 6,
    }
    parts = []
    for at, (name, pages) in enumerate(blocks.items()):
        x = 20 + 178 * at
        parts.append(label(name, x, 60, bold=True))
        parts += [box("", x, 70 + 26 * page, 110, 22, role) for page, role in enumerate(pages)]
    parts += [
        arrow(156, 40, 134, 158),
        label("host writes", 126, 34, size=12),
        arrow(376, 107, 312, 132),
        arrow(376, 185, 312, 158),
        label("1 read, 2 program", 300, 250, size=12),
        arrow(490, 236, 770, 236),
        label("3 erase: the victim becomes free", 520, 254, size=12),
    ]
    legend = (("valid page", valid), ("invalid page", invalid), ("erased page", free))
    for at, (name, role) in enumerate(legend):
        parts += [box("", 20 + 150 * at, 276, 22, 16, role), label(name, 50 + 150 * at, 289, size=12)]
    return drawing("Garbage collection in a plane", 860, 306, parts)

"""The look of charts. A system's colour depends on its name and preset alone, so that it is the same on every page.

The page replaces the neutral colours by CSS variables (dark mode), because their hex codes occur nowhere else.
"""

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from flashtwin.results.reading import StudyFolder

Pair = tuple[str, str]

INK = "#1b1f25"
MUTED = "#5b6571"
GRID = "#e1e5eb"
SURFACE = "#fffffe"
#: The size of letters in points: the least, of labels beside bars and ticks, and of names and titles.
SMALL_PT, LABEL_PT, NAME_PT, TITLE_PT = 6.6, 7.0, 7.2, 7.6
#: Line styles that tell more systems apart than there are hues.
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))

#: (light, dark) pairs after Okabe and Ito, whose hues stay apart for all common colour blindnesses.
#: Grey is the conventional SSD's, which the others are held against.
GREY: Pair = ("#8b939e", "#9aa3ae")
HUES: tuple[Pair, ...] = (
    ("#0b72b5", "#4ba3e3"),  # blue
    ("#d55e01", "#f0803c"),  # vermilion
    ("#009e74", "#2fc89c"),  # green
    ("#cc79a8", "#de93bc"),  # purple
    ("#e69f02", "#f2b632"),  # orange
    ("#56b4ea", "#7cc9f5"),  # sky
    ("#7a5195", "#a583c2"),  # violet
    ("#6b7f1e", "#a4bb4a"),  # olive
)
#: The hues of the systems that come with flashtwin, those apart that a paper compares; other names get theirs from
#: their letters.
KNOWN = {
    "ca-ssd": 0, "rr-ssd": 1, "oracle": 2, "pblru": 3, "ds-ftl": 4, "caftl": 5,
    "ca-ssd-inverted": 5, "rr-ssd-online": 6, "oracle-conventional": 7, "static": 7, "dynamic": 6, "hipa": 5,
    "hot-cold": 3, "modern": 6,
}  # fmt: skip
CONVENTIONAL = "conventional"

#: Series that are no systems, on pages that have systems: what is looked at, beside it, more, and the rest.
SERIES: tuple[Pair, ...] = (
    ("#1f6f78", "#5fb8c2"),
    ("#a8690f", "#d8a24c"),
    ("#7faaa5", "#9fcbc5"),
    ("#c0a877", "#a8946a"),
)
#: One pair a cause of flash writes (after Tol's muted scheme); apart from the systems' colours.
CAUSE_COLOURS = {
    "host": ("#9aa5b1", "#8793a1"),
    "unique": ("#44738f", "#5f9abd"),
    "missed_duplicate": ("#ddcb77", "#ddcb77"),
    "reborn": ("#88ccef", "#a5dcf7"),
    "gc": ("#882256", "#c25b90"),
    "replica": ("#cc6678", "#e38a9a"),
    "metadata": ("#332289", "#8c7fe0"),
    "wear_levelling": ("#44aa98", "#6cc4b6"),
    "padding": ("#bbbbbb", "#55595f"),
    "parity": ("#999933", "#bcbc62"),
}
READ = ("#44778f", "#62a5c4")
WRITE = ("#bb5567", "#dd8292")

#: One pair for each thing that requests wait for, and one for service; related waits have related hues.
WAIT_COLOURS = {
    "host_read": READ,
    "host_program": WRITE,
    "gc_read": ("#c79ac0", "#d9b5d4"),
    "gc_program": ("#99317a", "#c66fae"),
    "erase": ("#52173f", "#a8537f"),
    "copy": ("#99993b", "#bcbc62"),
    "table_page": ("#3b2f8c", "#8f84e6"),
    "comparison": ("#1f7a45", "#4fb57c"),
    "order": ("#b5a89b", "#a3968a"),
    "suspension": ("#8fd0ee", "#6fb6d6"),
    "channel": ("#dcc36a", "#e4cf86"),
    "hash_queue": ("#3fa898", "#63c4b6"),
    "tables": ("#7c72c4", "#a9a1ea"),
    "page_program": ("#e7b4bd", "#efc6cd"),
    "cache_place": ("#6d5240", "#a98a74"),
    "earlier_writes": ("#a35a1c", "#d58f4f"),
    "slot": ("#5b6b7a", "#93a5b6"),
    "link": ("#2f8f5b", "#67bd8d"),
    "other": ("#87909b", "#7b8794"),
    "service": ("#cfd5dc", "#454e59"),
}

#: Steps of one quantity (page sizes, over-provisioning, cache sizes), from little to much.
ORDERED = (
    ("#8cc5e3", "#2d6a86"),
    ("#5aa6cd", "#3f8bad"),
    ("#3a86b2", "#57a9cd"),
    ("#2f6699", "#7cc3e2"),
    ("#3d4b84", "#9ad6ef"),
    ("#4a3273", "#b9e4f6"),
    ("#3f1c54", "#d3effb"),
    ("#2a0f39", "#e9f8fe"),
)


def of_systems(systems: Iterable[tuple[str, str]]) -> dict[str, Pair]:
    """The (light, dark) colours of systems, given as names with their presets, by name."""
    known = list(dict.fromkeys(systems))
    chosen: dict[str, Pair] = {}
    free = [GREY, *HUES]
    wishes = [
        # The name of a system counts before its origin: `rr-ssd` stands beside `rr-ssd (alpha=0.5)`.
        [(name, name) for name, _ in known],
        [(name, preset) for name, preset in known],
    ]
    for wish in wishes:
        for name, wanted in sorted(wish):
            pair = GREY if wanted == CONVENTIONAL else HUES[KNOWN[wanted]] if wanted in KNOWN else None
            if name not in chosen and pair in free:
                chosen[name] = pair
                free.remove(pair)
    for name, _ in sorted(known):
        if name not in chosen:
            chosen[name] = _by_letters(name, [pair for pair in free if pair is not GREY])
            if chosen[name] in free:
                free.remove(chosen[name])
    return {name: chosen[name] for name, _ in known}


def _by_letters(name: str, free: Sequence[Pair]) -> Pair:
    """The hue that the letters of a name give; the next free one where it is taken, any where none is free."""
    first = zlib.crc32(name.encode())
    around = [HUES[(first + step) % len(HUES)] for step in range(len(HUES))]
    return next((pair for pair in around if pair in free), around[0])


def pairs_of_runs(study: StudyFolder) -> dict[str, Pair]:
    return of_systems((run.name, run.system) for run in study.runs)


def of_runs(study: StudyFolder) -> dict[str, str]:
    """One colour a run, the same on every chart and every page."""
    return {name: light for name, (light, _) in pairs_of_runs(study).items()}


def lines_of_runs(study: StudyFolder) -> dict[str, dict[str, Any]]:
    """Colour and line style of each run: solid, unless an earlier run has the same colour."""
    colours = list(of_runs(study).values())
    return {
        run.name: {"color": colours[place], "linestyle": DASHES[colours[:place].count(colours[place]) % len(DASHES)]}
        for place, run in enumerate(study.runs)
    }


def widths(number: int) -> list[float]:
    """Line widths that let a line be seen under one drawn over it: the first is the widest."""
    return [1.5 + 1.2 * (number - 1 - place) / max(number - 1, 1) if number > 1 else 1.7 for place in range(number)]


def series_colours(names: Sequence[str]) -> dict[str, str]:
    """A colour a series, for series that need not be systems: those that are have theirs, the others the free ones."""
    # `RR-SSD` of a paper's figure is `rr-ssd`.
    called = {name: name.strip().lower().replace(" ", "-") for name in names}
    systems = {name: system for name, system in called.items() if system in KNOWN or system == CONVENTIONAL}
    chosen = of_systems((name, system) for name, system in systems.items())
    free = [pair for pair in HUES if pair not in chosen.values()] or list(HUES)
    chosen |= {name: pair for name, pair in (("reads", READ), ("writes", WRITE)) if name in names}
    others = [name for name in names if name not in chosen]
    chosen |= {name: free[place % len(free)] for place, name in enumerate(others)}
    return {name: chosen[name][0] for name in names}


def ordered(number: int) -> list[str]:
    """`number` colours from pale to dark, for steps of one quantity."""
    if number == 1:
        return [ORDERED[3][0]]
    last = len(ORDERED) - 1
    # Few steps use the middle of the scale, whose ends are hard to see or to tell from ink.
    first, end = (0, last) if number > 5 else (1, last - 1)
    return [ORDERED[round(first + (end - first) * place / (number - 1))][0] for place in range(number)]


#: Every (light, dark) pair that charts use, for the variables of a page; the same ones on every page.
PAGE_PAIRS = list(dict.fromkeys([GREY, *HUES, *SERIES, *CAUSE_COLOURS.values(), *WAIT_COLOURS.values(), *ORDERED]))

"""The effects of the engine's main choices: each paper's headlines again, with one choice at a time made otherwise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from flashtwin.experiments import levels
from flashtwin.papers.bench import ForSystem, Stand
from flashtwin.papers.claims import EFFECT_POINTS, Claim, number
from flashtwin.papers.facts import Fact, mean, measured
from flashtwin.papers.markdown import MARKS
from flashtwin.papers.model import ByWorkload, ComputedItem, Facts, Outcome, Series, bars, chart, column, table
from flashtwin.settings import Value

ID = "sensitivity"
AS_DECIDED = "as decided"
#: Points of percent within which a headline counts as the same.
CLOSE_POINTS = 2.0
HOLDS = "holds within 2 points"
NOTHING = "–"
#: The mark of a variant that is the present choice.
SAME = "="

#: Every choice with its variants; that of a paper's set-up or of the presets is among them.
CHOICES: dict[str, Mapping[str, Mapping[str, Value]]] = {
    "concurrency": levels("engine.concurrency", "chip", "die", "plane"),
    "load": levels("engine.load", "reads-waiting", "expected-wait"),
    "buffer reads": {"off": {"engine.buffer_reads": False}},
    "preload": levels("replay.preload", "footprint", "none"),
    "write completes": levels("engine.write_completes", "programmed", "transferred", "hashed", "buffered"),
    "hashing": {
        "1 lane": {"engine.hash_lanes": 1}, "4 lanes": {"engine.hash_lanes": 4}, "16 lanes": {"engine.hash_lanes": 16},
        "a pipeline": {"engine.hash_lanes": 0}, "0 µs": {"engine.hash_us": 0},
    },
    "allocation": levels("ftl.allocation.policy", "dynamic", "least-loaded"),
    "order": {
        **levels("ftl.allocation.order", "CWDP", "PDWC"),
        "PDWC by 4": {"ftl.allocation.order": "PDWC", "ftl.allocation.stripe_pages": 4},
    },
    "merging": levels("engine.merge_reads", "none", "same-page"),
    "idle rule": {"0 ms": {"engine.idle_us": 0}, "10 ms": {"engine.idle_us": 10_000}},
    # A cache has a rule of its own for when a write is complete.
    "write cache": {
        f"{pages:,} pages": {"engine.write_completes": "programmed", "engine.write_cache_pages": pages}
        for pages in (64, 1024, 8192)
    },
    "suspension": levels("engine.suspend", "program-erase"),
    # Keys of replication that the RR-SSD paper leaves open.
    "copies": {
        "0.25 a read": {"ftl.replication.copies_per_read": 0.25},
        "at most 2": {"ftl.replication.most_copies": 2},
        "at most 4": {"ftl.replication.most_copies": 4},
        "read twice": {"ftl.replication.least_popularity": 2},
        "Pop a sum": {"ftl.replication.score_popularity": "sum"},
    },
}  # fmt: skip
NO_IDLE_WORK = "no system of these headlines works in idle time."
NO_COPIES = "no system of these headlines makes copies in a period's end."


def label(choice: str, variant: str) -> str:
    """A variant with its choice: `concurrency = chip`."""
    return f"{choice} = {variant}"


VARIANTS = {label(choice, name): sets for choice, variants in CHOICES.items() for name, sets in variants.items()}


@dataclass(frozen=True)
class Headline:
    """A figure that a paper is remembered for, in percent."""

    title: str
    published: float
    fact: Fact
    #: The workload that it is of, or those whose mean it is.
    of: str | tuple[str, ...]
    #: Where it stands on the chart: the panel, and a short name there.
    panel: str
    group: str
    effect: bool = True
    #: Whether a mean needs the figures of all workloads.
    whole: bool = False

    def value(self, facts: ByWorkload) -> float | None:
        """From the measurements of each workload under one variant."""
        values = column(facts, (self.of,) if isinstance(self.of, str) else self.of, self.fact)
        return None if self.whole and None in values else mean(values)

    def claim(self, facts: ByWorkload, quantity: str) -> Claim:
        """Published beside measured under one variant."""
        return number(self.title, quantity, self.published, self.value(facts), effect=self.effect)


@dataclass(frozen=True)
class Sensitivity:
    """A paper's headlines under each variant."""

    headlines: Sequence[Headline]
    #: Choices, or single variants by their label, that are not measured, and why.
    left_out: Mapping[str, str]
    #: Variants by their label that the paper's set-up or the presets have already.
    decided: Collection[str]
    note: str = ""
    #: Further tables, from the facts by workload, and the facts that they need.
    details: Callable[[ByWorkload], list[dict[str, Any]]] = lambda _: []
    facts: Sequence[Fact] = ()
    for_system: ForSystem = lambda _, sets: sets

    @property
    def variants(self) -> list[str]:
        """Labels of those that are measured."""
        apart = {*self.left_out, *self.decided}
        return [one for one in VARIANTS if one not in apart and one.partition(" = ")[0] not in apart]


class Move(IntEnum):
    """The effect of a variant on a headline, by how much it matters."""

    NONE = 0
    POINTS = 1
    VERDICT = 2
    SIGN = 3
    #: Nothing is left that it could be a figure of.
    GONE = 4


def move(decided: Claim, otherwise: Claim) -> Move | None:
    """The fate of a headline; None where it is not known as decided either."""
    if decided.measured is None:
        return None
    if otherwise.measured is None:
        return Move.GONE
    near = abs(decided.measured - otherwise.measured) <= CLOSE_POINTS
    before, after = _sign(decided.measured), _sign(otherwise.measured)
    # A gain that becomes a loss is another conclusion however small both are; a small effect beside none is not.
    if decided.effect and before != after and not (near and 0 in (before, after)):
        return Move.SIGN
    if near:
        return Move.NONE
    return Move.POINTS if decided.verdict is otherwise.verdict else Move.VERDICT


def _sign(value: float) -> int:
    """0 for no effect."""
    return 0 if abs(value) < EFFECT_POINTS else 1 if value > 0 else -1


def item(plan: Sensitivity, place: str, workloads: Sequence[str]) -> ComputedItem:
    """The item of a paper."""
    return ComputedItem(
        ID, "What the engine's choices move", place, tuple(workloads),
        measures=lambda stand: measure(plan, stand), outcome=lambda facts: judge(plan, facts),
    )  # fmt: skip


def measure(plan: Sensitivity, stand: Stand) -> Facts:
    """The headlines' figures as decided and under each variant."""
    wanted = [*(headline.fact for headline in plan.headlines), *plan.facts]
    found: Facts = {}
    for name in (AS_DECIDED, *plan.variants):
        with stand.otherwise(VARIANTS.get(name, {}), plan.for_system):
            found[name] = measured(dict.fromkeys(wanted), stand)
    return found


def judge(plan: Sensitivity, facts: ByWorkload) -> Outcome:
    """A conclusion holds for all options where both the lowest and the highest figure agree."""
    lines = [_Line(plan, headline, facts) for headline in plan.headlines]
    claims = [claim for line in lines for claim in line.extremes()]
    notes = [plan.note] if plan.note else []
    notes += [f"Left out: {what}: {why}" for what, why in plan.left_out.items()]
    if not facts:
        return Outcome(claims, notes=notes)
    tables = [_table([line.cells() for line in lines], []), _by_choice(lines), *plan.details(facts)]
    panels: dict[str, list[_Line]] = {}
    for line in lines:
        panels.setdefault(line.headline.panel, []).append(line)
    return Outcome(claims, chart(*(_panel(title, of) for title, of in panels.items())), notes, tables)


def together(papers: Iterable[tuple[str, Sensitivity, ByWorkload]]) -> list[dict[str, Any]]:
    """The tables of several papers as one: every headline by every choice, and the effect of each choice."""
    lines = [
        (paper, _Line(plan, headline, facts))
        for paper, plan, facts in papers
        if facts
        for headline in plan.headlines
    ]  # fmt: skip
    if not lines:
        return []
    return [_table([[paper, *line.cells()] for paper, line in lines], ["paper"]), _by_choice([one for _, one in lines])]


class _Line:
    def __init__(self, plan: Sensitivity, headline: Headline, facts: ByWorkload) -> None:
        def under(name: str) -> Claim:
            return headline.claim({workload: found[name] for workload, found in facts.items()}, name)

        self.plan = plan
        self.headline = headline
        self.decided = under(AS_DECIDED)
        self.otherwise = {one: under(one) for one in plan.variants}
        self.moves = {one: move(self.decided, claim) for one, claim in self.otherwise.items()}

    def known(self) -> list[float]:
        """All figures there are."""
        return [one.measured for one in (self.decided, *self.otherwise.values()) if one.measured is not None]

    def extremes(self) -> list[Claim]:
        """The lowest and the highest figure, beside the published one."""
        known, one = self.known(), self.headline
        return [
            number(one.title, quantity, one.published, pick(known) if known else None, effect=one.effect)
            for quantity, pick in (("lowest of all choices", min), ("highest of all choices", max))
        ]

    def cells(self) -> list[str]:
        """A row of the table."""
        decided = self.plan.decided
        choices = [
            " / ".join(SAME if one in decided else _cell(self.otherwise.get(one)) for one in _labels(choice))
            for choice in CHOICES
        ]
        return [self.headline.title, _plain(self.headline.published), _cell(self.decided), *choices, self.words()]

    def words(self) -> str:
        """Which choices the headline depends on."""
        by_move = {kind: [one for one, found in self.moves.items() if found is kind] for kind in Move}
        parts = [
            f"{word}: {_named(by_move[kind])}"
            for kind, word in ((Move.GONE, "no figure"), (Move.SIGN, "sign"), (Move.VERDICT, "verdict"))
            if by_move[kind]
        ]
        if by_move[Move.POINTS]:
            decided = self.decided.measured or 0.0
            moved = [(self.otherwise[one].measured or 0.0) - decided for one in by_move[Move.POINTS]]
            parts.append(f"up to {max(moved, key=abs):+.1f} points: {_named(by_move[Move.POINTS])}")
        return "; ".join(parts) or (HOLDS if by_move[Move.NONE] else NOTHING)


def _labels(choice: str) -> list[str]:
    return [label(choice, name) for name in CHOICES[choice]]


def _named(variants: Sequence[str]) -> str:
    """`concurrency (chip, plane), buffer reads`."""
    by_choice: dict[str, list[str]] = {}
    for one in variants:
        choice, _, name = one.partition(" = ")
        by_choice.setdefault(choice, []).append(name)
    return ", ".join(
        choice if len(names) == len(CHOICES[choice]) else f"{choice} ({', '.join(names)})"
        for choice, names in by_choice.items()
    )


def _plain(value: float) -> str:
    # Adding 0 makes of -0.0 a 0.
    return f"{round(value, 1) + 0.0:.1f}"


def _cell(claim: Claim | None) -> str:
    return NOTHING if claim is None or claim.measured is None else f"{_plain(claim.measured)} {MARKS[claim.verdict]}"


def _table(rows: list[list[str]], before: list[str]) -> dict[str, Any]:
    choices = [f"{choice}: {' / '.join(variants)}" for choice, variants in CHOICES.items()]
    header = [*before, "headline", "published", AS_DECIDED, *choices, "depends on"]
    return table(f"Headlines under each choice, one at a time, in percent ({SAME} is as decided)", header, rows)


def _by_choice(lines: Sequence[_Line]) -> dict[str, Any]:
    """How many headlines each choice moves, by its variant that moves them most."""
    rows = []
    for choice in CHOICES:
        moves = [[found for one in _labels(choice) if (found := line.moves.get(one)) is not None] for line in lines]
        worst = [max(found) for found in moves if found]
        if worst:
            rows.append([choice, *(str(worst.count(kind)) for kind in reversed(Move))])
    header = ["choice", "no figure", "sign changes", "verdict changes", "more than 2 points", HOLDS]
    return table("Headlines by what becomes of them", header, rows)


def _panel(title: str, lines: Sequence[_Line]) -> dict[str, Any]:
    known = [line.known() for line in lines]
    series: list[Series] = [
        ("lowest of all choices", [min(one, default=None) for one in known], []),
        (AS_DECIDED, [line.decided.measured for line in lines], [line.headline.published for line in lines]),
        ("highest of all choices", [max(one, default=None) for one in known], []),
    ]
    return bars([line.headline.group or line.headline.title for line in lines], series, "%", title=title)

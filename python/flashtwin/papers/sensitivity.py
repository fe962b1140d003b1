"""The effects of the engine's main choices: a paper's headlines again, with one choice at a time made otherwise.

All papers have the same table, so that those of a run stand under one another as one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from flashtwin.papers.bench import Stand
from flashtwin.papers.claims import EFFECT_POINTS, Claim, number
from flashtwin.papers.markdown import MARKS
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart
from flashtwin.settings import Value

ID = "sensitivity"
AS_DECIDED = "as decided"
#: Points of percent within which a headline counts as the same.
CLOSE_POINTS = 2.0
HOLDS = "holds within 2 points"
NOTHING = "–"
#: The mark of a variant that is the present choice.
SAME = "="


@dataclass(frozen=True, eq=False)
class Variant:
    """One way to choose otherwise than decided."""

    choice: str
    name: str
    sets: Mapping[str, Value]

    @property
    def label(self) -> str:
        """Choice and option."""
        return f"{self.choice} = {self.name}"


def _of(choice: str, key: str, values: Mapping[str, Value]) -> tuple[Variant, ...]:
    return tuple(Variant(choice, name, {key: value}) for name, value in values.items())


#: Every choice with its options; that of a paper's set-up or of the presets is among them.
CHOICES: dict[str, tuple[Variant, ...]] = {
    "concurrency": _of("concurrency", "engine.concurrency", {"chip": "chip", "die": "die", "plane": "plane"}),
    "load": _of("load", "engine.load", {"reads-waiting": "reads-waiting", "expected-wait": "expected-wait"}),
    "buffer reads": _of("buffer reads", "engine.buffer_reads", {"off": False}),
    "preload": _of("preload", "replay.preload", {"footprint": "footprint", "none": "none"}),
    "write completes": _of(
        "write completes",
        "engine.write_completes",
        {"programmed": "programmed", "transferred": "transferred", "hashed": "hashed", "buffered": "buffered"},
    ),
    "hashing": (
        *_of("hashing", "engine.hash_lanes", {"1 lane": 1, "4 lanes": 4, "16 lanes": 16, "a pipeline": 0}),
        *_of("hashing", "engine.hash_us", {"0 µs": 0}),
    ),
    "allocation": _of("allocation", "ftl.allocation.policy", {"dynamic": "dynamic", "least-loaded": "least-loaded"}),
    "order": (
        *_of("order", "ftl.allocation.order", {"CWDP": "CWDP", "PDWC": "PDWC"}),
        Variant("order", "PDWC by 4", {"ftl.allocation.order": "PDWC", "ftl.allocation.stripe_pages": 4}),
    ),
    "merging": _of("merging", "engine.merge_reads", {"none": "none", "same-page": "same-page"}),
    "idle rule": _of("idle rule", "engine.idle_us", {"0 ms": 0, "10 ms": 10_000}),
    # A cache has a rule of its own for when a write is complete.
    "write cache": tuple(
        Variant("write cache", name, {"engine.write_completes": "programmed", "engine.write_cache_pages": pages})
        for name, pages in (("64 pages", 64), ("1,024 pages", 1024), ("8,192 pages", 8192))
    ),
    "suspension": _of("suspension", "engine.suspend", {"program-erase": "program-erase"}),
    # Keys of replication that the RR-SSD paper leaves open; further ones are added here.
    "copies": (
        *_of("copies", "ftl.replication.copies_per_read", {"0.25 a read": 0.25}),
        *_of("copies", "ftl.replication.most_copies", {"at most 2": 2, "at most 4": 4}),
        *_of("copies", "ftl.replication.least_popularity", {"read twice": 2}),
        *_of("copies", "ftl.replication.score_popularity", {"Pop a sum": "sum"}),
    ),
}
#: Why papers leave choices out.
NO_IDLE_WORK = "no system of these headlines works in idle time."
NO_COPIES = "no system of these headlines makes copies in a period's end."


@dataclass(frozen=True)
class Headline:
    """A figure that a paper is remembered for, in percent."""

    title: str
    published: float
    #: From the measurements of each workload under one variant.
    value: Callable[[Mapping[str, Facts]], float | None]
    #: Whether its sign has a meaning.
    effect: bool = True
    #: Where it stands on the chart: the panel, and a short name there.
    panel: str = ""
    group: str = ""

    def claim(self, facts: Mapping[str, Facts], quantity: str) -> Claim:
        """Published beside measured under one variant."""
        return number(self.title, quantity, self.published, self.value(facts), effect=self.effect)


@dataclass(frozen=True)
class Sensitivity:
    """A paper's headlines, and how they are measured."""

    #: Measures one workload with keys set otherwise.
    measure: Callable[[Stand, Mapping[str, Value]], Facts]
    headlines: Sequence[Headline]
    #: Choices, or single variants by their label, that are not measured, and why.
    left_out: Mapping[str, str] = field(default_factory=dict)
    #: Further notes.
    note: str = ""
    #: Further tables, from the facts by workload.
    details: Callable[[Mapping[str, Facts]], list[dict[str, Any]]] | None = None
    #: Variants by their label that the paper's set-up or the presets have already.
    decided: Collection[str] = ()

    def variants(self) -> list[Variant]:
        """Those that are measured."""
        return [
            one
            for choice, variants in CHOICES.items()
            for one in variants
            if choice not in self.left_out and one.label not in self.left_out and one.label not in self.decided
        ]


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


def item(plan: Sensitivity, place: str, workloads: Sequence[str]) -> Item:
    """The item of a paper."""
    return Item(
        ID, "What the engine's choices move", place, tuple(workloads),
        lambda stand: measure(plan, stand), lambda facts: judge(plan, facts),
    )  # fmt: skip


def measure(plan: Sensitivity, stand: Stand) -> Facts:
    """The headlines' figures as decided and under each variant."""
    found: Facts = {AS_DECIDED: plan.measure(stand, {})}
    return found | {one.label: plan.measure(stand, one.sets) for one in plan.variants()}


def judge(plan: Sensitivity, facts: Mapping[str, Facts]) -> Outcome:
    """A conclusion holds for all options where both the lowest and the highest figure agree."""
    lines = [_Line(plan, headline, facts) for headline in plan.headlines]
    claims = [claim for line in lines for claim in line.extremes()]
    notes = [plan.note] if plan.note else []
    notes += [f"Left out: {what}: {why}" for what, why in plan.left_out.items()]
    if not facts:
        return Outcome(claims, notes=notes)
    tables = [_table([line.cells() for line in lines], []), _by_choice(lines)]
    return Outcome(claims, _chart(lines), notes, [*tables, *(plan.details(facts) if plan.details else [])])


def together(papers: Iterable[tuple[str, Sensitivity, Mapping[str, Facts]]]) -> list[dict[str, Any]]:
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
    """A headline under every variant."""

    def __init__(self, plan: Sensitivity, headline: Headline, facts: Mapping[str, Facts]) -> None:
        self.plan = plan
        self.headline = headline
        self.decided = headline.claim(_under(facts, AS_DECIDED), AS_DECIDED)
        self.otherwise = {
            one: headline.claim(_under(facts, one.label), one.label) for one in plan.variants()
        }  # fmt: skip
        self.moves = {one: move(self.decided, claim) for one, claim in self.otherwise.items()}

    def known(self) -> list[float]:
        """All figures there are."""
        every = (self.decided, *self.otherwise.values())
        return [claim.measured for claim in every if claim.measured is not None]

    def extremes(self) -> list[Claim]:
        """The lowest and the highest figure, beside the published one."""
        known, one = self.known(), self.headline
        return [
            number(one.title, quantity, one.published, pick(known) if known else None, effect=one.effect)
            for quantity, pick in (("lowest of all choices", min), ("highest of all choices", max))
        ]

    def cells(self) -> list[str]:
        """A row of the table."""
        choices = [" / ".join(self._otherwise(one) for one in variants) for variants in CHOICES.values()]
        return [self.headline.title, _plain(self.headline.published), _cell(self.decided), *choices, self.words()]

    def _otherwise(self, variant: Variant) -> str:
        return SAME if variant.label in self.plan.decided else _cell(self.otherwise.get(variant))

    def words(self) -> str:
        """Which choices the headline depends on."""
        by_move = {kind: [one for one, found in self.moves.items() if found is kind] for kind in Move}
        parts = []
        if by_move[Move.GONE]:
            parts.append(f"no figure: {self._named(by_move[Move.GONE])}")
        if by_move[Move.SIGN]:
            parts.append(f"sign: {self._named(by_move[Move.SIGN])}")
        if by_move[Move.VERDICT]:
            parts.append(f"verdict: {self._named(by_move[Move.VERDICT])}")
        if by_move[Move.POINTS]:
            farthest = max(by_move[Move.POINTS], key=lambda one: abs(self._moved(one)))
            parts.append(f"up to {self._moved(farthest):+.1f} points: {self._named(by_move[Move.POINTS])}")
        if parts:
            return "; ".join(parts)
        return HOLDS if by_move[Move.NONE] else NOTHING

    def _moved(self, variant: Variant) -> float:
        return (self.otherwise[variant].measured or 0.0) - (self.decided.measured or 0.0)

    @staticmethod
    def _named(variants: Sequence[Variant]) -> str:
        """`concurrency (chip, plane), buffer reads`."""
        by_choice: dict[str, list[str]] = {}
        for one in variants:
            by_choice.setdefault(one.choice, []).append(one.name)
        whole = {choice: len(names) == len(CHOICES[choice]) for choice, names in by_choice.items()}
        return ", ".join(
            choice if whole[choice] else f"{choice} ({', '.join(names)})" for choice, names in by_choice.items()
        )


def _under(facts: Mapping[str, Facts], label: str) -> dict[str, Facts]:
    return {name: found[label] for name, found in facts.items()}


def _plain(value: float) -> str:
    # Adding 0 makes of -0.0 a 0.
    return f"{round(value, 1) + 0.0:.1f}"


def _cell(claim: Claim | None) -> str:
    """A figure with its verdict; a dash for a missing one."""
    if claim is None or claim.measured is None:
        return NOTHING
    return f"{_plain(claim.measured)} {MARKS[claim.verdict]}"


def _table(rows: list[list[str]], before: list[str]) -> dict[str, Any]:
    choices = [f"{choice}: {' / '.join(one.name for one in variants)}" for choice, variants in CHOICES.items()]
    header = [*before, "headline", "published", AS_DECIDED, *choices, "depends on"]
    title = f"Headlines under each choice, one at a time, in percent ({SAME} is as decided)"
    return {"title": title, "header": header, "rows": rows}


def _by_choice(lines: Sequence[_Line]) -> dict[str, Any]:
    """How many headlines each choice moves, by its variant that moves them most."""
    rows = []
    for choice in CHOICES:
        worst = [
            max(found)
            for line in lines
            if (found := [one for variant, one in line.moves.items() if variant.choice == choice and one is not None])
        ]
        if worst:
            counts = [worst.count(kind) for kind in reversed(Move)]
            rows.append([choice, *(str(count) for count in counts)])
    header = ["choice", "no figure", "sign changes", "verdict changes", "more than 2 points", HOLDS]
    return {"title": "Headlines by what becomes of them", "header": header, "rows": rows}


def _chart(lines: Sequence[_Line]) -> dict[str, Any]:
    """Each headline as decided, between its extremes."""
    panels: dict[str, list[_Line]] = {}
    for line in lines:
        panels.setdefault(line.headline.panel, []).append(line)
    return chart(*(_panel(title, of) for title, of in panels.items()))


def _panel(title: str, lines: Sequence[_Line]) -> dict[str, Any]:
    known = [line.known() for line in lines]
    series: list[Series] = [
        ("lowest of all choices", [min(one, default=None) for one in known], []),
        (AS_DECIDED, [line.decided.measured for line in lines], [line.headline.published for line in lines]),
        ("highest of all choices", [max(one, default=None) for one in known], []),
    ]
    return bars([line.headline.group or line.headline.title for line in lines], series, "%", title=title)

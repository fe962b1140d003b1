"""The effects of the engine's main choices: each paper's headlines again, with one choice at a time made otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from flashtwin.papers.bench import ForSystem, Stand
from flashtwin.papers.claims import EFFECT_POINTS, Claim, number
from flashtwin.papers.designs import NOTHING, Headline, choice, measure_under, plain
from flashtwin.papers.markdown import MARKS
from flashtwin.papers.model import Item, Outcome
from flashtwin.papers.panels import ByWorkload, Display, Facts, Series, bars, chart, table

ID = "sensitivity"
AS_DECIDED = "as decided"
#: Points of percent within which a headline counts as the same.
CLOSE_POINTS = 2.0
HOLDS = "holds within 2 points"
#: The mark of a variant that is the present choice.
SAME = "="

#: The choices that are made otherwise, and how; that of a paper's set-up or of the presets is among them.
CHOICES = {one.name: one.levels for one in (
    choice("concurrency", "chip", "die", "plane"), choice("load", "reads-waiting", "expected-wait"),
    choice("buffer reads", "off"), choice("preload", "footprint", "none"), choice("write completes"), choice("hashing"),
    choice("allocation", "dynamic", "least-loaded"), choice("order", "CWDP", "PDWC", "PDWC by 4"), choice("merging"),
    choice("idle rule", "0 ms", "10 ms"), choice("write cache"), choice("suspension", "program-erase"),
    choice("ties", "lowest", "next-in-turn", "random"), choice("zero page", "mapped"),
    choice("renewal", "8 pages", "pages"),
    choice("copies", "0.25 a read", "at most 2", "at most 4", "read twice", "Pop a sum"),
)}  # fmt: skip
#: A variant with its choice, `concurrency = chip`, and its keys.
VARIANTS = {f"{name} = {level}": sets for name, variants in CHOICES.items() for level, sets in variants.items()}


@dataclass(frozen=True, kw_only=True)
class Sensitivity(Item):
    """A paper's headlines under each variant."""

    id: str = ID
    title: str = "What the engine's choices move"
    ours: bool = True
    headlines: Sequence[Headline]
    #: Choices, or single variants by their label, that are not measured, and why.
    left_out: Mapping[str, str]
    #: Variants by their label that the paper's set-up or the presets have already.
    decided: Collection[str]
    for_system: ForSystem = lambda _, sets: sets

    @property
    def variants(self) -> list[str]:
        apart = {*self.left_out, *self.decided}
        return [one for one in VARIANTS if one not in apart and one.partition(" = ")[0] not in apart]

    def measure(self, stand: Stand) -> Facts:
        wanted = [*(headline.fact for headline in self.headlines), *self.facts]
        every = {AS_DECIDED: {}, **{one: VARIANTS[one] for one in self.variants}}
        return {name: measure_under(stand, sets, self.for_system, wanted) for name, sets in every.items()}

    def judge(self, facts: ByWorkload) -> Outcome:
        """A conclusion holds for all options where both the lowest and the highest figure agree."""
        lines = [_Line(self, headline, facts) for headline in self.headlines]
        claims = [claim for line in lines for claim in line.extremes]
        notes = [*self.said, *(f"Left out: {what}: {why}" for what, why in self.left_out.items())]
        if not facts:
            return Outcome(claims, notes=notes)
        panels: dict[str, list[_Line]] = {}
        for line in lines:
            panels.setdefault(line.headline.panel, []).append(line)
        tables = [_table([line.cells for line in lines], []), _by_choice(lines)]
        return Outcome(claims, chart(*(_panel(title, of) for title, of in panels.items())), notes,
                       [*tables, *self.displays(self.tables, facts)])  # fmt: skip


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


def together(papers: Iterable[tuple[str, Sensitivity, ByWorkload]]) -> list[Display]:
    """The tables of several papers as one: every headline by every choice, and the effect of each choice."""
    lines = [(paper, _Line(plan, one, facts)) for paper, plan, facts in papers if facts for one in plan.headlines]
    if not lines:
        return []
    return [_table([[paper, *line.cells] for paper, line in lines], ["paper"]), _by_choice([one for _, one in lines])]


class _Line:
    """A headline under all variants."""

    def __init__(self, plan: Sensitivity, headline: Headline, facts: ByWorkload) -> None:
        def under(name: str) -> Claim:
            return headline.under({workload: found[name] for workload, found in facts.items()}, name)

        self.headline = headline
        self.decided = under(AS_DECIDED)
        self.otherwise = {one: under(one) for one in plan.variants}
        self.moves = {one: move(self.decided, claim) for one, claim in self.otherwise.items()}
        known = [one.measured for one in (self.decided, *self.otherwise.values()) if one.measured is not None]
        self.ends = {
            "lowest of all choices": min(known, default=None),
            "highest of all choices": max(known, default=None),
        }
        #: The lowest and the highest figure, beside the published one.
        self.extremes = [
            number(headline.title, end, headline.goal, value, effect=headline.effect)
            for end, value in self.ends.items()
        ]
        by_variant = {name: _cell(claim) for name, claim in self.otherwise.items()} | dict.fromkeys(plan.decided, SAME)
        choices = [
            " / ".join(by_variant.get(f"{name} = {level}", NOTHING) for level in variants)
            for name, variants in CHOICES.items()
        ]
        #: A row of the table.
        self.cells = [headline.title, plain(headline.goal), _cell(self.decided), *choices, self._depends()]

    def _depends(self) -> str:
        by_move = {kind: [one for one, found in self.moves.items() if found is kind] for kind in Move}
        worst = ((Move.GONE, "no figure"), (Move.SIGN, "sign"), (Move.VERDICT, "verdict"))
        parts = [f"{word}: {_named(by_move[kind])}" for kind, word in worst if by_move[kind]]
        if by_move[Move.POINTS]:
            decided = self.decided.measured or 0.0
            moved = [(self.otherwise[one].measured or 0.0) - decided for one in by_move[Move.POINTS]]
            parts.append(f"up to {max(moved, key=abs):+.1f} points: {_named(by_move[Move.POINTS])}")
        return "; ".join(parts) or (HOLDS if by_move[Move.NONE] else NOTHING)


def _named(variants: Sequence[str]) -> str:
    """`concurrency (chip, plane), buffer reads`."""
    by_choice: dict[str, list[str]] = {}
    for one in variants:
        name, _, level = one.partition(" = ")
        by_choice.setdefault(name, []).append(level)
    return ", ".join(
        name if len(levels) == len(CHOICES[name]) else f"{name} ({', '.join(levels)})"
        for name, levels in by_choice.items()
    )


def _cell(claim: Claim) -> str:
    return NOTHING if claim.measured is None else f"{plain(claim.measured)} {MARKS[claim.verdict]}"


def _table(rows: list[list[str]], before: list[str]) -> Display:
    choices = [f"{name}: {' / '.join(variants)}" for name, variants in CHOICES.items()]
    header = [*before, "headline", "published", AS_DECIDED, *choices, "depends on"]
    return table(f"Headlines under each choice, one at a time, in percent ({SAME} is as decided)", header, rows)


def _by_choice(lines: Sequence[_Line]) -> Display:
    """How many headlines each choice moves, by its variant that moves them most."""
    rows = []
    for name, variants in CHOICES.items():
        moves = [[line.moves.get(f"{name} = {level}") for level in variants] for line in lines]
        known = [[one for one in of if one is not None] for of in moves]
        worst = [max(of) for of in known if of]
        if worst:
            rows.append([name, *(str(worst.count(kind)) for kind in reversed(Move))])
    header = ["choice", "no figure", "sign changes", "verdict changes", "more than 2 points", HOLDS]
    return table("Headlines by what becomes of them", header, rows)


def _panel(title: str, lines: Sequence[_Line]) -> Display:
    series: list[Series] = [(end, [line.ends[end] for line in lines], []) for end in lines[0].ends]
    published = [line.headline.goal for line in lines]
    series.insert(1, (AS_DECIDED, [line.decided.measured for line in lines], published))
    return bars([line.headline.group or line.headline.title for line in lines], series, "%", title=title)

"""One judgement: the claim, the figures behind it, the runs that show it, and the action."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

#: Topics of the choice and of bottlenecks, and the answer where a number is missing.
CHOICE, BOTTLENECK, UNKNOWN = "verdict", "bottleneck", "unknown"
#: The words of an action that the choice includes.
CHOSEN = "The choice has it"


@dataclass(frozen=True)
class Action:
    #: The action and its key, with the replayed figure; without a full stop.
    words: str = ""
    command: str = ""
    #: The keys that the command sets for this; empty where it tries something.
    sets: Mapping[str, Any] = field(default_factory=dict)
    #: The row of the catalogue; empty where it changes nothing.
    change: str = ""
    replayed: bool = False

    def __bool__(self) -> bool:
        return bool(self.command)

    @property
    def told(self) -> str:
        return f"{self.words}{'' if self.replayed else ' (not replayed)'}"

    @property
    def text(self) -> str:
        if self.words == CHOSEN:
            # Its command stands beside the choice.
            return f"{CHOSEN}."
        return f"{self.told}: `{self.command}`." if self else ""


@dataclass(frozen=True)
class Verdict:
    """The judgement on one topic, from figures.

    >>> import flashtwin as ft
    >>> advice = ft.characterize("traces/webvm-small.fiu.zst", period_s=120).advice
    >>> {one.topic: one.answer for one in advice}["deduplication"]
    'yes'
    """

    topic: str
    claim: str
    #: In a word or two: `yes`, `no gain`, `6 partitions`, `hash`.
    answer: str = ""
    reason: str = ""
    #: The values behind the words, by where they come from: `ca-ssd:all.mean`, `info.writes`.
    figures: Mapping[str, float] = field(default_factory=dict)
    #: Names of the runs that show it; none where the trace alone does.
    evidence: tuple[str, ...] = ()
    action: Action = field(default_factory=Action)
    #: The estimate from the trace alone, where the claim comes from runs.
    estimate: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        return joined(self.claim, self.reason, self.action.text)

    @property
    def sentence(self) -> str:
        """The claim from runs, then the estimate from the trace: a piece of advice, without its action."""
        replayed = f"Replayed here: {lower(self.claim)}" if self.evidence else self.claim
        return f"{replayed} From the trace alone: {lower(self.estimate)}" if self.estimate else replayed

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Verdict:
        known = {one.name: found[one.name] for one in fields(cls)}
        return cls(**{**known, "evidence": tuple(found["evidence"]), "action": Action(**found["action"])})

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "evidence": list(self.evidence)}


def with_made_up_contents(claim: str, source: str | None) -> str:
    """Says so where a claim is about systems that looked at contents nobody recorded; None where they were recorded."""
    return claim if source is None else f"With made-up contents (`{source}`), {lower(claim)}"


def joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def lower(text: str) -> str:
    """A sentence to follow other words: its first letter small, but for an abbreviation (`RAM ...`) or a name."""
    return f"{text[:1].lower()}{text[1:]}" if text[1:2].islower() or text[1:2] == " " else text


def upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"

"""What replays of a trace that are there say about a topic of the advice: they go before anything that is reckoned.

Pure: summaries of runs in; a verdict and a sentence out. Systems are compared as the report's findings compare them:
against the baseline, what chooses chips against `ca-ssd` where there is one; so advice and findings say the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashtwin.results import schema
from flashtwin.results.trees import dig

#: Changes below this many percent are none; the same as the findings'.
UNCHANGED_PERCENT = 0.5
#: The system that looks at contents and does no more, to which others are compared (RR-SSD 5.1).
PLAIN = "ca-ssd"


@dataclass(frozen=True)
class Replay:
    """A finished run of the trace; what is found in its summary under dotted paths."""

    name: str
    summary: Mapping[str, Any]
    #: What was found to hold it back, as `Explanation.data`; empty where nobody looked.
    explained: Mapping[str, Any]
    is_baseline: bool = False

    def number(self, path: str) -> float | None:
        """A number of the summary; None where there is none."""
        value = dig(self.summary, schema.summary_field(path))
        return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)

    def mean(self, kind: str) -> float | None:
        """The mean response of `all`, `read` or `write` in ns; None where no such request completed."""
        return None if self.number(f"response.{kind}.count") == 0 else self.number(f"response.{kind}.mean_ns")

    @property
    def deduplicates(self) -> bool:
        """Whether it looks contents up to save writes."""
        return bool(dig(self.summary, "config.ftl.mapping") == "content")

    @property
    def is_ideal(self) -> bool:
        """Whether no device could be built so."""
        return bool(dig(self.summary, "config.ftl.redirection.policy") == "any-chip")

    @property
    def redirects(self) -> bool:
        """Whether reads may be served by another chip than their content's home."""
        return dig(self.summary, "config.ftl.redirection.policy") not in (None, "home")

    @property
    def replicates(self) -> bool:
        """Whether it may make copies."""
        return dig(self.summary, "config.ftl.replication.policy") not in (None, "none")

    @property
    def made_up(self) -> str | None:
        """Where its contents came from, unless the trace recorded them or it has none."""
        source = dig(self.summary, "trace.content_source")
        return source if isinstance(source, str) and source not in ("recorded", "none") else None


Told = tuple[str, str]


def deduplication(verdict: str, replays: Sequence[Replay]) -> Told | None:
    """The verdict with what the replays say; None where no run with deduplication stands beside one without."""
    base = _first([one for one in replays if not one.deduplicates], baseline=True)
    looking = [one for one in replays if one.deduplicates and not one.is_ideal and one.mean("all") is not None]
    if base is None or not looking or not (old := base.mean("all")):
        return None
    best = min(looking, key=lambda one: one.mean("all") or 0.0)
    plain = next((one for one in looking if not one.redirects), best)
    change = _change(best.mean("all"), old)
    text = f"Replayed here: {_dedup_words(plain, base)}"
    if best is not plain:
        text += f"; the best, `{best.name}`, makes the mean response {_longer(change)}"
    text = f"{text}, against `{base.name}`."
    if plain.made_up or best.made_up:
        made_up = plain.made_up or best.made_up
        return verdict, f"{text} The contents are made up (`{made_up}`): this holds for these, not for the trace."
    if change < -UNCHANGED_PERCENT:
        return ("yes" if verdict == "yes" else "some"), text
    saves = (_change(plain.number("pages_programmed"), base.number("pages_programmed")) or 0.0) < -UNCHANGED_PERCENT
    if change > UNCHANGED_PERCENT:
        return ("fewer writes, longer responses" if saves else "no"), text
    return ("fewer writes, equal responses" if saves else "no"), text


def _dedup_words(run: Replay, base: Replay) -> str:
    programs, old = run.number("pages_programmed"), base.number("pages_programmed")
    parts = []
    if programs is not None and old:
        change = _change(programs, old)
        amount = (
            f"{_percent(change)} {'fewer' if change < 0 else 'more'}" if abs(change) >= UNCHANGED_PERCENT else "as many"
        )
        parts.append(f"programs {amount} pages")
    parts.append(f"makes the mean response {_longer(_change(run.mean('all'), base.mean('all') or 0.0))}")
    return f"`{run.name}` {' and '.join(parts)}"


def replication(verdict: str, replays: Sequence[Replay]) -> Told | None:
    """The verdict with what the replays say; None where no run with copies stands beside one without."""
    buildable = [one for one in replays if not one.is_ideal and one.mean("read") is not None]
    copying = [one for one in buildable if one.replicates]
    others = [one for one in buildable if not one.replicates]
    ref = next((one for one in others if one.name == PLAIN), None) or _first(others, baseline=True)
    if ref is None or not copying or not (old := ref.mean("read")):
        return None
    best = min(copying, key=lambda one: one.mean("read") or 0.0)
    change = _change(best.mean("read"), old)
    text = f"Replayed here: `{best.name}` makes reads {_longer(change)}, against `{ref.name}`."
    made_up = best.made_up or ref.made_up
    if made_up:
        return verdict, f"{text} The contents are made up (`{made_up}`): this holds for these, not for the trace."
    if not any(one.number("replication.copies") for one in copying):
        return "no copy made", f"{text} No copy was made, so that this says nothing of copies."
    if change < -UNCHANGED_PERCENT:
        return (verdict if verdict in ("yes", "with many copies") else "some"), text
    return ("no gain" if change <= UNCHANGED_PERCENT else "longer reads"), text


def _first(runs: Sequence[Replay], *, baseline: bool) -> Replay | None:
    """The baseline, if it is among them, else the first that could be built."""
    real = [one for one in runs if not one.is_ideal]
    return next((one for one in real if baseline and one.is_baseline), None) or next(iter(real), None)


def _change(new: float | None, old: float | None) -> float:
    """In percent; 0 where it cannot be told."""
    return 0.0 if new is None or not old else (new / old - 1.0) * 100.0


def _longer(change: float) -> str:
    if abs(change) < UNCHANGED_PERCENT:
        return "no longer and no shorter"
    return f"{_percent(change)} {'longer' if change > 0 else 'shorter'}"


def _percent(change: float) -> str:
    size = abs(change)
    return f"{size:,.0f} %" if size >= 99.5 else f"{size:.1f} %"

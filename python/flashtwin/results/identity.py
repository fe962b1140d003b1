"""The identity of a saved run, and labels for runs of one name, by the settings in which they differ.

A run is its system with all its settings, the trace it replayed, and the version of flashtwin that made it. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flashtwin.results import ground
from flashtwin.results.trees import literal

Summary = Mapping[str, Any]

#: Settings that a label names; of more it says how many there are.
NAMED = 2


def same(one: Summary, other: Summary) -> bool:
    """Whether two runs are of the same system, settings, trace and version."""
    return not differing([one, other]) and trace_of(one) == trace_of(other) and version(one) == version(other)


def version(summary: Summary) -> str:
    return str(summary.get("flashtwin") or "of unknown version")


def trace_of(summary: Summary) -> str:
    """The digest of the trace that a run replayed; its name where none was recorded."""
    trace = summary.get("trace") or {}
    return str(trace.get("digest") or trace.get("name") or "")


def trace_name(summary: Summary) -> str:
    return str((summary.get("trace") or {}).get("name") or "unknown")


def differing(summaries: Sequence[Summary]) -> list[ground.Difference]:
    """Settings that are not the same everywhere, of those that the systems use."""
    configs = {str(place): config for place, one in enumerate(summaries) if (config := one.get("config"))}
    return ground.differences(configs)


def label(name: str, summary: Summary, others: Sequence[Summary]) -> str:
    """A name for a run that tells it from others of its name: `rr-ssd (replication.alpha=0.5)`.

    By the settings that differ, else the trace, else the version; the name alone where nothing does.
    """
    together = [summary, *others]
    differences = [one for one in differing(together) if "0" in one.values]
    parts = [f"{one.key.removeprefix('ftl.')}={literal(one.values['0'])}" for one in differences[:NAMED]]
    if len(differences) > NAMED:
        parts.append(f"{len(differences) - NAMED} more")
    if len(set(map(trace_of, together))) > 1:
        of_one_name = len(set(map(trace_name, together))) == 1
        parts.append(f"{trace_name(summary)} {trace_of(summary)[:8]}" if of_one_name else trace_name(summary))
    if not parts and len(set(map(version, together))) > 1:
        parts.append(f"flashtwin {version(summary)}")
    return f"{name} ({', '.join(parts)})".replace("/", "-").replace("\\", "-") if parts else name

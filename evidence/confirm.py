"""Whether figures still come out as they stand, after a change of code that was to change none: a sample is made again.

A change that makes the core faster, or moves code about, leaves every figure older than its code. To measure all of
them again takes an hour or two; to make one replay in so many again, and find each of its figures equal to the last
digit, takes minutes. Where one differs, the stage keeps its old state, and the figure is named.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import flashtwin as ft
from evidence.places import SCRATCH
from evidence.stage import Lab, Stage
from evidence.store import KeptReplay, Store
from flashtwin.replays.presets import System
from flashtwin.results import folder

NOT_MADE = KeptReplay({})


class Sample(Store):
    """A store that makes a share of the replays, chosen by their keys, and leaves all others without figures."""

    def __init__(self, one_in: int, lab: Lab) -> None:
        super().__init__(SCRATCH / "replays", lab.say)
        self.one_in = one_in
        self.chosen = 0

    def replays(self, trace: ft.Trace, systems: Mapping[str, System]) -> dict[str, KeptReplay]:
        """As a store does, with `NOT_MADE` for most."""
        chosen = {name: system for name, system in systems.items() if self._is_chosen(trace, system)}
        self.chosen += len(chosen)
        made = super().replays(trace, chosen)
        return {name: made.get(name, NOT_MADE) for name in systems}

    def _is_chosen(self, trace: ft.Trace, system: System) -> bool:
        text = json.dumps([trace.digest, system.config], sort_keys=True)
        return int(hashlib.sha256(text.encode()).hexdigest(), 16) % self.one_in == 0


def confirm(stage: Stage, lab: Lab, one_in: int) -> str | None:
    """Makes a sample of a stage's replays again; notes it in the record, or says which figure differs.

    Returns:
        None, or what differs first: its place in the data, what stands there, what came out.
    """
    record = stage.record()
    if record is None:
        return "never measured"
    differs, sample = _claims_again(stage, record, lab) if stage.again else _replays_again(stage, record, lab, one_in)
    if differs is None:
        today = datetime.now(UTC).date().isoformat()
        record["confirmed"] = {"code": stage.digest, "made": today, "sample": sample}
        folder.write_text(stage.path, json.dumps(record, indent=1, sort_keys=False) + "\n")
    return differs


def _replays_again(
    stage: Stage, record: Mapping[str, Any], lab: Lab, one_in: int
) -> tuple[str | None, str]:  # fmt: skip
    """What differs first, if anything does, and how much was made again."""
    lab.store = sample = Sample(one_in, lab)
    for place, value in leaves(stage.measure(lab)):
        stands = at(record["data"], place)
        # A replay that was not made again has no figures; neither has a quotient without a denominator.
        if value is not None and value != stands:
            return f"{'/'.join(place)}: {stands} stands there, {value} comes out", ""
    return None, f"{sample.chosen} replays"


def _claims_again(stage: Stage, record: Mapping[str, Any], lab: Lab) -> tuple[str | None, str]:
    """The same of claims."""
    assert stage.again is not None
    known = [claim for paper in record["data"]["papers"] for item in paper["items"] for claim in item["claims"]]
    claims = stage.again(lab)
    for claim in claims:
        if claim not in known:
            return f"{claim['subject']}, {claim['quantity']}: {claim['measured']} comes out, and stands nowhere", ""
    return None, f"{len(claims)} claims"


def leaves(tree: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value of nested mappings with where it stands."""
    if isinstance(tree, Mapping):
        for key, below in tree.items():
            yield from leaves(below, (*place, str(key)))
    else:
        yield place, tree


def at(tree: Any, place: Sequence[str]) -> Any:
    """The value at a place, or None."""
    for key in place:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree

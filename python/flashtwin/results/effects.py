"""Keys of a sweep that changed nothing, system by system, and why where the figures tell."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashtwin.results.keys import K, table_of

Row = Mapping[str, Any]

#: What happened, of all that a summary says: sizes of tables and rooms follow from keys without anything happening.
_HAPPENED = ("completed_ns", "response.", "requests.", "page_ops.", "flash_", "erases.")


@dataclass(frozen=True)
class NoEffect:
    """A key whose values gave the same results on a system, everything else being equal."""

    key: str
    system: str
    why: str

    @property
    def line(self) -> str:
        return f"{self.key} changed nothing on {self.system}: {self.why}."


def without_effect(rows: Sequence[Row], axes: Iterable[str], ignored: Mapping[int, Sequence[str]]) -> list[NoEffect]:
    """The keys of `axes` that changed nothing on a system, of those that took several values there.

    `rows` are the replayed points. `ignored` are the keys, by point, that its system does not look at.
    """
    found, axes = [], list(axes)
    by_system: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_system[str(row["system"])].append(row)
    for key in axes:
        for system, its in by_system.items():
            if len({row.get(f"config.{key}") for row in its}) < 2:
                continue
            if all(key in ignored.get(int(row["point"]), ()) for row in its):
                found.append(NoEffect(key, system, "the system does not look at it; one run stands for all values"))
            elif (compared := _groups(its, key, axes)) and all(map(_alike, compared)):
                found.append(NoEffect(key, system, _reason(key, its)))
    return found


def _groups(rows: Sequence[Row], key: str, axes: Sequence[str]) -> list[list[Row]]:
    """Rows that differ in no other key that was swept; those that have no other beside them are left out.

    Keys that follow from the one (the blocks of a drive from `fill`) may differ.
    """
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        alike = (row["trace"], *(str(row.get(f"config.{one}")) for one in axes if one != key))
        groups[alike].append(row)
    return [group for group in groups.values() if len({row.get(f"config.{key}") for row in group}) > 1]


def _alike(group: Sequence[Row]) -> bool:
    results = [{name: value for name, value in row.items() if name.startswith(_HAPPENED)} for row in group]
    return all(one == results[0] for one in results[1:])


def _reason(key: str, rows: Sequence[Row]) -> str:
    """Explains a result by its figures; equal results are always mentioned."""
    same = "responses, flash operations and erases are the same for all its values"

    def all_rows(name: str, holds: Any) -> bool:
        values = [row.get(name) for row in rows]
        return all(value is not None and holds(value) for value in values)

    copying = table_of(key) == table_of(K.ftl.replication.policy)
    if (copying or key == K.replay.period_s) and all_rows("flash_writes.replica", lambda n: n == 0):
        return f"{same}; no copy was made"
    pairs = [(row.get("space.pages_in_use_peak"), row.get("replication.budget_pages")) for row in rows]
    if copying and all(used is not None and budget is not None and used < budget for used, budget in pairs):
        return f"{same}; the room for copies was never used up"
    collecting = table_of(key) in (table_of(K.ftl.gc.victim), table_of(K.ftl.wear.policy))
    if (collecting or key == K.nand.blocks_per_plane) and all_rows("erases.total", lambda n: n == 0):
        return f"{same}; no block was collected"
    if key in (K.engine.hash_us, K.engine.hash_lanes) and all_rows("hash_unit.pages", lambda n: n == 0):
        return f"{same}; no page was hashed"
    return same

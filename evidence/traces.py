"""Figures of characterized traces for the pages: which of many, the lowest, the highest, how many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evidence.forms import NOTHING, grid, signed

#: A write amplification below this shows next to nothing.
NEXT_TO_NONE = 1.005
#: SWC's own limit of a low one (Fig. 3).
LOW = 1.05
#: Partial reads, and whole ones.
WAYS = ("partial", "whole")

Traces = Mapping[str, Mapping[str, Any]]


def short(name: str) -> str:
    """A trace by the first word of its file: `pcmark`."""
    return f"`{name.partition('_')[0]}`"


def names(found: Iterable[str]) -> str:
    """Traces one after the other: `a`, `b`."""
    return ", ".join(short(name) for name in found) or "none"


def of(found: int, every: Iterable[Any]) -> str:
    """How many of how many: 10 of 11."""
    return f"{found} of {len(list(every))}"


def claim(claims: Mapping[str, Sequence[Mapping[str, Any]]], item: str, quantity: str, subject: str) -> float:
    """The measurement for one number of a paper.

    Raises:
        KeyError: there is no such number.
    """
    for one in claims[item]:
        if (one["quantity"], one["subject"]) == (quantity, subject):
            return float(one["measured"])
    raise KeyError(f"{item}: {subject}, {quantity}")


def amplified(writing: Traces, over_provisioning: int = 7) -> list[str]:
    """The traces that write more than is asked for, with one partition."""
    return [name for name, one in writing.items() if one["by_partitions"][f"{over_provisioning}"]["1"] > NEXT_TO_NONE]


def entering(writing: Traces) -> list[str]:
    """The traces that overwrite enough for the statistics of write amplification."""
    return [name for name, one in writing.items() if one["enters"]]


def fewest(one: Mapping[str, Any], over_provisioning: int = 7) -> tuple[int, float]:
    """The number of partitions with the lowest write amplification, and that."""
    known = {int(n): wa for n, wa in one["by_partitions"][f"{over_provisioning}"].items() if wa is not None}
    best = min(known, key=lambda number: (known[number], number))
    return best, known[best]


def larger(one: Mapping[str, Any], page: int, than: int = 4096) -> float:
    """How often the write amplification with small pages goes into that with large ones; two partitions."""
    return float(one["by_page"][f"{page}"] / one["by_page"][f"{than}"])


def larger_by(writing: Traces, page: int) -> list[float]:
    """The same of every trace."""
    return [larger(one, page) for one in writing.values()]


def chosen(traces: Traces, wanted: Iterable[str]) -> Traces:
    """Some of the traces."""
    return {name: traces[name] for name in wanted}


def spread(traces: Traces, key: str) -> list[float]:
    """A figure of every trace."""
    return [one[key] for one in traces.values()]


def each_of(traces: Traces, key: str, digits: int) -> str:
    """A figure of every trace: 28.9 / 32.8 / 32.1 / 83.7."""
    return " / ".join(f"{value:,.{digits}f}" for value in spread(traces, key))


def files_of(traces: Traces, files: Sequence[str]) -> list[str]:
    """The traces that are of these files, whole or one volume."""
    return [name for name in traces if name.partition(":")[0] in files]


def low(writing: Traces, over_provisioning: int, partitions: int) -> list[str]:
    """The traces with a write amplification below 1.05."""
    return [
        name for name, one in writing.items() if one["by_partitions"][f"{over_provisioning}"][f"{partitions}"] < LOW
    ]


def falling(writing: Traces, over_provisioning: int) -> list[str]:
    """The traces that write at least a hundredth less with some number of partitions than with one."""
    return [
        name
        for name, one in writing.items()
        if fewest(one, over_provisioning)[1] < 0.99 * one["by_partitions"][f"{over_provisioning}"]["1"]
    ]


def turning(writing: Traces) -> list[str]:
    """The traces that write a hundredth more with the most partitions than with the best number."""
    return [
        name for name, one in writing.items() if list(one["by_partitions"]["7"].values())[-1] > 1.01 * fewest(one)[1]
    ]


def knee(one: Mapping[str, Any]) -> float:
    """How much more is written with the partitions for f_r <= 3 than with those for f_r <= 2."""
    two, three = (one["by_ratio"][ratio]["write_amplification"] for ratio in ("2", "3"))
    return float(three / two - 1)


def knees(writing: Traces) -> str:
    """The same of each trace, with the partitions where there is something to see."""
    cells = []
    for name, one in writing.items():
        two, three = (one["by_ratio"][ratio]["partitions"] for ratio in ("2", "3"))
        cells.append(f"{short(name)} {signed(knee(one))} ({three} partitions instead of {two})")
    return ", ".join(cells)


def knee_holds(writing: Traces) -> list[str]:
    """The traces that write less than a twentieth more."""
    return [name for name, one in writing.items() if knee(one) < 0.05]


def amplified_at(writing: Traces, page: int) -> list[str]:
    """The traces that write more than is asked for with pages of a size; two partitions."""
    return [name for name, one in writing.items() if (one["by_page"][f"{page}"] or 0.0) > NEXT_TO_NONE]


def cheapest(reading: Traces, page: int) -> list[str]:
    """The traces whose whole reads take least time with pages of a size."""
    return [name for name, one in reading.items() if one["cheapest"] == page]


def dearer(reading: Traces, page: int = 32_768, than: int = 4096) -> list[str]:
    """The traces whose whole reads take longer with large pages than with small ones."""
    return [name for name, one in reading.items() if one["whole"][f"{page}"] > one["whole"][f"{than}"]]


def costs(reading: Traces, way: str, page: int) -> list[float]:
    """Time of reading with pages of a size / that with one-sector pages."""
    return [one[way][f"{page}"] for one in reading.values()]


def halved(reading: Traces, way: str, page: int) -> list[str]:
    """The traces that read in half the time that one-sector pages take, or less."""
    return [name for name, one in reading.items() if one[way][f"{page}"] <= 0.5]


def saved(reading: Traces, page: int) -> list[float]:
    """The saving of partial reads, of the time that whole ones take, with pages of a size."""
    return [1 - part / whole for part, whole in zip(*(costs(reading, way, page) for way in WAYS), strict=True)]


def others(traces: Traces, found: Iterable[str]) -> list[str]:
    """The traces that are not among these."""
    return [name for name in traces if name not in set(found)]


def partitions_made(writing: Traces) -> str:
    """Write amplification of each trace that has some, by partitions."""
    shown = {name: writing[name] for name in amplified(writing)}
    columns = list(next(iter(shown.values()))["by_partitions"]["7"])
    rows = [
        [short(name), f"{op} %", *(_amplification(one["by_partitions"][op][count]) for count in columns)]
        for name, one in shown.items()
        for op in ("7", "28", "50")
    ]
    return grid(["trace", "OP", *(f"{count} partition" + "s" * (count != "1") for count in columns)], rows)


def pages_made(writing: Traces) -> str:
    """Write amplification of each trace by page size, two partitions, the least over-provisioning."""
    sizes = [4096 << step for step in range(5)]
    rows = [
        [
            short(name), f"{one['writes_per_sector']:.2f}",
            *(_amplification(one["by_page"].get(f"{size}")) for size in sizes),
        ]
        for name, one in writing.items()
    ]  # fmt: skip
    return grid(["trace", "writes a sector", *(f"{size // 1024} KB" for size in sizes)], rows)


def reading_made(reading: Traces) -> str:
    """The cost of reading each trace sector by sector."""
    sizes = [4096 << step for step in range(4)]
    rows = [
        [
            short(name), "4 KB" if one["requests_in_4k"] else "512 B",
            *(f"{one['whole'][f'{size}']:.2f} / {one['partial'][f'{size}']:.2f}" for size in sizes),
        ]
        for name, one in reading.items()
    ]  # fmt: skip
    return grid(["trace", "requests in", *(f"{size // 1024} KB" for size in sizes)], rows)


def _amplification(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


WORDS = {
    word.__name__: word
    for word in (
        short, names, of, claim, amplified, entering, fewest, larger, larger_by, chosen, spread, each_of, files_of, low,
        falling, turning, knee, knees, knee_holds, amplified_at, cheapest, dearer, costs, halved, saved, others,
        partitions_made, pages_made, reading_made,
    )
}  # fmt: skip

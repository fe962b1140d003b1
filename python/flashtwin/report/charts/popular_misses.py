"""Miss rate of popular contents by cache size (CA-SSD, Fig. 4)."""

from __future__ import annotations

import numpy as np

from flashtwin import units
from flashtwin.results.reading import Floats, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .curves import curve

_KINDS = (("write", "writes", style.WRITE[0]), ("read", "reads", style.READ[0]))
#: The cache that the paper quotes: 64 K entries, 1.75 MB.
_QUOTED = 65_536


def draw(workload: TraceResults) -> Drawing:
    """One line a kind: lookups of popular contents that an LRU cache of all contents misses."""
    table = workload.workload("popular_miss_ratio")
    curves: dict[str, tuple[Floats, Floats]] = {}
    for kind, _, _ in _KINDS:
        found = curve(table.where("kind", kind) if table is not None else None, "entries", "miss_fraction")
        if found is not None:
            curves[kind] = found
    if not curves:
        return nothing("No table `popular_miss_ratio` was written, or no content is popular.")
    fig = style.figure(2.6)
    axes = fig.subplots()
    data = Data(("kind", "entries", "miss_fraction"))
    for kind, label, colour in _KINDS:
        if kind in curves:
            x, y = curves[kind]
            axes.step(np.maximum(x, 1), y * 100, where="post", color=colour, label=label)
            data.rows.extend((kind, float(a), float(b)) for a, b in zip(x, y, strict=True))
    scales.shares(style.quiet(axes, "both"))
    scales.log_counts(axes)
    axes.set_xlabel("entries of the LRU cache")
    axes.set_title("Lookups of popular contents that miss")
    scales.inside_legend(axes, "upper right")
    sees = [
        f"Of the {label} of popular contents {units.percent(float(y[np.searchsorted(x, _QUOTED, 'right') - 1]) * 100)} "
        "miss a cache of 64 K entries (1.75 MiB at 28 B each)."
        for kind, label, _ in _KINDS
        if kind in curves
        for x, y in [curves[kind]]
        if x[0] <= _QUOTED
    ]
    return Drawing(fig, sees or ["The smallest cache looked at has more than 64 K entries."], data=data)


CHART = Chart(
    "popular_misses",
    "Misses of popular contents",
    "Does a small cache keep the contents that make up half of the accesses?",
    "contents",
    draw,
)

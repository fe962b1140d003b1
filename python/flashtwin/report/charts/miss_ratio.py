"""Temporal value locality: how large a cache of contents must be, beside one of addresses (CA-SSD, Fig. 3)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from flashtwin import units
from flashtwin.results.reading import Floats, TraceResults

from .. import axes as scales
from .. import style
from .base import Chart, Data, Drawing, nothing
from .curves import curve, first_at

_OF = (("content", "contents", style.HUES[1]), ("address", "addresses", style.GREY))


def draw(workload: TraceResults) -> Drawing:
    """Miss ratio of an LRU cache by its entries: writes beside reads, contents beside addresses."""
    table = workload.workload("miss_ratio")
    if table is None:
        return nothing("No table `miss_ratio` was written: the trace was not characterized.")
    kinds = [kind for kind in ("write", "read") if table.where("kind", kind).rows]
    fig = style.figure(2.8)
    panels = fig.subplots(1, len(kinds) or 1, squeeze=False, sharey=True)[0]
    data = Data(("kind", "of", "entries", "miss_fraction", "miss_fraction_error"))
    sees = []
    for axes, kind in zip(panels, kinds, strict=False):
        rows = table.where("kind", kind)
        curves: dict[str, tuple[Floats, Floats]] = {}
        for of, label, colour in _OF:
            part = rows.where("of", of)
            found = curve(part, "entries", "miss_fraction")
            if found is None:
                continue
            curves[of] = found
            _line(axes, found, part.get("miss_fraction_error"), label, colour[0])
            errors = part.columns.get("miss_fraction_error", np.full(part.rows, np.nan))
            data.rows.extend(
                (kind, of, float(a), float(b), float(e))
                for a, b, e in zip(part.columns["entries"], part.columns["miss_fraction"], errors, strict=True)
            )
        scales.shares(style.quiet(axes, "both"))
        scales.log_counts(axes)
        axes.set_title(f"{kind.capitalize()}s that miss an LRU cache")
        axes.set_xlabel("entries (one content or one address each)")
        scales.inside_legend(axes, "lower left")
        sees += _sees(kind, curves)
    if not data.rows:
        return nothing("The table `miss_ratio` holds no curve: no page is read or written twice.")
    return Drawing(fig, sees or ["Nothing is accessed twice."], data=data)


def _line(axes: Axes, found: tuple[Floats, Floats], error: Floats | None, label: str, colour: str) -> None:
    x, y = found
    x = np.maximum(x, 1.0)
    axes.step(x, y * 100, where="post", color=colour, label=label)
    if error is not None and error.size == y.size:
        low, high = np.clip(y - error, 0, 1) * 100, np.clip(y + error, 0, 1) * 100
        axes.fill_between(x, low, high, step="post", color=colour, alpha=0.2, linewidth=0)


def entries_for_hits(found: tuple[Floats, Floats], share: float = 0.9) -> float | None:
    """The fewest entries with this share of the hits that an unlimited cache has; None without any hit."""
    x, y = found
    hits = 1.0 - y
    return first_at(x, hits, share * hits.max()) if hits.max() > 0 else None


def _sees(kind: str, curves: dict[str, tuple[Floats, Floats]]) -> list[str]:
    if "content" not in curves:
        return []
    least = float(curves["content"][1].min())
    if least >= 1.0:
        return [f"No content is {'read' if kind == 'read' else 'written'} twice."]
    entries = entries_for_hits(curves["content"])
    text = f"{units.percent((1 - least) * 100)} of the page {kind}s repeat a content"
    if entries is not None:
        text += f"; 90 % of these hits need {units.count(entries)} entries"
    return [f"{text}."]


CHART = Chart(
    "miss_ratio",
    "How large a cache must be",
    "How soon do contents come again, and how soon addresses?",
    "contents",
    draw,
)

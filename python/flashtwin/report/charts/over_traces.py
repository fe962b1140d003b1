"""A search over several traces: the gain of its best settings on each, beside the reference."""

from __future__ import annotations

from matplotlib.lines import Line2D

from flashtwin import units
from flashtwin.results import figures
from flashtwin.results.over import Trial
from flashtwin.results.sweeps import SavedSweep

from .. import style
from .base import Data, Drawing, nothing

#: How several traces are looked at as one.
WORDS = {"mean": "the geometric mean of the ratios", "worst": "the worst of the ratios"}
#: Settings shown, the best first; traces told apart by their marks.
TRIALS_MAX = 20
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")


def draw(found: SavedSweep) -> Drawing:
    """A column for each setting, the best first: a mark for each trace, a bar for all of them."""
    one = figures.figure(found.goals[0])
    tried = sorted(found.tried, key=lambda trial: (not trial.kept, one.cost(trial.ratios[0]), trial.number))[
        :TRIALS_MAX
    ]
    if not tried:
        return nothing(f"No setting has {one.label} on every trace.")
    fig = style.figure(3.2)
    axes = fig.subplots()
    axes.axhline(1.0, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
    for place, trace in enumerate(found.traces):
        axes.plot(
            range(len(tried)), [trial.rows[place][f"ratio.{one.path}"] for trial in tried], linestyle="none",
            marker=MARKS[place % len(MARKS)], markersize=5, color=style.MUTED, label=style.shorten(trace, 24),
        )  # fmt: skip
    axes.plot(
        range(len(tried)), [trial.ratios[0] for trial in tried], linestyle="none", marker="_", markersize=16,
        markeredgewidth=2.2, color=style.INK,
    )  # fmt: skip
    axes.set_xticks(range(len(tried)), [f"{trial.number}{'' if trial.kept else '*'}" for trial in tried])
    axes.set_xlabel("trial")
    axes.set_ylabel(f"{one.label}, of the reference's")
    style.quiet(axes, "y")
    handles = [
        Line2D([], [], linestyle="none", marker=MARKS[place % len(MARKS)], color=style.MUTED)
        for place in range(len(found.traces))
    ]
    handles.append(Line2D([], [], linestyle="none", marker="_", markeredgewidth=2.2, color=style.INK))
    together = "geometric mean" if found.over == "mean" else "worst"
    style.legend_above(fig, handles, [*(style.shorten(trace, 24) for trace in found.traces), together])
    return Drawing(fig, sees=_seen(found, tried, one), data=_data(found, tried, one))


def _seen(found: SavedSweep, tried: list[Trial], one: figures.Figure) -> list[str]:
    said = []
    best = found.best_trial
    if best is not None:
        each = ", ".join(f"{units.ratio(row[f'ratio.{one.path}'])} on {row['trace']}" for row in best.rows)
        said.append(f"The best over the traces is trial {best.number}: {units.ratio(best.ratios[0])} ({each}).")
    if any(not trial.kept for trial in tried):
        said.append("A trial with a star breaks a bound on some trace.")
    return said


def _data(found: SavedSweep, tried: list[Trial], one: figures.Figure) -> Data:
    data = Data(("trial", "system", "kept", f"over.{one.path}", *(f"ratio on {trace}" for trace in found.traces)))
    data.rows += [
        (trial.number, trial.rows[0]["system"], trial.kept, trial.ratios[0],
         *(row[f"ratio.{one.path}"] for row in trial.rows))
        for trial in tried
    ]  # fmt: skip
    return data

"""How many contents have how many copies on flash at the end of the run."""

from __future__ import annotations

from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results.reading import Floats, SavedRun, StudyFolder

from .. import style
from .base import Chart, Data, Drawing, nothing


def draw(study: StudyFolder) -> Drawing:
    """Contents by number of copies, on a log axis, for the runs that have more than one of any."""
    known = [(run, _copies(run)) for run in study.runs]
    shown = [(run, copies) for run, copies in known if copies is not None and copies[0].max() > 1]
    if not shown:
        return nothing(_reason(study, known))
    fig = style.figure(2.6)
    axes = fig.subplots()
    colours = style.colours(study)
    data = Data(("system", "copies", "contents"))
    shift = 0.16
    for place, (run, (copies, contents)) in enumerate(shown):
        at = copies + (place - (len(shown) - 1) / 2) * shift
        colour = colours[run.name]
        axes.vlines(at, 0.5, contents, color=colour, linewidth=1.6, alpha=0.55)
        axes.plot(at, contents, "o", color=colour, markersize=4)
        data.rows.extend((run.name, int(a), int(b)) for a, b in zip(copies, contents, strict=True))
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.5)
    style.counts(style.quiet(axes))
    most = max(int(copies.max()) for _, (copies, _) in shown)
    # One copy is the case that matters most; a locator would leave its label out.
    axes.set_xticks([1, *MaxNLocator(nbins=16, integer=True).tick_values(2, most)])
    axes.set_xlim(0.4, most + 0.6)
    axes.set_xlabel("copies on flash (1 = no replica)")
    axes.set_ylabel("contents")
    handles = [Line2D([], [], color=colours[run.name], marker="o", markersize=4) for run, _ in shown]
    style.legend_above(fig, handles, [run.label for run, _ in shown])
    return Drawing(fig, [_see(run, copies) for run, copies in shown], _absent(known), data)


def _copies(run: SavedRun) -> tuple[Floats, Floats] | None:
    table = run.table("copies")
    if table is None:
        return None
    copies, contents = table.get("copies"), table.get("contents")
    if copies is None or contents is None:
        return None
    keep = (copies >= 1) & (contents > 0)
    return (copies[keep], contents[keep]) if keep.any() else None


def _see(run: SavedRun, copies: tuple[Floats, Floats]) -> str:
    degree, contents = copies
    total = float(contents.sum())
    with_replicas = float(contents[degree > 1].sum())
    mean = float((degree * contents).sum() / total)
    return (
        f"Under `{run.label}` {units.percent(facts.share(with_replicas, total))} of {units.count(total)} contents "
        f"have replicas, the most {units.count(float(degree.max()))} copies; "
        f"{units.significant(mean)} copies on average."
    )


def _reason(study: StudyFolder, known: list[tuple[SavedRun, tuple[Floats, Floats] | None]]) -> str:
    if all(copies is None for _, copies in known):
        return "No run has the table `copies`: no system here identifies contents, or it was not written."
    makers = [run for run in study.runs if "replicates" in run.traits]
    if not makers:
        return "No system here makes replicas: every content is on flash once."
    if all(facts.no_pass_could_run(run) for run in makers):
        return (
            f"{units.names([run.label for run in makers])} made no replica: the trace ended before its first period "
            "did, at whose end they are made; `--period` sets a shorter one."
        )
    return f"{units.names([run.label for run in makers])} holds no replica at the end, so every content is there once."


def _absent(known: list[tuple[SavedRun, tuple[Floats, Floats] | None]]) -> list[str]:
    single = [run.label for run, copies in known if copies is not None and copies[0].max() <= 1]
    return [f"One copy of every content and therefore not drawn: {units.names(single)}."] if single else []


CHART = Chart(
    "copies",
    "Contents by number of copies",
    "How many contents were replicated, and how often?",
    "flash",
    draw,
)

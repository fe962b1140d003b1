"""DS-FTL: Fig. 10 by load, placement and merging apart. An item of ours."""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.bench import PaperRun, Stand, keeps_up, reduction
from flashtwin.papers.claims import number
from flashtwin.papers.ds_ftl import published
from flashtwin.papers.ds_ftl.common import SCHEMES, runs_at
from flashtwin.papers.ds_ftl.latency_items import SPEEDS
from flashtwin.papers.model import Facts, Item, Outcome, chart, lines, mean
from flashtwin.papers.text import percent

NAMES = published.NAMES
LOAD_KEYS = tuple(f"{how} {kind} {other}" for how in ("compared", "known") for kind, other, _ in published.CUTS)
#: What reads gain by each half of DS-FTL: where pages lie and which is read, and merging of reads that wait. All
#: schemes merge reads of one page, as the paper's simulator does; DS-FTL those of twins as well.
PLACEMENT, TWINS, NONE, PAGES = "placement", "merging of twins", "without merging", "merging of pages, static"
MERGING = (PLACEMENT, TWINS, NONE, PAGES)
#: Clocks of the item of ours, up to those that most drives do not keep up with.
LOADS = (1.0, *SPEEDS, 2000.0, 4000.0, 8000.0)


def measure_load(stand: Stand) -> Facts:
    """Latencies by clock, with comparisons as the paper has them and without any; and who keeps up."""
    found: Facts = {}
    for speed in LOADS:
        runs = runs_at(stand, *SCHEMES, speed=speed)
        free = runs_at(stand, "ds-ftl", speed=speed, **{"ftl.spread.verify": False})["ds-ftl"]
        found[f"{speed:g}"] = {
            "keeps_up": all(keeps_up(run, speed) for run in runs.values()),
            **_halves(stand, speed, runs["static"], runs["ds-ftl"]),
            **{
                f"{how} {kind} {other}": reduction(runs[other], run, f"response.{kind}.mean_ns")
                for how, run in (("compared", runs["ds-ftl"]), ("known", free))
                for kind, other, _ in published.CUTS
            },
        }
    return found


def _halves(stand: Stand, speed: float, static: PaperRun, ds_ftl: PaperRun) -> Facts:
    """The gain of DS-FTL's reads with equal merging, the extra gain of merging twins, and the gain without merging."""
    of_pages = runs_at(stand, "ds-ftl", speed=speed, **{"engine.merge_reads": "same-page"})["ds-ftl"]
    none = runs_at(stand, "static", "ds-ftl", speed=speed, **{"engine.merge_reads": "none"})
    pairs = {
        PLACEMENT: (static, of_pages),
        TWINS: (of_pages, ds_ftl),
        NONE: (none["static"], none["ds-ftl"]),
        PAGES: (none["static"], static),
    }
    return {name: reduction(before, after, "response.read.mean_ns") for name, (before, after) in pairs.items()}


def judge_load(facts: Mapping[str, Facts]) -> Outcome:
    """One rate for all workloads, at which the gain of reads over static allocation is the published one."""
    means = _means_by_load(facts)
    kept = {speed: sum(found[f"{speed:g}"]["keeps_up"] for found in facts.values()) for speed in LOADS}
    whole = len(facts) == len(NAMES)
    chosen = _nearest(means, kept, len(facts), published.READ_CUT["static"][0]) if whole else None
    claims = [
        number(
            "mean", f"{kind}s: DS-FTL below {other}", value,
            means[chosen][f"compared {kind} {other}"] if chosen else None, effect=True,
            why="the mean is over all eight workloads",
        )
        for kind, other, value in published.CUTS
        if (kind, other) != ("read", "static")
    ]  # fmt: skip
    notes = []
    if chosen:
        gained = percent(means[chosen]["compared read static"])
        notes.append(
            f"The claims are of {chosen:g} times the traces' clock, one rate for all workloads: of those at which all "
            f"drives keep up, reads gain there over static allocation most nearly what was published ({gained}, where "
            f"{published.READ_CUT['static'][0]} % were)."
        )
    panels = [
        lines(
            [(other, LOADS, [means[speed][f"compared {kind} {other}"] for speed in LOADS]) for other in cuts],
            "times the trace's clock", "DS-FTL below, %", title=f"{kind}s", x_log=True,
        )
        for kind, cuts in (("read", published.READ_CUT), ("write", published.WRITE_CUT))
    ]  # fmt: skip
    tables = [
        _load_table(how, title, means, kept, len(facts))
        for how, title in (("compared", "pages compared in idle time"), ("known", "equal pages known at no cost"))
    ]
    return Outcome(claims, chart(*panels) if facts else None, notes, [*tables, _merging_table(means)])


def _means_by_load(facts: Mapping[str, Facts]) -> dict[float, dict[str, float | None]]:
    """Mean cuts over the workloads, by clock."""
    return {
        speed: {key: mean([found[f"{speed:g}"][key] for found in facts.values()]) for key in (*LOAD_KEYS, *MERGING)}
        for speed in LOADS
    }


def _load_table(
    how: str, title: str, means: Mapping[float, Mapping[str, float | None]], kept: Mapping[float, int], workloads: int
) -> dict[str, object]:
    rows = [["published", "", *(percent(value) for _, _, value in published.CUTS)]]
    for speed in LOADS:
        cells = [percent(means[speed][f"{how} {kind} {other}"]) for kind, other, _ in published.CUTS]
        rows.append([f"{speed:g}", f"{kept[speed]} of {workloads}", *cells])
    header = ["replay.speed", "keep up", *(f"{kind}s, {other}" for kind, other, _ in published.CUTS)]
    return {"title": f"DS-FTL below the other schemes, mean of {workloads} workloads, {title}", "header": header,
            "rows": rows}  # fmt: skip


def _merging_table(means: Mapping[float, Mapping[str, float | None]]) -> dict[str, object]:
    keys = ("compared read static", *MERGING)
    rows = [[f"{speed:g}", *(percent(means[speed][key]) for key in keys)] for speed in LOADS]
    header = [
        "replay.speed",
        "DS-FTL below static",
        "both merge reads of one page",
        "merging of twins adds",
        "neither merges",
        "merging of pages, in static alone",
    ]
    return {"title": "What reads gain: placement and merging apart", "header": header, "rows": rows}


def _nearest(
    means: Mapping[float, Mapping[str, float | None]], kept: Mapping[float, int], workloads: int, target: float
) -> float | None:
    """The clock at which all drives keep up and the gain of reads over static allocation is nearest to its target."""
    off = {
        speed: abs(gained - target)
        for speed, of in means.items()
        if kept[speed] == workloads and (gained := of["compared read static"]) is not None
    }
    return min(off, key=lambda speed: (off[speed], speed), default=None)


ITEM = Item("load", "Fig. 10 by load, at one rate for all", "Fig. 10", NAMES, measure_load, judge_load)

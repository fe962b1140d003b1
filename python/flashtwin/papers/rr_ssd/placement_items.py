"""RR-SSD: the placement of copies, and the reasons behind the score. Fig. 11."""

from __future__ import annotations

from collections.abc import Mapping

from flashtwin.papers.bench import PaperRun, Stand, has, reduction, share
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.model import Facts, Item, Outcome, Series, bars, chart, mean
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.common import READ, at_clock, at_rate, by_workload, gains
from flashtwin.papers.rr_ssd.drives import sized
from flashtwin.papers.text import percent
from flashtwin.settings import Value

NAMES = published.WORKLOADS
PLACEMENT = "ftl.replication.placement"
SCORE, RANDOM = "score", "random"
#: What may make the score pile copies up on few chips, each switched off by itself: keys of a run beside the score's.
CAUSES: dict[str, Mapping[str, Value]] = {
    "score": {},
    "score among the chips with the fewest copies": {PLACEMENT: "even-score"},
    "score, Pop a sum": {"ftl.replication.score_popularity": "sum"},
    "score, Pop of replicas alone": {"ftl.replication.score_popularity": "replicas"},
    "score, ties in turn": {"ftl.replication.score_ties": "in-turn"},
    "score, equals in no order": {"ftl.replication.equals": "shuffled"},
    "random": {PLACEMENT: "random"},
    "random, equals in no order": {PLACEMENT: "random", "ftl.replication.equals": "shuffled"},
    "static": {PLACEMENT: "static"},
}
#: The paper's drive, which the workloads hardly fill, and one as large as the workload with a quarter to spare.
LARGE, SIZED = "the paper's drive", "a drive sized to the workload"


def measure_fig_11(stand: Stand) -> Facts:
    """The same number of copies, placed otherwise; and PBLRU in the same space."""
    base = at_rate(stand, "ca-ssd", "rr-ssd")
    found: Facts = {"rr-ssd": gains(base, "rr-ssd")[0]}
    for placement in ("random", "static"):
        run = at_rate(stand, "rr-ssd", **{PLACEMENT: placement})["rr-ssd"]
        found[placement] = reduction(base["ca-ssd"], run, READ)
    if has("pblru"):
        found["pblru"] = reduction(base["ca-ssd"], at_rate(stand, "pblru")["pblru"], READ)
    return found


def judge_fig_11(facts: Mapping[str, Facts]) -> Outcome:
    """RR-SSD over each placement; PBLRU between them and RR-SSD."""
    claims = []
    for name in NAMES:
        found = facts.get(name, {})
        for placement in ("random", "static"):
            more = _more(found.get("rr-ssd"), found.get(placement))
            why = "" if more is not None or not found else f"{placement} placement gains nothing"
            title = f"RR-SSD gains more than {placement}"
            claims.append(number(name, title, published.PLACEMENT_MORE, more, effect=True, why=why))
        pblru = found.get("pblru")
        why = "" if pblru is not None or not found else "this build has no system pblru"
        for other, sign in (("rr-ssd", 1.0), ("random", -1.0), ("static", -1.0)):
            known = pblru is not None and found.get(other) is not None
            title = f"{other} above pblru" if sign > 0 else f"pblru above {other}"
            ahead = sign * (found[other] - pblru) if known else None
            claims.append(Claim(name, title, 0.0, None, ahead, "points", True, why))
    systems = ("random", "static", "pblru", "rr-ssd")
    series: list[Series] = [(system, by_workload(facts, system), []) for system in systems]
    return Outcome(claims, chart(bars(NAMES, series, "reads: time saved over ca-ssd, %")))


def _more(one: float | None, other: float | None) -> float | None:
    """By how many percent one gain exceeds another; None where there is no other gain."""
    return None if one is None or other is None or other <= 0.0 else (one / other - 1.0) * 100.0


def measure_causes(stand: Stand) -> Facts:
    """The gain of reads and the evenness of copies over the chips, cause by cause, on a large and on a full drive."""
    drives: dict[str, Mapping[str, Value] | None] = {LARGE: {}, SIZED: sized(stand)}
    found: Facts = {}
    for drive, keys in drives.items():
        if keys is None:
            continue
        base = at_clock(stand, "ca-ssd", **keys)["ca-ssd"]
        for label, sets in CAUSES.items():
            run = at_clock(stand, "rr-ssd", **{**keys, **sets})["rr-ssd"]
            found[f"{drive}: {label}"] = {"gain": reduction(base, run, READ), "busiest": busiest_chip(run)}
    return found


def busiest_chip(run: PaperRun) -> float | None:
    """The time of passes with all chips at work, as a share of their time with one copy after another, in percent.

    The busiest chip decides: the more copies it has, the longer they are.
    """
    rows = run.rows("periods")[:-1]
    serial = sum(row["replication_serial_ns"] or 0 for row in rows)
    return share(float(sum(row["replication_parallel_ns"] or 0 for row in rows)), float(serial))


def judge_causes(facts: Mapping[str, Facts]) -> Outcome:
    """Whether some reading of the score gains twice as much as random placement; means over the workloads."""
    claims, rows = [], []
    for drive in (LARGE, SIZED):
        gained = {label: _mean(facts, f"{drive}: {label}", "gain") for label in CAUSES}
        for label in CAUSES:
            if not label.startswith(SCORE):
                continue
            more = _more(gained[label], gained[RANDOM])
            why = "" if more is not None else _why_not(facts, drive)
            title = f"{label}: gains more than random"
            claims.append(number(drive, title, published.PLACEMENT_MORE, more, effect=True, why=why))
        for label in CAUSES:
            key = f"{drive}: {label}"
            of = [found.get(key, {}).get("gain") for found in facts.values()]
            busiest = _mean(facts, key, "busiest")
            rows.append([drive, label, percent(gained[label]), percent(busiest), *(percent(one) for one in of)])
    header = [
        "drive",
        "copies are placed by",
        "reads, mean",
        "a pass with all chips at work, of one copy after another",
        *facts,
    ]
    table = {"title": "Reads: time saved over ca-ssd, one cause at a time", "header": header, "rows": rows}
    return Outcome(claims, None, [], [table] if facts else [])


def _why_not(facts: Mapping[str, Facts], drive: str) -> str:
    if len(facts) < len(NAMES):
        return "the mean is over all six workloads"
    return "a workload is too small for such a drive" if drive == SIZED else "random placement gains nothing"


def _mean(facts: Mapping[str, Facts], key: str, what: str) -> float | None:
    """The mean over all six workloads; None when one is missing."""
    values = [facts.get(name, {}).get(key, {}).get(what) for name in NAMES]
    return None if None in values else mean(values)


ITEMS = (
    Item("fig-11", "Where copies are placed", "Fig. 11", NAMES, measure_fig_11, judge_fig_11),
    Item("fig-11-causes", "Why the score gains no more than random placement", "Fig. 11", NAMES,
         measure_causes, judge_causes),
)  # fmt: skip

"""RR-SSD: where copies are placed, how many are made and how often. Fig. 11, II.B to II.D."""

from collections.abc import Mapping
from typing import Any

from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.facts import Fact, Run, derived, mean, of_trace, share, smaller, total
from flashtwin.papers.panels import BarPanel, ByWorkload, Display, Facts, percent, table
from flashtwin.papers.rr_ssd.common import NAMES, READ, READS_SAVED, TABLE, At, at_clock, at_rate, saves, sized
from flashtwin.settings import Value

PLACEMENT = "ftl.replication.placement"


def _placed(at: At) -> dict[str, Fact]:
    return {
        **{name: saves("rr-ssd", at=at, sets={PLACEMENT: name}) for name in ("random", "static")},
        "pblru": saves("pblru", at=at),
        "rr-ssd": saves("rr-ssd", at=at),
    }


PLACED = _placed(at_rate)


def _more(one: float | None, other: float | None) -> float | None:
    """By how many percent one gain exceeds another; None where there is no other gain."""
    return None if one is None or other is None or other <= 0.0 else (one / other - 1.0) * 100.0


def _fig_11(placed: Mapping[str, Fact]) -> dict[str, Fact]:
    pairs = (("rr-ssd", "pblru"), ("pblru", "random"), ("pblru", "static"))
    return {
        **{f"RR-SSD gains more than {name}": derived(_more, placed["rr-ssd"], placed[name])
           for name in ("random", "static")},
        **{f"{one} above {other}": placed[one] - placed[other] for one, other in pairs},
    }  # fmt: skip


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


def measure_causes(stand: Stand) -> Facts:
    """The gain of reads and the evenness of copies over the chips, cause by cause, on a large and on a full drive."""
    found: Facts = {}
    for drive, keys in ((LARGE, {}), (SIZED, sized(stand))):
        if keys is not None:
            every = {"base": at_clock("ca-ssd", **keys)}
            every |= {label: at_clock("rr-ssd", **{**keys, **sets}) for label, sets in CAUSES.items()}
            runs = stand.runs({label: run.on(stand) for label, run in every.items()})
            for label in CAUSES:
                found[f"{drive}: {label}"] = smaller(runs["base"].get(READ), runs[label].get(READ))
                found[f"{drive}: {label}: busiest"] = busiest_chip(runs[label])
    return found


CAUSES_OFF = of_trace(measure_causes)


def busiest_chip(run: PaperRun) -> float | None:
    """The time of passes with all chips at work, as a share of their time with one copy after another, in percent.

    The busiest chip decides: the more copies it has, the longer they are.
    """
    rows = run.rows("periods")[:-1]
    serial, parallel = (sum(row[f"replication_{way}_ns"] or 0 for row in rows) for way in ("serial", "parallel"))
    return share(float(parallel), float(serial))


def _mean(facts: ByWorkload, key: str) -> float | None:
    """The mean over all six workloads; None when one is missing."""
    values = [facts.get(name, {}).get(CAUSES_OFF, {}).get(key) for name in NAMES]
    return None if None in values else mean(values)


def _claims_causes(facts: ByWorkload) -> list[Claim]:
    claims = []
    nothing = {LARGE: "random placement gains nothing", SIZED: "a workload is too small for such a drive"}
    for drive, reason in nothing.items():
        why = "the mean is over all six workloads" if len(facts) < len(NAMES) else reason
        for label in CAUSES:
            if label.startswith("score"):
                more = _more(_mean(facts, f"{drive}: {label}"), _mean(facts, f"{drive}: random"))
                title = f"{label}: gains more than random"
                claims.append(number(drive, title, TABLE.published["more than random"], more, effect=True, why=why))
    return claims


def _tables_causes(facts: ByWorkload) -> list[Display]:
    rows = []
    for drive in (LARGE, SIZED):
        for label in CAUSES:
            key = f"{drive}: {label}"
            figures = [_mean(facts, key), _mean(facts, f"{key}: busiest")]
            figures += [found[CAUSES_OFF].get(key) for found in facts.values()]
            rows.append([drive, label, *map(percent, figures)])
    by = ["drive", "copies are placed by", "reads, mean", "a pass with all chips at work, of one copy after another"]
    return [table("Reads: time saved over ca-ssd, one cause at a time", [*by, *facts], rows)]


def _every(days: float) -> Any:
    return lambda system: Run(system, worked=(lambda stand: {"replay.period_s": stand.period_s * days},))


SPACE = total(at_clock("ca-ssd"), "space.pages_in_use") / total(at_clock("conventional"), "space.pages_in_use") * 100.0
PERIODS = {"hourly": _every(1.0 / 24.0), "daily": _every(1.0), "weekly": _every(7.0)}
BY_PERIOD = {label: saves("rr-ssd", at=at) for label, at in PERIODS.items()}
HOURLY, DAILY = (total(PERIODS[label]("rr-ssd"), "replication.copies") for label in ("hourly", "daily"))
#: How many copies a content earns, by the names of II.D; in the same space.
DEGREES = {f"{name} copies of {of}": saves("rr-ssd", sets={"ftl.replication.degree": key})
           for name, of, key in (("many", "a few", "many-of-few"), ("a few", "many", "few-of-many"))}  # fmt: skip

ITEMS = (
    TABLE.item("fig-11", _fig_11(PLACED), first=_fig_11(_placed(at_clock)), panels=[BarPanel(READS_SAVED, PLACED)]),
    TABLE.item("fig-11-causes", claims=[_claims_causes], tables=[_tables_causes], facts=[CAUSES_OFF]),
    TABLE.item("space", {"space in ca-ssd": SPACE},
               panels=[BarPanel("space of the data, % of conventional", {"ca-ssd": SPACE})]),
    TABLE.item(
        "periods",
        {"hourly gains more than daily, at most": BY_PERIOD["hourly"] - BY_PERIOD["daily"],
         "daily gains more than weekly": BY_PERIOD["daily"] - BY_PERIOD["weekly"],
         "pages copied hourly, of those daily": HOURLY / DAILY * 100.0},
        panels=[BarPanel(READS_SAVED, BY_PERIOD)],
    ),
    TABLE.item(
        "degrees", {f"gains more than {label}": saves("rr-ssd") - fact for label, fact in DEGREES.items()},
        panels=[BarPanel(READS_SAVED, {"the more popular, the more copies": saves("rr-ssd"), **DEGREES})],
    ),
)  # fmt: skip

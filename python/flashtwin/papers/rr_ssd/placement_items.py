"""RR-SSD: where copies are placed, how many are made and how often. Fig. 11, II.B to II.D."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashtwin.papers.bench import PaperRun, Stand, reduction
from flashtwin.papers.claims import Claim
from flashtwin.papers.facts import Run, derived, mean, minus, of_trace, part, share, total
from flashtwin.papers.model import BarPanel, ByWorkload, Facts, Item, Quantity, above, gain, percent, table
from flashtwin.papers.rr_ssd import published
from flashtwin.papers.rr_ssd.common import NAMES, READ, at_clock, at_rate, saves, sized
from flashtwin.settings import Value

READS_SAVED = "reads: time saved over ca-ssd, %"
PLACEMENT = "ftl.replication.placement"
PLACED = {
    **{name: saves("rr-ssd", at=at_rate, sets={PLACEMENT: name}) for name in ("random", "static")},
    "pblru": saves("pblru", at=at_rate),
    "rr-ssd": saves("rr-ssd", at=at_rate),
}


def _more(one: float | None, other: float | None) -> float | None:
    """By how many percent one gain exceeds another; None where there is no other gain."""
    return None if one is None or other is None or other <= 0.0 else (one / other - 1.0) * 100.0


FIG_11 = (
    *(
        gain(f"RR-SSD gains more than {name}", derived(_more, PLACED["rr-ssd"], PLACED[name]), published.PLACEMENT_MORE,
             f"{name} placement gains nothing")
        for name in ("random", "static")
    ),
    *(
        above(f"{one} above {other}", PLACED[one], PLACED[other])
        for one, other in (("rr-ssd", "pblru"), ("pblru", "random"), ("pblru", "static"))
    ),
)  # fmt: skip
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
                found[f"{drive}: {label}"] = reduction(runs["base"], runs[label], READ)
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
    for drive, nothing in (
        (LARGE, "random placement gains nothing"), (SIZED, "a workload is too small for such a drive"),
    ):  # fmt: skip
        why = "the mean is over all six workloads" if len(facts) < len(NAMES) else nothing
        for label in CAUSES:
            if label.startswith("score"):
                more = _more(_mean(facts, f"{drive}: {label}"), _mean(facts, f"{drive}: random"))
                twice = gain(f"{label}: gains more than random", CAUSES_OFF, published.PLACEMENT_MORE)
                claims.append(twice.claim(drive, more, why))
    return claims


def _tables_causes(facts: ByWorkload) -> list[dict[str, Any]]:
    rows = []
    for drive in (LARGE, SIZED):
        for label in CAUSES:
            key = f"{drive}: {label}"
            figures = [_mean(facts, key), _mean(facts, f"{key}: busiest")]
            figures += [found[CAUSES_OFF].get(key) for found in facts.values()]
            rows.append([drive, label, *map(percent, figures)])
    header = [
        "drive", "copies are placed by", "reads, mean", "a pass with all chips at work, of one copy after another",
        *facts,
    ]  # fmt: skip
    return [table("Reads: time saved over ca-ssd, one cause at a time", header, rows)]


SPACE = part(*(total(at_clock(name), "space.pages_in_use") for name in ("ca-ssd", "conventional")))


def _every(days: float) -> Any:
    return lambda system: Run(system, worked=(lambda stand: {"replay.period_s": stand.period_s * days},))


PERIODS = {"hourly": _every(1.0 / 24.0), "daily": _every(1.0), "weekly": _every(7.0)}
BY_PERIOD = {label: saves("rr-ssd", at=at) for label, at in PERIODS.items()}
COPIED_HOURLY = part(*(total(PERIODS[label]("rr-ssd"), "replication.copies") for label in ("hourly", "daily")))
#: How many copies a content earns, by the names of II.D; in the same space.
BY_DEGREE = {
    "the more popular, the more copies": saves("rr-ssd"),
    "many copies of a few": saves("rr-ssd", sets={"ftl.replication.degree": "many-of-few"}),
    "a few copies of many": saves("rr-ssd", sets={"ftl.replication.degree": "few-of-many"}),
}

ITEMS = (
    Item("fig-11", "Where copies are placed", "Fig. 11", NAMES, [FIG_11], [BarPanel(READS_SAVED, PLACED)]),
    Item(
        "fig-11-causes", "Why the score gains no more than random placement", "Fig. 11", NAMES, _claims_causes,
        tables=_tables_causes, facts=[CAUSES_OFF],
    ),
    Item(
        "space", "Space that deduplication leaves for copies", "II.B", NAMES,
        [Quantity("space in ca-ssd", SPACE, published.SPACE)],
        [BarPanel("space of the data, % of conventional", {"ca-ssd": SPACE})],
    ),
    # II.C, II.D: shorter periods bring no more and cost no less; a week loses "a great amount of benefits".
    Item(
        "periods", "How often copies are made", "II.C, II.D", NAMES,
        [(
            Quantity("hourly gains more than daily, at most", minus(BY_PERIOD["hourly"], BY_PERIOD["daily"]),
                     (None, 0.0), "points", effect=True),
            above("daily gains more than weekly", BY_PERIOD["daily"], BY_PERIOD["weekly"]),
            Quantity("pages copied hourly, of those daily", COPIED_HOURLY, (100.0, None)),
        )],
        [BarPanel(READS_SAVED, BY_PERIOD)],
    ),
    # II.D: "The two former decisions are static and may not be effective".
    Item(
        "degrees", "How many copies a content earns", "II.D", NAMES,
        [tuple(above(f"gains more than {label}", next(iter(BY_DEGREE.values())), fact)
               for label, fact in list(BY_DEGREE.items())[1:])],
        [BarPanel(READS_SAVED, BY_DEGREE)],
    ),
)  # fmt: skip

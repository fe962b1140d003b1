"""RR-SSD: where copies are placed, how many are made and how often. Fig. 11, II.B to II.D."""

from collections.abc import Mapping
from typing import Any

from flashtwin.papers.bench import PaperRun, Stand
from flashtwin.papers.claims import Claim
from flashtwin.papers.facts import Fact, Run, derived, mean, of_trace, share, smaller, total
from flashtwin.papers.model import Item, Quantity, above, gain
from flashtwin.papers.panels import BarPanel, ByWorkload, Display, Facts, percent, table
from flashtwin.papers.rr_ssd.common import (
    NAMES,
    READ,
    READS_SAVED,
    At,
    at_clock,
    at_rate,
    first_by_clock,
    saves,
    sized,
)
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


#: IV.B.3: RR-SSD's read improvement is "generally twice" that of random and of static placement.
MORE = 100.0


def _fig_11(placed: Mapping[str, Fact]) -> tuple[Quantity, ...]:
    pairs = (("rr-ssd", "pblru"), ("pblru", "random"), ("pblru", "static"))
    return (
        *(
            gain(f"RR-SSD gains more than {name}", derived(_more, placed["rr-ssd"], placed[name]), MORE,
                 f"{name} placement gains nothing")
            for name in ("random", "static")
        ),
        *(above(f"{one} above {other}", placed[one], placed[other]) for one, other in pairs),
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
                claims.append(gain(f"{label}: gains more than random", CAUSES_OFF, MORE).claim(drive, more, why))
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
    Item(
        "fig-11", "Where copies are placed", "Fig. 11", NAMES, [_fig_11(PLACED)], [BarPanel(READS_SAVED, PLACED)],
        why="The score piles copies up: it takes the chip with the least mean popularity, one copy hardly moves a mean "
        "over all its pages, and so the next hundred copies go to the same chip, neighbours among them. "
        "`fig-11-causes` switches that off: with the score among the chips with the fewest copies, reads gain what "
        "they gain with copies at random. Twice as much is gained by no reading of the score, on an empty drive or a "
        "full one.",
        first=first_by_clock(_fig_11(_placed(at_clock))),
    ),
    Item(
        "fig-11-causes", "Why the score gains no more than random placement", "Fig. 11", NAMES, [_claims_causes],
        tables=[_tables_causes], facts=[CAUSES_OFF],
        why="This item is itself the run. Evenly spread copies (`even-score`) gain what random ones do: what the score "
        "loses on a large drive is the pile-up. On a drive that is full there is none, since free pages bind, and it "
        "gains as much as random placement. Equals in no order help both alike. Placement has no factor of "
        "two to give: a read evades its chip wherever its copy is.",
        ours=True,
    ),
    # The data set in a CA-SSD, of its original size: lowest and highest of the workloads.
    Item(
        "space", "Space that deduplication leaves for copies", "II.B", NAMES,
        [Quantity("space in ca-ssd", SPACE, (15.0, 70.0))],
        [BarPanel("space of the data, % of conventional", {"ca-ssd": SPACE})],
    ),
    # Shorter periods bring no more and cost no less; a week loses "a great amount of benefits".
    Item(
        "periods", "How often copies are made", "II.C, II.D", NAMES,
        [(
            Quantity("hourly gains more than daily, at most", BY_PERIOD["hourly"] - BY_PERIOD["daily"], (None, 0.0),
                     "points", effect=True),
            above("daily gains more than weekly", BY_PERIOD["daily"], BY_PERIOD["weekly"]),
            Quantity("pages copied hourly, of those daily", HOURLY / DAILY * 100.0, (100.0, None)),
        )],
        [BarPanel(READS_SAVED, BY_PERIOD)],
    ),
    # "The two former decisions are static and may not be effective".
    Item(
        "degrees", "How many copies a content earns", "II.D", NAMES,
        [tuple(above(f"gains more than {label}", saves("rr-ssd"), fact) for label, fact in DEGREES.items())],
        [BarPanel(READS_SAVED, {"the more popular, the more copies": saves("rr-ssd"), **DEGREES})],
        why="A second copy lets a read evade nearly as well as ten do, and the space goes further: `table-5` shows "
        "that with two copies at most reads gain as much as with one for each read, or more.",
    ),
)  # fmt: skip

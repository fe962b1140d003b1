"""DS-FTL: every choice that the paper leaves open, against the numbers of Fig. 2, 4, 10, 11, 13 and 14."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flashtwin.experiments import Factor
from flashtwin.papers import experiment
from flashtwin.papers.bench import PaperRun, Stand, keeps_up, reduction
from flashtwin.papers.claims import Claim, number
from flashtwin.papers.ds_ftl import published
from flashtwin.papers.ds_ftl.common import SCHEMES, device, percent_of
from flashtwin.papers.ds_ftl.placement_items import EQUAL, deviation, spread_claims
from flashtwin.papers.ds_ftl.setup import BELOW
from flashtwin.papers.experiment import Experiment
from flashtwin.papers.model import Facts, mean
from flashtwin.papers.sensitivity import Headline
from flashtwin.papers.text import column
from flashtwin.settings import Value

NAMES = published.NAMES


def _levels(key: str, *values: Value) -> dict[str, Mapping[str, Value]]:
    return {str(value): {key: value} for value in values}


#: Everything that the paper leaves open; the first level is the presets'.
FACTORS = (
    Factor("rate", {f"{speed:g} times": {"replay.speed": speed} for speed in (1.0, 10.0)}),
    Factor("order", _levels("ftl.allocation.order", "CWDP", "WDPC", "DPWC", "PDWC")),
    Factor("pages before the next", _levels("ftl.allocation.stripe_pages", 1, 2, 4)),
    Factor("allocation below DS-FTL", _levels("ftl.allocation.policy", "static", "dynamic", "least-loaded", "hipa")),
    Factor("units", _levels("engine.concurrency", "die", "chip", "plane")),
    Factor("write completes", {
        **{rule: {"engine.write_completes": rule} for rule in ("programmed", "transferred")},
        **{f"in DRAM of {pages} pages": {"engine.write_completes": "programmed", "engine.write_cache_pages": pages}
           for pages in (64, 8192)},
    }),
    Factor("merged reads", {"as 4.3.2 says": {}, "none": {"engine.merge_reads": "none"}}),
    Factor("suspension", _levels("engine.suspend", "none", "program-erase")),
    Factor("load", _levels("engine.load", "queue-length", "reads-waiting", "expected-wait")),
    Factor("idle after", {f"{us / 1000:g} ms": {"engine.idle_us": us} for us in (1_000, 0, 10_000)}),
    Factor("place of duplicates", _levels("ftl.spread.place", "round-robin", "least-loaded", "same-place")),
    Factor("own copy", {"counts": {}, "does not": {"ftl.spread.own_copy_counts": False}}),
    Factor("drive", _levels("replay.preload", "first-reads", "footprint")),
)  # fmt: skip
#: Keys that only DS-FTL is measured with: the others stand for an allocation of their own and compare nothing.
OF_DS_FTL = ("ftl.allocation.policy", "ftl.spread.", "engine.idle_us")
#: The factors that the screening found to matter, all combinations.
FEW = {
    "pages before the next": ("1", "2"),
    "units": ("die", "chip"),
    "allocation below DS-FTL": ("static", "dynamic", "least-loaded", "hipa"),
}
FIXED = {factor.name: factor.default for factor in FACTORS} | {"order": "PDWC"}
ROWS = 28


def measure(stand: Stand, sets: Mapping[str, Value]) -> Facts | None:
    """The numbers of one workload; None on a drive that does not keep up."""
    # Under the paper's set-up DS-FTL has the allocation below it that the set-up says.
    keys = {"replay.speed": 1.0, **(BELOW if sets == stand.setup else {}), **sets}
    runs = stand.runs(
        {
            name: stand.preset(
                name, **device(stand), **{key: value for key, value in keys.items() if matters(name, key)}
            )
            for name in SCHEMES
        }
    )
    if not all(keeps_up(run, float(str(keys["replay.speed"]))) for run in runs.values()):
        return None
    ds_ftl = runs["ds-ftl"]
    found: Facts = {
        f"{kind} {other}": reduction(runs[other], ds_ftl, f"response.{kind}.mean_ns")
        for kind, other, _ in published.CUTS
    }
    found |= {
        f"redirected {kind}s": percent_of(ds_ftl, f"spread.redirected_{kind}_share") for kind in ("read", "write")
    }
    found |= {f"redundancy {name}": percent_of(runs[name], EQUAL) for name in published.REDUNDANCY}
    found |= {f"deviation {name}": deviation(runs[name]) for name in published.DEVIATION}
    return found | {"chips differ": chips_differ(runs["static"])}


def matters(scheme: str, key: str) -> bool:
    """What only DS-FTL has changes nothing in the others."""
    return scheme == "ds-ftl" or not key.startswith(OF_DS_FTL)


def chips_differ(run: PaperRun) -> float:
    """How far the least busy chip is below the busiest, in percent."""
    chips = [float(row["busy_ns"]) for row in run.rows("chips")]
    return 100.0 * (1.0 - min(chips) / max(1.0, *chips))


def claims(facts: Mapping[str, Facts]) -> list[Claim]:
    """All published numbers that one set-up gives, over all workloads together."""
    found = [
        number("mean", f"{kind} {other}", value, _mean(f"{kind} {other}")(facts), effect=True)
        for kind, other, value in published.CUTS
    ]
    for cuts, kind in ((published.READ_CUT, "read"), (published.WRITE_CUT, "write")):
        for other, (_, largest) in cuts.items():
            if largest is not None:
                most = max((one for one in column(facts, NAMES, f"{kind} {other}") if one is not None), default=None)
                found.append(number("largest", f"{kind} {other}", largest, most, effect=True))
    for name, values in published.REDIRECTED.items():
        for kind, value in zip(("redirected reads", "redirected writes"), values, strict=True):
            measured = _mean(kind)(facts) if name == "mean" else facts.get(name, {}).get(kind)
            found.append(number(name, kind, value, measured))
    of = {name: {key.split(" ", 1)[1]: value for key, value in one.items() if key.startswith("redundancy ")}
          for name, one in facts.items()}  # fmt: skip
    found += spread_claims(of, published.REDUNDANCY, "redundancy", "%", len(facts))
    of = {name: {key.split(" ", 1)[1]: value for key, value in one.items() if key.startswith("deviation ")}
          for name, one in facts.items()}  # fmt: skip
    found += spread_claims(of, published.DEVIATION, "deviation", "points", len(facts))
    differ = max((one["chips differ"] for one in facts.values()), default=None)
    return [*found, number("some workload", "chips differ", published.CHIPS_DIFFER, differ)]


def _mean(key: str) -> Callable[[Mapping[str, Facts]], float | None]:
    """The mean over the workloads of a run that have such requests."""
    return lambda facts: mean(column(facts, NAMES, key)) if facts else None


PLAN = Experiment(
    FACTORS,
    ROWS,
    measure,
    claims,
    [
        *(
            Headline(
                f"{kind}s below {other}", value, _mean(f"{kind} {other}"), panel="means", group=f"{kind}s, {other}"
            )
            for kind, other, value in published.CUTS
        ),
        Headline("redirected reads", published.REDIRECTED["mean"][0], _mean("redirected reads"), effect=False,
                 panel="means", group="redirected reads"),
        Headline("redirected writes", published.REDIRECTED["mean"][1], _mean("redirected writes"), effect=False,
                 panel="means", group="redirected writes"),
    ],
    FEW,
    FIXED,
)  # fmt: skip
ITEM = experiment.item(PLAN, "Fig. 2, 10, 11, 13, 14", NAMES)

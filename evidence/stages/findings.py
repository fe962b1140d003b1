"""Findings of the papers, tested on the recorded traces and heads of public ones: nothing is replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow

import flashtwin as ft
from evidence import sources
from evidence.places import ROOT
from evidence.stage import CAPTURED, Lab, Stage
from evidence.stages.drives import PERIOD_S
from evidence.stages.model import hot_writes
from flashtwin.characterization import statistics
from flashtwin.characterization.measuring import Characterization
from flashtwin.papers import swc, swc_causes
from flashtwin.papers.model import Facts, PaperWorkload
from flashtwin.results import rows
from flashtwin.sweeps import across

CODE = (
    *sources.ANALYSIS, *sources.PAPERS, "python/flashtwin/sweeps/across.py",
    "python/flashtwin/results/rows.py",
    "python/flashtwin/characterization/statistics.py", "evidence/stages/model.py",
)  # fmt: skip
OPTIONS: Mapping[str, Any] = {"period_s": PERIOD_S, **swc.PAPER.options}
#: Two temperatures: pages, writes a page, share of hot pages, of writes to them, over-provisioning in percent.
PAGES, WRITES, HOT, TO_HOT, SPARE = 50_000, 40, 0.2, 0.8, 11
#: Where hot pages may have one over-provisioning and cold ones another, with SPARE in all: of cold, of hot pages.
SPLITS = tuple((cold, round((SPARE - (1 - HOT) * cold) / HOT)) for cold in range(2, SPARE + 1))


def measure(lab: Lab) -> Mapping[str, Any]:
    """The findings of SWC over all traces, those of the other papers on the recorded ones."""
    facts: dict[str, Facts] = {}
    contents: dict[str, Any] = {}
    unread: list[str] = []
    population = swc.population(_gathered(lab))
    for number, one in enumerate(population, 1):
        lab.say(f"{one.name} ({number} of {len(population)})")
        try:
            found = _characterized(lab, one)
        except ft.FlashtwinError as error:
            lab.say(f"{one.name} is left out: {error}")
            unread.append(one.name)
            continue
        facts[one.name] = swc_causes.measured(found)
        if one.name in CAPTURED:
            contents[one.name] = _contents(found)
    who = swc.TraceStatistics(facts).who
    return {
        "counts": {**who.counts, "not_read": unread, "volumes": _volumes(population)},
        "claims": _claims(facts),
        "writing": {one.name: _writing(one) for one in who.any},
        "reading": {one.name: _reading(one) for one in who.reading},
        "gains": _gains(who),
        "line": _line(who),
        "two_temperatures": _two_temperatures(lab),
        "contents": contents,
    }


def _gathered(lab: Lab) -> Path:
    """A folder with all traces: the recorded ones, the sample that comes with flashtwin, those of the public."""
    place = lab.scratch("traces-all")
    for link in place.iterdir():
        link.unlink()
    files = [lab.captured / f"{name}.fiu.zst" for name in CAPTURED]
    files += [ROOT / "traces" / "webvm-small.fiu.zst", *lab.samples]
    for file in files:
        (place / file.name).symlink_to(file.resolve())
    return place


def _characterized(lab: Lab, one: PaperWorkload) -> Characterization:
    assert one.path is not None
    trace = lab.keep(ft.open(one.path, volume=one.volume))
    return ft.characterize(trace, **OPTIONS)


def _volumes(population: Sequence[PaperWorkload]) -> list[str]:
    """Files with several volumes, of which those are taken that are long enough, or else the longest."""
    return sorted({one.path.name.split(".")[0] for one in population if one.volume is not None and one.path})


def _claims(facts: Mapping[str, Facts]) -> dict[str, list[dict[str, Any]]]:
    """SWC's own figures beside the measured ones, as `reproduce swc` judges them."""
    return {
        item.id: [
            {
                "subject": claim.subject, "quantity": claim.quantity, "low": claim.low, "high": claim.high,
                "unit": claim.unit, "measured": claim.measured, "verdict": claim.verdict.value,
            }
            for claim in item.judge(facts).claims
        ]
        for item in swc.PAPER.items
    }  # fmt: skip


def _writing(trace: across.CharacterizedTrace) -> dict[str, Any]:
    """Temperatures, and the write amplification of one trace: by partitions, by page size, by ratio."""
    partitions = {f"{row['frequency_ratio']:g}": row["partitions"] for row in trace.at_sector("partitions")}
    needed = [
        row["partitions"]
        for row in trace.tables["partitions"]
        if row["frequency_ratio"] == 2.0 and row["page_bytes"] >= rows.PAGE_BYTES
    ]
    every = [row for row in trace.tables["write_amplification"] if row["block_pages"] == across.BLOCK_PAGES]
    grid = [row for row in every if row["purpose"] == "grid"]
    whole = [row for row in grid if row["page_bytes"] == rows.PAGE_BYTES]
    low = [row for row in every if row["over_provisioning_percent"] == across.LOW_PROVISION]
    return {
        "requests": trace.row["info.requests"],
        "page_writes": trace.row["write_amplification.page_writes"],
        "writes_per_sector": trace.row["write_amplification.writes_per_sector_mean"],
        "enters": trace.row["write_amplification.enters_statistics"],
        "partitions": partitions,
        "partitions_differ": max(needed) - min(needed) if needed else None,
        "by_partitions": {
            f"{op}": {f"{row['partitions_asked']}": row["write_amplification"] for row in whole
                      if row["over_provisioning_percent"] == op}
            for op in dict.fromkeys(row["over_provisioning_percent"] for row in whole)
        },
        "by_page": {
            f"{row['page_bytes']}": row["write_amplification"]
            for row in low if row["purpose"] == "grid" and row["partitions_asked"] == 2
        },
        "by_ratio": {
            row["purpose"].removeprefix("f_r<="): {
                "partitions": row["partitions"], "write_amplification": row["write_amplification"],
            }
            for row in low if row["purpose"] != "grid" and row["page_bytes"] == rows.PAGE_BYTES
        },
    }  # fmt: skip


def _reading(trace: across.CharacterizedTrace) -> dict[str, Any]:
    """The cost of reading by page size, of whole reads of 512 B; read amplification."""
    cost = [row for row in trace.tables["read_cost"] if row["chip"] == "slc-mlc"]
    base = cost[0]["full_ns"]
    return {
        "requests_in_4k": trace.row["temperature.sector_bytes"] == rows.PAGE_BYTES,
        "whole": {f"{row['page_bytes']}": row["full_ns"] / base for row in cost},
        "partial": {f"{row['page_bytes']}": row["partial_ns"] / base for row in cost},
        "cheapest": trace.row["read_cost.cheapest_full_page_bytes"],
        "amplification_16_kb": trace.row["ra_16384"],
        "highest_percent_of_page": trace.row["read_amplification.highest_percent_of_page"],
    }


def _gains(who: across.Entrants) -> dict[str, dict[str, list[float | None]]]:
    """Medians over the traces: the gain of waiting at each distance, and of distance at each time."""
    found = across.distributions(who)

    def median(figure: str, series: str) -> float | None:
        return next((row[4] for row in found if row[:2] == (figure, series) and row[3] == "median"), None)

    return {
        kind: {
            "waiting": [median("15", f"{kind}, D = {at:g}") for at in across.DISTANCES],
            "distance": [median("16", f"{kind}, T = {at:g}") for at in across.TIMES],
        }
        for kind in ("write", "read")
    }


def _line(who: across.Entrants) -> dict[str, float]:
    """The regression of Fig. 18, at the largest pages and the largest cache."""
    page, cache = across.REGRESSED[-1]
    series = f"pages of {page}, cache of {cache}"
    wanted = ("slope", "r_squared")
    return {row[3]: row[4] for row in across.distributions(who) if row[:2] == ("18", series) and row[3] in wanted}


def _contents(found: Characterization) -> dict[str, Any]:
    """Statements of CA-SSD, RR-SSD and DS-FTL on workloads with contents."""
    row = found.row
    names = {
        "unique_write": "info.unique_values_write_percent",
        "unique_read": "info.unique_values_read_percent",
        "half_of_writes": "popularity.write.contents_for_50_percent",
        "most_of_reads": "popularity.read.contents_for_80_percent",
        "entries": "value_locality.write.content.entries_for_90_percent_of_reaccesses",
        "memory_saved": "value_locality.write.content.memory_saved_percent",
        "new_contents_max": "drift.new_contents_max",
        "popular_before": "drift.popular_before_percent",
        "read_before": "drift.read_before_percent",
        "duplicate_write": "space.duplicate_write_percent",
        "rewrite": "space.rewrite_percent",
        "contents_of_pages_held": "space.contents_of_pages_held_percent",
        "duplicates": "duplication.duplicate_percent",
        "same_plane_static": "duplication.static_percent",
        "same_plane_round_robin": "duplication.round_robin_percent",
        "next_read": "logical_locality.read.next_request_probability",
    }
    popular = statistics.METRICS["popular_write_miss_percent"].measure(found, 1.0)
    return {**{name: row[key] for name, key in names.items()}, "popular_misses": popular}


def _two_temperatures(lab: Lab) -> dict[str, Any]:
    """Hot and cold pages on the wa-simulator, mixed and apart, beside uniform writes and the best split of the spare.

    The best split follows from uniform writes: each part by itself on an SSD with its own over-provisioning.
    """
    ops = sorted({SPARE, *(op for split in SPLITS for op in split)})
    uniform = _by_op(_simulated(hot_writes(lab, "uniform", PAGES, HOT, HOT, WRITES * PAGES), ops, [1]), 1)
    skewed = _simulated(hot_writes(lab, "two-temperatures", PAGES, HOT, TO_HOT, WRITES * PAGES), [SPARE], [1, 2])
    best = {
        cold: TO_HOT * uniform[hot] + (1 - TO_HOT) * uniform[cold]
        for cold, hot in SPLITS
        if uniform.get(hot) and uniform.get(cold)
    }
    return {
        "mixed": _by_op(skewed, 1)[SPARE],
        "apart": _by_op(skewed, 2)[SPARE],
        "uniform": uniform[SPARE],
        "best": min(best.values()),
        "setting": {"pages": PAGES, "writes_per_page": WRITES, "hot": HOT, "to_hot": TO_HOT, "spare_percent": SPARE},
    }


def _simulated(trace: ft.Trace, ops: Sequence[int], partitions: Sequence[int]) -> list[dict[str, Any]]:
    options: dict[str, Any] = {
        "wa.over_provisioning_percent": list(ops),
        "wa.partitions": list(partitions),
        "wa.other_page_bytes": [rows.PAGE_BYTES],
    }
    found = ft.characterize(trace, **options)
    return [row for row in pyarrow.table(found.table("write_amplification")).to_pylist() if row["purpose"] == "grid"]


def _by_op(table: Sequence[Mapping[str, Any]], partitions: int) -> dict[int, float]:
    return {
        row["over_provisioning_percent"]: row["write_amplification"]
        for row in table
        if row["partitions_asked"] == partitions and row["write_amplification"] is not None
    }


STAGE = Stage("findings", "what the papers found, on the recorded traces and on samples of public ones", measure, CODE)

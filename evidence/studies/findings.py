"""Findings of the papers, tested on the recorded traces and heads of public ones: nothing is replayed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import flashtwin as ft
from evidence import code
from evidence.code import ROOT
from evidence.forms import grid
from evidence.studies.drives import PERIOD_S
from evidence.study import CAPTURED, Data, Lab, MissingInputError, Study
from flashtwin.characterization import statistics
from flashtwin.characterization.measuring import Characterization
from flashtwin.papers import swc, swc_causes
from flashtwin.papers.model import Facts, PaperWorkload
from flashtwin.report.reproduction import published, value

CODE = (
    *code.ANALYSIS,
    *code.PAPERS,
    "python/flashtwin/sweeps/across.py",
    "python/flashtwin/results/rows.py",
    "python/flashtwin/characterization/statistics.py",
)
OPTIONS: Mapping[str, Any] = {"period_s": PERIOD_S, **swc.PAPER.options}


def measure(lab: Lab) -> Data:
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
    counts = {"traces": len(facts), **who.counts, "not_read": unread}
    return {"counts": counts, "claims": _claims(facts), "contents": contents}


def _gathered(lab: Lab) -> Path:
    """A folder with all traces: the recorded ones, the sample that comes with flashtwin, those of the public."""
    place = lab.scratch("traces-all")
    for link in place.iterdir():
        link.unlink()
    samples = sorted(path for path in lab.folder("samples").glob("[!.]*") if path.is_file())
    if not samples:
        raise MissingInputError(f"{lab.folder('samples')} has no traces")
    recorded = [lab.folder("captured") / f"{name}.fiu.zst" for name in CAPTURED]
    for file in [*recorded, ROOT / "traces" / "webvm-small.fiu.zst", *samples]:
        (place / file.name).symlink_to(file.resolve())
    return place


def _characterized(lab: Lab, one: PaperWorkload) -> Characterization:
    assert one.path is not None
    trace = lab.note(ft.open(one.path, volume=one.volume))
    return ft.characterize(trace, **OPTIONS)


def _claims(facts: Mapping[str, Facts]) -> dict[str, list[dict[str, Any]]]:
    """SWC's own figures beside the measured ones, as `reproduce swc` judges them."""
    return {
        item.id: [
            {
                "subject": claim.subject, "quantity": claim.quantity, "unit": claim.unit,
                "published_low": claim.low, "published_high": claim.high, "measured": claim.measured,
                "verdict": claim.verdict.value,
            }
            for claim in item.judge(facts).claims
        ]
        for item in swc.PAPER.items
    }  # fmt: skip


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


#: Rows of the table on contents: the figure, the published values, the key here, and its decimals.
CONTENTS = (
    ("unique values, % of page writes", "42.4 / 7.8 / 66.4", "unique_write", 1),
    ("unique values, % of page reads", "32.1 / 80.9 / 80.8", "unique_read", 1),
    ("values with 50 % of writes, %", "30.0 / 8.8 / 14.4", "half_of_writes", 1),
    ("values with 80 % of reads, %", "7 / 30 / 14", "most_of_reads", 1),
    ("LRU positions with 90 % of re-writes", "homes 11,046", "entries", 0),
    ("misses of popular values in 64 K entries, first writes aside, %", "0.4 / < 7 / 4", "popular_misses", 1),
    ("reads on anything read yesterday, %", "not given", "read_before", 1),
    ("page writes of something the device holds, %", "not given", "duplicate_write", 1),
    ("rewrites of a page with its own content, %", "not given", "rewrite", 1),
    ("DS-FTL: duplicates among pages written, %", "up to 70.4", "duplicates", 1),
    ("DS-FTL: on the same plane, static, %", "5.1 to 44.5 over planes", "same_plane_static", 1),
    ("DS-FTL: the same, round robin, %", "mean 13.5 (dynamic)", "same_plane_round_robin", 1),
)


def pages(data: Data) -> Data:
    """The findings of SWC, published beside measured, and the contents of the recorded traces."""
    claims = [(item, one) for item, of in data["claims"].items() for one in of if one["measured"] is not None]
    contents = data["contents"]
    return {
        "counts": data["counts"],
        "claims": grid(["item", "of", "what", "published", "here", "verdict"], (
            [f"`{item}`", one["subject"], one["quantity"], published(one), value(one["measured"], one["unit"]),
             one["verdict"]] for item, one in claims
        )),
        "contents": grid(["figure", "published: web / mail / homes", f"here: {' / '.join(CAPTURED)}"], (
            [figure, published, " / ".join(f"{contents[name][key]:,.{digits}f}" for name in CAPTURED)]
            for figure, published, key, digits in CONTENTS
        )),
        "by_trace": {key: [contents[name][key] for name in CAPTURED]
                     for key in ("duplicate_write", "rewrite", "most_of_reads", "read_before", "entries")},
    }  # fmt: skip


STUDY = Study(
    "findings", "the papers' findings, on the recorded traces and on samples of public ones", measure, pages, CODE,
    needs="`--captured DIR`, public traces, `--samples DIR`",
)  # fmt: skip

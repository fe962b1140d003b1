"""Findings of the papers, tested on the recorded traces and heads of public ones: nothing is replayed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

import flashtwin as ft
from evidence import code
from evidence.code import ROOT
from evidence.forms import grid, span
from evidence.studies.drives import PERIOD_S
from evidence.study import CAPTURED, Data, Lab, MissingInputError, Study
from flashtwin.characterization import statistics
from flashtwin.characterization.measuring import Characterization
from flashtwin.papers import swc, swc_causes
from flashtwin.papers.panels import Facts
from flashtwin.report.reproduction import published, value

CODE = (
    *code.ANALYSIS,
    *code.PAPERS,
    "python/flashtwin/sweeps/across.py",
    "python/flashtwin/results/rows.py",
    "python/flashtwin/characterization/statistics.py",
)
#: Of the RR-SSD paper's drive.
CHIPS = 64
OPTIONS: Mapping[str, Any] = {"period_s": PERIOD_S, **swc.PAPER.options}


def measure(lab: Lab) -> Data:
    facts: dict[str, Facts] = {}
    contents: dict[str, Any] = {}
    collided: dict[str, float] = {}
    unread: list[str] = []
    population = swc.population(_gathered(lab))
    for number, one in enumerate(population, 1):
        lab.say(f"{one.name} ({number} of {len(population)})")
        try:
            assert one.path is not None
            trace = ft.open(one.path, volume=one.volume)
            found = ft.characterize(lab.note(trace), **OPTIONS)
        except ft.FlashtwinError as error:
            lab.say(f"{one.name} is left out: {error}")
            unread.append(one.name)
            continue
        facts[one.name] = swc_causes.measured(found)
        if one.name in CAPTURED:
            contents[one.name] = _contents(found)
            collided[one.name] = collisions(trace, CHIPS)
    who = swc.TraceStatistics(facts).who
    counts = {"traces": len(facts), **who.counts, "not_read": unread}
    return {"counts": counts, "claims": _claims(facts), "contents": contents, "collided": collided}


def collisions(trace: ft.Trace, chips: int) -> float:
    """The share of read requests whose pages lie on fewer chips because they share contents, in percent.

    Pages take turns over the chips, and a content lies where it came first. Equal pages of a request are one read.
    """
    table = trace.to_arrow()
    lists = pc.fill_null(pc.list_value_length(table["content_digest"]), 0).to_numpy()
    request = np.repeat(np.arange(len(lists)), lists)
    within = np.arange(len(request)) - np.repeat(np.cumsum(lists) - lists, lists)
    # Volumes lie one behind another.
    begins = table["volume"].to_numpy().astype(np.uint64) * 2**48 + table["offset_bytes"].to_numpy() // 4096
    address = begins[request] + within.astype(np.uint64)
    page = np.unique(address, return_inverse=True)[1]
    content = pc.list_flatten(table["content_digest"]).combine_chunks().dictionary_encode().indices.to_numpy()
    home = page[np.unique(content, return_index=True)[1]][content]
    reads = table["op"].to_numpy()[request] == 0

    def different(of: np.ndarray) -> np.ndarray:
        pairs = np.unique(request[reads] * 2**32 + of[reads])
        return np.bincount(pairs // 2**32, minlength=len(lists))

    possible = np.minimum(different(content), different(page % chips))
    return float(np.mean(different(home % chips)[possible > 0] < possible[possible > 0]) * 100)


def _gathered(lab: Lab) -> Path:
    """A folder with all traces: the recorded ones, the sample that comes with flashtwin, those of the public."""
    samples = sorted(path for path in lab.folder("samples").glob("[!.]*") if path.is_file())
    if not samples:
        raise MissingInputError(f"{lab.folder('samples')} has no traces")
    recorded = [lab.folder("captured") / f"{name}.fiu.zst" for name in CAPTURED]
    files = [*recorded, ROOT / "traces" / "webvm-small.fiu.zst", *samples]
    return lab.linked("traces-all", {file.name: file for file in files})


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


#: Statements on workloads with contents: the key here, the column of a characterization (None: a statistic), the figure
#: in words, the published values, and decimals.
CONTENTS = (
    ("unique_write", "info.unique_values_write_percent", "unique values, % of page writes", "42.4 / 7.8 / 66.4", 1),
    ("unique_read", "info.unique_values_read_percent", "unique values, % of page reads", "32.1 / 80.9 / 80.8", 1),
    ("half_of_writes", "popularity.write.contents_for_50_percent", "values with 50 % of writes, %",
     "30.0 / 8.8 / 14.4", 1),
    ("most_of_reads", "popularity.read.contents_for_80_percent", "values with 80 % of reads, %", "7 / 30 / 14", 1),
    ("entries", "value_locality.write.content.entries_for_90_percent_of_reaccesses",
     "LRU positions with 90 % of re-writes", "homes 11,046", 0),
    ("popular_misses", None, "misses of popular values in 64 K entries, first writes aside, %", "0.4 / < 7 / 4", 1),
    ("read_before", "drift.read_before_percent", "reads on anything read yesterday, %", "not given", 1),
    ("duplicate_write", "space.duplicate_write_percent", "page writes of something the device holds, %",
     "not given", 1),
    ("rewrite", "space.rewrite_percent", "rewrites of a page with its own content, %", "not given", 1),
    ("duplicates", "duplication.duplicate_percent", "DS-FTL: duplicates among pages written, %", "up to 70.4", 1),
    ("same_plane_static", "duplication.static_percent", "DS-FTL: on the same plane, static, %",
     "5.1 to 44.5 over planes", 1),
    ("same_plane_round_robin", "duplication.round_robin_percent", "DS-FTL: the same, round robin, %",
     "mean 13.5 (dynamic)", 1),
)  # fmt: skip


def _contents(found: Characterization) -> dict[str, Any]:
    popular = statistics.METRICS["popular_write_miss_percent"].measure(found, 1.0)
    return {key: found.row[column] if column else popular for key, column, *_ in CONTENTS}


def pages(data: Data) -> Data:
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
            for key, _, figure, published, digits in CONTENTS
        )),
        "collided": span(data["collided"].values(), lambda share: f"{share:.2g} %"),
        "by_trace": {key: [contents[name][key] for name in CAPTURED]
                     for key in ("duplicate_write", "rewrite", "most_of_reads", "read_before", "entries")},
    }  # fmt: skip


STUDY = Study(
    "findings", "the papers' findings, on the recorded traces and on samples of public ones", measure, pages, CODE,
    needs="`--captured DIR`, public traces, `--samples DIR`",
)  # fmt: skip

"""Tiny real results: a made trace replayed in milliseconds. What no replay shows, a test writes into the results."""

import functools
import glob
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import flashtwin as ft
from flashtwin.causes import choosing
from flashtwin.causes.replaying import Budget
from flashtwin.causes.stored import system_of
from flashtwin.characterization.measuring import Characterization
from flashtwin.judgement.goals import goal_of
from flashtwin.report.reproduction import VERDICTS
from flashtwin.results import names, rows
from flashtwin.results.folder import write_json, write_table
from flashtwin.results.frames import table_of
from flashtwin.results.keys import traits
from flashtwin.sweeps import across
from flashtwin.sweeps.across import CharacterizedTrace

PERIOD_S = 120
#: The replay runs this many times faster than the trace.
SPEED = 10
FOUR = ("conventional", "ca-ssd", "rr-ssd", "oracle")
#: A drive of eight chips with small blocks: it collects garbage at every burst where it is full.
DRIVE = {
    "nand.channels": 4, "nand.chips_per_channel": 2, "nand.dies_per_chip": 1, "nand.planes_per_die": 1,
    "nand.pages_per_block": 16, "replay.preload": "footprint", "engine.hash_us": 60.0, "replay.speed": float(SPEED),
    "replay.period_s": float(PERIOD_S),
}  # fmt: skip
#: Over-provisioning in percent: all that the paper on partitions asks for.
SPARE = {f"wa.{key}": [7, 28, 50, 75, 100] for key in ("over_provisioning_percent", "other_over_provisioning_percent")}
FILL = 0.6
#: Requests of a burst, and the mean time between two of them in seconds of the trace.
BURST, GAP_S = 40, 0.0008


@functools.cache
def trace(
    requests: int = 3000,
    read_share: float = 0.45,
    periods: int = 7,
    content: bool = True,
    seed: int = 7,
) -> ft.Trace:
    """Requests of 4 KB to 16 KB in bursts, mostly on a fifth of 4,000 pages, with contents of which 300 are popular."""
    random = np.random.default_rng(seed)
    starts = np.sort(random.random(-(-requests // BURST))) * periods * PERIOD_S
    times = np.repeat(starts, BURST)[:requests] + np.tile(np.arange(BURST), starts.size)[:requests] * GAP_S
    is_read = random.random(requests) < read_share
    page = np.where(
        random.random(requests) < 0.8, random.integers(0, 800, requests), random.integers(0, 4000, requests)
    )
    pages = random.choice([1, 1, 2, 4], requests)
    held: dict[int, int] = {}
    contents = [
        [_content(int(at), bool(reads), held, random) for at in range(first, first + count)]
        for first, count, reads in zip(page, pages, is_read, strict=True)
    ]
    asked: dict[str, Any] = {
        "time_ns": np.round(times * 1e9).astype(np.int64), "op": np.where(is_read, "R", "W"),
        "offset_bytes": page * 4096, "length_bytes": pages * 4096,
    }  # fmt: skip
    if content:
        asked["content"] = contents
    return ft.Trace.from_frame(asked, name="tiny")


def _content(page: int, reads: bool, held: dict[int, int], random: np.random.Generator) -> int:
    """The content of a page, now or later: one of 300 popular contents, or one of its own."""
    if not reads or page not in held:
        popular = random.random() < 0.6
        held[page] = int(300 * random.random() ** 3) if popular else 1_000 + int(random.integers(1 << 30))
    return held[page]


def system(name: str, **more: Any) -> ft.System:
    """A system on the tiny drive, with more keys set otherwise; two underscores stand for a dot."""
    return ft.system(name, settings={**DRIVE, **{key.replace("__", "."): value for key, value in more.items()}})


def write_study(
    folder: Path,
    systems: Mapping[str, str | ft.System] | Sequence[str] = FOUR,
    *,
    gc: bool = True,
    explained: bool = False,
    **made: Any,
) -> Path:
    source = trace(**made)
    named = dict(systems) if isinstance(systems, Mapping) else {name: name for name in systems}
    room = {} if gc else {"replay__preload": "first-reads", "nand__blocks_per_plane": 2048}
    chosen = {name: system(one, **room) if isinstance(one, str) else one for name, one in named.items()}
    ft.compare(source, chosen, fill=FILL if gc else None, threads=1).save(folder)
    characterization(**made).write_into(folder)
    if explained:
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "tiny.parquet"
            source.write_parquet(file)
            choose(folder, ft.open(file))
            ft.explain(folder, trace=file, effort=None, threads=1)
        # Commands name the file, wherever it was.
        for found in (*(folder / "causes").iterdir(), folder / names.CANDIDATES):
            text = found.read_text(encoding="utf-8")
            found.write_text(text.replace(str(file), "tiny.parquet"), encoding="utf-8")
    return folder


def choose(folder: Path, source: ft.Trace) -> None:
    runs = {name: system_of(name, one.summary["config"]) for name, one in ft.Comparison.read(folder).items()}
    question = choosing.Question(goal_of("all.mean"))
    competing = choosing.contenders(runs, question.goal, more=False)
    choosing.choose(folder, source, competing, question, Budget(10**6, len(source)), threads=1)


@functools.cache
def characterization(**made: Any) -> Characterization:
    return ft.characterize(trace(**made), settings={"period_s": PERIOD_S, "wa.block_pages": [4], **SPARE})


def summary(folder: Path, run: str) -> dict[str, Any]:
    return json.loads((folder / "runs" / run / "summary.json").read_text(encoding="utf-8"))


def edit_summary(folder: Path, run: str, change: Callable[[dict[str, Any]], Any]) -> None:
    """Changes the summary of a run, as configured and as a candidate."""
    for path in folder.glob(f"**/runs/{glob.escape(run)}/summary.json"):
        summary = json.loads(path.read_text(encoding="utf-8"))
        change(summary)
        summary["traits"] = sorted(traits(summary["config"]))
        path.write_text(json.dumps(summary, indent=1), encoding="utf-8")


def edit_column(path: Path, name: str, change: Callable[[list[Any]], list[Any]]) -> None:
    """Changes the values of a column in a Parquet file."""
    table = pq.read_table(path)
    values = change(table[name].to_pylist())
    pq.write_table(table.set_column(table.column_names.index(name), name, [values]), path)


#: Parts of a response time that are waiting, and those that are not, in us for a read and for a write.
_READ = {"channel_wait": 2.0, "transfer": 4.0, "flash": 75.0, "controller": 1.0}
_WRITE = {"channel_wait": 3.0, "transfer": 5.0, "flash": 400.0, "controller": 1.0}


def respond(folder: Path, run: str, **parts_us: Mapping[str, float]) -> None:
    """Gives a run other response times in us, the other parts as on the RR-SSD device, percentiles with the mean."""
    edit_summary(folder, run, lambda summary: _respond(summary, parts_us))


def _respond(summary: dict[str, Any], parts_us: Mapping[str, Mapping[str, float]]) -> None:
    response = summary["response"]
    for kind, given in parts_us.items():
        parts = {**(_READ if kind == "read" else _WRITE), **given}
        of = response[kind]
        mean = 1000.0 * sum(parts.values())
        of.update(
            {key: value * mean / of["mean_ns"] for key, value in of.items() if re.match(r"(p\d|max)", key) and value}
        )
        of.update(mean_ns=mean, split={key: 1000.0 * parts.get(key.removesuffix("_ns"), 0.0) for key in of["split"]})
    reads, writes, both = (response[kind] for kind in ("read", "write", "all"))
    share = reads["count"] / both["count"]
    both["mean_ns"] = share * reads["mean_ns"] + (1 - share) * writes["mean_ns"]
    both["split"] = {key: share * reads["split"][key] + (1 - share) * writes["split"][key] for key in both["split"]}


#: Facts of a trace that is long enough for every statistic.
LARGE = {"requests": 400_000, "reads": 180_000, "writes": 220_000}


@functools.cache
def _measured(seed: int, content: bool) -> Characterization:
    """Requests of 512 B to 4 KiB, mostly on a tenth of 6,000 sectors; or of pages, half of them of 60 contents."""
    random = np.random.default_rng(seed)
    number = 9000
    sector = np.where(random.random(number) < 0.7, random.integers(0, 600, number), random.integers(0, 6000, number))
    asked: dict[str, Any] = {
        "time_ns": np.sort(random.integers(0, 7 * PERIOD_S * 10**9, number)),
        "op": np.where(random.random(number) < 0.4, "R", "W"),
        "offset_bytes": 512 * sector, "length_bytes": 512 * random.choice([1, 2, 4, 8], number),
    }  # fmt: skip
    if content:
        popular = random.random(number) < 0.5
        values = np.where(popular, random.integers(0, 60, number), 1000 + sector)
        asked |= {"offset_bytes": 4096 * (sector % 300), "length_bytes": np.full(number, 4096)}
        asked["content"] = [[int(value)] for value in values]
    return ft.characterize(
        ft.Trace.from_frame(asked, name=f"t{seed}"), settings={"period_s": PERIOD_S, "wa.block_pages": [2], **SPARE}
    )


class Native:
    """Tables and summary of one, as the core gives them; blocks pass for those of 128 pages that statistics look at."""

    def __init__(self, name: str = "made-up", seed: int = 7, *, content: bool = True, **facts: Any) -> None:
        plain = _measured(seed, False)
        self.summary = {**plain.summary, "info": {**plain.summary["info"], "name": name, **LARGE, **facts}}
        self.summary["write_amplification"] = {
            **plain.summary["write_amplification"], "page_writes": 900_000, "enters_statistics": True
        }  # fmt: skip
        self.tables = {key: pa.table(plain.table(key)) for key in plain.table_names}
        amplified = self.tables["write_amplification"]
        blocks = pa.array([128] * amplified.num_rows, amplified.schema.field("block_pages").type)
        place = amplified.column_names.index("block_pages")
        self.tables["write_amplification"] = amplified.set_column(place, amplified.field("block_pages"), blocks)
        if content:
            of_contents = _measured(seed, True)
            about = ("popularity", "drift", "space", "duplication", "value_locality")
            self.summary |= {part: of_contents.summary[part] for part in about}
            known = ("has_content", "contents", "duplicate_write_percent", "unique_values_write_percent")
            self.summary["info"] |= {fact: of_contents.summary["info"][fact] for fact in known}
            names = set(of_contents.table_names) - set(self.tables) | {"miss_ratio", "popular_miss_ratio"}
            self.tables |= {key: pa.table(of_contents.table(key)) for key in of_contents.table_names if key in names}
        self.table_names = list(self.tables)

    def table(self, name: str) -> pa.Table:
        return self.tables[name]


def characterized(
    name: str, seed: int = 7, category: str = "", *, content: bool = False, **facts: Any
) -> CharacterizedTrace:
    """One of many traces, with the row and the tables that statistics over traces look at."""
    native = Native(name, seed, content=content, **facts)
    tables = {key: native.table(key).to_pylist() for key in native.table_names}
    return CharacterizedTrace(name, category, rows.flat(native.summary, tables), tables)


def made_characterization(name: str = "made-up", seed: int = 7, **options: Any) -> Characterization:
    native = Native(name, seed, **options)
    return Characterization(native.summary, {key: lambda key=key: native.table(key) for key in native.table_names})


def write_characterization(folder: Path, name: str = "made-up", seed: int = 7, **options: Any) -> Path:
    """Writes a folder as `flashtwin characterize` does, without its report."""
    return made_characterization(name, seed, **options).write(folder)


def write_collection(path: Path, traces: int) -> Path:
    """A folder of many traces as `characterize` writes it, but for the traces themselves."""
    found = [characterized(f"t{seed}", seed, "mail" if seed % 2 else "web") for seed in range(traces)]
    who = across.entrants(found)
    columns = list(zip(*across.distributions(who), strict=True)) or [()] * len(across.COLUMNS)
    kinds = [pa.string(), pa.string(), pa.float64(), pa.string(), pa.float64(), pa.string()]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    path.mkdir(parents=True, exist_ok=True)
    flat = [{"trace": trace.name, "category": trace.category, **trace.row} for trace in found]
    write_table(path / "traces.parquet", table_of(flat))
    write_table(path / "distributions.parquet", pa.table(dict(zip(across.COLUMNS, arrays, strict=True))))
    write_json(path / "traces.json", {"flashtwin": "0.1.0", "counts": who.counts})
    failure = {"trace": "bad <b>", "message": "bad.csv:7: size '40x6' is not a number of bytes"}
    write_json(path / "failures.json", {"failures": [failure]})
    return path


def claim(
    verdict: str, low: float | None, high: float | None, measured: float | None, unit: str = "%"
) -> dict[str, Any]:
    return {
        "subject": "web <vm>", "quantity": "reads", "published_low": low, "published_high": high,
        "measured": measured, "unit": unit, "verdict": verdict, "why": "" if measured is not None else "no trace",
    }  # fmt: skip


def item(name: str, verdict: str, chart: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "id": name, "title": f"Title of {name}", "place": f"Place of {name}", "verdict": verdict,
        "counts": dict.fromkeys(VERDICTS, 1), "orders": [2, 3], "chart": chart, "notes": ["A note of 12 %."],
        "claims": [
            claim("agrees", 26.6, 26.6, 26.5), claim("not measurable", 1.0, None, None, "x"),
            claim("agrees in sign and order", 71.0, 71.0, 7.1), claim("agrees in sign and order", 17.0, 57.0, 60.0),
        ],
        "tables": [{"title": "More", "header": ["a", "b"], "rows": [["<x>", "1"]]}],
        "explanation": "Since it is so.", "ours": name == "two",
        "first": {"verdict": "agrees", "changed": "2026-11-25", "words": "it was otherwise"} if name == "two" else None,
    }  # fmt: skip


BARS = {
    "form": "bars", "title": "reads", "groups": ["a", "b", "c"], "y_label": "time saved, %", "stacked": False,
    "series": [{"name": "RR-SSD", "measured": [10.0, None, -3.0], "published": [12.0, 20.0, None]},
               {"name": "Oracle", "measured": [20.0, 30.0, 5.0], "published": []}],
}  # fmt: skip
STACK = {**BARS, "stacked": True, "title": "writes"}
LINES = {
    "form": "lines", "title": "", "x_label": "day", "y_label": "%", "x_log": False, "y_log": True,
    "series": [{"name": "x", "x": [1.0, 2.0, 3.0], "y": [1.0, 100.0, None]}],
    "published": [{"name": "x", "x": 2.0, "y": 50.0}],
}  # fmt: skip


def write_reproduction(folder: Path) -> None:
    """A paper of three items, as `flashtwin reproduce` writes it, without its report."""
    items = [
        item("one", "agrees", {"panels": [BARS, STACK]}),
        item("two", "disagrees", {"panels": [LINES] * 4}),
        item("three", "not measurable", None),
    ]
    workload = {"name": "webvm", "kind": "synthetic", "label": "recipe x", "scale": 0.1,
                "statistics": [{**claim("disagrees", 1.0, 1.0, 9.0), "place": "Table III"}]}  # fmt: skip
    paper = {"id": "rr-ssd", "title": "A title", "citation": "Somebody", "setting": "The `device`.", "seed": 0,
             "period_s": 86400.0, "workloads": [workload], "items": items}  # fmt: skip
    (folder / "reproduction.json").write_text(json.dumps({"flashtwin": "0.1.0", "papers": [paper]}))

"""The designs on equal ground, over everything that no paper fixes: a balanced design, and seeds by themselves.

In each row all systems stand on one ground: a drive, its age, a load, and one option of each open choice. A question
compares one figure of two designs row by row. The answer is a conclusion if no row contradicts it. A change below the
spread over seeds, or below a hundredth, is a tie.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flashtwin as ft
from evidence import code
from evidence.forms import NOTHING, change, grid, signed, span
from evidence.studies.drives import AGED, PERIOD_S, SPEED, blocks, figures, preset
from evidence.study import Data, Lab, Replay, Study
from flashtwin.experiments import PARTIAL, Factor, balanced, defining_kept, effects, levels, sets_of
from flashtwin.replays.presets import System
from flashtwin.settings import Value

#: Two traces, one with many duplicates and the one with the fewest, and so many seconds of each.
TRACES = ("webvm", "trans")
TO_S = 2 * PERIOD_S
#: Under one placement `static`, `dynamic` and `hipa` are `conventional`; `modern` is another array.
SYSTEMS = ("conventional", "ds-ftl", "ca-ssd", "caftl", "rr-ssd", "oracle")
ROWS = 64
SEEDS = (1, 2, 3)
#: Share of the time that dies work under the busy load, on `conventional`.
BUSY = 0.3
#: Spare pages, as a share of the trace's pages.
SPARE = {"28 %": 0.28, "10 %": 0.10}
#: The TLC die of `devices/tlc-2021.toml`, on the channels of its time.
TLC: Mapping[str, Value] = {
    "nand.read_us": 45.0, "nand.program_us": 356.0, "nand.erase_us": 3500.0, "nand.bus_mt_s": 533,
}  # fmt: skip


def _started(start: float, more: float) -> Mapping[str, Value]:
    """When a plane begins to collect, and how much later it stops."""
    return {"ftl.gc.start": start, "ftl.gc.stop": round(start + more, 4)}


#: All factors. The first level is that of the presets.
FACTORS: tuple[Factor, ...] = (
    Factor("seed", levels("seed", *SEEDS)),
    Factor("load", {"light": {}, "busy": {}}),
    Factor("spare space", {name: {} for name in SPARE}),
    Factor("age", {
        "aged, own contents": {**AGED, "replay.preload_contents": "own"},
        "aged, the trace's contents": {**AGED, "replay.preload_contents": "trace"},
        "new": {"replay.preload": "first-reads"},
    }),
    Factor("placement", levels("ftl.allocation.policy", "static", "dynamic", "least-loaded")),
    Factor("order", {
        "CWDP": {"ftl.allocation.order": "CWDP", "ftl.allocation.stripe_pages": 1},
        "PDWC": {"ftl.allocation.order": "PDWC", "ftl.allocation.stripe_pages": 1},
        "PDWC, four pages a plane": {"ftl.allocation.order": "PDWC", "ftl.allocation.stripe_pages": 4},
    }),
    Factor("channels", {
        "8 of 2 chips": {"nand.channels": 8, "nand.chips_per_channel": 2},
        "4 of 4 chips": {"nand.channels": 4, "nand.chips_per_channel": 4},
    }),
    Factor("flash", {"SLC of DS-FTL": {}, "TLC of 2021": TLC}),
    Factor("wear rule", {
        "dynamic": {"ftl.wear.policy": "dynamic"},
        "none": {"ftl.wear.policy": "none"},
        "static": {"ftl.wear.policy": "static", "ftl.wear.threshold": 4, "ftl.wear.every": 8},
    }),
    Factor("victim", levels("ftl.gc.victim", "greedy", "cost-benefit", "d-choices")),
    Factor("start of collection", {
        "5 %": _started(0.05, 0.0), "5 %, two points longer": _started(0.05, 0.02), "8 %": _started(0.08, 0.0),
    }),
    Factor("steps of collection", {
        "8 pages": {"ftl.gc.step_pages": 8}, "3 pages": {"ftl.gc.step_pages": 3},
        "8 pages, urgent from 3 blocks": {"ftl.gc.step_pages": 8, "ftl.gc.urgent": 3},
    }),
    Factor("idle collection", {
        "none": {"ftl.gc.idle": "none"},
        "10 % free": {"ftl.gc.idle": "reserve", "ftl.gc.idle_reserve": 0.1, "ftl.gc.idle_valid": 0.75},
    }),
    Factor("idle time", levels("engine.idle_us", 1000.0, 100.0)),
    Factor("units", levels("engine.concurrency", "die", "chip")),
    Factor("load measure", levels("engine.load", "queue-length", "reads-waiting", "expected-wait")),
    Factor("write completes", {
        "programmed": {"engine.write_completes": "programmed"},
        "transferred": {"engine.write_completes": "transferred"},
        "hashed": {"engine.write_completes": "hashed", "engine.write_buffer_pages": 4096},
        "in a write cache": {
            "engine.write_cache_pages": 4096, "engine.write_cache_us": 9.0, "engine.write_cache_dirty": 0.9,
        },
    }),
    Factor("reads first", levels("engine.reads_before_write", 0, 8)),
    Factor("merged reads", levels("engine.merge_reads", "none", "same-page")),
    Factor("reads from RAM", levels("engine.buffer_reads", True, False)),
    Factor("planes at once", levels("engine.multi_plane", "none", "any-page")),
    Factor("suspension", {
        "none": {"engine.suspend": "none"},
        "program-erase": {"engine.suspend": "program-erase"},
        "program-erase, once for one read": {
            "engine.suspend": "program-erase", "engine.suspend_us": 50.0, "engine.resume_us": 20.0,
            "engine.suspend_times": 1, "engine.suspend_reads": 1,
        },
    }),
    Factor("controller", levels("engine.controller_us", 0.0, 5.0)),
    *(factor for factor, _ in PARTIAL),
)  # fmt: skip

#: A smaller change is a tie.
LEAST = 0.01
#: A drive whose writes take longer, on average, shows its queue and not its design: about a hundred programs.
KEEPS_UP_NS = 20_000_000
#: The system, its baseline, and the figures that are compared.
QUESTIONS = (
    ("ca-ssd", "conventional", ("write_ns", "write_p99_ns", "read_ns", "programs", "erases")),
    ("oracle", "ca-ssd", ("read_ns",)),
    ("rr-ssd", "ca-ssd", ("read_ns", "read_p99_ns", "write_ns", "programs")),
    ("rr-ssd", "conventional", ("read_ns",)),
    ("caftl", "ca-ssd", ("programs", "write_ns")),
    ("ds-ftl", "conventional", ("read_ns", "write_ns")),
)
WORDS = {
    "read_ns": "reads", "read_p99_ns": "p99 of reads", "write_ns": "writes", "write_p99_ns": "p99 of writes",
    "programs": "programs", "erases": "erases",
}  # fmt: skip


def design() -> list[dict[str, str]]:
    """The rows: the ground of the presets, the balanced design, and the seeds by themselves under both loads."""
    alone: Iterator[dict[str, str]] = (
        {"seed": str(seed), "load": load, "hash unit": "pipeline"} for load in ("light", "busy") for seed in SEEDS
    )
    return [{}, *balanced(FACTORS, ROWS), *alone]


def measure(lab: Lab) -> Data:
    rows = design()
    traces: dict[str, list[dict[str, Any]]] = {}
    for name in TRACES:
        trace = lab.trace(name, TO_S)
        light = {f"{at}": _systems(trace, row, SPEED)["conventional"] for at, row in enumerate(rows)}
        idle = lab.replays(trace, light)
        speeds = [
            _busy_speed(idle[f"{at}"]) if row.get("load") == "busy" else SPEED for at, row in enumerate(rows)
        ]  # fmt: skip
        systems = {
            f"{at}/{system}": one
            for at, (row, speed) in enumerate(zip(rows, speeds, strict=True))
            for system, one in _systems(trace, row, speed).items()
        }
        kept = lab.replays(trace, systems)
        traces[name] = [
            {"speed": speed, "systems": {system: figures(kept[f"{at}/{system}"], *WORDS) for system in SYSTEMS}}
            for at, speed in enumerate(speeds)
        ]
    return {"rows": rows, "traces": traces}


def _systems(trace: ft.Trace, row: Mapping[str, str], speed: float) -> dict[str, System]:
    spare = SPARE[row.get("spare space", "28 %")]
    keys: dict[str, Value] = {
        "device": "ds-ftl", "replay.period_s": PERIOD_S, "replay.speed": speed, **sets_of(FACTORS, row),
    }  # fmt: skip
    size = blocks(trace, preset("size", "conventional", keys), spare)
    keys["nand.blocks_per_plane"] = size
    # The blocks that the controller keeps back may be more than the spare space, where they are so few.
    while preset("size", "conventional", keys).capacity_pages < int(trace.info["footprint_pages"]):
        size += 1
        keys["nand.blocks_per_plane"] = size
    return {system: preset(system, system, defining_kept(system, keys)) for system in SYSTEMS}


def _busy_speed(light: Replay) -> float:
    """The clock at which dies that the light load leaves idle most of the time work for the share `BUSY` of it."""
    share = light.get("utilisation.chip_mean")
    assert share, "the light load keeps no die busy"
    return float(f"{SPEED * BUSY / share:.3g}")


@dataclass(frozen=True)
class Answer:
    """A question on one trace: the change in every row of the design, None where it is undefined or left out."""

    factors: Sequence[Factor]
    rows: Sequence[Mapping[str, str]]
    changes: Sequence[float | None]
    #: A change of no more than this is a tie.
    tie: float

    @property
    def known(self) -> list[float]:
        return [value for value in self.changes if value is not None]

    @property
    def word(self) -> str | None:
        """What all rows say, such as `falls`; None if some fall and some rise."""
        return common_sign(self.known, self.tie)

    @property
    def text(self) -> str:
        """The range, and the word or else the choice that moves the figure most."""
        if not self.known:
            return NOTHING
        more = f" **{self.word}**" if self.word else f"; {self.moved_by}" if self.moved_by else ""
        return f"{span(self.known, signed)}{more}"

    @property
    def moved_by(self) -> str | None:
        """The choice whose levels lie farthest apart in a least-squares fit of the quotient's logarithm."""
        wanted = [None if value is None or value <= -1 else math.log1p(value) for value in self.changes]
        found = effects(self.factors, self.rows, wanted)
        return found.strongest()[0] if found else None


def answer(data: Data, trace: str, system: str, baseline: str, figure: str, *, keeping_up: bool) -> Answer:
    """A question on a trace, over all rows or over those in which both drives keep up."""

    def moved(row: Data) -> float | None:
        before, after = (row["systems"][name] for name in (baseline, system))
        slow = any((one["write_ns"] or 0) > KEEPS_UP_NS for one in (before, after))
        return None if keeping_up and slow else change(before[figure], after[figure])

    # The first row is the ground of the presets.
    rest = data["traces"][trace][1:]
    seeds, rows = rest[ROWS:], data["rows"][1 : ROWS + 1]
    alone = [[value for row in half if (value := moved(row)) is not None] for half in (seeds[:3], seeds[3:])]
    spread = max((max(values) - min(values) for values in alone if values), default=0.0)
    users = {factor.name: set(systems) for factor, systems in PARTIAL}
    both = {system, baseline}
    factors = [one for one in FACTORS if both & users.get(one.name, both)]
    return Answer(factors, rows, [moved(row) for row in rest[:ROWS]], max(LEAST, spread))


def sign(value: float, tie: float) -> int:
    """-1, 0 for a tie, or 1."""
    return 0 if abs(value) <= tie else -1 if value < 0 else 1


def common_sign(values: Iterable[float], tie: float) -> str | None:
    """The common sign of all changes; None if some fall and some rise."""
    words = {
        frozenset({-1}): "falls", frozenset({1}): "rises", frozenset({0}): "the same",
        frozenset({-1, 0}): "never rises", frozenset({1, 0}): "never falls",
    }  # fmt: skip
    return words.get(frozenset(sign(value, tie) for value in values))


def pages(data: Data) -> Data:
    def table(*, keeping_up: bool) -> list[str]:
        return grid(["", *(f"`{name}`" for name in data["traces"])], (
            [f"`{system}`, {WORDS[figure]}, against `{baseline}`",
             *(answer(data, trace, system, baseline, figure, keeping_up=keeping_up).text for trace in data["traces"])]
            for system, baseline, compared in QUESTIONS for figure in compared
        ))  # fmt: skip

    return {"rows": ROWS, "all": table(keeping_up=False), "keeping_up": table(keeping_up=True)}


CODE = (*code.REPLAY, "python/flashtwin/experiments.py")
STUDY = Study("ranges", "the designs on equal ground, over everything that no paper fixes", measure, pages, CODE)

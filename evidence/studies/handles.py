"""Under which assumptions does flashtwin agree with a published measurement of placement handles (FDP)?

A Samsung PM9D3a with 960 GiB under test, of which nine workers at once write 855 GiB over, in objects that are
replaced whole (LMCache pull request 4016). Its authors leave open the order of replacement, the rates of the workers,
the flash behind the capacity, and the choice of victims. A setting is one option of each. All are replayed on a small
drive, and those nearest to the two published figures on larger ones. Pages have 1 MiB, and a block of the only plane is
the reclaim unit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow

import flashtwin as ft
from evidence.forms import change, count, grid, ratio
from evidence.studies.drives import preset
from evidence.study import Data, Lab, Study
from flashtwin.replays.presets import System
from flashtwin.settings import Value

#: Write amplification that was published: without handles, and with one for each class.
PUBLISHED = (2.600, 1.425)
#: What counts as agreement with both.
NEAR = 0.10
MIB, UNIT_GIB, CAPACITY_GIB, TIMES = 2**20, 16, 960, 4
#: By class the size of an object in MiB, that of a worker's data in GiB, and the workers.
CLASSES = {"chat": (4, 90, 2), "long": (32, 180, 1), "RAG": (16, 90, 2), "random": (2, 90, 3), "metadata": (1, 45, 1)}
ORDERS = ("in order", "uniform", "zipf 0.99")
BY_SIZE, EQUAL = "by size", "equal"
FLASH_GIB, VICTIMS = (1_024, 1_088, 1_152), ("greedy", "cost-benefit", "fifo")
#: The drive's size is divided by these: for all settings, for the nearest ones, for the nearest of all.
SMALL, LARGER, FULL = 64, 8, 1
#: How many of the nearest settings are replayed on the larger drive, and with one choice made otherwise.
CHECKED = 6

#: An order of each class, and the rates of the workers.
Load = tuple[tuple[str, ...], str]
#: A load, the flash in GiB, and the rule of victims.
Setting = tuple[Load, int, str]
EVERY: Sequence[Load] = list(product(product(ORDERS, repeat=len(CLASSES)), (BY_SIZE, EQUAL)))
#: Chat is replaced in order, the oldest first, because the source calls it churn. Beside these, all classes alike.
LOADS = [(orders, rates) for orders, rates in EVERY if orders[0] == ORDERS[0] or len({*orders}) == 1]


def measure(lab: Lab) -> Data:
    settings = list(product(LOADS, FLASH_GIB, VICTIMS))
    small = dict(_replayed(lab, settings, SMALL))
    near = sorted(settings, key=lambda one: _distance(small[one]))[:CHECKED]
    otherwise = {
        "persistent isolation": _replayed(lab, near, SMALL, isolation="persistent"),
        "units of 4 GiB": _replayed(lab, near, SMALL, unit_gib=4),
        "the other 105 GiB hold data": _replayed(lab, near, SMALL, more_gib=105),
    }
    return {
        "small": [[*_flat(one), *small[one]] for one in settings],
        "otherwise": {name: [[*_flat(one), *amplified] for one, amplified in of] for name, of in otherwise.items()},
        "larger": [[*_flat(one), *amplified] for one, amplified in _replayed(lab, near, LARGER)],
        "full": [[*_flat(one), *amplified] for one, amplified in _replayed(lab, near[:1], FULL)],
    }


def _flat(setting: Setting) -> list[Any]:
    (orders, rates), flash_gib, victim = setting
    return [*orders, rates, flash_gib, victim]


def _distance(amplified: Sequence[float]) -> float:
    """From both published figures, as a share: the larger one."""
    return max(abs(found / published - 1.0) for found, published in zip(amplified, PUBLISHED, strict=True))


def _replayed(
    lab: Lab, settings: Iterable[Setting], part: int, more_gib: int = 0, **drive: Any
) -> Iterator[tuple[Setting, tuple[float, float]]]:
    """Write amplification without handles and with, where the drive can hold the data beside its open units."""
    by_load: dict[Load, list[Setting]] = {}
    for one in settings:
        by_load.setdefault(one[0], []).append(one)
    data_pages = sum(_bounds(part, more_gib))
    for load, of in by_load.items():
        pairs = {one: _drives(one[1] + more_gib, one[2], part, **drive) for one in of}
        pairs = {one: pair for one, pair in pairs.items() if all(made.capacity_pages >= data_pages for made in pair)}
        named = {made.name: made for pair in pairs.values() for made in pair}
        kept = lab.replays(writes(load, part, more_gib), named)
        for one, pair in pairs.items():
            without, with_handles = (kept[made.name].get("write_amplification") or 0.0 for made in pair)
            yield one, (without, with_handles)


def _drives(
    flash_gib: int, victim: str, part: int, isolation: str = "initial", unit_gib: int = UNIT_GIB
) -> tuple[System, System]:
    keys: dict[str, Value] = {
        "nand.channels": 1, "nand.chips_per_channel": 1, "nand.dies_per_chip": 1, "nand.planes_per_die": 1,
        "nand.page_bytes": MIB, "nand.pages_per_block": unit_gib * 1024 // part,
        "nand.blocks_per_plane": flash_gib // unit_gib, "ftl.gc.victim": victim,
        # From two free units on, in step with the host.
        "ftl.gc.start": 0.0, "ftl.gc.stop": 0.0, "ftl.gc.urgent": 1, "ftl.gc.step_pages": 0,
        "replay.preload": "footprint", "replay.history": "in-order", "replay.queue_depth": 1,
    }  # fmt: skip
    handles: dict[str, Value] = {
        "ftl.partition.policy": "volumes", "ftl.partition.partitions": len(CLASSES),
        "ftl.partition.isolation": isolation,
    }  # fmt: skip
    name = f"{flash_gib} {victim}"
    return preset(name, "conventional", keys), preset(f"{name}, handles", "conventional", keys, handles)


def _bounds(part: int, more_gib: int) -> list[int]:
    """The pages of each class, and of the rest."""
    return [gib * workers * 1024 // part for _, gib, workers in CLASSES.values()] + [more_gib * 1024 // part]


def writes(load: Load, part: int, more_gib: int = 0) -> ft.Trace:
    """All workers at once, page by page; a volume a class, and one for data that lie beside untouched.

    The first requests read everything, so that all of it is the footprint, with which the drive is filled in order.
    """
    orders, rates = load
    draw, workers = np.random.default_rng(1), sum(workers for *_, workers in CLASSES.values())
    all_pages, total = sum(_bounds(part, 0)), TIMES * CAPACITY_GIB * 1024 // part
    pages, volumes, turns = [], [], []
    for volume, ((object_pages, gib, of_class), order) in enumerate(zip(CLASSES.values(), orders, strict=True)):
        size = gib * 1024 // part
        objects = size // object_pages
        share = size / all_pages if rates == BY_SIZE else 1.0 / workers
        for worker in range(of_class):
            chosen = _chosen(order, objects, round(total * share) // object_pages, draw)
            written = (worker * size + chosen[:, None] * object_pages + np.arange(object_pages)).ravel()
            pages.append(written)
            volumes.append(np.full(len(written), volume))
            turns.append((np.arange(len(written)) + draw.random()) / len(written))
    order_of = np.argsort(np.concatenate(turns), kind="stable")
    filled = [(at, volume, min(1024, size - at)) for volume, size in enumerate(_bounds(part, more_gib))
              for at in range(0, size, 1024)]  # fmt: skip
    begins, of, length = (np.array(column) for column in zip(*filled, strict=True))
    offsets = np.concatenate([begins, np.concatenate(pages)[order_of]])
    table = {
        "time_ns": np.arange(len(offsets)), "op": (np.arange(len(offsets)) >= len(begins)).astype(np.uint8),
        "offset_bytes": offsets * MIB, "length_bytes": np.concatenate([length, np.ones_like(order_of)]) * MIB,
        "volume": np.concatenate([of, np.concatenate(volumes)[order_of]]),
    }  # fmt: skip
    return ft.Trace.from_frame(pyarrow.table(table), name="caches")


def _chosen(order: str, objects: int, writes: int, draw: np.random.Generator) -> np.ndarray[Any, Any]:
    if order == "in order":
        return np.arange(writes) % objects
    if order == "uniform":
        return draw.integers(0, objects, writes)
    weights = np.arange(1, objects + 1) ** -0.99
    return draw.permutation(objects)[draw.choice(objects, writes, p=weights / weights.sum())]


FACTORS: Mapping[str, Sequence[Any]] = {
    **dict.fromkeys(CLASSES, ORDERS), "rates": (BY_SIZE, EQUAL), "flash, GiB": FLASH_GIB, "victims": VICTIMS,
}  # fmt: skip
#: A smaller change is none.
LEAST = 0.01
Row = Sequence[Any]


def pages(data: Data) -> Data:
    small = sorted(data["small"], key=lambda row: _distance(row[-2:]))
    near = [row for row in small if _distance(row[-2:]) <= NEAR]
    larger, full = ({tuple(row[:-2]): row[-2:] for row in data[part]} for part in ("larger", "full"))
    nearest = [row for row in small if tuple(row[:-2]) in larger]
    shown = [[*row[:-2], *(_pair(of) for of in (row[-2:], larger[tuple(row[:-2])]))] for row in nearest]
    return {
        "settings": len(small), "near": len(near), "choices": _choices(near),
        "shown": grid([*FACTORS, f"at 1/{SMALL}", f"at 1/{LARGER}"], shown), "checked": len(larger),
        "hold": sum(_distance(of) <= NEAR for of in larger.values()), "full": [_pair(of) for of in full.values()],
        "signs": _signs(small), "alike": _signs([row for row in small if len({*row[: len(CLASSES)]}) == 1]),
        "otherwise": _otherwise(data["otherwise"], {tuple(row[:-2]): row[-2:] for row in small}),
        "small": SMALL, "bigger": LARGER, "without": f"{PUBLISHED[0]:.3f}", "with": f"{PUBLISHED[1]:.3f}",
    }  # fmt: skip


def _pair(amplified: Row) -> str:
    return " and ".join(ratio(one, 3) for one in amplified)


def _choices(near: Sequence[Row]) -> list[str]:
    """How many of the settings that agree have each option of each choice."""
    rows = ([name, ", ".join(f"{option}: {count(sum(row[at] == option for row in near))}" for option in options)]
            for at, (name, options) in enumerate(FACTORS.items()))  # fmt: skip
    return grid(["choice", "settings that agree"], rows)


def _signs(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """By rule of victims, and of all: in how many settings handles lower write amplification, and raise it."""

    def of(chosen: Sequence[Row]) -> dict[str, int]:
        moves = [change(*row[-2:]) or 0.0 for row in chosen]
        return {
            "all": len(moves),
            "falls": sum(one < -LEAST for one in moves),
            "rises": sum(one > LEAST for one in moves),
        }

    victim = list(FACTORS).index("victims")
    return {"all": of(rows), **{name: of([row for row in rows if row[victim] == name]) for name in VICTIMS}}


def _otherwise(found: Mapping[str, Sequence[Row]], as_is: Mapping[tuple[Any, ...], Row]) -> list[str]:
    """Settings that agree, with one choice made otherwise: the means of both figures, beside those as it is."""

    def means(rows: Sequence[Row]) -> list[str]:
        return [ratio(sum(row[at] for row in rows) / len(rows), 3) for at in (-2, -1)] if rows else ["–", "–"]

    rows = []
    for name, of in found.items():
        same = [as_is[tuple(row[:-2])] for row in of]
        rows.append([name, len(of), *means(same), *means(of), sum(_distance(row[-2:]) <= NEAR for row in of)])
    head = ["choice", "settings", "without", "with handles", "otherwise without", "with handles", "agree still"]
    return grid(head, rows)


STUDY = Study(
    "handles", "a published drive with placement handles, over everything its source leaves open", measure, pages,
    needs="nothing",
)  # fmt: skip

"""Characterizations for tests of what is made of them: real ones of small traces, with the facts of a large one."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import flashtwin as ft
from flashtwin.characterization.measuring import Characterization

PERIODS, PERIOD_S = 7, 120
#: All that the paper on partitions asks for, on blocks so small that partitions of them are spared.
_SETTINGS = {
    "period_s": PERIOD_S, "wa.block_pages": [2],
    **{f"wa.{key}": [7, 28, 50, 75, 100] for key in ("over_provisioning_percent", "other_over_provisioning_percent")},
}  # fmt: skip
_LARGE = {"requests": 400_000, "reads": 180_000, "writes": 220_000}


@functools.cache
def _measured(seed: int, content: bool) -> Characterization:
    """Requests of 512 B to 4 KiB, mostly on a tenth of 6,000 sectors; or of pages, half of them of 60 contents."""
    random = np.random.default_rng(seed)
    number = 9000
    sector = np.where(random.random(number) < 0.7, random.integers(0, 600, number), random.integers(0, 6000, number))
    asked: dict[str, Any] = {
        "time_ns": np.sort(random.integers(0, PERIODS * PERIOD_S * 10**9, number)),
        "op": np.where(random.random(number) < 0.4, "R", "W"),
        "offset_bytes": 512 * sector, "length_bytes": 512 * random.choice([1, 2, 4, 8], number),
    }  # fmt: skip
    if content:
        popular = random.random(number) < 0.5
        values = np.where(popular, random.integers(0, 60, number), 1000 + sector)
        asked |= {"offset_bytes": 4096 * (sector % 300), "length_bytes": np.full(number, 4096)}
        asked["content"] = [[int(value)] for value in values]
    return ft.characterize(ft.Trace.from_frame(asked, name=f"t{seed}"), settings=_SETTINGS)


class Native:
    """Tables and summary of one, as the core gives them; blocks pass for those of 128 pages that statistics look at."""

    def __init__(self, name: str = "made-up", seed: int = 7, *, content: bool = True, **facts: Any) -> None:
        plain = _measured(seed, False)
        self.summary = {**plain.summary, "info": {**plain.summary["info"], "name": name, **_LARGE, **facts}}
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


def characterization(name: str = "made-up", seed: int = 7, **options: Any) -> Characterization:
    native = Native(name, seed, **options)
    return Characterization(native.summary, {key: lambda key=key: native.table(key) for key in native.table_names})


def write(folder: Path, name: str = "made-up", seed: int = 7, **options: Any) -> Path:
    """Writes a folder as `flashtwin characterize` does, without its report."""
    return characterization(name, seed, **options).write(folder)

"""Where a workload comes from: a recorded trace if there is one, otherwise its recipe."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flashtwin.errors import OutputError
from flashtwin.papers.model import PaperWorkload
from flashtwin.progress import Progress
from flashtwin.recipes.workloads import Workload, workload
from flashtwin.results import names
from flashtwin.traces.trace import Trace
from flashtwin.traces.trace import open as open_trace

#: What lies beside recorded traces and is none; people write in `.txt` where they had them from.
_NOT_TRACES = (*names.NOT_TRACES, ".txt")


@dataclass(frozen=True)
class WorkloadSource:
    """A workload's trace, not yet read."""

    #: "recorded" or "synthetic".
    kind: str
    label: str
    #: Names all that the trace depends on, so that results made from it can be found again unread.
    key: str
    #: Share of the full workload: requests, footprint and length of its days, so that the rate is the whole one's.
    scale: float
    open: Callable[[Progress | None], Trace]
    #: The same workload of so many `days`, or with reads that are `renewed` so many pages at a time
    #: (`reads.renewed_pages`). None where it cannot be had so, as one that is recorded.
    again: Callable[..., WorkloadSource | None] = lambda **_: None


def find(one: PaperWorkload, folder: Path | None, scale: float, seed: int, cache: Path) -> WorkloadSource:
    """The recorded trace in the folder, or the recipe."""
    files = [one.path] if one.path else recorded(one, folder) if folder is not None else []
    if files:
        return _from_files(one, files, cache)
    return _from_recipe(one.recipe, scale, seed)


def recorded(one: PaperWorkload, folder: Path) -> list[Path]:
    """The files of a workload: those that begin with its name or with the name its owners gave it, in order."""
    if not folder.is_dir():
        raise OutputError(f"{folder}: no such folder; give the folder of the recorded traces, or leave --traces out")
    found = sorted((path for path in folder.rglob("*") if _is_trace(path)), key=lambda path: _natural(path.name))
    for name in (one.name, *one.files):
        files = [path for path in found if re.match(rf"{re.escape(name)}(?![\w+-]*[a-z])", path.name)]
        if files:
            return files
    return []


def _is_trace(path: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.parts[-2:])
    return path.is_file() and not hidden and not path.name.lower().endswith(_NOT_TRACES)


def _natural(name: str) -> list[tuple[int, str]]:
    """Orders `x.2.y` before `x.10.y`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _from_files(one: PaperWorkload, files: Sequence[Path], cache: Path) -> WorkloadSource:
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    key = hashlib.sha256(json.dumps(["recorded", one.name, stats]).encode()).hexdigest()
    label = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
    volume = one.volume
    label = label if volume is None else f"{label}, volume {volume}"
    return WorkloadSource(
        "recorded", label, key, 1.0, lambda progress: _open_files(files, volume, key, cache, progress)
    )


def _open_files(files: Sequence[Path], volume: str | None, key: str, cache: Path, progress: Progress | None) -> Trace:
    """One file as it is; several, which their owners cut by days, one after another."""
    if len(files) == 1:
        return open_trace(files[0], volume=volume, progress=progress)
    joined = cache / f"joined-{key[:16]}{files[0].suffix}"
    if not joined.is_file():
        partial = joined.with_name(f".{joined.name}-{os.getpid()}.partial")
        with partial.open("wb") as out:
            for path in files:
                with path.open("rb") as part:
                    while chunk := part.read(1 << 20):
                        out.write(chunk)
        partial.replace(joined)
    return open_trace(joined, volume=volume, progress=progress)


def _from_recipe(name: str, scale: float, seed: int) -> WorkloadSource:
    recipe = workload(name)

    def made(recipe: Workload, days: int | None = None) -> WorkloadSource:
        def again(days: int | None = days, renewed: int | None = None) -> WorkloadSource | None:
            if renewed is None:
                return made(recipe, days)
            if recipe.recipe.get("reads", {}).get("unique_within") != "day":
                return None
            text = recipe.toml.replace("[reads]\n", f"[reads]\nrenewed_pages = {renewed}\n", 1)
            return made(replace(recipe, toml=text), days)

        # The text of the recipe and not its name alone: results of an earlier text are of another trace.
        made_of = ["synthetic", recipe.toml, scale, seed, days]
        return WorkloadSource(
            "synthetic", f"recipe {name}", hashlib.sha256(json.dumps(made_of).encode()).hexdigest(), scale,
            lambda progress: recipe.synthesize(scale=scale, seed=seed, days=days, progress=progress), again,
        )  # fmt: skip

    return made(recipe)

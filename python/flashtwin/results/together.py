"""Saved runs gathered from several places: one folder a run, result folders, earlier runs, a sweep's store.

Each gets a label of its own: its name, where no other has it, else its name with the settings that differ, else with
the folder it lies in. The first is the baseline.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flashtwin.errors import ReportError
from flashtwin.results import ground, identity, names
from flashtwin.results.documents import read_json, read_stored
from flashtwin.results.sweeps import read_plan


@dataclass(frozen=True)
class SavedResult:
    label: str
    name: str
    #: The folder that was named, whose name tells it from others.
    place: Path
    summary: identity.Summary = field(repr=False)
    tables: Mapping[str, Path] = field(repr=False)
    #: What is wrong with its folder, runs that were left out for example.
    problems: tuple[str, ...] = field(default=(), repr=False)

    def as_json(self) -> dict[str, Any]:
        """Where it comes from, for results that hold no paths."""
        return {
            "label": self.label,
            "name": self.name,
            "folder": _place_name(self.place) if self.place != Path() else None,
            "flashtwin": self.summary.get("flashtwin"),
            "trace": identity.trace_name(self.summary),
            "digest": identity.trace_of(self.summary),
        }


def is_results(path: Path | str) -> bool:
    path = Path(path)
    if path.is_dir():
        files = (names.STUDY, names.SUMMARY, names.SWEEP)
        return any((path / file).is_file() for file in files) or bool(_children(path))
    return path.suffix == ".json" and path.is_file() and "summary" in (read_stored(path) or {})


def gather(paths: Sequence[Path | str]) -> list[SavedResult]:
    """The runs that lie at the paths, in order, each with a label of its own.

    A path is a result folder (all its runs), the folder of one run, `OUT/earlier`, the folder of a sweep (all points
    that were made), or one entry of a sweep's store.
    """
    found = [run for path in dict.fromkeys(map(Path, paths)) for run in _runs_at(path)]
    return labelled(found)


def differences(runs: Sequence[SavedResult]) -> list[ground.Difference]:
    """Differences in the configurations of the runs, the ground that moves times first."""
    configs = {run.label: run.summary["config"] for run in runs if isinstance(run.summary.get("config"), Mapping)}
    return sorted(ground.differences(configs), key=lambda one: (not one.warns, not one.unequal))


def same_trace(runs: Sequence[SavedResult]) -> bool:
    return len({identity.trace_of(run.summary) for run in runs}) < 2


def warnings(runs: Sequence[SavedResult], version: str) -> list[str]:
    """Warnings about the figures: traces that differ first, other versions, runs that are left out."""
    said = []
    if not same_trace(runs):
        traces: dict[str, list[str]] = {}
        for run in runs:
            name, digest = identity.trace_name(run.summary), identity.trace_of(run.summary)
            traces.setdefault(f"{name} ({digest[:8]})", []).append(run.label)
        told = [f"{', '.join(labels)} replayed {trace}" for trace, labels in traces.items()]
        said.append(f"These runs are of different traces: {'; '.join(told)}.")
    other: dict[str, list[str]] = {}
    for run in runs:
        if identity.version(run.summary) != version:
            other.setdefault(identity.version(run.summary), []).append(run.label)
    said += [
        f"{', '.join(labels)}: made by flashtwin {made_by}, this is {version}; figures may differ for that alone."
        for made_by, labels in other.items()
    ]
    return [*said, *dict.fromkeys(f"{run.place}: {problem}" for run in runs for problem in run.problems)]


def _runs_at(path: Path) -> list[SavedResult]:
    if path.is_file() and path.suffix == ".json":
        return [_of_store(path, path)]
    if (path / names.SWEEP).is_file():
        return _of_sweep(path)
    if children := _children(path):
        return [_of_folder(child.name, path, child) for child in children]
    from flashtwin.results.reading import StudyFolder, load_any

    found = load_any(path)
    if not isinstance(found, StudyFolder):
        raise ReportError(
            f"{path}: holds no runs; expected results of `flashtwin study`, `compare`, `replay` or `sweep`"
        )
    runs = [found.baseline, *found.others(found.baseline)]
    return [replace(_of_folder(run.name, path, run.folder), problems=found.problems) for run in runs]


def _children(path: Path) -> list[Path]:
    """The folders of runs in a folder of these alone, such as OUT/runs and OUT/earlier."""
    if not path.is_dir() or (path / names.STUDY).is_file() or (path / names.SUMMARY).is_file():
        return []
    return sorted(child for child in path.iterdir() if (child / names.SUMMARY).is_file())


def _of_folder(name: str, place: Path, run: Path) -> SavedResult:
    # A run's own folder is called after it; of others the folder above tells where it comes from.
    where = run.parent.parent if run == place and run.parent.name == names.RUNS else place
    return SavedResult(
        name, run.name if run == place else name, where, read_json(run / names.SUMMARY), names.tables(run)
    )


def _of_sweep(path: Path) -> list[SavedResult]:
    store = path / names.STORE
    files = [names.stored_run(store, str(point.get("key"))) for point in read_plan(path)["points"]]
    found = [_of_store(file, path) for file in files if file.is_file() and "summary" in (read_stored(file) or {})]
    if not found:
        raise ReportError(f"{path}: no run of this sweep lies in {store}; name the files of its store instead")
    return found


def _of_store(file: Path, place: Path) -> SavedResult:
    summary = (read_stored(file) or {}).get("summary")
    if not isinstance(summary, Mapping):
        raise ReportError(f"{file}: holds no run; expected an entry of a sweep's store, such as STORE/runs/ab/KEY.json")
    tables = file.with_suffix(".tables")
    name = str(summary.get("system") or file.stem)
    return SavedResult(name, name, place, summary, names.tables(tables) if tables.is_dir() else {})


def labelled(runs: Sequence[SavedResult]) -> list[SavedResult]:
    """Each run with a label that no other has."""
    found: list[SavedResult] = []
    for run in runs:
        # A name from `OUT/earlier` says already how its run differs.
        plain = run.name.split(" (", 1)[0]
        others = [one for one in runs if one is not run and one.name.split(" (", 1)[0] == plain]
        label = _told_apart(plain, run, others) if others else run.name
        found.append(replace(run, label=label))
    labels = [run.label for run in found]
    labels = [f"{one} in {_place_name(run.place)}" if labels.count(one) > 1 else one
              for one, run in zip(labels, found, strict=True)]  # fmt: skip
    numbers = [labels[: place + 1].count(one) for place, one in enumerate(labels)]
    return [replace(run, label=one if number == 1 else f"{one} {number}")
            for run, one, number in zip(found, labels, numbers, strict=True)]  # fmt: skip


def _told_apart(name: str, run: SavedResult, others: Sequence[SavedResult]) -> str:
    """By few settings, else by where each lies; by the first settings where all lie in one place."""
    summaries = [one.summary for one in others]
    places = {one.place.resolve() for one in (run, *others)}
    few = len(identity.differing([run.summary, *summaries])) <= identity.NAMED
    if few or len(places) <= len(others):
        return identity.label(name, run.summary, summaries)
    return f"{name} in {_place_name(run.place)}"


def _place_name(place: Path) -> str:
    """The name of a folder of results; of earlier runs the folder that they were in."""
    where = place.resolve()
    return f"{where.parent.name} ({where.name})" if where.name == names.EARLIER else where.name

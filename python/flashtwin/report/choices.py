"""What a reader must know of the results: keys, differences between runs, and faults of traces."""

from collections.abc import Iterator, Mapping
from typing import Any

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results import ground
from flashtwin.results.reading import SavedRun, StudyFolder, TraceResults
from flashtwin.results.trees import as_number, dig, leaves, literal


def settings(run: SavedRun) -> list[tuple[str, str]]:
    return [(path, literal(value)) for path, value in leaves(run.config)]


def differences(study: StudyFolder) -> list[tuple[str, list[str], str]]:
    """The keys in which the runs' configurations differ, with one value a run, and the kind of each difference."""
    configs = [dict(settings(run)) for run in study.runs]
    keys = dict.fromkeys(key for config in configs for key in config if key not in ground.LABELS)
    rows = [(key, [config.get(key, units.MISSING) for config in configs]) for key in keys]
    told = {one.key: one for one in ground.differences(_configs(study))}
    return [(key, values, _what_it_is(told.get(key), key)) for key, values in rows if len(set(values)) > 1]


def _what_it_is(one: ground.Difference | None, key: str) -> str:
    if one is None:
        return "a part of the device" if key.startswith("nand.") else "of no matter to those that differ"
    parts = [f"design: {reason}" for reason in dict.fromkeys(one.defines.values())]
    return "; ".join([*parts, *([f"ground; moves {one.moves or 'nothing by itself'}"] if one.unequal else [])])


def _configs(study: StudyFolder) -> dict[str, Mapping[str, Any]]:
    return {run.label: run.config for run in (study.baseline, *study.others(study.baseline))}


def unequal_ground(study: StudyFolder) -> list[ground.Difference]:
    """Differences between the systems beyond their mechanisms; those that move reads or writes come first."""
    return sorted(ground.ground(_configs(study)), key=lambda one: not one.warns)


#: Differences between runs made at different times, beside their settings: field, title, meaning.
_GATHERED = (
    ("folder", "results", "where the run was saved"),
    ("trace", "trace", "what was replayed"),
    ("digest", "digest of the trace", "of one name, yet another trace"),
    ("flashtwin", "flashtwin", "the version that made it; figures may differ for that alone"),
)


def gathered(study: StudyFolder) -> list[tuple[str, list[str], str]]:
    """Differences between runs that were made at different times, with one value a run; nothing of one study."""
    sources = {str(one.get("label")): one for one in study.info.get("gathered") or () if isinstance(one, Mapping)}
    told = {one.key for one in ground.differences(_configs(study))}
    rows = [
        (title, [str(sources.get(run.name, {}).get(key) or units.MISSING)[: 12 if key == "digest" else None]
                 for run in study.runs], what)
        for key, title, what in _GATHERED
    ]  # fmt: skip
    rows += [row for row in differences(study) if row[0] in told]
    return [row for row in rows if len(set(row[1])) > 1] if sources else []


def zeroes(study: StudyFolder) -> str | None:
    return ground.zeroes(study.trace, _configs(study))


def was_made_equal(study: StudyFolder) -> bool:
    return study.info.get("equal_ground") is True


#: Faults of fewer requests than this (percent) stand in the footer, not on top.
MINOR_PERCENT = 0.1
#: Counters of good lines.
_NOT_A_FAULT = ("lines", "joined_lines", "partial_writes", "partial_trims")


def warnings(study: TraceResults) -> list[str]:
    """Warnings about the numbers: trace quality, sampling, runs left out, unlike ground."""
    notes = [*study.problems, *(text for text, minor in _quality_of(study) if not minor)]
    rate = study.measured("options.sample_rate")
    if rate is not None and rate < 1.0:
        sample = f"The workload was characterized from a sample: {units.percent(rate * 100)} of its pages"
        notes.append(f"{sample} and of its contents, chosen by hash.")
    if not isinstance(study, StudyFolder):
        return notes
    for run in study.runs:
        asked, done = run.number("trace.requests"), run.number("requests.completed")
        if asked and done is not None and done < asked:
            notes.append(f"`{run.label}` completed only {units.count(done)} of {units.count(asked)} requests.")
    unlike = [] if study.candidates.get("shown") else [one.key for one in unequal_ground(study) if one.warns]
    if unlike:
        keys = f"The systems differ in {units.names(unlike)} beyond what defines them"
        notes.append(f"{keys}, which moves reads or writes by itself: see What else differs.")
    if len({dig(run.summary, "trace.digest") for run in study.runs} - {None}) > 1:
        notes.append("The runs were made from different traces (their digests differ): do not compare them.")
    return notes


def minor_faults(study: TraceResults) -> list[str]:
    """Faults of the trace that are too rare to matter; they belong in the record all the same."""
    return [text for text, minor in _quality_of(study) if minor]


def _quality_of(study: TraceResults) -> list[tuple[str, bool]]:
    """Faults of the trace, each once, with whether it is minor."""
    runs = study.runs if isinstance(study, StudyFolder) else ()
    every = [
        study.trace.get("quality"),
        *(dig(run.summary, key) for run in runs for key in ("quality", "trace.quality")),
    ]
    found: dict[str, bool] = {}
    for text, minor in (fault for quality in every for fault in _quality(quality, study.fact("requests"))):
        found.setdefault(text, minor)
    return list(found.items())


def _quality(quality: Any, requests: float | None) -> Iterator[tuple[str, bool]]:
    for path, value in leaves(quality) if isinstance(quality, Mapping) else ():
        label, number = path.replace(".", " ").replace("_", " "), as_number(value)
        if path.rpartition(".")[2] in _NOT_A_FAULT:
            continue
        words = [value] if isinstance(value, str) else value[:5] if isinstance(value, list) else []
        if any(words):
            yield f"{label.capitalize()}: {'; '.join(str(word).rstrip('.') for word in words)}.", False
        elif number is not None and number > 0 and path.endswith("_ns"):
            yield f"Trace quality: {label.removesuffix(' ns')} {units.duration(number)}.", True
        elif number is not None and number > 0:
            part = facts.share(number, requests)
            of = f" ({units.percent(part)} of the requests)" if part is not None and part <= 100 else ""
            yield f"Trace quality: {units.count(number)} {label}{of}.", part is not None and part < MINOR_PERCENT

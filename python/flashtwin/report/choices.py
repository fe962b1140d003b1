"""The modelling choices behind the numbers, in the words of the keys, and what a reader must know of the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.judgement.verdict import lower
from flashtwin.results import ground
from flashtwin.results.keys import K, matters, value_words
from flashtwin.results.reading import SavedRun, StudyFolder, TraceResults, as_number
from flashtwin.results.trees import dig, leaves, literal

#: The keys that the page lists, of the systems to which they matter.
_KEYS = (
    K.engine.write_completes, K.engine.flush, K.engine.concurrency, K.replay.preload, K.replay.partial_write,
    K.engine.load, K.replay.content, K.replay.period_s, K.engine.hash_us, K.engine.hash_lanes,
    K.ftl.dedup.fingerprint_entries, K.ftl.replication.alpha, K.device, K.description,
)  # fmt: skip


def choices(study: StudyFolder) -> list[tuple[str, str]]:
    """Every choice with its value in words; where systems differ, each value with the systems that have it."""
    found = []
    for key in _KEYS:
        groups: dict[str, list[str]] = {}
        for run in study.runs:
            if (text := _told(run, key)) is not None:
                groups.setdefault(text, []).append(run.label)
        of_all = len(groups) == 1 and len(next(iter(groups.values()))) == len(study.runs)
        of_some = [text if of_all else f"{text} ({units.names(labels)})" for text, labels in groups.items()]
        found += [(key, "; ".join(of_some))] if of_some else []
    return found


def _told(run: SavedRun, key: str) -> str | None:
    value = run.setting(key)
    if value is None or not (key in ground.LABELS or matters(key, run.config)):
        return None
    if key == K.description:
        return str(value).rstrip(".") or None
    words = value_words(key, value)
    return f"`{literal(value)}`{f': {lower(words)}' if words else ''}"


def settings(run: SavedRun) -> list[tuple[str, str]]:
    """Every key of the resolved configuration with its value, in the order of the file."""
    return [(path, literal(value)) for path, value in leaves(run.config)]


def differences(study: StudyFolder) -> list[tuple[str, list[str], str]]:
    """The keys in which the runs' configurations differ, with one value a run, and the kind of each difference."""
    configs = [dict(settings(run)) for run in study.runs]
    keys = dict.fromkeys(key for config in configs for key in config if key not in ground.LABELS)
    rows = [(key, [config.get(key, units.MISSING) for config in configs]) for key in keys]
    told = {one.key: one for one in ground.differences(_configs(study))}
    return [(key, values, _what_it_is(told.get(key), key)) for key, values in rows if len(set(values)) > 1]


def _what_it_is(one: ground.Difference | None, key: str) -> str:
    """The design of a system, with the reason, or the ground, with its effect."""
    if one is None:
        return "a part of the device" if key.startswith("nand.") else "of no matter to those that differ"
    parts = [f"design: {reason}" for reason in dict.fromkeys(one.defines.values())]
    parts += [f"ground; moves {one.moves or 'nothing by itself'}"] if one.unequal else []
    return "; ".join(parts)


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
    found = study.info.get("gathered") or ()
    sources = {str(one.get("label")): one for one in found if isinstance(one, Mapping)}
    if not sources:
        return []
    rows = [
        (title, [str(sources.get(run.name, {}).get(key) or units.MISSING)[: 12 if key == "digest" else None]
                 for run in study.runs], what)
        for key, title, what in _GATHERED
    ]  # fmt: skip
    told = {one.key for one in ground.differences(_configs(study))}
    return [row for row in [*rows, *(row for row in differences(study) if row[0] in told)] if len(set(row[1])) > 1]


def was_made_equal(study: StudyFolder) -> bool:
    """Whether all systems were given the baseline's ground."""
    return study.info.get("equal_ground") is True


#: Faults of fewer requests than this (percent) stand in the footer, not on top.
MINOR_PERCENT = 0.1

#: Counters of the reader that count good lines, not faults.
_NOT_A_FAULT = ("lines", "joined_lines", "partial_writes", "partial_trims")


def warnings(study: TraceResults) -> list[str]:
    """Warnings about the numbers: trace quality, sampling, runs left out, unlike ground."""
    notes = [*study.problems, *(text for text, minor in _quality_of(study) if not minor)]
    rate = study.measured("options.sample_rate")
    if rate is not None and rate < 1.0:
        notes.append(
            f"The workload was characterized from a sample: {units.percent(rate * 100)} of its pages and of its "
            "contents, chosen by hash."
        )
    return [*notes, *_of_runs(study)] if isinstance(study, StudyFolder) else notes


def _of_runs(study: StudyFolder) -> list[str]:
    notes = []
    for run in study.runs:
        asked, done = run.number("trace.requests"), run.number("requests.completed")
        if asked and done is not None and done < asked:
            notes.append(f"`{run.label}` completed only {units.count(done)} of {units.count(asked)} requests.")
    unlike = [] if study.candidates.get("shown") else [one.key for one in unequal_ground(study) if one.warns]
    if unlike:
        move = "moves reads or writes by itself" if len(unlike) == 1 else "move reads or writes by themselves"
        keys = units.names(unlike)
        notes.append(f"The systems differ in {keys} beyond what defines them, which {move}: see What else differs.")
    digests = {dig(run.summary, "trace.digest") for run in study.runs} - {None}
    if len(digests) > 1:
        notes.append("The runs were made from different traces (their digests differ): do not compare them.")
    return notes


def minor_faults(study: TraceResults) -> list[str]:
    """Faults of the trace that are too rare to matter; they belong in the record all the same."""
    return [text for text, minor in _quality_of(study) if minor]


def _quality_of(study: TraceResults) -> list[tuple[str, bool]]:
    """Faults of the trace, each once, with whether it is minor; those of runs name the run when they differ."""
    requests = study.fact("requests")
    found = dict(_quality(study.trace.get("quality"), requests))
    for run in study.runs if isinstance(study, StudyFolder) else ():
        for key in ("quality", "trace.quality"):
            found |= {text: minor for text, minor in _quality(dig(run.summary, key), requests) if text not in found}
    return list(found.items())


def _quality(quality: Any, requests: float | None) -> Iterator[tuple[str, bool]]:
    """One sentence for each counter that is not zero and for each warning in words."""
    for path, value in leaves(quality) if isinstance(quality, Mapping) else ():
        label = path.replace(".", " ").replace("_", " ")
        number = as_number(value)
        if path.rpartition(".")[2] in _NOT_A_FAULT:
            continue
        if isinstance(value, str) and value:
            yield f"{label.capitalize()}: {value.rstrip('.')}.", False
        elif isinstance(value, list) and value:
            shown = "; ".join(str(item).rstrip(".") for item in value[:5])
            yield f"{label.capitalize()}: {shown}.", False
        elif number is not None and number > 0:
            if path.endswith("_ns"):
                yield f"Trace quality: {label.removesuffix(' ns')} {units.duration(number)}.", True
                continue
            part = facts.share(number, requests)
            of = f" ({units.percent(part)} of the requests)" if part is not None and part <= 100 else ""
            yield f"Trace quality: {units.count(number)} {label}{of}.", part is not None and part < MINOR_PERCENT

"""The modelling choices behind the numbers, in words, as the results recorded them.

Simulators differ here silently; a report that does not say where a response
time ends cannot be compared with another. Only what `summary.config` holds is
stated; what is not recorded is said to be so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flashtwin import units
from flashtwin.judgement import facts
from flashtwin.results import ground
from flashtwin.results.keys import matters
from flashtwin.results.reading import SavedRun, StudyFolder, TraceResults, as_number
from flashtwin.results.trees import dig, leaves

#: The value of a key, in words.
Words = Callable[[Any], str | None]


def _as_given(value: Any) -> str:
    number = as_number(value)
    return f"`{value}`" if number is None else units.count(number)


def _period(seconds: float) -> str:
    return f"{units.duration(seconds * 1e9)} of the trace's clock"


def _alpha(alpha: float) -> str:
    return f"what deduplication saves, plus {units.percent(alpha * 100.0)} of the footprint (alpha = {alpha:g})"


def _of(words: Mapping[str, str]) -> Words:
    """The value in words; as it stands where there are none for it."""
    return lambda value: words.get(str(value), f"`{value}`")


#: Title, key, and the words for its value; told of the systems to which the key matters.
_CHOICES: tuple[tuple[str, str, Words], ...] = (
    (
        "A write is answered",
        "engine.write_completes",
        _of(
            {
                "programmed": "when its page is programmed (the papers' way)",
                "transferred": "when its data is in the chip's register",
                "hashed": "when its page is hashed and has a place in power-protected RAM",
                "buffered": "when the controller has it, in power-protected RAM",
            }
        ),
    ),
    (
        "A flush waits",
        "engine.flush",
        _of({"writes": "for every write before it, until that survives a power cut", "none": "for nothing"}),
    ),
    (
        "Works on its own",
        "engine.concurrency",
        _of(
            {"die": "each die of a chip", "chip": "each chip: one operation at a time", "plane": "each plane of a die"}
        ),
    ),
    (
        "On the device before the trace",
        "replay.preload",
        _of(
            {
                "first-reads": "every page whose first access is a read, with that content; loading is not counted",
                "footprint": "every page, overwritten until garbage collection is steady; not counted",
                "none": "nothing",
            }
        ),
    ),
    (
        "A write of part of a page",
        "replay.partial_write",
        _of({"read-modify-write": "reads the page first, then writes it whole", "ignore": "counts as a whole page"}),
    ),
    (
        "Load of a chip",
        "engine.load",
        _of(
            {
                "queue-length": "the number of operations waiting and in service",
                "reads-waiting": "the number of reads waiting and in service",
                "expected-wait": "the sum of the service times ahead of a new read",
            }
        ),
    ),
    ("Fingerprints kept", "ftl.dedup.fingerprint_entries", _as_given),
    ("Room for replicas", "ftl.replication.alpha", _alpha),
)
_CONTENTS = {
    "recorded": "as recorded in the trace",
    "unique": "made up: every page write brings a new one",
    "none": "none; the systems do not look at it",
}


def _arrivals(run: SavedRun) -> str | None:
    """Open or closed loop, and the speed."""
    depth, speed = as_number(run.setting("replay.queue_depth")), as_number(run.setting("replay.speed"))
    if depth:
        return f"closed loop: {units.count(depth)} requests kept under way, whatever the trace's times"
    if speed is None:
        return None
    return "open loop, at the trace's times" + ("" if speed == 1 else f", its clock {speed:g} times faster")


def _hashing(run: SavedRun) -> str | None:
    time, lanes = run.setting("engine.hash_us"), run.setting("engine.hash_lanes")
    if time is None or not facts.deduplicates(run):
        return None
    at_once = {None: "", 0: ", in a pipeline"}.get(lanes, f", {lanes} at a time")
    return f"{time:g} µs a page{at_once}"


def _contents(run: SavedRun) -> str | None:
    source = dig(run.summary, "trace.content_source")
    return source and _CONTENTS.get(source, f"`{source}`")


#: What no single key says.
_TOLD: tuple[tuple[str, Callable[[SavedRun], str | None]], ...] = (
    ("Arrivals", _arrivals),
    ("Period", lambda run: None if (value := run.setting("replay.period_s")) is None else _period(value)),
    ("Hashing", _hashing),
    ("Device", lambda run: None if (value := run.setting("device")) is None else f"`{value}`"),
    ("The system is", lambda run: str(run.setting("description") or "").rstrip(".") or None),
    ("Content of the pages", _contents),
)


def choices(study: StudyFolder) -> list[tuple[str, str]]:
    """(title, words) for every choice; where systems differ, each value with the systems that have it."""
    of_keys = [(title, {run.label: _of_key(run, key, words) for run in study.runs}) for title, key, words in _CHOICES]
    told = [(title, {run.label: words(run) for run in study.runs}) for title, words in _TOLD]
    return [(title, text) for title, values in (*of_keys, *told) if (text := _grouped(values)) is not None]


def _of_key(run: SavedRun, key: str, words: Words) -> str | None:
    value = run.setting(key)
    return words(value) if value is not None and matters(key, run.config) else None


def _grouped(values: Mapping[str, str | None]) -> str | None:
    groups: dict[str, list[str]] = {}
    for label, text in values.items():
        if text:
            groups.setdefault(text, []).append(label)
    if not groups:
        return None
    if len(groups) == 1:
        text, labels = next(iter(groups.items()))
        return text if len(labels) == len(values) else f"{text} ({units.names(labels)})"
    return "; ".join(f"{units.names(labels)}: {text}" for text, labels in groups.items())


def settings(run: SavedRun) -> list[tuple[str, str]]:
    """Every key of the resolved configuration with its value, in the order of the file."""
    return [(path, _value(value)) for path, value in leaves(run.config)]


def differences(study: StudyFolder) -> list[tuple[str, list[str], str]]:
    """The keys in which the runs' configurations differ, with one value a run, and what each difference is."""
    configs = [dict(settings(run)) for run in study.runs]
    keys = dict.fromkeys(key for config in configs for key in config)
    rows = [(key, [config.get(key, units.MISSING) for config in configs]) for key in keys]
    told = {one.key: one for one in ground.differences(_configs(study))}
    return [(key, values, _what_it_is(told.get(key), key)) for key, values in rows if len(set(values)) > 1]


def _what_it_is(one: ground.Difference | None, key: str) -> str:
    """The design of a system, with the reason, or the ground, with what it moves."""
    if one is None and key.startswith("nand."):
        return "a part of the device"
    if one is None:
        return "a label" if key in ground.LABELS else "of no matter to those that differ"
    reasons = list(dict.fromkeys(one.defines.values()))
    parts = [f"design: {reason}" for reason in reasons]
    if one.unequal:
        parts.append(f"ground; moves {one.moves}" if one.moves else "ground; moves nothing by itself")
    return "; ".join(parts)


def _configs(study: StudyFolder) -> dict[str, Mapping[str, Any]]:
    """The configurations, the baseline's first."""
    return {run.label: run.config for run in (study.baseline, *study.others(study.baseline))}


def unequal_ground(study: StudyFolder) -> list[ground.Difference]:
    """What differs between the systems beyond what defines them; what moves reads or writes comes first."""
    return sorted(ground.ground(_configs(study)), key=lambda one: not one.warns)


def gathered(study: StudyFolder) -> list[tuple[str, list[str], str]]:
    """What differs between runs that were made at different times, with one value a run; nothing of one study.

    Where they come from and what of their traces and versions differs, then the settings.
    """
    found = study.info.get("gathered")
    sources = {str(one.get("label")): one for one in found if isinstance(one, Mapping)} if found else {}
    if not sources:
        return []
    rows = []
    for key, title, what in (
        ("folder", "results", "where the run was saved"),
        ("trace", "trace", "what was replayed"),
        ("digest", "digest of the trace", "of one name, yet another trace"),
        ("flashtwin", "flashtwin", "the version that made it; figures may differ for that alone"),
    ):
        values = [str(sources.get(run.name, {}).get(key) or units.MISSING) for run in study.runs]
        if len(set(values)) > 1:
            rows.append((title, [value[:12] if key == "digest" else value for value in values], what))
    told = {one.key for one in ground.differences(_configs(study))}
    return rows + [row for row in differences(study) if row[0] in told]


def was_made_equal(study: StudyFolder) -> bool:
    """Whether all systems were given the baseline's ground."""
    return study.info.get("equal_ground") is True


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return units.MISSING if value is None else str(value)


#: Faults of fewer requests than this (percent) are told in the footer, not on top.
MINOR_PERCENT = 0.1

#: Counters of the reader that say how much there was, not what was wrong.
_NOT_A_FAULT = ("lines", "joined_lines", "partial_writes", "partial_trims")


def warnings(study: TraceResults) -> list[str]:
    """What a reader must know before trusting the numbers: trace quality, sampling, runs left out, overload."""
    notes = [*study.problems, *(text for text, minor in _quality_of(study) if not minor)]
    rate = study.measured("options.sample_rate")
    if rate is not None and rate < 1.0:
        notes.append(
            f"The workload was characterized from a sample: {units.percent(rate * 100)} of its pages and of its "
            "contents, chosen by hash."
        )
    return [*notes, *_of_runs(study)] if isinstance(study, StudyFolder) else notes


def _of_runs(study: StudyFolder) -> list[str]:
    """Runs that are incomplete, of different traces, or overloaded."""
    notes = []
    for run in study.runs:
        asked, done = run.number("trace.requests"), run.number("requests.completed")
        if asked and done is not None and done < asked:
            notes.append(f"`{run.label}` completed only {units.count(done)} of {units.count(asked)} requests.")
    unlike = [one.key for one in unequal_ground(study) if one.warns]
    if unlike:
        move = "moves reads or writes by itself" if len(unlike) == 1 else "move reads or writes by themselves"
        keys = units.names(unlike)
        notes.append(f"The systems differ in {keys} beyond what defines them, which {move}: see What else differs.")
    digests = {dig(run.summary, "trace.digest") for run in study.runs} - {None}
    if len(digests) > 1:
        notes.append("The runs were made from different traces (their digests differ): do not compare them.")
    share = facts.waiting_share(study.baseline, "all")
    if share is not None and share > 95.0:
        notes.append(
            f"Waiting is {units.percent(share)} of a request's time under `{study.baseline.label}`: "
            "the device is overloaded, and means are dominated by the length of the backlog."
        )
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

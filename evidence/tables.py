"""Tables of the pages, from the data of stages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from evidence.conclusions import FEWEST_ROWS, QUESTIONS, Answer, answers
from evidence.forms import NOTHING, amplification, count, grid, megabytes, percent, signed, span, us
from evidence.stages.ranges import EXCLUDED, FACTORS

Figures = Mapping[str, Any]


class UnmeasuredError(Exception):
    """A page needs a stage that has no data; the message is its name."""


def systems(figures: Mapping[str, Figures]) -> str:
    """All systems on one trace."""
    head = ["system", "read, us", "p99", "write, us", "p99", "WA", "erases", "RAM, MB"]
    return grid(head, ([
        f"`{name}`", us(one["read_ns"]), us(one["read_p99_ns"], 0), us(one["write_ns"]), us(one["write_p99_ns"], 0),
        amplification(dict(one)), count(one["erases"]), megabytes(one["ram_bytes"]),
    ] for name, one in figures.items()))  # fmt: skip


def ground(found: list[dict[str, Any]]) -> str:
    """Other differences between systems that stand side by side."""
    rows = []
    for one in found:
        groups: dict[str, list[str]] = {}
        for name, value in one["values"].items():
            groups.setdefault(str(value), []).append(f"`{name}`")
        values = "; ".join(f"{value}: {', '.join(names)}" for value, names in groups.items())
        rows.append([f"`{one['key']}`", values, one["moves"] or "nothing"])
    return grid(["key", "values", "moves"], rows)


def verdicts(data: Mapping[str, Any], *, keeping_up: bool = False) -> str:
    """Every question on every trace: the lowest and the highest change of all rows."""
    return grid(["", *(f"`{name}`" for name in data["traces"])], (
        [question.label, *map(_range, answers(question, data, keeping_up=keeping_up).values())]
        for question in QUESTIONS
    ))  # fmt: skip


def _range(answer: Answer) -> str:
    if not answer.known:
        return NOTHING
    of = f"{answer.agreeing} of {len(answer.known)}"
    return f"{span(answer.known, signed)} " + (f"**{answer.word}** ({of})" if answer.word else f"({of})")


def surviving(data: Mapping[str, Any], *, keeping_up: bool = False) -> list[str]:
    """Questions whose answer no row of a trace contradicts, with the answer, the traces and the range."""
    lines = []
    for question in QUESTIONS:
        by_word: dict[str, dict[str, Answer]] = {}
        for name, answer in answers(question, data, keeping_up=keeping_up).items():
            if answer.word and len(answer.known) >= FEWEST_ROWS:
                by_word.setdefault(answer.word, {})[name] = answer
        for word, found in by_word.items():
            every = [value for answer in found.values() for value in answer.known]
            on = ", ".join(f"`{name}`" for name in found)
            lines.append(f"{question.label}: **{word}** on {on}, {len(every)} rows ({span(every, signed)}).")
    return lines


def depending(data: Mapping[str, Any]) -> list[str]:
    """What turns the other answers: by trace, the choice that moves it most and under what all rows agree."""
    lines = []
    for question in QUESTIONS:
        found = {name: answer for name, answer in answers(question, data).items() if not answer.word}
        if found:
            lines.append(f"{question.label}. " + " ".join(_on(name, answer) for name, answer in found.items()))
    return lines


def _on(name: str, answer: Answer) -> str:
    if not answer.known:
        return f"`{name}`: not defined."
    most = f"`{name}`: moved most by {answer.moved_by or NOTHING}"
    under = [
        f"{one.word} with {one.choice} = {one.level} ({span(one.changes, signed)})" for one in answer.conditions()
    ]  # fmt: skip
    return f"{most}; {', '.join(under)}." if under else f"{most}."


def moved_most(data: Mapping[str, Any]) -> str:
    """By question and trace the three choices that move it most, each with the difference between its levels."""
    rows = []
    for question in QUESTIONS:
        cells = []
        for answer in answers(question, data).values():
            found = answer.effects
            cells.append(NOTHING if found is None else "; ".join(
                f"{name} {percent(math.expm1(found.range_of(name)))}" for name in found.strongest()[:3]
            ))  # fmt: skip
        rows.append([question.label, *cells])
    return grid(["", *(f"`{name}`" for name in data["traces"])], rows)


def factors() -> str:
    """The factors, with all levels; the first is that of the presets."""
    return grid(["choice", "levels"], ([one.name, "; ".join(one.levels)] for one in FACTORS))


def excluded() -> str:
    """Choices that are fixed, with the reason."""
    return grid(["key", "why it is not varied"], ([f"`{key}`", reason] for key, reason in EXCLUDED.items()))


def loads(data: Mapping[str, Any]) -> str:
    """How busy dies are under both loads, on `conventional`, by trace."""
    rows = []
    for name, grounds in data["traces"].items():
        by = {load: [
            ground["busy"] for row, ground in zip(data["rows"], grounds, strict=True)
            if row.get("load", "light") == load
        ] for load in ("light", "busy")}  # fmt: skip
        rows.append([f"`{name}`", span(by["light"], lambda share: percent(share, 1)), span(by["busy"], percent)])
    return grid(["trace", "light", "busy"], rows)


def changes(data: Mapping[str, Any], label: str, *traces: str) -> list[float]:
    """The changes of a question in all rows of these traces, or of all."""
    (question,) = (one for one in QUESTIONS if one.label.startswith(label))
    found = answers(question, data)
    return [value for name in traces or found for value in found[name].known]


def bullets(lines: list[str]) -> str:
    """A list."""
    return "\n".join(f"* {line}" for line in lines) or "* none"


def made(records: Mapping[str, Any], *names: str) -> str:
    """How and when the figures of a page were made."""
    rows = []
    for name in names:
        if name not in records:
            raise UnmeasuredError(name)
        record = records[name]
        rows.append([
            f"[{record['title']}](evidence/{name}.json)", f"`{record['command']}`", record["made"],
            _code(record), took(record["wall_s"]),
        ])  # fmt: skip
    return grid(["figures", "command", "made", "by flashtwin", "in"], rows)


def took(seconds: int | None) -> str:
    """How long a stage took."""
    if seconds is None:
        return NOTHING
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds} s"


def _code(record: Mapping[str, Any]) -> str:
    """Which code made a stage's figures, and which one has confirmed them since with a sample."""
    made = f"{record['flashtwin']}, code `{record['code']}`"
    if "confirmed" not in record:
        return made
    return (
        f"{made}; {record['confirmed']['sample']} again by code `{record['confirmed']['code']}`, with the same figures"
    )


TABLES = {
    table.__name__: table
    for table in (
        systems,
        ground,
        verdicts,
        surviving,
        depending,
        moved_most,
        factors,
        excluded,
        loads,
        changes,
        bullets,
        made,
    )
}

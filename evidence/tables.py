"""Tables of the pages, from the data of stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidence import conclusions
from evidence.conclusions import QUESTIONS, Answer, Question, answers, changed, everywhere, overall
from evidence.forms import NOTHING, amplification, count, grid, megabytes, signed, span, us

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
    """What else differs between systems that stand side by side."""
    rows = []
    for one in found:
        groups: dict[str, list[str]] = {}
        for name, value in one["values"].items():
            groups.setdefault(str(value), []).append(f"`{name}`")
        values = "; ".join(f"{value}: {', '.join(names)}" for value, names in groups.items())
        rows.append([f"`{one['key']}`", values, one["moves"] or "nothing"])
    return grid(["key", "values", "moves"], rows)


def verdicts(traces: Mapping[str, conclusions.Grounds]) -> str:
    """Every question on every trace: the lowest and the highest change of all columns, and what survives."""
    rows = []
    for question in QUESTIONS:
        found = answers(question, traces)
        rows.append([question.label, *(_range(answer) for answer in found.values()), overall(found)])
    return grid(["", *(f"`{name}`" for name in traces), "in every column"], rows)


def _range(answer: Answer) -> str:
    if answer.low is None:
        return NOTHING
    return span(answer.known, signed) + (" **" if answer.survives else "")


def columns(question: Question, traces: Mapping[str, conclusions.Grounds]) -> str:
    """One question in every column; the grounds are rows, since there are more of them than of traces."""
    found = {name: question.changes(grounds) for name, grounds in traces.items()}
    grounds = next(iter(found.values()))
    rows = [
        [age, placement, suspension, *(signed(found[name][f"{age}/{placement}/{suspension}"]) for name in found)]
        for age, placement, suspension in (ground.split("/") for ground in grounds)
    ]
    return grid(["drive", "placement", "reads suspend", *(f"`{name}`" for name in traces)], rows)


def surviving(traces: Mapping[str, conclusions.Grounds]) -> list[str]:
    """Questions whose answer is one and the same in every column of every trace, with the answer and its range."""
    lines = []
    for question in QUESTIONS:
        found = answers(question, traces)
        if word := everywhere(found):
            every = [value for answer in found.values() for value in answer.known]
            lines.append(f"{question.label}: **{word}** in every column of every trace ({span(every, signed)})")
    return lines


def depending(traces: Mapping[str, conclusions.Grounds]) -> list[str]:
    """The other questions, with what each depends on."""
    lines = []
    for question in QUESTIONS:
        found = answers(question, traces)
        if not everywhere(found):
            lines.append(f"{question.label}: {overall(found)}")
    return lines


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
        minutes = f"{record['wall_s'] / 60:.0f} min" if record["wall_s"] >= 90 else f"{record['wall_s']} s"
        rows.append([
            f"[{record['title']}](evidence/{name}.json)", f"`{record['command']}`", record["made"],
            _code(record), minutes,
        ])  # fmt: skip
    return grid(["figures", "command", "made", "by flashtwin", "in"], rows)


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
    for table in (changed, systems, ground, verdicts, columns, surviving, depending, bullets, made, answers)
}

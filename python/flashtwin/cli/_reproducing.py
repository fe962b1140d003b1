"""A reproduction as people read it on the terminal: items, then scale, counts and reasons in a few lines."""

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from flashtwin import units
from flashtwin.cli._talk import data, table
from flashtwin.papers.claims import Agreement
from flashtwin.results import names
from flashtwin.results.documents import json_object

Papers = Sequence[Mapping[str, Any]]

#: Written by `python -m evidence --pages`: the verdict on each item at the default scale.
VERDICTS = "verdicts.json"
#: The verdict on an item whose verdict at the default scale is another.
NOT_CLAIMED = "not claimed at this scale"
#: Verdicts as verbs, for several items.
_WORDS: dict[str, str] = {
    Agreement.AGREES: "agree",
    Agreement.SIGN: "agree in sign and order",
    Agreement.DISAGREES: "disagree",
}
REASONS_MAX = 3
SYNTHETIC = "synthetic"


def show(papers: Papers, path: Path) -> None:
    data(
        table(["item", "claims agree", "verdict"], [_line(paper, item) for paper in papers for item in paper["items"]])
    )
    for line in summary(papers, path):
        data(line)


def _line(paper: Mapping[str, Any], item: Mapping[str, Any]) -> list[str]:
    counts = item["counts"]
    known = sum(counts.values()) - counts[Agreement.UNKNOWN]
    return [f"{paper['id']} {item['id']}", f"{counts[Agreement.AGREES]} of {known}", item["verdict"]]


def summary(papers: Papers, path: Path) -> list[str]:
    return [*_scale(papers), _counts(papers), *_not_claimed(papers), *_reasons(papers, path)]


def counts(papers: Papers) -> dict[str, int]:
    """Items with each verdict; those that are not claimed at this scale count as that alone."""
    found = [judged(paper, item) for paper in papers for item in paper["items"]]
    return {verdict: found.count(verdict) for verdict in (*map(str, Agreement), NOT_CLAIMED)}


def judged(paper: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    """The verdict on an item, unless recipes were smaller than by default and it is another there."""
    known = _at_default().get(paper["id"])
    scale = _scale_of(paper)
    if known and scale is not None and scale < known["scale"]:
        usual = known["items"].get(item["id"], item["verdict"])
        return NOT_CLAIMED if usual != item["verdict"] else usual
    return str(item["verdict"])


def _at_default() -> dict[str, Any]:
    return json_object(resources.files("flashtwin.papers").joinpath(VERDICTS).read_text("utf-8"))


def _scale_of(paper: Mapping[str, Any]) -> float | None:
    """The size of a paper's recipes as a share of the published one; None where none was used."""
    scales = [one["scale"] for one in paper["workloads"] if one["kind"] == SYNTHETIC]
    return min(scales, default=None)


def _scale(papers: Papers) -> list[str]:
    by_scale: dict[str, list[str]] = {}
    for paper in papers:
        by_scale.setdefault(_scale_words(paper), []).append(paper["id"])
    return [f"scale{f' of {units.names_plain(ids)}' if len(by_scale) > 1 else ''}: {words}"
            for words, ids in by_scale.items()]  # fmt: skip


def _scale_words(paper: Mapping[str, Any]) -> str:
    scale, known = _scale_of(paper), _at_default().get(paper["id"])
    if scale is None:
        return "recorded traces"
    usual = f"; the default is {_percent(known['scale'])}" if known and known["scale"] != scale else ""
    return f"recipes of {_percent(scale)} of the published size{usual}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _counts(papers: Papers) -> str:
    found = counts(papers)
    total = sum(found.values())
    said = [f"{_WORDS.get(verdict, verdict)} {number}" for verdict, number in found.items() if number]
    return f"{total} tables and figures: {', '.join(said)}"


def _not_claimed(papers: Papers) -> list[str]:
    known = _at_default()
    said = [
        f"{paper['id']} {item['id']} ({known[paper['id']]['items'][item['id']]})"
        for paper in papers for item in paper["items"] if judged(paper, item) == NOT_CLAIMED
    ]  # fmt: skip
    return [f"another verdict at the default scale: {', '.join(said)}"] if said else []


def _reasons(papers: Papers, path: Path) -> list[str]:
    """The reasons behind most of the items that disagree, in their first sentences."""
    by_reason: dict[str, list[str]] = {}
    unexplained = []
    for paper in papers:
        for item in paper["items"]:
            if judged(paper, item) != Agreement.DISAGREES:
                continue
            if item["explanation"]:
                by_reason.setdefault(_first_sentence(item["explanation"]), []).append(f"{paper['id']} {item['id']}")
            else:
                unexplained.append(f"{paper['id']} {item['id']}")
    order = sorted(by_reason.items(), key=lambda one: -len(one[1]))
    lines = [f"why {', '.join(items)}: {reason}" for reason, items in order[:REASONS_MAX]]
    more = sum(len(items) for _, items in order[REASONS_MAX:])
    if more:
        lines.append(f"why {units.plural(more, 'other')}: see {path / names.REPRODUCTION_PAGE}")
    if unexplained:
        lines.append(f"no reason is known for {', '.join(unexplained)}")
    return lines


def _first_sentence(text: str) -> str:
    """A text up to its first full stop, which is not that of `Fig. 4` or of a number."""
    return re.split(r"(?<!Fig)\.\s", text, maxsplit=1)[0].rstrip(".") + "."

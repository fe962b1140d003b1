"""What became of the papers' figures, in few sentences: counts of every verdict first, reasons after.

Made from the results alone, so that it says as much of what disagrees as of what agrees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from flashtwin import units

Papers = Sequence[Mapping[str, Any]]

AGREES, SIGN, DISAGREES, UNKNOWN = "agrees", "agrees in sign and order", "disagrees", "not measurable"


def sentences(papers: Papers) -> list[str]:
    """Five sentences: numbers, tables and figures, orders, which paper is how near, and why; fewer of few results."""
    items = [item for paper in papers for item in paper["items"]]
    found = [_numbers(papers, items), _items(items), _orders(items), _nearest(papers), _reasons(items)]
    return [one for one in found if one]


def _numbers(papers: Papers, items: Sequence[Mapping[str, Any]]) -> str:
    counts = Counter(str(claim["verdict"]) for item in items for claim in item["claims"])
    measured = counts[AGREES] + counts[SIGN] + counts[DISAGREES]
    if not measured:
        return ""
    publish = "the paper publishes" if len(papers) == 1 else f"{units.count(len(papers))} papers publish"
    text = (
        f"Of {units.plural(measured, 'number')} that {publish} and that were measured here, {counts[AGREES]} agree, "
        f"{counts[SIGN]} agree in sign and order, and {counts[DISAGREES]} disagree"
    )
    return text + (f"; {counts[UNKNOWN]} more could not be measured." if counts[UNKNOWN] else ".")


def _items(items: Sequence[Mapping[str, Any]]) -> str:
    if not items:
        return ""
    counts = Counter(str(item["verdict"]) for item in items)
    parts = [f"in every number agree {counts[AGREES]}", f"in sign and order {counts[SIGN]}"]
    if counts[UNKNOWN]:
        parts.append(f"not measurable: {counts[UNKNOWN]}")
    parts.append(f"more than a quarter of the numbers, or of the orders, disagree in {counts[DISAGREES]}")
    return f"Of {units.plural(len(items), 'item')} (tables, figures, tests of a claim), {'; '.join(parts)}."


def _orders(items: Sequence[Mapping[str, Any]]) -> str:
    held, all_ = (sum(item["orders"][place] for item in items) for place in (0, 1))
    if not all_:
        return ""
    share = units.percent(held / all_ * 100.0)
    return f"Of {units.plural(all_, 'published order')} (which of two is ahead) {units.count(held)} hold, {share}."


def _nearest(papers: Papers) -> str:
    """How many items of each paper agree at least in sign and order, the nearest paper first."""
    told = [(sum(item["verdict"] in (AGREES, SIGN) for item in one["items"]), one) for one in papers if one["items"]]
    if len(told) < 2:
        return ""
    told.sort(key=lambda pair: (-pair[0] / len(pair[1]["items"]), pair[1]["id"]))
    parts = [f"{good} of {len(one['items'])} of `{one['id']}`" for good, one in told]
    return f"At least in sign and order agree {units.names_plain(parts)}."


def _reasons(items: Sequence[Mapping[str, Any]]) -> str:
    """How many that disagree have their reason beside them, and the reason of most."""
    bad = [item for item in items if item["verdict"] == DISAGREES]
    reasons = Counter(_first_sentence(str(item["explanation"])) for item in bad if item.get("explanation"))
    if not bad:
        return ""
    reason, times = min(reasons.items(), key=lambda pair: (-pair[1], pair[0]), default=("", 0))
    of = units.plural(len(bad), "item")
    text = f"With the reason beside them stand {sum(reasons.values())} of the {of} that disagree"
    return f"{text}; the commonest, of {times}: {reason}" if times > 1 else f"{text}."


def _first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence."""
    return text.partition(". ")[0].rstrip(".") + "."

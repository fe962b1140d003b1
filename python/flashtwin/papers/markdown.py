"""The results as Markdown: one table of verdicts a paper, then one table an item, published beside measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashtwin.papers.claims import Agreement

MARKS = {Agreement.AGREES: "✓", Agreement.SIGN: "~", Agreement.DISAGREES: "✗"}
#: WorkloadTable beside the subject; a wider table is laid out as one claim a row.
COLUMNS_MAX = 5


CHOICES = "Which conclusions depend on which choice"


def page(papers: Sequence[Mapping[str, Any]], choices: Sequence[Mapping[str, Any]] = ()) -> str:
    lines: list[str] = [f"## {CHOICES}"] if choices else []
    for table in choices:
        lines += ["", f"{table['title']}:", "", *_table(table["header"], table["rows"])]
    for paper in papers:
        lines += ["", f"## {paper['id']}: {paper['title']}", "", paper["setting"], "", *_verdicts(paper)]
        lines += ["", "### Workloads", "", *_workloads(paper)]
        for item in paper["items"]:
            lines += ["", f"### {item['place']}: {item['title']}", "", f"**{_sentence(item)}**"]
            lines += [line for text in (item["explanation"], *item["notes"]) if text for line in ("", text)]
            lines += ["", *_claims(item["claims"])] if item["claims"] else []
            lines += _reasons(item["claims"])
            for table in item["tables"]:
                lines += ["", f"{table['title']}:", "", *_table(table["header"], table["rows"])]
    return "\n".join(lines).strip() + "\n"


def _sentence(item: Mapping[str, Any]) -> str:
    counts = item["counts"]
    parts = [f"{counts[verdict]} {word}" for verdict, word in _WORDS.items() if counts[verdict]]
    held, pairs = item["orders"]
    orders = f"; {held} of {pairs} orders hold" if pairs else ""
    return f"{item['verdict'].capitalize()} (claims: {', '.join(parts) or 'none'}{orders})."


_WORDS = {
    Agreement.AGREES: "agree",
    Agreement.SIGN: "in sign",
    Agreement.DISAGREES: "disagree",
    Agreement.UNKNOWN: "not measurable",
}


def _verdicts(paper: Mapping[str, Any]) -> list[str]:
    """The paper's items, then ours, then the rules that were changed after results were seen."""
    lines: list[str] = []
    for ours, title in ((False, "The paper's tables and figures"), (True, "Questions of ours about these numbers")):
        items = [item for item in paper["items"] if item["ours"] is ours]
        lines += ["", f"{title}:", "", *_verdict_table(items)] if items else []
    if changed := changed_rules(paper):
        lines += ["", "Rules that were changed after results were seen:", "", *_table(CHANGED, changed)]
    return lines[1:]


#: The columns of `changed_rules`.
CHANGED = ["item", "verdict", "by the first rule", "changed on", "until then"]


def changed_rules(paper: Mapping[str, Any]) -> list[list[str]]:
    """Items whose rule was changed after results were seen, with the verdict by each rule."""
    return [
        [f"`{item['id']}`", item["verdict"], first["verdict"], first["changed"], first["words"]]
        for item in paper["items"]
        if (first := item.get("first"))
    ]


def _verdict_table(items: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = []
    for item in items:
        held, pairs = item["orders"]
        counts = [str(item["counts"][verdict] or "") for verdict in Agreement]
        orders = f"{held} of {pairs}" if pairs else ""
        rows.append([f"`{item['id']}`", item["place"], item["title"], item["verdict"], *counts, orders])
    header = ["item", "place", "what", "verdict", "✓", "~", "✗", "?", "orders held"]
    return _table(header, rows)


def _workloads(paper: Mapping[str, Any]) -> list[str]:
    names = list(dict.fromkeys(one["quantity"] for load in paper["workloads"] for one in load["statistics"]))
    rows = []
    for load in paper["workloads"]:
        found = {one["quantity"]: one for one in load["statistics"]}
        cells = [_cell(found[name]) if name in found else "" for name in names]
        scale = f", scale {load['scale']:g}" if load["scale"] not in (None, 1.0) else ""
        rows.append([load["name"], f"{load['kind'] or 'none'}{scale}", *cells])
    return _table(["workload", "trace", *names], rows)


def _claims(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    quantities = list(dict.fromkeys(claim["quantity"] for claim in claims))
    subjects = list(dict.fromkeys(claim["subject"] for claim in claims))
    if len(quantities) > COLUMNS_MAX or len(claims) < len(quantities) * len(subjects) / 2:
        rows = [[claim["subject"], claim["quantity"], _cell(claim)] for claim in claims]
        return _table(["subject", "quantity", "published → measured"], rows)
    found = {(claim["subject"], claim["quantity"]): claim for claim in claims}
    rows = [
        [subject, *(_cell(found[subject, name]) if (subject, name) in found else "" for name in quantities)]
        for subject in subjects
    ]
    return _table(["published → measured", *quantities], rows)


def _reasons(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why claims could not be measured, each reason once."""
    reasons: dict[str, list[str]] = {}
    for claim in claims:
        if claim["measured"] is None:
            reasons.setdefault(claim["why"], []).append(claim["subject"])
    said = [f"{', '.join(dict.fromkeys(subjects))}: {why}" for why, subjects in reasons.items()]
    return ["", f"Not measured: {'; '.join(said)}."] if said else []


def _cell(claim: Mapping[str, Any]) -> str:
    """`26.6 % → 24.1 % ✓`; `26.6 % → –` where nothing was measured."""
    from flashtwin.report.reproduction import published

    return f"{published(claim)} → {measured(claim)}"


def measured(claim: Mapping[str, Any]) -> str:
    """The measured value with the mark of its verdict, and the ratio where that hides it: `12.8 % ~ (0.36 x)`."""
    from flashtwin.report.reproduction import ratio, value

    if claim["measured"] is None:
        return "–"
    mark, times = MARKS[Agreement(claim["verdict"])], ratio(claim)
    return f"{value(claim['measured'], claim['unit'])} {mark}" + (f" ({value(times, 'x')})" if times else "")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines]

"""Makes the pages that state figures: templates in `pages/` and the data in docs/evidence.

A template holds no figure of ours: `{{ ... }}` takes each from the data, and `{{ holds(condition, "...") }}` stands
beside a sentence whose words (falls, a third, on all four) the data must bear out. What a paper published is written
as `{{ paper("17 %") }}`, what was set as `{{ setting("120 s") }}`. Where data and words part, no page is made and the
error names the sentence.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from evidence import artifact, conclusions, forms, gains, papers, recipes, stages, tables, traces, twins
from evidence.places import DATA, PAGES, ROOT
from evidence.stages.papers import NAMES as RECORDED_UNDER
from flashtwin.papers import claims, markdown
from flashtwin.papers.explanations import why_different
from flashtwin.papers.running import claims_csv

#: Where a page goes that is not in docs/.
ELSEWHERE = {name: ROOT / name for name in ("README.md", "ARTIFACT.md")}
#: What `flashtwin reproduce` knows of the default scale.
VERDICTS = ROOT / "python" / "flashtwin" / "papers" / "verdicts.json"
#: A part of a page that is made from the template of that name in `pages/blocks`.
BLOCK = re.compile(r"<!-- evidence: (?P<name>[a-z-]+) -->.*?<!-- end of evidence -->", re.DOTALL)

#: Above the items of the papers; their numbers are files beside it.
ITEMS_HEAD = """# Reproduction: item by item

The verdict on every table and figure of the papers ([how it is made](reproduction.md#when-two-numbers-agree)) and why
what differs does so. The numbers are for downloading:
[every claim, published and measured](evidence/reproduction-claims.csv) and
[every headline under every choice](evidence/reproduction-choices.csv), as `flashtwin reproduce` writes them.
"""


class ClaimError(Exception):
    """A sentence that the data do not bear out, or a figure that they do not hold."""


def pages() -> dict[Path, str]:
    """Every page with the text that the data make of it.

    Raises:
        ClaimError: a sentence does not hold any more.
    """
    data = {stage.name: stage.record() for stage in stages.STAGES}
    found = {}
    for template in sorted(PAGES.glob("*.j2")):
        name = template.name.removesuffix(".j2")
        place = ELSEWHERE.get(name, ROOT / "docs" / name)
        found[place] = page(template, data)
    found |= blocks(data)
    results = data["reproduction"]
    if results:
        papers_, choices = results["data"]["papers"], results["data"]["sensitivity"][0]
        found[ROOT / "docs" / "reproduction-items.md"] = f"{ITEMS_HEAD}\n{markdown.words(_explained(papers_))}"
        found[VERDICTS] = verdicts(results)
        found[DATA / "reproduction-claims.csv"] = claims_csv(papers_)
        found[DATA / "reproduction-choices.csv"] = _csv([choices["header"], *choices["rows"]])
    if data["real-drives"]:
        for name, drive in data["real-drives"]["data"]["drives"].items():
            found[ROOT / "docs" / "images" / f"{name}.svg"] = twins.picture(name, drive)
    if data["gains"]:
        found[ROOT / "docs" / "images" / "gains.svg"] = gains.picture(data["gains"]["data"])
    return found


def verdicts(record: Mapping[str, Any]) -> str:
    """The verdict on each item at the default scale, for those who reproduce the papers at another."""
    found = {
        paper["id"]: {
            "scale": min(load["scale"] for load in paper["workloads"]),
            "items": {item["id"]: item["verdict"] for item in paper["items"]},
        }
        for paper in record["data"]["papers"]
    }
    return json.dumps(found, indent=1) + "\n"


def _csv(rows: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _explained(papers_: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The papers with today's reasons of differences: they are words, and need no measuring again."""
    return [
        {**paper, "items": [
            {**item, "explanation": why_different(paper["id"], item["id"]) if item["explanation"] else ""}
            for item in paper["items"]
        ]}
        for paper in papers_
    ]  # fmt: skip


def blocks(data: Mapping[str, Any]) -> dict[Path, str]:
    """Pages written by hand in which a part is made from the data, between two marks that name its template."""
    found = {}
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if BLOCK.search(text):
            found[path] = BLOCK.sub(lambda mark: _block(mark["name"], data), text)
    return found


def _block(name: str, data: Mapping[str, Any]) -> str:
    made = page(PAGES / "blocks" / f"{name}.md.j2", data).strip()
    return f"<!-- evidence: {name} -->\n{made}\n<!-- end of evidence -->"


def page(template: Path, data: Mapping[str, Any]) -> str:
    """One page."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.globals.update(
        {name.replace("-", "_"): record["data"] for name, record in data.items() if record},
        records={name: record for name, record in data.items() if record},
        holds=_holds,
        paper=str,
        setting=str,
        conclusions=conclusions,
        rules=claims,
        recorded_under=RECORDED_UNDER,
        len=len, min=min, max=max, sorted=sorted, sum=sum, abs=abs, zip=zip, round=round,
    )  # fmt: skip
    for words in (
        forms.FORMS,
        tables.TABLES,
        papers.LOOKUPS,
        traces.WORDS,
        recipes.WORDS,
        twins.WORDS,
        gains.WORDS,
        artifact.WORDS,
    ):
        environment.globals.update(words)
    environment.filters["parsed"] = papers.parsed
    try:
        return re.sub("\n{3,}", "\n\n", environment.from_string(template.read_text(encoding="utf-8")).render())
    except (jinja2.UndefinedError, KeyError) as error:
        raise ClaimError(f"{template.name}: {error}; is the stage measured? python -m evidence --status") from error
    except tables.UnmeasuredError as error:
        raise ClaimError(f"{template.name}: no data of the stage '{error}'; python -m evidence {error}") from error
    except (ClaimError, papers.MissingError) as error:
        raise ClaimError(f"{template.name}: {error}") from error


def _holds(condition: bool, sentence: str) -> str:
    """Nothing, if the condition is true."""
    if not condition:
        raise ClaimError(f"the data no longer bear out: {sentence}")
    return ""

"""Makes the pages that state figures, from the templates in `pages/` and the records in docs/evidence.

A template holds no figure of ours: `{{ ... }}` takes each from a record, and `{{ holds(condition, "...") }}` stands
beside a sentence that the record must support. A published number is written as `{{ paper("17 %") }}`, a setting as
`{{ setting("120 s") }}`. If record and words disagree, no page is made and the error names the sentence.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from evidence import studies
from evidence.code import ROOT
from evidence.forms import FORMS, NOTHING, grid
from flashtwin.papers import claims, papers

PAGES = Path(__file__).resolve().parent / "pages"
#: Pages that are not in docs/.
ELSEWHERE = {name: ROOT / name for name in ("README.md", "ARTIFACT.md")}
#: A part of a page that is made from the template of that name in `pages/blocks`.
BLOCK = re.compile(r"<!-- evidence: (?P<name>[a-z-]+) -->.*?<!-- end of evidence -->", re.DOTALL)

Records = Mapping[str, Mapping[str, Any]]


class ClaimError(Exception):
    """A sentence that the records do not support, or a figure that they do not have."""


def pages() -> dict[Path, str]:
    """Every page with its text; a `ClaimError` where a sentence does not hold any more."""
    records = {study.name: record for study in studies.STUDIES if (record := study.record())}
    found = {}
    for template in sorted(PAGES.glob("*.j2")):
        name = template.name.removesuffix(".j2")
        found[ELSEWHERE.get(name, ROOT / "docs" / name)] = page(template, records)
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = found.get(path) or path.read_text(encoding="utf-8")
        if BLOCK.search(text):
            found[path] = BLOCK.sub(lambda mark: _block(mark["name"], records), text)
    return found


def _block(name: str, records: Records) -> str:
    made = page(PAGES / "blocks" / f"{name}.md.j2", records).strip()
    return f"<!-- evidence: {name} -->\n{made}\n<!-- end of evidence -->"


def page(template: Path, records: Records) -> str:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False,
        trim_blocks=True, lstrip_blocks=True, finalize=lambda value: "\n".join(value) if _is_table(value) else value,
    )  # fmt: skip
    environment.globals.update(
        {name.replace("-", "_"): record["figures"] for name, record in records.items()},
        holds=_holds, paper=str, setting=str, rules=claims, papers=papers(), len=len, min=min, max=max, abs=abs,
        made=lambda *names: made([records[name] for name in names]), studies=lambda: _table(records), **FORMS,
    )  # fmt: skip
    try:
        return re.sub("\n{3,}", "\n\n", environment.from_string(template.read_text(encoding="utf-8")).render())
    except (jinja2.UndefinedError, KeyError) as error:
        raise ClaimError(f"{template.name}: {error}; is the study made? python -m evidence --status") from error
    except ClaimError as error:
        raise ClaimError(f"{template.name}: {error}") from error


def _is_table(value: object) -> bool:
    """Tables are lists of lines."""
    return isinstance(value, list) and all(isinstance(line, str) for line in value)


def _holds(condition: bool, sentence: str) -> str:
    """Nothing, if the condition is true."""
    if not condition:
        raise ClaimError(f"the data no longer support: {sentence}")
    return ""


def made(records: list[Mapping[str, Any]]) -> str:
    """When and by which code the figures of a page were made: the line under its title."""
    return " ".join(
        f"Made on {one['made']} by code `{one['code']}`, flashtwin {one['flashtwin']}: `{one['command']}`"
        f"{f' ({took(one)})' if one['wall_s'] else ''}.{' ' + one['note'] if 'note' in one else ''}"
        for one in records
    )


def took(record: Mapping[str, Any]) -> str:
    seconds = record["wall_s"]
    if seconds is None:
        return NOTHING
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds} s"


def _table(records: Records) -> list[str]:
    """Every study with its needs, for a reviewer of artefacts."""
    return grid(["study", "command", "needs", "time"], (
        [study.title, f"`{study.command}`", study.needs, took(records[study.name])]
        for study in studies.STUDIES if study.name in records
    ))  # fmt: skip

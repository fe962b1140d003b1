"""Pages take the papers' figures by paper, item, subject and quantity, and compare them with what old pages said."""

from __future__ import annotations

from typing import Any

import pytest
from evidence import papers, render
from evidence.papers import MissingError, reproduced

from flashtwin.papers.explanations import why_different


def claim(subject: str, quantity: str, published: float, measured: float | None, verdict: str) -> dict[str, Any]:
    return {
        "subject": subject, "quantity": quantity, "published_low": published, "published_high": published,
        "measured": measured, "unit": "%", "verdict": verdict, "why": "" if measured is not None else "no such trace",
    }  # fmt: skip


ITEM = {
    "id": "table-4", "place": "Table IV", "title": "The test", "verdict": "disagrees",
    "counts": {"agrees": 1, "agrees in sign and order": 1, "disagrees": 0, "not measurable": 1},
    "claims": [
        claim("webvm", "share", 88.1, 85.0, "agrees"), claim("homes", "share", 77.7, 8.0, "agrees in sign and order"),
        claim("mail", "share", 78.8, None, "not measurable"), claim("webvm", "reads", 23.4, 22.6, "agrees"),
    ],
    "tables": [{"title": "The rates", "header": ["workload", "speed"], "rows": [["webvm", "1,070.5"], ["homes", "–"]]}],
    "notes": ["First.", "No rate is high enough."],
}  # fmt: skip
DATA = {"papers": [{"id": "rr-ssd", "items": [ITEM]}], "sensitivity": []}


class TestLookup:
    RR = reproduced(DATA, "rr-ssd")

    def test_a_figure_is_found_by_item_subject_and_quantity(self) -> None:
        assert self.RR.measured("table-4", "webvm", "share") == 85.0
        assert self.RR.figure("table-4", "webvm", "share") == "85 %"
        assert self.RR.published("table-4", "webvm", "share") == "88.1 %"
        assert self.RR.cell("table-4", "homes", "share") == "8 % ~"
        assert self.RR.verdict("table-4") == "disagrees"
        assert self.RR.notes("table-4", "No rate") == ["No rate is high enough."]

    def test_subjects_by_how_they_compare(self) -> None:
        assert self.RR.near("table-4", "share", 20) == ["webvm"]
        assert self.RR.above("table-4", "share") == []
        assert self.RR.subjects("table-4", "share") == ["webvm", "homes"]
        assert self.RR.subjects("table-4", "share", "agrees") == ["webvm"]

    def test_what_is_missing_is_named_with_what_is_there(self) -> None:
        with pytest.raises(MissingError, match="paper 'ds-ftl' is not there; there are rr-ssd"):
            reproduced(DATA, "ds-ftl")
        with pytest.raises(MissingError, match="rr-ssd: item 'fig-9' is not there; there are table-4"):
            self.RR.item("fig-9")
        with pytest.raises(MissingError, match=r"no claim 'webvm: writes'; there are .*'webvm: reads'"):
            self.RR.claim("table-4", "webvm", "writes")
        with pytest.raises(MissingError, match="'mail: share' was not measured: no such trace"):
            self.RR.measured("table-4", "mail", "share")
        with pytest.raises(MissingError, match="no table 'The gains'; there are 'The rates'"):
            self.RR.rows("table-4", "The gains")
        with pytest.raises(MissingError, match="no row 'mail'; there are webvm; homes"):
            self.RR.entry("table-4", "The rates", "speed", "mail")
        with pytest.raises(MissingError, match="no column 'clock'; there are workload, speed"):
            self.RR.table("table-4", "The rates", "workload", "clock")

    def test_cells_are_read_as_numbers(self) -> None:
        assert self.RR.number("table-4", "The rates", "speed", "webvm") == 1070.5
        with pytest.raises(MissingError, match="is '–', no number"):
            self.RR.number("table-4", "The rates", "speed", "homes")
        assert papers.parsed("78 ✓ / −87.5 ✗", 1) == -87.5
        assert papers.parsed("does not fit") is None


class TestTables:
    RR = reproduced(DATA, "rr-ssd")

    def test_claims_stand_beside_what_was_published(self) -> None:
        assert self.RR.claims("table-4", "share", "reads").splitlines() == [
            "| published → measured | share | reads |",
            "| --- | --- | --- |",
            "| `webvm` | 88.1 % → 85 % ✓ | 23.4 % → 22.6 % ✓ |",
            "| `homes` | 77.7 % → 8 % ~ |  |",
        ]
        assert "| webvm | share | 88.1 % | 85 % | agrees |" in self.RR.beside(("table-4", "webvm", "share"))

    def test_rows_and_columns_of_a_table_may_be_chosen(self) -> None:
        table = self.RR.table("table-4", "The rates", "workload", "speed", where={"workload": ["homes"]})
        assert table.splitlines()[2:] == ["| `homes` | – |"]

    def test_items_on_several_sets_of_traces(self) -> None:
        table = papers.together({"table-4": "The test"}, {"recipes": self.RR, "captured": self.RR})
        assert table.splitlines()[2] == "| The test | webvm: share | 88.1 % | 85 % ✓ | 85 % ✓ |"
        assert "mail" not in table

    def test_names_in_a_sentence(self) -> None:
        assert papers.listed(["a", "b", "c"]) == "`a`, `b` and `c`"
        assert papers.listed([]) == "none"


def test_reasons_of_differences_are_of_today() -> None:
    items = [{"id": "load", "explanation": "Of then."}, {"id": "fig-3", "explanation": ""}]
    (paper,) = render._explained([{"id": "ds-ftl", "items": items}])
    assert paper["items"][0]["explanation"] == why_different("ds-ftl", "load")
    assert paper["items"][1]["explanation"] == ""

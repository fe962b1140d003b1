"""The four papers: on recipes at their default scale, and on the recorded traces under the papers' names."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evidence import code
from evidence.code import ROOT
from evidence.forms import grid
from evidence.studies.drives import PERIOD_S
from evidence.study import CAPTURED as TRACES
from evidence.study import Data, Lab, Study
from flashtwin import papers
from flashtwin.papers import running
from flashtwin.papers.claims import Agreement
from flashtwin.papers.markdown import CHANGED, MARKS, changed_rules, measured
from flashtwin.papers.running import ReproductionOptions
from flashtwin.report.reproduction import published, ratio, value
from flashtwin.results import names

CODE = (*code.REPLAY, *code.PAPERS, "workloads", "crates/analysis/src")
#: The recorded traces under the names of each paper's workloads. SWC takes any name.
NAMES: Mapping[str, Mapping[str, str]] = {
    "rr-ssd": {name: name for name in ("webvm", "homes", "mail", "trans")},
    "ca-ssd": {"web": "webvm", "homes": "homes", "mail": "mail"},
    "ds-ftl": {"home1": "homes", "webmail": "mail", "webusers": "webvm", "online": "trans"},
    "swc": {name: name for name in TRACES},
}
#: Items that repeat all others under many settings take most of the time: `flashtwin reproduce PAPER ITEM` makes them.
LEFT_OUT = ("sensitivity", "set-ups")
#: The verdicts at the default scale, for those who reproduce the papers at another.
VERDICTS = ROOT / "python" / "flashtwin" / "papers" / "verdicts.json"


#: A study of its own, so that it can be made again without the three others.
RR_SSD = "rr-ssd"


def measure_recipes(lab: Lab) -> Data:
    return {"papers": [_made(lab, paper, "recipes", ReproductionOptions()) for paper in NAMES if paper != RR_SSD]}


def measure_rr_ssd(lab: Lab) -> Data:
    return {"papers": [_made(lab, RR_SSD, "recipes", ReproductionOptions())]}


def measure_captured(lab: Lab) -> Data:
    found = []
    for paper, workloads in NAMES.items():
        for trace in workloads.values():
            lab.trace(trace)
        files = {f"{name}.fiu.zst": lab.folder("captured") / f"{trace}.fiu.zst" for name, trace in workloads.items()}
        traces = lab.linked(f"traces-{paper}", files)
        options = ReproductionOptions(
            traces=traces, period_s=PERIOD_S, workloads=() if paper == "swc" else tuple(workloads)
        )
        found.append(_made(lab, paper, "captured", options))
    return {"papers": found}


def _made(lab: Lab, paper: str, where: str, options: ReproductionOptions) -> dict[str, Any]:
    ((_, every),) = papers.choose(paper)
    items = tuple(item.id for item in every if item.id not in LEFT_OUT)
    how = replace(options, report=False)
    done = running.run(papers.choose(paper, items), lab.scratch(f"{where}-{paper}"), how, notify=lab.say)
    # SWC's items take no replays.
    lab.reused |= not done.replayed and any(done.path.rglob(names.RUNS))
    (found,) = json.loads((done.path / names.REPRODUCTION).read_text(encoding="utf-8"))["papers"]
    for item in found["items"]:
        item.pop("chart", None)
    return dict(found)


class Results:
    """The results of one paper, looked up by item, subject and quantity. A missing one is a KeyError."""

    def __init__(self, data: Data, paper: str) -> None:
        self.items = {item["id"]: item for one in data["papers"] if one["id"] == paper for item in one["items"]}

    def claim(self, item: str, subject: str, quantity: str) -> Data:
        claims = {(one["subject"], one["quantity"]): one for one in self.items[item]["claims"]}
        return dict(claims[subject, quantity])

    def verdicts(self) -> list[str]:
        rows = []
        for verdict in Agreement:
            ids = [f"`{name}`" for name, item in self.items.items() if item["verdict"] == verdict]
            rows += [[verdict.value, ", ".join(ids)]] if ids else []
        return grid(["verdict", "items"], rows)

    def columns(self, *pairs: tuple[str, str]) -> list[str]:
        """Claims that were measured: a column for each item and quantity, `26.6 % → 24.1 % ✓`."""
        found = {
            (one["subject"], column): one
            for column in pairs
            for one in self.items[column[0]]["claims"]
            if one["quantity"] == column[1] and one["measured"] is not None
        }
        subjects = dict.fromkeys(subject for subject, _ in found)
        return grid(["published → measured", *(quantity for _, quantity in pairs)], (
            [subject, *(_pair(found.get((subject, column))) for column in pairs)] for subject in subjects
        ))  # fmt: skip

    def beside(self, wanted: Iterable[tuple[str, str, str]]) -> list[str]:
        claims = [(item, self.claim(item, subject, quantity)) for item, subject, quantity in wanted]
        return grid(["item", "of", "what", "published", "measured"], (
            [f"`{item}`", one["subject"], one["quantity"], published(one), measured(one)] for item, one in claims
        ))  # fmt: skip

    def table(self, item: str, title: str, *columns: str) -> list[str]:
        """A table of an item, found by words of its title, or some columns of it."""
        (found,) = (table for table in self.items[item]["tables"] if title in table["title"])
        places = [found["header"].index(column) for column in columns] or range(len(found["header"]))
        return grid([found["header"][at] for at in places], ([row[at] for at in places] for row in found["rows"]))


def _most(column: list[str]) -> float:
    """The greatest percentage of a column, without the published one in its first row."""
    return max(float(cell.strip("| %")) for cell in column[3:])


def _pair(claim: Data | None) -> str:
    return "" if claim is None else f"{published(claim)} → {measured(claim)}"


def summary(data: Data, *, ours: bool) -> list[str]:
    """The papers' own items, or ours about them, which restate numbers that those have."""
    rows = []
    for paper in data["papers"]:
        items = [item for item in paper["items"] if item.get("ours", False) is ours]
        claims = [claim for item in items for claim in item["claims"]]
        known = [claim for claim in claims if claim["measured"] is not None]
        if not items:
            continue
        rows.append([
            paper["id"], len(items), *(sum(item["verdict"] == verdict for item in items) for verdict in Agreement),
            len(known), *(sum(claim["verdict"] == verdict for claim in known) for verdict in MARKS),
        ])  # fmt: skip
    return grid(["paper", "items", *(str(one) for one in Agreement), "numbers", *MARKS.values()], rows)


def spread_of_ratios(data: Data) -> dict[str, int]:
    """How many numbers that agree in sign and order only are off by more than a factor of 2 and of 5."""
    claims = [
        claim for paper in data["papers"] for item in paper["items"] if not item.get("ours") for claim in item["claims"]
    ]
    off = [max(abs(times), 1 / abs(times)) for one in claims if (times := ratio(one))]
    return {"all": len(off), "2": sum(one > 2 for one in off), "5": sum(one > 5 for one in off)}


SHARE = "RR-SSD's share of Oracle's read improvement"
RECORDED = ("Oracle, reads", "RR-SSD, reads", "RR-SSD, reads and writes", "share of Oracle's")
RENEWAL = ("workload", "new contents come", "share of Oracle's", "RR-SSD, reads", "RR-SSD, all", "RR-SSD, p99 of all")
FULL = ("mean response time, cut", "pages written, cut", "pages written by collection, cut", "erases, cut")
DRIVES = (("fig-7a", FULL[0]), ("fig-7b", FULL[1]), ("fig-7b", FULL[2]), ("fig-7c", FULL[3]))
FINDINGS = ("fig-1a", "fig-1b", "fig-1c", "fig-2", "fig-3", "fig-4", "fig-6", "fig-7", "fig-9", "fig-10", "fig-12",
            "fig-15", "fig-18")  # fmt: skip


#: Points within which the independent look that found the choice expected the shares.
NEAR_POINTS = 20.0


def _near(claims: Iterable[Data]) -> dict[str, int]:
    """By how contents renew, on how many workloads the share of Oracle's gain is near the published one."""
    found: dict[str, int] = {}
    for one in claims:
        what, _, level = one["quantity"].partition("share of Oracle's, ")
        # Recorded reads do not renew.
        if not what and one["measured"] is not None:
            found[level] = found.get(level, 0) + (abs(one["measured"] - one["published_low"]) <= NEAR_POINTS)
    return found


def pages_rr_ssd(data: Data) -> Data:
    rr = Results(data, RR_SSD)
    reads = {trace: rr.claim("recorded-rate", trace, "RR-SSD, reads") for trace in ("webvm", "trans")}
    return {
        "summary": summary(data, ours=False), "ours": summary(data, ours=True), "changed": grid(CHANGED, (
            [f"{paper['id']} {item}", *rest] for paper in data["papers"] for item, *rest in changed_rules(paper)
        )),
        "in_sign": spread_of_ratios(data),
        "reads": {trace: value(one["measured"], one["unit"]) for trace, one in reads.items()},
        "gains_on": [one["subject"] for one in rr.items["recorded-rate"]["claims"]
                     if one["quantity"] == "RR-SSD, reads" and (one["measured"] or 0) > 20],
        "rr_ssd": {
            "verdicts": rr.verdicts(),
            "recorded": rr.columns(*(("recorded-rate", quantity) for quantity in RECORDED)),
            "chosen": rr.columns(*(("table-4", quantity) for quantity in (SHARE, *RECORDED[1:3]))),
            "renewal": rr.table("renewal", "At the recorded clock", *RENEWAL) if "renewal" in rr.items else [],
            "near": _near(rr.items["renewal"]["claims"]) if "renewal" in rr.items else {},
        },
    }  # fmt: skip


def pages_others(data: Data) -> Data:
    ca, ds, swc = (Results(data, paper) for paper in NAMES if paper != RR_SSD)
    return {
        "summary": summary(data, ours=False), "ours": summary(data, ours=True),
        "ca_ssd": {"verdicts": ca.verdicts(), "drives": ca.columns(*DRIVES),
                   "full": ca.columns(*(("begins-full", quantity) for quantity in FULL))},
        "ds_ftl": {
            "verdicts": ds.verdicts(), "load": ds.table("load", "pages compared in idle time"),
            "gains": ds.table("load", "What reads gain"), "most": _most(ds.table("load", "compared", "reads, static")),
        },
        "swc": {"verdicts": swc.verdicts(), "findings": swc.beside(
            (item, one["subject"], one["quantity"]) for item in FINDINGS for one in swc.items[item]["claims"][:1]
        )},
    }  # fmt: skip


def pages_captured(data: Data) -> Data:
    return {**pages_others(data), **pages_rr_ssd(data)}


def verdicts(data: Data) -> Mapping[Path, str]:
    """The file of verdicts that `flashtwin reproduce` reads. Items that are left out keep theirs."""
    known = json.loads(VERDICTS.read_text(encoding="utf-8"))
    for paper in data["papers"]:
        items = {**known[paper["id"]]["items"], **{item["id"]: item["verdict"] for item in paper["items"]}}
        known[paper["id"]] = {"scale": min(load["scale"] for load in paper["workloads"]), "items": items}
    return {VERDICTS: json.dumps(known, indent=1) + "\n"}


RECIPES = Study(
    "reproduction", "CA-SSD, DS-FTL and SWC on recipes, at their default scale", measure_recipes, pages_others, CODE,
    verdicts, "the repository",
)  # fmt: skip
RECIPES_RR_SSD = Study(
    RR_SSD, "RR-SSD on recipes, at its default scale", measure_rr_ssd, pages_rr_ssd, CODE, verdicts, "the repository"
)
CAPTURED = Study("captured", "the papers on the recorded traces", measure_captured, pages_captured, CODE)

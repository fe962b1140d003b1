"""The section of docs/validation.md that is made from the data, and its tables."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

BEGIN, END = "<!-- peers:begin -->", "<!-- peers:end -->"
HERE = Path(__file__).parent
OURS, PEERS = "flashtwin", ("MQSim", "SSDsim")
AGED = "aged-"
FIGURES = ("mean_us", "p99_us")

#: What differs by no more needs no reason.
TOLERANCE = 0.05
#: The same of aged drives: counts, and times.
AGED_TOLERANCES = {"pages_programmed": 0.005, "blocks_erased": 0.005}
AGED_TOLERANCE = 0.03

Data = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A figure of a peer beside flashtwin's by the peer's rules."""

    peer: str
    scenario: str
    figure: str
    theirs: float | None
    ours: float | None

    @property
    def off(self) -> float | None:
        """How far ours is from theirs, as a share of theirs."""
        return None if not self.theirs or self.ours is None else self.ours / self.theirs - 1

    @property
    def agrees(self) -> bool:
        """Whether the two are as close as they have to be without a reason."""
        tolerance = TOLERANCE
        if self.scenario.startswith(AGED):
            tolerance = AGED_TOLERANCES.get(self.figure, AGED_TOLERANCE)
        return self.off is None or abs(self.off) <= tolerance

    def letters(self) -> list[str]:
        """The rules that explain a difference beyond the tolerance."""
        if self.agrees:
            return []
        place = f"{self.peer} {self.scenario} {self.figure}"
        return [each["letter"] for each in differences() if any(fnmatch.fnmatch(place, rows) for rows in each["rows"])]

    def __str__(self) -> str:
        return f"{percent(self.off)}{''.join(f' {letter}' for letter in self.letters())}"


def differences() -> list[dict[str, Any]]:
    """The rules of differences.toml."""
    found: list[dict[str, Any]] = tomllib.loads((HERE / "differences.toml").read_text(encoding="utf-8"))["difference"]
    return found


def cells(data: Data) -> Iterator[Cell]:
    """Every comparison that the tables show."""
    for scenario in data["scenarios"]:
        for peer in PEERS:
            for kind in kinds(scenario):
                yield from response_cells(scenario, peer, kind)
            if is_aged(scenario):
                yield from count_cells(scenario, peer)
            elif collects(scenario):
                yield from collection_cells(scenario, peer)


def response_cells(scenario: Data, peer: str, kind: str) -> list[Cell]:
    """Mean and 99th percentile of a kind of request."""
    if not ran(scenario, peer):
        return []
    theirs, ours = (scenario["runs"][name][kind] for name in (peer, f"{OURS} as {peer}"))
    return [Cell(peer, scenario["name"], f"{kind}.{figure}", theirs[figure], ours[figure]) for figure in FIGURES]


def collection_cells(scenario: Data, peer: str) -> list[Cell]:
    """Write amplification and erases."""
    if not ran(scenario, peer):
        return []
    theirs, ours = (scenario["runs"][name] for name in (peer, f"{OURS} as {peer}"))
    return [
        Cell(peer, scenario["name"], name, find(scenario, theirs), find(scenario, ours)) for name, find in WEAR.items()
    ]


def count_cells(scenario: Data, peer: str) -> list[Cell]:
    """Pages programmed and blocks erased."""
    if not ran(scenario, peer):
        return []
    theirs, ours = (scenario["runs"][name] for name in (peer, f"{OURS} as {peer}"))
    return [
        Cell(peer, scenario["name"], name, theirs[name], ours[name]) for name in ("pages_programmed", "blocks_erased")
    ]


def is_aged(scenario: Data) -> bool:
    """Whether its table is that of aged drives."""
    return str(scenario["name"]).startswith(AGED)


def ran(scenario: Data, simulator: str) -> bool:
    """Whether a simulator was there and came to its end."""
    return "failed" not in scenario["runs"].get(simulator, {"failed": ""})


def amplification(scenario: Data, run: Data) -> float | None:
    """Pages programmed for each page that the host wrote; of requests that were lost, none was."""
    if run["pages_programmed"] is None or run["write"] is None:
        return None
    before = scenario.get("pages_written_before", 0)
    written = (scenario["pages_written"] - before) * run["write"]["count"] / scenario["requests"]["write"]
    return float(run["pages_programmed"] / (before + written))


def erases(_: Data, run: Data) -> float | None:
    """Blocks erased."""
    return None if run["blocks_erased"] is None else float(run["blocks_erased"])


WEAR = {"write_amplification": amplification, "blocks_erased": erases}


def collects(scenario: Data) -> bool:
    """Whether anything was erased."""
    return bool(scenario["runs"][OURS]["blocks_erased"])


def kinds(scenario: Data) -> list[str]:
    """Kinds of request of which there are enough to have a mean."""
    return [kind for kind, count in scenario["requests"].items() if count >= 100]


def number(value: float | None) -> str:
    """A time or a count, in four digits or so."""
    if value is None:
        return ""
    return f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


def percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:+.1f} %"


def pair(run: Data | None, kind: str) -> str:
    """Mean and 99th percentile."""
    if run is None or "failed" in run:
        return "" if run is None else "fails"
    return " / ".join(number(run[kind][figure]) for figure in FIGURES if run[kind][figure] is not None)


def grid(head: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def table(data: Data) -> str:
    """Response times, mean / 99th percentile in microseconds."""
    head = ["requests", "", OURS]
    for peer in PEERS:
        head += [peer, f"{OURS}, {peer}'s rules", "off by"]
    rows = []
    for scenario in data["scenarios"]:
        for kind in () if is_aged(scenario) else kinds(scenario):
            runs = scenario["runs"]
            row = [scenario["title"], f"{kind}s", pair(runs[OURS], kind)]
            for peer in PEERS:
                off = " / ".join(str(cell) for cell in response_cells(scenario, peer, kind) if cell.off is not None)
                row += [pair(runs.get(peer), kind), pair(runs.get(f"{OURS} as {peer}"), kind), off]
            rows.append(row)
    return grid(head, rows)


def collection_table(data: Data) -> str:
    """Write amplification, blocks erased, requests served."""
    head = ["requests", "simulator", "served", "write amplification", OURS, "off by", "blocks erased", OURS, "off by"]
    rows = []
    for scenario in filter(collects, data["scenarios"]):
        for peer in PEERS:
            if is_aged(scenario) or not ran(scenario, peer):
                continue
            wa, blocks = collection_cells(scenario, peer)
            row = [scenario["title"], peer, f"{served(scenario['runs'][peer]):,} of {asked(scenario):,}"]
            for cell, form in ((wa, "{:.3f}"), (blocks, "{:,.0f}")):
                row += ["" if value is None else form.format(value) for value in (cell.theirs, cell.ours)] + [str(cell)]
            rows.append(row)
    return grid(head, rows)


def aged_table(data: Data) -> str:
    """Aged drives: pages programmed and blocks erased, means and 99th percentiles."""
    head = ["requests", "figure"]
    for peer in PEERS:
        head += [peer, f"{OURS}, {peer}'s rules", "off by"]
    rows = []
    for scenario in filter(is_aged, data["scenarios"]):
        columns = {peer: {cell.figure: cell for cell in aged_cells(scenario, peer)} for peer in PEERS}
        busy = scenario["runs"][OURS]["busy"]
        for nth, figure in enumerate(next((list(cells) for cells in columns.values() if cells), [])):
            row = [f"{scenario['title']}; dies {100 * busy:.0f} % busy" if nth == 0 else "", WORDS[figure]]
            for cells in columns.values():
                cell = cells.get(figure)
                row += [count(cell.theirs), count(cell.ours), str(cell)] if cell else ["fails", "", ""]
            rows.append(row)
    return grid(head, rows)


def aged_cells(scenario: Data, peer: str) -> list[Cell]:
    """Every comparison of an aged drive."""
    times = [cell for kind in kinds(scenario) for cell in response_cells(scenario, peer, kind)]
    return count_cells(scenario, peer) + times


def count(value: float | None) -> str:
    """A count as it is, a time in four digits or so."""
    return f"{value:,}" if isinstance(value, int) else number(value)


def experiment_table(data: Data) -> str:
    """Every rule at work and out of play."""
    head = ["rule", "simulator", "requests", "figure", "with it", OURS, "off by", "without", OURS, "off by"]
    rows = []
    for each in data["experiments"]:
        row = [each["letter"], each["peer"], each["scenario"], WORDS[each["figure"]]]
        for side in (each["before"], each["after"]):
            theirs, ours = side["peer"], side["ours"]
            row += [number(theirs), number(ours), percent(ours / theirs - 1)]
        rows.append(row)
    return grid(head, rows)


WORDS = {
    "read.mean_us": "mean read",
    "read.p99_us": "p99 of reads",
    "write.mean_us": "mean write",
    "write.p99_us": "p99 of writes",
    "pages_programmed": "pages programmed",
    "blocks_erased": "blocks erased",
}


def served(run: Data) -> int:
    """Requests that were answered."""
    return sum(run[kind]["count"] for kind in ("read", "write") if run[kind])


def asked(scenario: Data) -> int:
    """Requests of the trace."""
    return int(sum(scenario["requests"].values()))


def lost(data: Data) -> dict[str, int]:
    """Requests that each peer never answered, over all scenarios."""
    found = dict.fromkeys(PEERS, 0)
    for scenario in data["scenarios"]:
        for peer in PEERS:
            if ran(scenario, peer):
                found[peer] += asked(scenario) - served(scenario["runs"][peer])
    return found


def light_cells(data: Data) -> list[Cell]:
    """Means at light load."""
    light = {scenario["name"] for scenario in data["scenarios"] if scenario["light"]}
    return [cell for cell in cells(data) if cell.scenario in light and cell.figure.endswith("mean_us")]


def by_own_rules(data: Data, peer: str) -> list[Cell]:
    """Means at light load, everybody by its own rules."""
    out = []
    for scenario in data["scenarios"]:
        if scenario["light"] and ran(scenario, peer):
            for kind in kinds(scenario):
                theirs, ours = (scenario["runs"][name][kind]["mean_us"] for name in (peer, OURS))
                out.append(Cell(peer, scenario["name"], f"{kind}.mean_us", theirs, ours))
    return out


def worst(found: list[Cell]) -> str:
    """The largest difference, in percent."""
    return f"{100 * max(abs(cell.off) for cell in found if cell.off is not None):.1f} %"


def section(data: Data) -> str:
    """All of it."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template("section.md.jinja").render(
        data=data,
        device=data["scenarios"][0]["device"],
        differences=differences(),
        lost=lost(data),
        worst_light=worst(light_cells(data)),
        worst_own=worst(by_own_rules(data, "MQSim")),
        worst_own_reads=worst([cell for cell in by_own_rules(data, "SSDsim") if cell.figure.startswith("read")]),
        table=table(data),
        collection_table=collection_table(data),
        aged_table=aged_table(data),
        aged_mqsim=aged_worst(data, "MQSim"),
        experiment_table=experiment_table(data),
    )


def aged_worst(data: Data, peer: str) -> dict[str, str]:
    """The largest difference of each figure of aged drives."""
    found: dict[str, list[Cell]] = {}
    for scenario in filter(is_aged, data["scenarios"]):
        for cell in aged_cells(scenario, peer):
            found.setdefault(cell.figure.rpartition(".")[2], []).append(cell)
    return {figure: worst(cells) for figure, cells in found.items()}


def put(page: Path, data: Data) -> None:
    """Writes the section between its marks."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not rest or END not in rest:
        raise ValueError(f"{page}: no {BEGIN} ... {END}")
    page.write_text(f"{before}{BEGIN}\n{section(data)}\n{END}{after}", encoding="utf-8")

"""Which conclusions the mended engine changed: figures of the old pages beside today's, and what became of each.

A conclusion is one figure on several workloads. Its old values are read out of the tables of the old pages
(docs/evidence/before.json), today's out of the stages; whether it stands is computed from the two alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evidence import conclusions
from evidence.conclusions import change
from evidence.forms import NOTHING, grid, rounded
from evidence.papers import Found, MissingError, parsed, reproduced
from evidence.stages.papers import NAMES as UNDER
from flashtwin.papers.claims import RELATIVE

Figures = Mapping[str, Any]

#: Less than a point is no effect.
LEAST = 100 * conclusions.LEAST
TRACES = ("webvm", "mail", "homes", "trans")
RECIPES = ("webvm", "homes", "mail", "hadoop", "trans", "desktop")
SHARE = "RR-SSD's share of Oracle's read improvement"


@dataclass(frozen=True)
class Case:
    """One figure before and after, in percent."""

    before: float | None
    after: float | None
    #: Whether its sign has a meaning.
    effect: bool = True

    @property
    def outcome(self) -> str:
        """What became of it, in one word."""
        if self.before is None or self.after is None:
            return "not comparable"
        was, now = _sign(self.before), _sign(self.after)
        if self.effect and was != now:
            return "new" if not was else "fell" if not now else "turned round"
        if self.effect and not now:
            return "none, then and now"
        if abs(self.after - self.before) <= max(LEAST, RELATIVE * abs(self.before)):
            return "stands"
        return "stronger" if abs(self.after) > abs(self.before) else "weaker"

    @property
    def text(self) -> str:
        """Both figures: `-16 → -41`."""
        return f"{_plain(self.before)} → {_plain(self.after)}"


@dataclass(frozen=True)
class Conclusion:
    """A figure on several workloads or against several systems, and what of the engine it went through."""

    title: str
    cases: Mapping[str, Case]
    #: Keys of `MENDED`.
    mended: tuple[str, ...] = ()
    #: The same question on equal ground, where it was asked there.
    ground: str = ""

    @property
    def before(self) -> list[float | None]:
        """The old figures."""
        return [case.before for case in self.cases.values()]

    @property
    def after(self) -> list[float | None]:
        """Today's."""
        return [case.after for case in self.cases.values()]

    def only(self, *names: str) -> Conclusion:
        """The same on some of the workloads."""
        return replace(self, cases={name: self.cases[name] for name in names})

    @property
    def outcome(self) -> str:
        """One word, or which word on which workload."""
        groups: dict[str, list[str]] = {}
        for name, case in self.cases.items():
            groups.setdefault(case.outcome, []).append(f"`{name}`")
        if len(groups) == 1:
            return f"**{next(iter(groups))}**"
        return "; ".join(f"**{word}**: {', '.join(names)}" for word, names in groups.items())


#: What was mended, by a short name: what was wrong, and what is done now.
MENDED: Mapping[str, str] = {
    "placing": "Systems that hash chose the chip of a page when it arrived, before its load was counted anywhere, so "
    "that a burst that waited for the hash unit went to one idle chip. A page is placed when its hash is known.",
    "ground": "`ca-ssd` and its kin placed pages on the least loaded chip, `static` and `ds-ftl` in stripes. What a "
    "paper leaves open is the same in all presets, and what differs is listed beside every comparison.",
    "idle": "Some systems waited a millisecond of idle time before background work, some not at all. All wait as long.",
    "ageing": "Ageing a drive moved pages of `ds-ftl` away from their stripes, since their own old copy was taken for "
    "a twin. Pages stay where the allocation puts them.",
    "turns": "`ds-ftl` sent every redirected duplicate to the plane of the next page of its own request. Duplicates "
    "take turns among the planes of the other channel.",
    "merging": "Only `ds-ftl` merged waiting reads of one page, which the simulator of its paper does for every "
    "scheme. `static`, `dynamic` and `hipa` merge them too; what `ds-ftl` adds is the merging of twins.",
    "hipa": "`hipa` changed its predictions with page writes alone, and counted a request's own pages. Predictions "
    "follow the load in time.",
    "earning": "`rr-ssd-online` and `pblru` forgot copies that were earned while another copy of the same content was "
    "under way. Such copies are made after it.",
    "sources": "Copies were made by reading the first page of a content, the busiest. Any of its places is read.",
    "score": "The popularity of a chip in the score of `rr-ssd` was a sum, nearly a count of copies. It is the mean, "
    "as in the paper.",
    "recurrence": "Recipes `mail` and `homes` took what was published of one day for the whole trace. Reads recur from "
    "day to day, and uniqueness is that of a day.",
    "trains": "Recipes spread requests thinly in time. Requests come in trains, as in the public parts of the traces "
    "that the papers used.",
}


#: A figure by its name here: the column of the old tables, the key of today's.
FIGURES = {
    "mean write": ("write, us", "write_ns"),
    "p99 of writes": ("p99 2", "write_p99_ns"),
    "mean read": ("read, us", "read_ns"),
    "erases": ("erases", "erases"),
}


def compared(before: Figures, after: Figures, grounds: Figures) -> list[Conclusion]:
    """All systems on one aged drive, as their presets were and are: changes of a figure against another system's."""
    wanted: list[tuple[str, str, str, tuple[str, ...]]] = [
        ("ca-ssd", "conventional", "mean write", ("placing", "ground")),
        ("ca-ssd", "conventional", "p99 of writes", ("placing", "ground")),
        ("ca-ssd", "conventional", "erases", ()),
        ("caftl", "ca-ssd", "mean write", ("placing", "idle")),
        ("ca-ssd", "static", "mean read", ("ground",)),
        ("oracle", "static", "mean read", ("ground",)),
        ("oracle", "ca-ssd", "mean read", ("placing", "ground")),
        ("rr-ssd", "ca-ssd", "mean read", ("placing", "ground", "sources", "score")),
        ("rr-ssd-online", "ca-ssd", "mean read", ("earning", "ground", "sources")),
        ("pblru", "ca-ssd", "mean read", ("earning", "ground", "sources")),
        ("hipa", "static", "mean read", ("hipa",)),
        ("ds-ftl", "static", "mean read", ("ageing", "turns", "idle")),
        ("ds-ftl", "static", "mean write", ("ageing", "turns", "idle")),
    ]
    found = []
    for system, baseline, what, mended in wanted:
        column, figure = FIGURES[what]
        cases = {}
        for trace in TRACES:
            old = [_row(before["comparison"][trace], "system", name)[column] for name in (baseline, system)]
            new = [after["traces"][trace][name][figure] for name in (baseline, system)]
            cases[trace] = Case(_percent(change(*(parsed(text) for text in old))), _percent(change(*new)))
        title = f"{what} of `{system}` against `{baseline}`"
        found.append(Conclusion(title, cases, mended, _on_equal_ground(system, baseline, figure, grounds)))
    return found


def _on_equal_ground(system: str, baseline: str, figure: str, grounds: Figures) -> str:
    """What the matrix answers; under one placement `static` is `conventional`, and `hipa` is not there."""
    if system == "hipa":
        return NOTHING
    baseline = "conventional" if baseline == "static" else baseline
    question = conclusions.Question("", system, baseline, figure, aged=figure == "erases")
    return conclusions.overall(conclusions.answers(question, grounds["traces"]))


def on_ground(
    grounds: Figures, system: str, baseline: str, figure: str, columns: str = "", without: tuple[str, ...] = ()
) -> list[float]:
    """Changes in percent on equal ground, in every column whose name begins so, on all traces but some."""
    traces = grounds["traces"]
    names = [name for name in traces if name not in without]
    return [100.0 * value for value in conclusions.changed(traces, names, system, baseline, figure, f"{columns}*")]


def idle(before: Figures, after: Figures) -> list[Conclusion]:
    """Copies made in idle time on the large drive, against `ca-ssd`."""
    said, table = before["said"], before["comparison"]["How long is idle?"]
    base = parsed(said["idle: reads of ca-ssd, us"])
    old_trans = parsed(said["idle: reads of ca-ssd on trans, us"])
    found = []
    for system, label in (("rr-ssd-online", "rr-ssd-online`: reads"), ("pblru", "pblru`: reads")):
        for column, idle_us in (("0", 0), ("1 ms", 1000)):
            row = _row(table, "", label)
            cases = {
                "webvm": Case(_percent(change(base, parsed(row[column]))), _large(after, "webvm", system, idle_us))
            }
            if system == "rr-ssd-online":
                old = parsed(said[f"idle: reads of rr-ssd-online at {column} on trans, us"])
                cases["trans"] = Case(_percent(change(old_trans, old)), _large(after, "trans", system, idle_us))
            title = f"mean read of `{system}` against `ca-ssd`, work in idle time after {column}"
            found.append(Conclusion(title, cases, ("earning", "ground", "sources")))
    return found


def _large(after: Figures, trace: str, system: str, idle_us: int) -> float | None:
    runs = after["traces"][trace]
    return _percent(change(runs["large/ca-ssd"]["read_ns"], runs[f"large/{system}/idle {idle_us}"]["read_ns"]))


def captured_rr_ssd(before: Figures, after: Figures) -> list[Conclusion]:
    """RR-SSD on the recorded traces: gains over `ca-ssd` at the rate that Oracle's reads set."""
    old = _by_trace(before["captured-traces"]["RR-SSD"])
    rr, through = reproduced(after, "rr-ssd"), ("placing", "ground", "sources", "score")

    def one(quantity: str) -> Callable[[str], float]:
        return lambda name: rr.measured("table-4", name, quantity)

    def many(column: str) -> Callable[[str], float]:
        return lambda name: rr.number("fair-variants", "Measured", column, "64 hash lanes", name)

    def oracle(name: str) -> float:
        return rr.number("table-4", "The one free parameter", "Oracle, reads", name)

    share, every = "RR-SSD's share of Oracle's", "RR-SSD, reads and writes"
    wanted: list[tuple[str, str, str, Callable[[str], float]]] = [
        ("Oracle, reads: the rate is chosen by it", "Oracle, reads (the target)", "one lane", oracle),
        ("RR-SSD, reads", "RR-SSD, reads", "one lane", one("RR-SSD, reads")),
        (share, share, "one lane", one(SHARE)),
        ("share of Oracle's with 64 hash lanes", share, "64 lanes", many("share")),
        (every, every, "one lane", one(every)),
        ("RR-SSD, reads and writes, with 64 hash lanes", every, "64 lanes", many("RR-SSD, all")),
        ("p99 of all requests with 64 hash lanes", "RR-SSD, p99 of all requests", "64 lanes", many("RR-SSD, p99")),
    ]
    found = []
    for title, label, column, now in wanted:
        cases = {name: Case(parsed(rows[label][column]), now(name)) for name, rows in old.items() if label in rows}
        found.append(Conclusion(title, cases, through))
    copies = {
        name: Case(parsed(before["said"][f"copies, captured: {name}"]),
                   rr.measured("table-5", name, "replica writes among all"), effect=False)
        for name in ("webvm", "mail", "homes")
    }  # fmt: skip
    return [*found, Conclusion("replica writes among all programs", copies, ("placing", "ground"))]


def fair_test(before: Figures, after: Figures) -> list[Conclusion]:
    """RR-SSD's share of what Oracle gains for reads on the recipes, under each decision."""
    rr, table = reproduced(after, "rr-ssd"), before["reproduction"]["The fair test of RR-SSD"]
    through = ("recurrence", "trains", "placing", "ground", "sources", "score")
    columns = {"64 hash lanes": "64 hash lanes", "chip": "concurrency = chip", "both": "both"}
    found = [
        Conclusion("RR-SSD's share of Oracle's reads, as decided", {
            name: Case(parsed(_row(table, "workload", name)["as decided"]), rr.measured("table-4", name, SHARE))
            for name in RECIPES
        }, through)
    ]  # fmt: skip
    for column, label in columns.items():
        cases = {
            name: Case(parsed(_row(table, "workload", name)[column]),
                       rr.measured("fair-variants", name, f"share of Oracle's, {label}"))
            for name in RECIPES
        }  # fmt: skip
        found.append(Conclusion(f"the same, {label}", cases, through))
    return found


def near_published(conclusion: Conclusion, after: Figures, points: float) -> tuple[list[str], list[str]]:
    """On which recipes RR-SSD's share was, and is, within so many points of the published one."""
    rr = reproduced(after, "rr-ssd")
    was: list[str] = []
    now: list[str] = []
    for name, case in conclusion.cases.items():
        published = float(rr.claim("table-4", name, SHARE)["published_low"])
        for value, names in ((case.before, was), (case.after, now)):
            if value is not None and abs(value - published) <= points:
                names.append(name)
    return was, now


def rr_ssd_means(before: Figures, after: Figures) -> list[Conclusion]:
    """Means over the six recipes."""
    rr, table = reproduced(after, "rr-ssd"), before["reproduction"]["Which conclusions depend on which choice"]
    through = ("recurrence", "trains", "placing", "ground")
    named = {"RR-SSD, reads, mean": "RR-SSD, reads", "RR-SSD, all requests, mean": "RR-SSD, reads and writes"}
    found = [
        Conclusion(title, {"mean": Case(parsed(_row(table, "headline", title)["as decided"]),
                                        rr.measured("table-4", "mean", quantity))}, through)
        for title, quantity in named.items()
    ]  # fmt: skip
    for title, key, item, quantity, also in (
        ("on-line replication, reads, mean", "online: reads, mean", "fig-12", "on-line, reads", "earning"),
        ("ideal replication over `conventional`, reads, mean", "ideal: reads, mean", "fig-3", "reads", "ground"),
    ):
        case = Case(parsed(before["said"][key]), rr.measured(item, "mean", quantity))
        found.append(Conclusion(title, {"mean": case}, ("recurrence", "trains", also)))
    return found


def ca_ssd(before: Figures, after: Figures) -> list[Conclusion]:
    """CA-SSD's cuts on the recipes, on both kinds of drives."""
    ca, table = reproduced(after, "ca-ssd"), before["reproduction"]["CA-SSD"]
    drives = {
        "on drives that begin full": dict.fromkeys(("response", "writes", "gc", "erases"), "begins-full"),
        "on 4, 6 and 4 GB that begin with what is read":
            {"response": "fig-7a", "writes": "fig-7b", "gc": "fig-7b", "erases": "fig-7c"},
    }  # fmt: skip
    quantities = {"pages written": "writes", "pages written by collection": "gc", "erases": "erases",
                  "mean response time": "response"}  # fmt: skip
    found = []
    for column, items in drives.items():
        for what, key in quantities.items():
            texts = _row(table, "", what)[column]
            cases = {
                name: Case(parsed(texts, place), _measured(ca, items[key], name, f"{what}, cut"))
                for place, name in enumerate(("web", "mail", "homes"))
            }
            found.append(Conclusion(f"{what}, cut, {column}", cases, ("recurrence", "trains")))
    return found


def captured_ca_ssd(before: Figures, after: Figures) -> list[Conclusion]:
    """CA-SSD's cuts on the recorded traces."""
    ca, table = reproduced(after, "ca-ssd"), before["captured-traces"]["CA-SSD"]
    here = "here: webvm / mail / homes"
    full = next(row for row in table if row[""].startswith("on drives that begin full"))
    small = _row(table, "", "response time cut")
    written = _row(table, "", "pages written, cut, on these drives")
    names = {"webvm": "web", "mail": "mail", "homes": "homes"}
    what = "mean response time, cut"
    # `webvm` does not fit on the paper's drive, so that its cell holds no number.
    return [
        Conclusion("mean response time, cut, on the paper's drives", {
            name: Case(parsed(small[here], place), _measured(ca, "fig-7a", name, what))
            for place, name in enumerate(("mail", "homes"))
        }),
        *(Conclusion(f"{quantity}, on drives that begin full", {
            trace: Case(parsed(row[here], place), _measured(ca, "begins-full", name, quantity))
            for place, (trace, name) in enumerate(names.items())
        }) for quantity, row in ((what, full), ("pages written, cut", written))),
    ]  # fmt: skip


def ds_ftl(before: Figures, after: Figures) -> list[Conclusion]:
    """DS-FTL on the recipes: means over eight workloads against each scheme, merging, and an aged drive."""
    ds, old = reproduced(after, "ds-ftl"), before["reproduction"]
    through = ("turns", "merging", "hipa", "idle", "trains")
    found = []
    for label, kind, speed in (
        ("reads, as they arrive", "reads", "1"), ("writes, as they arrive", "writes", "1"),
        ("reads, 1,000 times as fast", "reads", "1000"), ("writes, 1,000 times as fast", "writes", "1000"),
    ):  # fmt: skip
        row = _row(old["DS-FTL"], "", label)
        cases = {
            name: Case(
                parsed(row[name]), ds.number("load", "pages compared in idle time", f"{kind}, {name.lower()}", speed)
            )
            for name in ("static", "dynamic", "HIPA")
        }
        found.append(Conclusion(f"{label}: time saved by DS-FTL", cases, through))
    # What DS-FTL saves at this clock is among the four already.
    found += _merging("merging", before["said"], ds, through)[1:]
    headline = _row(old["Which conclusions depend on which choice"], "headline", "DS-FTL, reads below static")
    aged = parsed(headline["preload: footprint / none"])
    now = parsed(ds.entry("sensitivity", "Headlines under", "preload: footprint / none", "reads below static"))
    found.append(Conclusion("reads at the trace's clock on an aged drive", {"static": Case(aged, now)}, ("ageing",)))
    redirected = Case(parsed(before["said"]["redirected writes: webmail"]),
                      ds.measured("fig-13", "webmail", "redirected writes"), effect=False)  # fmt: skip
    return [*found, Conclusion("redirected writes", {"webmail": redirected}, ("turns",))]


def _merging(key: str, said: Figures, ds: Found, through: tuple[str, ...]) -> list[Conclusion]:
    """What DS-FTL's reads gain when overloaded, and what merging of one page gains without it."""
    wanted = {
        "DS-FTL against `static`": ("ds-ftl below static", "DS-FTL below static"),
        "merging of one page's reads in `static` alone": ("static that merges", "merging of pages, in static alone"),
    }
    return [
        Conclusion(f"reads, 1,000 times as fast: time saved by {title}", {
            "mean": Case(parsed(said[f"{key}: {old}"]), ds.number("load", "What reads gain", column, "1000"))
        }, through)
        for title, (old, column) in wanted.items()
    ]  # fmt: skip


def captured_ds_ftl(before: Figures, after: Figures) -> list[Conclusion]:
    """DS-FTL on the recorded traces, against `static`."""
    ds, table = reproduced(after, "ds-ftl"), before["captured-traces"]["DS-FTL"]
    under, through = {trace: name for name, trace in UNDER["ds-ftl"].items()}, ("turns", "merging", "idle")
    found = []
    for kind, item, again in (("reads", "fig-10b", ""), ("writes", "fig-10a", " 2")):
        for speed, column in (("1", f"{kind}, as recorded"), ("100", f"x 100{again}"), ("1000", f"x 1000{again}")):
            cases = {
                trace: Case(parsed(_row(table, "", trace)[column]),
                            _entry(ds, item, f"Mean {kind} when", "DS-FTL below static", under[trace], speed))
                for trace in TRACES
            }  # fmt: skip
            how = "as recorded" if speed == "1" else f"clock x {speed}"
            found.append(Conclusion(f"{kind}, {how}: time saved against `static`", cases, through))
    return [*found, *_merging("merging, captured", before["said"], ds, through)]


def one(found: Iterable[Conclusion], title: str) -> Conclusion:
    """The conclusion of that title.

    Raises:
        MissingError: there is none.
    """
    every = list(found)
    for conclusion in every:
        if conclusion.title == title:
            return conclusion
    raise MissingError(f"no conclusion '{title}'; there are {'; '.join(conclusion.title for conclusion in every)}")


def table(found: Iterable[Conclusion]) -> str:
    """Conclusions as rows, what they are about as columns: before → after, what became of them, what was mended.

    Conclusions about one thing each stand in a table of their own, below the others.
    """
    every = list(found)
    many = [one for one in every if len(one.cases) > 1]
    single = [one for one in every if len(one.cases) == 1]
    names = list(dict.fromkeys(name for one in many for name in one.cases))
    asked = any(one.ground for one in many)
    rows = [
        [one.title, *(one.cases[name].text if name in one.cases else "" for name in names), one.outcome,
         *([one.ground] if asked else []), ", ".join(one.mended) or NOTHING]
        for one in many
    ]  # fmt: skip
    ground = ["today, on equal ground"] if asked else []
    head = ["before → after, %", *(f"`{name}`" for name in names), "the conclusion", *ground, "goes through"]
    alone = [
        [one.title, name, case.text, one.outcome, ", ".join(one.mended)]
        for one in single
        for name, case in one.cases.items()
    ]
    tables = [grid(head, rows)] if rows else []
    if alone:
        tables.append(grid(["", "of", "before → after, %", "the conclusion", "goes through"], alone))
    return "\n\n".join(tables)


def counted(*groups: Iterable[Conclusion]) -> dict[str, int]:
    """How many figures had each outcome."""
    found: dict[str, int] = {}
    for group in groups:
        for one in group:
            for case in one.cases.values():
                found[case.outcome] = found.get(case.outcome, 0) + 1
    return found


def _measured(found: Found, item: str, subject: str, quantity: str) -> float | None:
    """What was measured; None where it could not be, as for a trace that does not fit on a drive."""
    measured: float | None = found.claim(item, subject, quantity)["measured"]
    return measured


def _entry(found: Found, item: str, title: str, column: str, *labels: str) -> float | None:
    return parsed(found.entry(item, title, column, *labels))


def _row(table: Iterable[Mapping[str, str]], key: str, name: str) -> Mapping[str, str]:
    """A row of an old table."""
    rows = list(table)
    for row in rows:
        if row[key] == name:
            return row
    raise MissingError(f"the old table has no row '{name}'; it has {', '.join(row[key] for row in rows)}")


def _by_trace(table: Iterable[Mapping[str, str]]) -> dict[str, dict[str, Mapping[str, str]]]:
    """Rows of the old table of RR-SSD, in which a trace is named in the first of its rows: `mail`: Oracle, reads`."""
    found: dict[str, dict[str, Mapping[str, str]]] = {}
    rows: dict[str, Mapping[str, str]] = {}
    for row in table:
        label = row[""]
        if "`: " in label:
            trace, label = label.split("`: ", 1)
            rows = found.setdefault(trace, {})
        rows[label] = row
    return found


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def _sign(value: float) -> int:
    """0 for what is no effect."""
    return 0 if abs(value) < LEAST else 1 if value > 0 else -1


def _plain(value: float | None) -> str:
    return NOTHING if value is None else rounded(value, 0 if abs(value) >= 10 else 1)

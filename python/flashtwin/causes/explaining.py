"""`flashtwin.explain`: the bottleneck of a workload on a system, the change that removes it, and the command."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashtwin import units
from flashtwin.arguments import checked
from flashtwin.causes.bottlenecks import BY_NAME
from flashtwin.causes.case import Consequence
from flashtwin.causes.inquiry import NOTHING, TOLD_PERCENT, Inquiry
from flashtwin.causes.replaying import Budget, KeptFigures, base_figures, base_replays, replay_all
from flashtwin.causes.stored import Command, command_of, runs_of, system_of, trace_of
from flashtwin.errors import ArgumentError, ConfigError, ReportError
from flashtwin.judgement import facts
from flashtwin.judgement.catalogue import CONTROLLER, DRIVE, HANDLES, HOST
from flashtwin.judgement.choosing import WORTH
from flashtwin.judgement.goals import Figures, Goal, goal_of, usual_goal
from flashtwin.judgement.verdict import BOTTLENECK, UNKNOWN, Action, Verdict, upper, with_made_up_contents
from flashtwin.progress import Progress
from flashtwin.replays.grounds import check_raw_pages
from flashtwin.replays.presets import System
from flashtwin.replays.running import fitted, name_systems
from flashtwin.results import folder, names, shapes
from flashtwin.results.formats import FORMAT, lacking
from flashtwin.results.frames import Tabular, shown, table_of
from flashtwin.results.keys import traits
from flashtwin.results.reading import read_json
from flashtwin.settings import Value, merged
from flashtwin.traces import sources
from flashtwin.traces.scan import Replayable, as_replayable

if TYPE_CHECKING:
    import pyarrow

#: Page operations of replaying unless otherwise asked for, and replays of each system that are made at least. Ours.
EFFORT, LEAST_REPLAYS = 100_000_000, 4
#: Steps that the words name; all stand in the data.
_NAMED_STEPS = 4
#: What a change of each kind makes of a drive.
_KINDS = {CONTROLLER: "", DRIVE: "another drive: ", HOST: "another load: "}


class Explanation(Tabular):
    """The bottleneck of a trace on one system. As a frame: a row for each cause and step, with its command.

    >>> import flashtwin as ft
    >>> found = ft.explain("traces/webvm-small.fiu.zst", "ca-ssd", period_s=120, speed=100)["ca-ssd"]
    >>> found.answer, "hash_lanes" in found.command
    ('hash', True)
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        #: Everything that was found, as it is written; times in ns, shares in percent.
        self.data = data
        self.system = str(data["system"])
        #: The bottleneck, the replay that shows it, and the remedy.
        self.verdict = Verdict.read(data)
        #: The first cause: `hash`, `bus`, `gc`, ...; `nothing`; `unknown` where the time allowed no replay.
        self.answer = self.verdict.answer
        #: The command of the change to make first.
        self.command = self.verdict.action.command

    @property
    def text(self) -> str:
        return "\n".join(lines(self.data))

    def to_arrow(self) -> pyarrow.Table:
        return table_of(self.rows)

    @property
    def rows(self) -> list[dict[str, Any]]:
        of = {"system": self.system, "goal": self.data["goal"], "before": self.data["before"]}
        columns = ("name", "change", "words", "value", "percent", "programs", "erases", "ram_bytes", "command")
        kinds = ((key.removesuffix("s"), self.data[key]) for key in ("causes", "steps"))
        return [{**of, "what": what, **{key: row[key] for key in columns}} for what, rows in kinds for row in rows]

    def __repr__(self) -> str:
        return f"<flashtwin.Explanation of {self.system!r}: {self.answer}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>{shown(self.to_arrow())}"


@checked
class Explanations(Tabular, dict[str, Explanation]):
    """The bottlenecks of a trace, by system. As a frame: the rows of all.

    >>> import flashtwin as ft
    >>> trace = ft.open("traces/webvm-small.fiu.zst").excerpt(to_s=60)
    >>> found = ft.explain(trace, ["conventional", "ca-ssd"], speed=100)
    >>> {system: one.answer for system, one in found.items()}
    {'conventional': 'placement', 'ca-ssd': 'hash'}
    """

    def __init__(self, found: Iterable[Mapping[str, Any]]) -> None:
        super().__init__({str(one["system"]): Explanation(one) for one in found})

    @classmethod
    def read(cls, path: str | Path) -> Explanations:
        """Reads what `flashtwin study` or `flashtwin explain` left in a folder.

        Raises:
            ReportError: there is none in it, or what stands there cannot be read.
        """
        files = names.explained(Path(path))
        if not files:
            raise ReportError(f"{path}: nothing in it was explained; `flashtwin explain {path}` does that")
        found = {file: read_json(file) for file in files}
        for file, one in found.items():
            if old := lacking(file, one, command := f"flashtwin explain {path}"):
                raise ReportError(f"{file}: {old}")
            shapes.check(file, one, shapes.EXPLAINED, command)
        return cls(found.values())

    @property
    def text(self) -> str:
        return "\n\n".join(one.text for one in self.values())

    def to_arrow(self) -> pyarrow.Table:
        return table_of([row for one in self.values() for row in one.rows])

    def __repr__(self) -> str:
        return f"<flashtwin.Explanations: {', '.join(f'{name}: {one.answer}' for name, one in self.items())}>"

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self.values())


class InterruptedExplanation(KeyboardInterrupt):
    """Ctrl-C while replays were under way, with the answer from those that had ended (`found`)."""

    def __init__(self, found: Explanations) -> None:
        super().__init__("interrupted")
        self.found = found


@checked
def explain(
    what: Replayable | str | Path, systems: Sequence[str | Path | System] | str | Path | System | None = None, *,
    goal: str | None = None, effort: int | None = EFFORT, out: str | Path | None = None,
    trace: str | Path | None = None, settings: Mapping[str, Value] | None = None, fill: float | None = None,
    threads: int = 0, progress: Progress | None = None, equal_ground: bool = False, **sets: Value,
) -> Explanations:  # fmt: skip
    """Finds the bottleneck of a workload, the change that removes it, and the gain.

    One thing at a time is made ideal (hashing, channels, collection, erases, ...), and the trace replayed again; then
    changes that can really be made.

    Args:
        what: a trace, a path of one, or a folder of results, which then keeps the answer (`Explanations.read`).
        systems: the systems; of a folder those of its runs, all of them where none is named.
        goal: the figure to shorten: `"read.p99"`, `"all.mean"`, `"write.max"`, `"time"` for the whole trace; the
            mean response where none is named, in a closed loop the time.
        effort: page operations of replaying, at least four replays of each system; None: as many as it takes, 0: none.
        out: a folder to keep replays of a trace in: an interrupted inquiry goes on where it was.
        trace: of a folder of results, the file of its trace where that is no more where it was.
        settings: keys to set otherwise, dotted ones as they are; not for a folder, as `fill`.
        fill: as in `compare`.
        threads: replays at once; 0 is one for each core. The result does not depend on it.
        progress: told how many replays are done.
        equal_ground: as in `compare`. Of one system all changes of the controller stand on one ground in any case.
        **sets: the same as keywords.

    Raises:
        ConfigError: there is no such system, key or goal.
        ReportError: there are no such results.
        TraceError: the trace cannot be read, or is another one than the results are of.
        KeyboardInterrupt: Ctrl-C; once a replay has ended it has the answer so far (`found`).

    >>> import flashtwin as ft
    >>> found = ft.explain("traces/webvm-small.fiu.zst", "ca-ssd", period_s=120, speed=100)
    >>> found["ca-ssd"].answer
    'hash'
    """
    keys, asked = merged(settings, sets), None if goal is None else goal_of(goal)
    how: dict[str, Any] = {"goal": asked, "effort": effort, "threads": threads, "progress": progress}
    if isinstance(what, str | Path) and sources.is_results(what):
        if keys or fill is not None or equal_ground:
            raise ConfigError(f"{what}: runs are explained as they were made; keys are for traces")
        return _explain_folder(Path(what), systems, trace, how)
    if trace is not None:
        raise ArgumentError("`trace` names the file of a folder of results; here the trace itself is given")
    if systems is None:
        raise ArgumentError("name a system to explain a trace on: ft.explain(trace, 'ca-ssd')")
    opened = as_replayable(what, progress)
    named = name_systems(systems, keys, equal_ground=equal_ground)
    chosen = fitted(opened, named, fill, progress=progress)
    if equal_ground:
        check_raw_pages(chosen)
    if out is None:
        return explain_runs(None, opened, chosen, **how)
    with folder.prepared(out, holding=names.EXPLAINED_FROM) as path:
        folder.write_json(path / names.EXPLAINED_FROM, opened.digest)
        return explain_runs(path, opened, chosen, **how)


def explain_runs(
    path: Path | None, trace: Replayable, systems: Mapping[str, System], *, goal: Goal | None, effort: int | None,
    worth: float = WORTH, **how: Any,
) -> Explanations:  # fmt: skip
    """Explains a trace on systems; replays and results are kept in the folder, if there is one.

    `how` has the options of replays: threads, progress. Ctrl-C leaves an earlier answer in the folder.
    """
    kept = KeptFigures.of(path)
    figures = base_replays(trace, systems, kept, **how)
    searches = {
        name: Inquiry(one, goal or usual_goal(one.config["replay"]["queue_depth"]), {(): figures[name]}, worth=worth)
        for name, one in systems.items()
    }
    commands = {name: command_of(trace, name, one) for name, one in systems.items()}
    budget = Budget(effort, replay_ops(figures.values()))
    budget.at_least(LEAST_REPLAYS * len(searches))
    interrupted = False
    try:
        replay_all(trace, list(searches.values()), kept, budget, **how)
    except KeyboardInterrupt:
        interrupted = True
    found = Explanations(document(one, commands[name], interrupted=interrupted) for name, one in searches.items())
    if interrupted:
        raise InterruptedExplanation(found)
    if path is not None:
        (path / names.CAUSES).mkdir(exist_ok=True)
        for name, explanation in found.items():
            folder.write_json(names.explained_file(path, name), dict(explanation.data))
    return found


def _explain_folder(path: Path, systems: Any, trace: str | Path | None, how: Mapping[str, Any]) -> Explanations:
    """All runs of a folder that could be built, or those that are named."""
    wanted = [str(one) for one in ([systems] if isinstance(systems, str | Path) else systems or ())]
    found = runs_of(path, wanted)
    buildable = {name: one for name, one in found.items() if wanted or "bound" not in traits(one.summary["config"])}
    runs = {name: system_of(name, one.summary["config"]) for name, one in (buildable or found).items()}
    opened = trace_of(path, str(next(iter(found.values())).summary["trace"]["digest"]), trace, how["progress"])
    with folder.locked(path):
        kept = KeptFigures.of(path)
        for name, one in runs.items():
            kept.keep(folder.run_key(opened.digest, one.config), base_figures(found[name]))
        return explain_runs(path, opened, runs, **how)


def replay_ops(runs: Iterable[Figures]) -> int:
    """Page operations that a replay of the trace of runs takes; trims take next to none."""
    return int(max((one["page_ops.read"] + one["page_ops.write"] for one in runs), default=1))


def document(inquiry: Inquiry, command: Command, *, interrupted: bool = False) -> dict[str, Any]:
    """All results of one system, with sentences; the content of its file."""
    causes, goal, content = inquiry.causes(), inquiry.goal, inquiry.case["replay.content"]
    made_up = "looks-at-contents" in inquiry.case.traits and content != "recorded"
    claim = with_made_up_contents(_claim(inquiry, command.name), str(content) if made_up else None)
    figures, action = facts.known({"before": inquiry.before}), _action(inquiry, command)
    judged = Verdict(
        BOTTLENECK, claim, inquiry.answer(), " ".join(_on_handles(inquiry, command)), figures, (command.name,), action
    )
    return {
        "format": FORMAT, **judged.as_json(), "system": command.name, "goal": goal.name, "goal_words": goal.words,
        "before": inquiry.before,
        "causes": [{**_row(one, command), "label": BY_NAME[one.name].words.removeprefix("the ")} for one in causes],
        "steps": [_row(one, command) for one in inquiry.steps()],
        "more": _caveats(inquiry, command, interrupted=interrupted), "replays": len(inquiry.known) - 1,
        "interrupted": interrupted, "command": command.replay({}),
    }  # fmt: skip


def lines(found: Mapping[str, Any]) -> list[str]:
    """As a terminal shows it: bottleneck, remedy, gain, command."""
    goal, do = goal_of(found["goal"]), found["action"]
    text = [f"Interrupted after {units.plural(found['replays'], 'replay')}; the answer so far:"]
    text = [*text[: found["interrupted"]], found["claim"], f"  do: {do['words']}.", f"      {do['command']}"]
    text += [f"  {sentence}" for sentence in [found["reason"], *found["more"]] if sentence]
    text += [f"  {found['goal_words']}, now {goal.written(found['before'])}, would be:"] if found["causes"] else []
    width = max((len(one["words"]) for one in found["causes"]), default=0)
    for one in found["causes"]:
        less = f"{goal.written(one['value']):>9}  {units.percent(one['percent'])} less"
        text.append(f"    with {one['words'].ljust(width)}  {less}")
    other = [one for one in found["steps"] if one["percent"] >= TOLD_PERCENT and one["command"] != do["command"]]
    now = goal.written(found["before"])
    for kind, title in ((CONTROLLER, "other changes"), (DRIVE, f"other drives, instead of {now} on this one")):
        of_kind = [one for one in other if one["kind"] == kind][:_NAMED_STEPS]
        text += [f"  {title}, largest gain first:"] if of_kind else []
        for one in of_kind:
            told = _brings(goal.written(one["value"]), one["percent"], one["takes"])
            text += [f"    {one['words']}: {told}", f"      {one['command']}"]
    return [line.replace("`", "") for line in text]


def _row(one: Consequence, command: Command) -> dict[str, Any]:
    level = one.level
    return {
        "name": one.name, "words": level.words, "change": level.change, "kind": level.kind, "sets": dict(level.sets),
        "value": one.value, "percent": one.percent, "programs": one.more("programs"), "erases": one.more("erases"),
        "ram_bytes": one.more("ram"), "takes": _takes(one), "command": command.replay(level.sets),
    }  # fmt: skip


def _takes(step: Consequence) -> str:
    more = {noun: step.more(f"{noun}s") for noun in ("program", "erase")}
    parts = [units.plural(abs(by), f"{'more' if by > 0 else 'fewer'} {noun}") for noun, by in more.items() if by]
    ram = step.more("ram")
    parts += [f"{units.size(abs(ram))} {'more' if ram > 0 else 'less'} RAM"] if ram else []
    return ", ".join([*([step.level.takes] if step.level.takes else []), *parts])


def _brings(value: str, percent: float, takes: str) -> str:
    return f"{value} ({units.percent(percent)} less){f', for {takes}' if takes else ''}"


def _claim(inquiry: Inquiry, name: str) -> str:
    goal, before, blamed = inquiry.goal.words, inquiry.goal.written(inquiry.before), inquiry.blamed()
    if not inquiry.before:
        missing = f"the trace has no {inquiry.goal.kind}s, which {goal} needs"
        return f"`{name}`: {missing if inquiry.goal.statistic else f'{goal} is 0 already'}."
    if blamed is not None:
        less = f"{inquiry.goal.written(blamed.value)} instead of {before} ({units.percent(blamed.percent)} less)"
        bottleneck = f"The bottleneck of `{name}` is {BY_NAME[blamed.name].words}"
        return f"{bottleneck}: with {blamed.level.words} {goal} is {less}."
    if inquiry.answer() == NOTHING:
        share = units.percent(inquiry.case.base.waited_share(inquiry.goal) * 100.0)
        rest = "the rest is what the flash, the channels and the controller take"
        return f"`{name}` has no bottleneck: {goal} is {before}, {share} of it waiting; {rest}."
    replays = units.plural(len(inquiry.known) - 1, "replay")
    return f"`{name}`: no bottleneck found {f'yet, in {replays}' if len(inquiry.known) > 1 else 'within the effort'}."


def _action(inquiry: Inquiry, command: Command) -> Action:
    if not inquiry.before:
        return Action("Ask about another figure", command.explain("--goal all.mean"))
    best = inquiry.first_step()
    if inquiry.answer() == UNKNOWN or (best is None and inquiry.open_steps()):
        return Action("Try everything", _with_all(inquiry, command))
    if best is None:
        tried = units.plural(len(inquiry.steps()), "step")
        words = f"No change brings more than {units.percent(inquiry.worth * 100)} ({tried} tried)"
        return Action(f"{words}; ask about another figure", command.explain("--goal read.p99 --effort all"))
    level, brings = best.level, _brings(inquiry.goal.written(best.value), best.percent, _takes(best))
    words = f"{upper(f'{_KINDS[level.kind]}{level.words}')}: {brings}"
    return Action(words, command.replay(level.sets), level.sets, level.change, replayed=True)


def _caveats(inquiry: Inquiry, command: Command, *, interrupted: bool) -> list[str]:
    causes, untried, steps = inquiry.causes(), inquiry.untried(), len(inquiry.open_steps())
    collects = causes and causes[0].name == "gc" and causes[0].after["erases"]
    lower_bound = "The new drive still collected garbage at times, so this cost is a lower bound."
    sentences, by_reason = [lower_bound] if collects else [], dict[str, list[str]]()
    for one, reason in inquiry.skipped():
        by_reason.setdefault(reason.rstrip("."), []).append(one.words)
    sentences += [f"Skipped: {units.names_plain(words)}: {reason}." for reason, words in by_reason.items()]
    if (untried or steps) and (len(inquiry.known) > 1 or interrupted):
        parts = [f"switching off {units.names_plain([BY_NAME[one.of[0]].words for one in untried])}"] if untried else []
        parts += [units.plural(steps, "step")] if steps else []
        why = "Interrupted before" if interrupted else "Beyond the effort:"
        sentences.append(f"{why} {units.names_plain(parts)}; `{_with_all(inquiry, command)}` does that.")
    return sentences


def _on_handles(inquiry: Inquiry, command: Command) -> Iterator[str]:
    """Whether volumes should be kept apart: by what the flash programs, because that is what handles are for."""
    for one in (step for step in inquiry.steps() if step.level.change == HANDLES):
        before, after = (found["write_amplification"] for found in (one.before, one.after))
        pays = "pays" if after < before * (1 - inquiry.worth) else "does not pay"
        now, then = (inquiry.goal.written(value) for value in (inquiry.before, one.value))
        words = (
            f"write amplification is {after:.2f} instead of {before:.2f}, {inquiry.goal.words} {then} instead of {now}"
        )
        yield f"{upper(one.level.words)} {pays}: {words}; `{command.replay(one.level.sets)}`."


def _with_all(inquiry: Inquiry, command: Command) -> str:
    is_usual = inquiry.goal == usual_goal(inquiry.case["replay.queue_depth"])
    return command.explain(f"{'' if is_usual else f'--goal {inquiry.goal.name} '}--effort all")

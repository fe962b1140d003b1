"""Options mean the same on all verbs and show an example; names are found as tables print them."""

import json
import re
import shlex
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flashtwin as ft
from flashtwin.cli._options import ReplayOptions
from flashtwin.cli.trace import trace
from flashtwin.judgement.goals import goal_of as goal
from flashtwin.results import figures, folder, schema
from flashtwin.traces.reading import Reading

from .conftest import Cli
from .test_docs import verbs


def test_device_is_an_option_of_replay_compare_and_explain(cli: Cli, small_trace: Path) -> None:
    for verb in (("replay", "--system"), ("compare", "--systems")):
        done = cli(verb[0], small_trace, verb[1], "conventional", "--device", "tlc-2021", "--json", status=0)
        found = json.loads(done.out)["conventional"]["config"]["nand"]
        assert found == ft.system("conventional", device="tlc-2021").config["nand"]
    done = cli("explain", small_trace, "--system", "conventional", "--device", "tlc-2021", "--effort", "0")
    assert "--set device=tlc-2021" in done.out, done.err


def test_key_of_the_device_that_is_set_goes_before_the_device(cli: Cli, small_trace: Path) -> None:
    done = cli(
        "replay", small_trace, "--system", "conventional", "--device", "tlc-2021", "--set", "channels=2", "--json"
    )
    assert json.loads(done.out)["conventional"]["config"]["nand"]["channels"] == 2


def test_options_of_replays_are_keys() -> None:
    options = ReplayOptions(
        set=(("alpha", "0.2"),), period_s=3600.0, warm_up_s=60.0, speed="10", queue_depth="4", content="unique",
        verify=True, aged=True,
    )  # fmt: skip
    assert options.on("tlc-2021").sets == [
        ("device", "tlc-2021"), ("alpha", "0.2"), ("replay.speed", "10"), ("replay.queue_depth", "4"),
        ("replay.period_s", "3600.0"), ("replay.warm_up_s", "60.0"), ("replay.content", "unique"),
        ("verify", "true"), ("replay.preload", "footprint"),
    ]  # fmt: skip
    assert ReplayOptions().on(None).sets == []


def test_reading_is_what_its_words_say() -> None:
    reading = Reading("fiu", "skip", 5 * 10**9, "Q", "hm.1", 0.0015, 90.0)
    options = trace.commands["info"].make_context("info", ["x.fiu", *reading.words]).params
    assert Reading(**{field.name: options[field.name] for field in fields(Reading)}) == reading
    assert Reading().words == []


@pytest.mark.usefixtures("no_pages")
def test_sweep_takes_periods_and_devices(cli: Cli, small_trace: Path, tmp_path: Path) -> None:
    arguments = ("--systems", "rr-ssd", "--period", "100s,2min", "--device", "rr-ssd,tlc-2021", "--workers", "1")
    cli("sweep", small_trace, *arguments, "--out", "out", status=0)
    rows = ft.Sweep.read(tmp_path / "out").to_arrow().to_pylist()
    assert {(row["config.device"], row["config.replay.period_s"]) for row in rows} == {
        ("rr-ssd", 100), ("rr-ssd", 120), ("tlc-2021", 100), ("tlc-2021", 120),
    }  # fmt: skip
    refused = cli("sweep", small_trace, "--period", "1d,soon", status=2)
    assert "'soon' is not a length of time" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [("replay", "--system", "conventional", "--queue-depth", "0"), ("sweep", "--queue-depth", "4,0")],
)
def test_queue_depth_of_none_is_refused(cli: Cli, small_trace: Path, arguments: tuple[str, ...]) -> None:
    done = cli(arguments[0], small_trace, *arguments[1:], status=2)
    assert "leave the option out to keep the recorded times" in done.err


@pytest.mark.parametrize("path", sorted(path for path in schema.SUMMARY if re.search(r"response\.\w+\.p\d", path)))
def test_percentile_is_found_as_it_is_printed(path: str) -> None:
    name = path.removeprefix("response.").removesuffix("_ns")
    printed = re.sub(r"(p\d+)_(\d+)", r"\1.\2", name)
    assert figures.figure(printed).path == figures.figure(name).path == path
    assert figures.bounds(f"{printed}<=2ms")[0].figure.path == path
    if not name.startswith("flush."):
        assert goal(printed) == goal(name)


@given(st.text("abp0123456789._", max_size=12))
def test_other_names_stay_as_they_are(name: str) -> None:
    once = figures.spelled(name)
    assert once.replace("_", ".") == name.replace("_", ".")
    if not re.search(r"p\d+\.\d", name):
        assert once == name


def test_other_errors_stay_as_they_are(tmp_path: Path) -> None:
    error = ft.SimError("my.mail.partial.csv:3: size '40x6' is no number")
    with pytest.raises(ft.SimError) as told, folder.prepared(tmp_path / "out"):
        raise error
    assert told.value is error


def test_options_with_a_value_have_an_example() -> None:
    missing = {(path, option.opts[0]) for path, command, option in valued_options() if not examples(command, option)}
    assert missing == set()


def test_examples_of_options_are_valid() -> None:
    for path, command, option in valued_options():
        context = click.Context(command, info_name=path)
        for value in examples(command, option):
            if not isinstance(option.type, click.Path):
                # Raises for a value that the option does not take; files need not exist.
                option.type.convert(value, option, context)


def test_same_option_has_the_same_help() -> None:
    texts: dict[str, set[str]] = {}
    for path, command in verbs():
        for option in command.params if not {"sweep", "export"} & {*path.split()} else ():
            if isinstance(option, click.Option) and option.opts[0] in SAME_EVERYWHERE:
                texts.setdefault(option.opts[0], set()).add(" ".join((option.help or "").split()))
    assert {name for name, found in texts.items() if len(found) > 1} == set()


#: Options that mean the same with all verbs; those of a sweep take several values, `export --to` a layout.
SAME_EVERYWHERE = {
    "--on-bad-line", "--sort-window", "--blkparse-action", "--volume", "--from", "--to", "--speed",
    "--queue-depth", "--content", "--systems", "--equal-ground", "--goal", "--effort", "--json", "--per-request",
    "--workers", "--on", "--shard", "--across-traces", "--aged", "--threads", "--socket", "--listen",
    "--metrics", "--read-only", "--for", "--tls-certificates",
}  # fmt: skip


def valued_options() -> list[tuple[str, click.Command, click.Option]]:
    return [
        (path, command, option)
        for path, command in verbs()
        for option in command.params
        if isinstance(option, click.Option) and not option.is_flag
    ]


def examples(command: click.Command, option: click.Option) -> list[str]:
    words = shlex.split((command.help or "").rpartition("\b")[2])
    in_commands = [value for name, value in pairwise(words) if name in option.opts]
    found = re.search(rf"Example: (?:{'|'.join(option.opts)}) ('[^']*'|\S+)", option.help or "")
    return [*in_commands, *(shlex.split(found[1]) if found else [])]

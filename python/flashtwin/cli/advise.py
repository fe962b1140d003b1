"""`flashtwin advise`: what would pay on a workload, in plain words."""

from __future__ import annotations

from pathlib import Path

import click

from flashtwin.characterization.measuring import Characterization, measure
from flashtwin.cli._characterizing import MeasuringOptions, measuring_options
from flashtwin.cli._options import json_option
from flashtwin.cli._progress import Bars
from flashtwin.cli._talk import data, data_json, say


@click.command(short_help="Say what would pay on a trace, with the numbers behind it.")
@click.argument("path", metavar="TRACE")
@measuring_options
@json_option
def advise(path: str, measuring: MeasuringOptions, as_json: bool) -> None:
    """Say what would pay on TRACE: partitions, page size, partial reads, deduplication, replication, waiting.

    TRACE is a file, - for standard input, or a folder that `characterize` or `study` wrote, which is not
    measured again; what a study's replays say goes first. What cannot be told from the trace is said to be so. Each
    piece ends in what to do and the command. docs/report.md explains each sentence.

    \b
    Example:
      flashtwin advise mail.fiu.zst
      flashtwin advise mail-workload --json
    """
    if Path(path).is_dir():
        found = Characterization.read(path)
        if measuring.is_asked_for:
            say(f"{path}: advice is from what was measured; options of reading and measuring do not apply")
    else:
        with Bars() as bars:
            found = measure(
                path,
                measuring.options,
                measuring.reading,
                stream=measuring.stream,
                progress=bars.named("characterizing", "steps"),
            )
    if as_json:
        data_json({"trace": found.name, "advice": [entry.as_json() for entry in found.advice]})
        return
    for entry in found.advice:
        done = entry.action
        data(f"{entry.topic}: {entry.answer}\n  {entry.sentence}\n  do: {done.words}\n      {done.command}")

"""`flashtwin advise`: which mechanisms pay on a workload, in plain words."""

from __future__ import annotations

from pathlib import Path

import click

from flashtwin.characterization.measuring import Characterization, measure
from flashtwin.cli._characterizing import MeasuringOptions, measuring_options
from flashtwin.cli._options import json_option
from flashtwin.cli._progress import Bars
from flashtwin.cli._talk import data, data_json, say


@click.command(short_help="Advise on partitions, page size, deduplication and more for a trace.")
@click.argument("path", metavar="TRACE")
@measuring_options
@json_option
def advise(path: str, measuring: MeasuringOptions, as_json: bool) -> None:
    """Advise on partitions, page size, partial reads, deduplication, replication and waiting for TRACE.

    TRACE is a file, - for standard input, or a folder from `characterize` or `study`, whose results are used as they
    are; measured replays of a study come first. Each piece of advice gives the numbers, an action and the command, or
    says that the trace cannot tell. docs/report.md explains each sentence.

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

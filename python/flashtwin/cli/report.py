"""`flashtwin report`: the HTML page of results made earlier."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from flashtwin.cli._options import json_option
from flashtwin.cli._talk import show_report
from flashtwin.results import names
from flashtwin.results.folder import locked


@click.command(short_help="Write the HTML report of results made earlier.")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@json_option
def report(folder: Path, as_json: bool) -> None:
    """Write the HTML report of the results in DIR, made by `study`, `characterize`, `compare`, `sweep` or `replay`.

    \b
    Example:
      flashtwin report mail-study
    """
    from flashtwin import report as page

    is_sweep = (folder / names.SWEEP).is_file()
    if is_sweep:
        from flashtwin.sweeps.swept import Sweep

        # Runs may have come since the table was written, from shards say.
        Sweep.read(folder).write_table()
    with locked(folder) if folder.is_dir() else nullcontext():
        written = page.build(folder)
    findings = [] if is_sweep else page.findings(folder)
    show_report(written, [finding.text for finding in findings], as_json=as_json)

"""`flashtwin report`: the HTML page of results made earlier."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from flashtwin.cli._options import json_option
from flashtwin.cli._talk import show_report
from flashtwin.results.folder import locked


@click.command(short_help="Write the HTML report of results made earlier.")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@json_option
def report(folder: Path, as_json: bool) -> None:
    """Write the HTML report of the results in DIR, made by `study`, `characterize`, `compare` or `replay`.

    \b
    Example:
      flashtwin report mail-study
    """
    from flashtwin import report as page

    with locked(folder) if folder.is_dir() else nullcontext():
        written = page.build(folder)
    show_report(written, [finding.text for finding in page.findings(folder)], as_json=as_json)

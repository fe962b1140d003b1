"""`flashtwin version`."""

from __future__ import annotations

import platform

import click

from flashtwin import __version__
from flashtwin.cli._options import json_option
from flashtwin.cli._talk import data, data_json


@click.command(short_help="Print the version.")
@json_option
def version(as_json: bool) -> None:
    """Print the version of flashtwin, which every result records.

    \b
    Example:
      flashtwin version
    """
    if as_json:
        data_json({"flashtwin": __version__, "python": platform.python_version(), "machine": platform.machine()})
    else:
        data(f"flashtwin {__version__}")

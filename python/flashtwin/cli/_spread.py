"""--on and --shard: who does the work of many traces or runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from flashtwin.errors import ArgumentError
from flashtwin.sweeps.plan import shard

Command = TypeVar("Command", bound=Callable[..., Any])


class Shard(click.ParamType[tuple[int, int]]):
    """`i/n`."""

    name = "i/n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Reads the text."""
        if isinstance(value, tuple):
            return value
        try:
            return shard(str(value))
        except ArgumentError as error:
            self.fail(str(error), param, ctx)


def spread_options(command: Command) -> Command:
    """--on ADDRESS, --shard I/N."""
    on = click.option(
        "--on", metavar="ADDRESS",
        help="Run on a Dask cluster: dask://HOST:8786, or dask:FILE, its scheduler file. Needs `make extras`. "
        "Example: --on dask://node1:8786",
    )  # fmt: skip
    part = click.option(
        "--shard", type=Shard(), metavar="I/N",
        help="Do part I of N, for example in a Slurm array; all parts may share one folder. Example: --shard 2/8",
    )  # fmt: skip
    return on(part(command))

"""`flashtwin cache`: the aged drives that are kept between runs."""

from __future__ import annotations

import time
from dataclasses import asdict

import click

from flashtwin.cli._options import json_option
from flashtwin.cli._talk import data, data_json, say, table
from flashtwin.replays import aged


@click.group(short_help="Show or clear the aged drives that are kept.")
def cache() -> None:
    """Show or clear the aged drives that are kept, so that a second run does not age one again.

    They lie in the folder that FLASHTWIN_CACHE names (`off`: none are kept), or else in the user's folder for caches.
    Those used longest ago go where all take more than FLASHTWIN_CACHE_BYTES, 20 GB if that is not set.

    \b
    Example:
      flashtwin cache info
    """


@cache.command(short_help="List the aged drives that are kept.")
@json_option
def info(as_json: bool) -> None:
    """List the aged drives that are kept, those used last first.

    \b
    Example:
      flashtwin cache info
    """
    where, kept = aged.folder(), aged.kept()
    if as_json:
        folder = None if where is None else str(where)
        data_json({"folder": folder, "most_bytes": aged.most_bytes(), "drives": [asdict(one) for one in kept]})
        return
    if where is None:
        say(f"no aged drives are kept: {aged.VARIABLE} is '{aged.OFF}', or there is no folder for caches")
        return
    rows = [[one.name, f"{one.bytes / 1e6:,.1f}", _when(one.used_s)] for one in kept]
    if rows:
        data(table(["", "MB", "last used"], rows))
    total = sum(one.bytes for one in kept)
    say(f"{where}: {len(kept)} aged drives, {total / 1e6:,.1f} MB of at most {aged.most_bytes() / 1e6:,.1f} MB")


@cache.command(short_help="Take the aged drives away.")
def clear() -> None:
    """Take all aged drives away, and what was left half-written of them.

    \b
    Example:
      flashtwin cache clear
    """
    gone = aged.clear()
    say(f"{len(gone)} files are gone, {sum(one.bytes for one in gone) / 1e6:,.1f} MB")


def _when(used_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(used_s))

"""`flashtwin cache`: the aged drives kept between runs."""

import time
from dataclasses import asdict

import click

from flashtwin.cli._bridge import verb
from flashtwin.cli._options import Json
from flashtwin.cli._talk import data, data_json, say, table
from flashtwin.replays import aged


@click.group
def cache() -> None:
    """List or delete cached aged drives, which save a second run from ageing a drive again.

    They are in the folder FLASHTWIN_CACHE (`off`: no cache), or else in your cache folder. Above FLASHTWIN_CACHE_BYTES
    (default 20 GB), those unused longest are deleted.

    \b
    Example:
      flashtwin cache info
    """


@verb("List the cached aged drives.", cache)
def info(*, json: Json = False) -> None:
    """List the cached aged drives, last used first.

    \b
    Example:
      flashtwin cache info
    """
    where, kept = aged.folder(), aged.drives()
    if json:
        folder = None if where is None else str(where)
        data_json({"folder": folder, "most_bytes": aged.most_bytes(), "drives": [asdict(one) for one in kept]})
        return
    if where is None:
        say(f"no aged drives are kept: {aged.VARIABLE} is '{aged.OFF}', or there is no folder for caches")
        return
    rows = [
        [one.name, f"{one.bytes / 1e6:,.1f}", time.strftime("%Y-%m-%d %H:%M", time.localtime(one.used_s))]
        for one in kept
    ]
    if rows:
        data(table(["", "MB", "last used"], rows))
    total = sum(one.bytes for one in kept)
    say(f"{where}: {len(kept)} aged drives, {total / 1e6:,.1f} MB of at most {aged.most_bytes() / 1e6:,.1f} MB")


@verb("Delete the cached aged drives.", cache)
def clear() -> None:
    """Delete all cached aged drives, and incomplete files of them.

    \b
    Example:
      flashtwin cache clear
    """
    gone = aged.clear()
    say(f"{len(gone)} files are gone, {sum(one.bytes for one in gone) / 1e6:,.1f} MB")

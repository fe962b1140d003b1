"""Runs that a result folder held before: kept, when a run of the same name with other settings takes their place.

    OUT/runs/rr-ssd/                              the last run
    OUT/earlier/rr-ssd (replication.alpha=0.5)/   the run that was there before
    OUT/earlier/.made-from.json                   the input of each, so that it need not be made again

A run that is the same in all but the build of flashtwin is replaced: nobody could tell the two apart.
"""

import shutil
from pathlib import Path
from typing import Any

from flashtwin.errors import OutputError
from flashtwin.results import folder, identity, names
from flashtwin.results.documents import json_or_none


def keep(path: Path, name: str, summary: identity.Summary) -> str | None:
    """Moves the run `name` of a result folder aside, unless it is what `summary` tells; returns its new name.

    None where there is no run of that name, none that can be read, or the same one.
    """
    before = _summary(names.run(path, name))
    if before is None or identity.same(before, summary):
        return None
    home = path / names.EARLIER
    label = _free(home, identity.label(name, before, [summary]), before)
    key = folder.finished_runs(path).get(name)
    try:
        home.mkdir(exist_ok=True)
        if (home / label).exists():
            # The same run, from another build.
            shutil.rmtree(home / label)
        names.run(path, name).replace(home / label)
    except OSError as error:
        raise OutputError(f"{home / label}: cannot be written ({error.strerror})") from None
    folder.forget_run(path, name)
    if key is not None:
        _note(home, {**_keys(home), label: key})
    return label


def holds_any(path: Path) -> bool:
    return bool(_keys(path / names.EARLIER))


def restore(path: Path, name: str, key: str, summary: identity.Summary) -> str | None:
    """Brings back the earlier run that was made from `key`; returns its old name, None where there is none.

    What has its name now is kept in its stead; `summary` tells the settings of the run that comes back.
    """
    home = path / names.EARLIER
    label = next((label for label, made_from in _keys(home).items() if made_from == key), None)
    if label is None or not (home / label / names.SUMMARY).is_file():
        return None
    keep(path, name, summary)
    try:
        if names.run(path, name).exists():
            shutil.rmtree(names.run(path, name))
        names.run(path, name).parent.mkdir(exist_ok=True)
        (home / label).replace(names.run(path, name))
    except OSError as error:
        raise OutputError(f"{names.run(path, name)}: cannot be written ({error.strerror})") from None
    folder.record_run(path, name, key)
    _note(home, {one: made_from for one, made_from in _keys(home).items() if one != label})
    return label


def _free(home: Path, label: str, summary: identity.Summary) -> str:
    """The label, with a number where another run has it."""
    number, found = 1, label
    while (there := _summary(home / found)) is not None and not identity.same(there, summary):
        number += 1
        found = f"{label} {number}"
    return found


def _summary(run: Path) -> dict[str, Any] | None:
    summary = json_or_none(run / names.SUMMARY)
    return summary if isinstance(summary, dict) else None


def _keys(home: Path) -> dict[str, str]:
    keys = json_or_none(home / names.MADE_FROM)
    return {str(label): str(key) for label, key in keys.items()} if isinstance(keys, dict) else {}


def _note(home: Path, keys: dict[str, str]) -> None:
    folder.write_json(home / names.MADE_FROM, dict(sorted(keys.items())))

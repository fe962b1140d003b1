"""A served drive beside a replay: the same system to be replayed, and what both did, figure by figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashtwin.arguments import checked
from flashtwin.errors import ReportError
from flashtwin.live.drives import drive_info
from flashtwin.replays import presets
from flashtwin.results import documents, names, schema
from flashtwin.results.keys import K
from flashtwin.results.trees import dig, leaves
from flashtwin.settings import literal

if TYPE_CHECKING:
    from flashtwin.replays.running import Result


@checked
def drive_system(image: str | PathLike[str]) -> presets.System:
    """The system of a drive, to be replayed: its controller and geometry; new, without the drive's data.

    Raises:
        LiveError: this is no drive, or another process writes to it.

    >>> import flashtwin as ft
    >>> with ft.serve("system.img", system="rr-ssd", size_bytes=64 << 20):
    ...     pass
    >>> ft.drive_system("system.img").config["ftl"]["redirection"]["policy"]
    'replicas'
    """
    found = drive_info(image)
    sets = [(key, literal(value)) for key, value in leaves(found["config"])]
    sets += [("seed", str(found["seed"])), (K.replay.preload, "none"), (K.replay.period_s, literal(found["period_s"]))]
    base = found["system"] if found["system"] in presets.systems() else "conventional"
    return presets.resolve_text(base, sets)


@dataclass(frozen=True)
class FigurePair:
    """One figure of a served drive and of a replay; one that either lacks is None."""

    figure: str
    served: float | None
    replayed: float | None

    @property
    def difference_percent(self) -> float | None:
        """By how much the replay is above the served value; None where that is 0, or missing."""
        if self.served is None or self.replayed is None or self.served == 0:
            return None
        return 100 * (self.replayed - self.served) / self.served

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {**asdict(self), "difference_percent": self.difference_percent}


@checked
def compare_drive(served: str | PathLike[str], result: Result | str | PathLike[str]) -> list[FigurePair]:
    """The figures of a served drive and of a replay, by their common names.

    Args:
        served: The folder of `flashtwin serve --out`.
        result: A replay, of a trace of the same work, or the folder of one.

    Returns:
        Pages written and programmed, programs by cause where either has any, erases, duplicates, reads of what holds
        nothing, write amplification; then the mean times of requests, which are the server's own on one side and the
        modelled drive's on the other.

    Raises:
        ReportError: there are no such figures in a folder, those of several replays, or they cannot be read.
    """
    path = Path(served)
    path = path / names.SERVED if path.is_dir() else path
    if not path.is_file():
        raise ReportError(f"{path}: does not exist; expected the folder of `flashtwin serve --out`")
    figures = documents.read_json(path)
    summary = _summary(result)
    return [*_figures(figures, summary), *_times(figures, summary)]


def _summary(result: Result | str | PathLike[str]) -> Mapping[str, Any]:
    if not isinstance(result, str | PathLike):
        return result.summary
    path = Path(result)
    runs = [path] if (path / names.SUMMARY).is_file() else sorted((path / names.RUNS).glob(f"*/{names.SUMMARY}"))
    if not runs:
        raise ReportError(f"{path}: no replay in it; expected the folder of `flashtwin replay --out`")
    if len(runs) > 1:
        raise ReportError(f"{path}: {len(runs)} runs in it; name one, as {runs[0].parent}")
    return documents.read_json(runs[0] if runs[0].is_file() else runs[0] / names.SUMMARY)


def _figures(served: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[FigurePair]:
    both = [served, summary]
    yield _one("host_pages_written", both)
    yield _one("pages_programmed", both)
    for cause in summary["flash_writes"]:
        row = _one(f"flash_writes.{cause}", both)
        if row.served or row.replayed:
            yield row
    for path in ("page_ops.duplicate_writes", "page_ops.unmapped_reads", "write_amplification", "erases.total"):
        yield _one(path, both)


def _one(path: str, both: list[Mapping[str, Any]]) -> FigurePair:
    served, replayed = (dig(figures, schema.summary_field(path)) for figures in both)
    return FigurePair(path, served, replayed)


def _times(served: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[FigurePair]:
    for one in dig(served, "server.operations") or []:
        name = one["operation"]
        if name in ("read", "write", "flush") and (name != "flush" or one["requests"]):
            took_ns = one["time_ns"] / one["requests"] if one["requests"] else None
            path = schema.summary_field(f"response.{name}.mean_ns")
            yield FigurePair(path, took_ns, dig(summary, path))

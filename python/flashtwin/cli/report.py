"""`flashtwin report`: the HTML page of saved results."""

from contextlib import nullcontext
from pathlib import Path

from flashtwin.cli._bridge import verb
from flashtwin.cli._options import AcrossTraces, Json
from flashtwin.cli._talk import say, show_report
from flashtwin.errors import ReportError
from flashtwin.results import names
from flashtwin.results.folder import VERSION, locked
from flashtwin.results.reading import TraceResults, load_any


@verb()
def report(*folders: Path, out: Path | None = None, across_traces: AcrossTraces = False, json: Json = False) -> None:
    """Write the HTML report of the results in DIR, made by `study`, `characterize`, `compare`, `sweep` or `replay`.

    Several DIRs get one report; the first is the baseline, and differing settings come first.

    \b
    Examples:
      flashtwin report mail-study
      flashtwin report mail-monday mail-tuesday --out mail-days

    Args:
        folders (DIR...): Folders of results.
        out (DIR): Folder for page and charts. Example: --out mail-days [default: DIR, or FIRST-vs-SECOND]
    """
    from flashtwin import report as page

    folder = folders[0]
    if len(folders) > 1:
        # The report of several lies where their runs are put together.
        folder, out = _together(folders, out, across_traces=across_traces), None
    is_sweep = (folder / names.SWEEP).is_file()
    if is_sweep:
        from flashtwin.sweeps.swept import Sweep

        # Runs may have come since the table was written, from shards say.
        Sweep.read(folder).write_table()
    with locked(folder) if folder.is_dir() else nullcontext():
        written = page.build(folder, out=out)
    # A sweep and a reproduction have verdicts of their own.
    without = is_sweep or (folder / names.REPRODUCTION).is_file()
    findings = [] if without else page.findings(folder)
    choice = None if without else page.choice(folder)
    results = None if without else load_any(folder)
    for problem in results.problems if isinstance(results, TraceResults) else ():
        say(f"warning: {problem}")
    show_report(folder, written, [finding.text for finding in findings], choice=choice, as_json=json)


def _together(folders: tuple[Path, ...], out: Path | None, *, across_traces: bool) -> Path:
    from flashtwin.cli._saved import default_out
    from flashtwin.replays.running import Comparison
    from flashtwin.results import together

    runs = together.gather(folders)
    warnings = together.warnings(runs, VERSION)
    if not across_traces and not together.same_trace(runs):
        raise ReportError(
            f"{warnings[0].rstrip('.')}; a report is of one trace. `flashtwin compare` shows their figures side by "
            "side; --across-traces writes the report all the same"
        )
    for warning in warnings:
        say(f"warning: {warning}")
    return Comparison.of(*folders).save(default_out(folders) if out is None else out)

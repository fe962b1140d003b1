"""A disk that fails at any step costs what was not written, and the same command goes on when it works again."""

import contextlib
import errno
import os
import resource
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from flashtwin.cli import measure
from flashtwin.drives import fitting
from flashtwin.drives.results import read_results

from .conftest import Cli
from .drives.test_fit_cli import fitted, predicted, results  # noqa: F401 - a fixture

#: All verbs that read a trace or write results; OUT is the folder or file.
VERBS = {
    "replay": "TRACE --system conventional --per-request --timeline OUT.pftrace --out OUT",
    "compare": "TRACE --systems conventional,ca-ssd --out OUT",
    "characterize": "TRACE --by-volume --no-report --out OUT",
    "characterize --stream": "TRACE --by-volume --no-report --out OUT",
    "characterize --workers 2": "TRACE traces --no-report --out OUT",
    "advise": "TRACE",
    "sweep": "TRACE --systems conventional,ca-ssd --speed 1,2 --workers 0 --out OUT",
    "study": "TRACE --systems conventional,ca-ssd --effort 0 --out OUT",
    "explain": "TRACE --system conventional --effort 0 --out OUT",
    "report": "OUT",
    "reproduce": "ca-ssd fig-8 --scale 0.0003 --no-report --out OUT",
    "fit": "results --out OUT.toml --report OUT.csv",
    "measure": "tlc-unit-2021 --out OUT",
    "trace info": "TRACE",
    "trace convert": "TRACE OUT.parquet",
    "trace cut": "TRACE OUT.parquet --from 0.01s",
    "trace sample": "TRACE OUT.parquet --rate 0.9",
    "trace anonymize": "TRACE OUT.parquet",
    "trace merge": "TRACE traces/other.fiu --out OUT.parquet",
    "trace split": "TRACE --by hash:2 --out OUT",
    "trace synthesize": "rr-ssd/webvm --scale 0.0005 --out OUT.parquet",
    "trace imitate": "TRACE --no-replay --period 0.05s --out OUT.toml",
    **{f"trace export --to {layout}": "TRACE OUT.csv" for layout in ("mqsim", "fio", "oraclegeneral", "csv")},
}


class _Disk:
    """Refuses the n-th call of a kind below a folder, and all after it."""

    def __init__(self) -> None:
        self.root: str | None = None
        self.kind = ""
        self.left = 0

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.root is None or event not in ("open", "os.mkdir", "os.rename", "os.listdir"):
            return
        path = str(arguments[1 if event == "os.rename" else 0])
        reads = event == "os.listdir" or (event == "open" and not int(str(arguments[2])) & (os.O_WRONLY | os.O_RDWR))
        if path.startswith(self.root) and ("reads" if reads else "names") == self.kind:
            self.fail(path)

    def fail(self, path: object) -> None:
        self.left -= 1
        if self.left < 0:
            number = errno.ENOSPC if self.kind == "names" else errno.EIO
            raise OSError(number, os.strerror(number), str(path))

    def sync(self, file: int) -> None:
        if self.root is not None and self.kind == "syncs":
            self.fail(Path(f"/proc/self/fd/{file}").readlink())
        os.fdatasync(file)


_DISK = _Disk()
# An audit hook stays as long as the process.
sys.addaudithook(_DISK)


@contextlib.contextmanager
def failing(kind: str, after: int, root: Path) -> Iterator[None]:
    _DISK.root, _DISK.kind, _DISK.left = str(root), kind, after
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if kind == "bytes":
        # Files of the core, of Python and of workers end here.
        resource.setrlimit(resource.RLIMIT_FSIZE, (after, hard))
    try:
        yield
    finally:
        _DISK.root = None
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


KINDS = {
    "names": (0, 1, 2, 3, 4, 5, 6, 8, 13, 21, 34, 55, 89, 144, 233, 610), "reads": (0, 5, 34, 377),
    "syncs": (0, 1, 3, 8, 21), "bytes": (2_000, 10_000, 1 << 30),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", [
    pytest.param(verb, marks=[pytest.mark.slow] * (verb == "reproduce")) for verb, words in VERBS.items()
    if "OUT" in words
])  # fmt: skip
def test_what_a_failing_disk_left_is_continued(
    verb: str,
    kind: str,
    cli: Cli,
    small_trace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setattr(os, "fsync", _DISK.sync)
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces/other.fiu").write_bytes(small_trace.read_bytes())
    if verb in ("fit", "measure"):
        # In place of minutes of replays.
        monkeypatch.setattr(fitting, "fit_drive", fitted)
        monkeypatch.setattr(fitting, "predicted", predicted)
        rows = read_results(request.getfixturevalue("results"))
        monkeypatch.setattr(measure, "measure_twin", lambda *_, **__: SimpleNamespace(rows=rows))
    if verb == "report":
        cli("replay", small_trace, "--system", "conventional", "--out", tmp_path / "saved", status=0)
    for after in KINDS[kind]:
        out = tmp_path / f"out-{after}"
        words = [*verb.split(), *VERBS[verb].replace("TRACE", str(small_trace)).replace("OUT", str(out)).split()]
        if verb == "report":
            shutil.copytree(tmp_path / "saved", out)
        with failing(kind, after, out):
            done = cli(*words)
        assert "Traceback" not in done.err
        if done.status == 0:
            return
        said = ("no space left on device", "file too large", "input/output error")
        assert any(one in done.err.lower() for one in said), done.err
        assert str(out) in done.err or "set TMPDIR" in done.err
        assert ".partial" not in done.err
        assert not [path for path in tmp_path.glob(f"{out.name}.*") if path.suffix != ".pftrace"], after
        cli(*words, status=0)
        left = [path.name for path in tmp_path.rglob("*")]
        assert not [name for name in left if name.endswith((".partial", ".tmp", ".unfinished"))], after
    pytest.fail("there are more steps than were tried")

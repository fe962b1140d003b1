"""Mutants of good files for every parser in Python: each is read, or refused in a message with place and cause.

`FLASHTWIN_SEED` and `FLASHTWIN_MUTANTS` ask for others, as they do for the targets of crates/fuzz.
"""

import contextlib
import functools
import io
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flashtwin as ft
from flashtwin import report
from flashtwin.drives import parallelism
from flashtwin.drives.drive import fitted_rows
from flashtwin.drives.measuring import overhead, space_gib
from flashtwin.drives.results import read_results
from flashtwin.errors import FlashtwinError
from flashtwin.judgement.costs import Prices
from flashtwin.replays.presets import as_system
from flashtwin.report import rendering
from flashtwin.results import names, sweeps
from flashtwin.results.reading import StudyFolder, load_any
from flashtwin.sweeps.store import Store
from flashtwin.traces.reading import Reading

from . import tiny
from .conftest import ROOT
from .drives import made_fio as made

DRIVES = Path(__file__).parent / "drives" / "data" / "fio"
FITTED = sorted((ROOT / "devices" / "real").glob("*.toml"))
#: A reader that takes longer or more for a file of some KB is a finding.
MOST_S, MOST_BYTES = 5, 512 << 20
#: A key of the configuration is a place as well, and so is an argument.
KEY = re.compile(r"[a-z]+(\.[a-z_]+)+ is |columns: ")
#: Files by name.
Folder = dict[str, bytes]


@dataclass(frozen=True)
class Target:
    """A reader of folders."""

    #: Good folders, to begin with.
    seeds: Callable[[], list[Folder]]
    run: Callable[[Path], object]
    #: Mutants of a usual run of the tests; the slow ones take so many as a hundred thousand are of 200.
    mutants: int = 200


def written(*writers: Callable[[Path], object]) -> list[Folder]:
    """The files that each of them writes into an empty folder."""
    found = []
    for write in writers:
        with tempfile.TemporaryDirectory() as place:
            write(Path(place))
            found.append({
                file.relative_to(place).as_posix(): file.read_bytes()
                for file in sorted(Path(place).rglob("*")) if file.is_file()
            })  # fmt: skip
    return found


# Drives.


def fio_results() -> list[Folder]:
    read, served = {60.0: 90, 62.0: 9, 400.0: 1}, {file.name: file.read_bytes() for file in DRIVES.iterdir()}
    plain = {**made.side(50e3, read), "clat_ns": {"percentile": {"50.000000": 60e3, "99.900000": 400e3}}, "lat_ns": {}}
    own = {"rw": "randread", "bs": "4k", "iodepth": "8", "filename": "/dev/nvme0n1", "direct": "1"}
    rated = {"rw": "randrw", "bs": "4k", "size": "8g", "rate_iops": "5k,5000", "rwmixread": "50"}
    untagged = [
        {**made.job(name, "", read=plain, write=plain), "desc": "", "job options": options}
        for name, options in (("a", own), ("b", rated))
    ]
    depths = [
        made.job(f"d{depth}", f"experiment=read-depth depth={depth}", read=made.side(1e4 * depth, read))
        for depth in (1, 2, 4, 8, 9)
    ]
    alone = [made.job("a", "experiment=read-alone", read=made.side(1e4, {us: 9})) for us in (60.0, 61.0)]
    return [
        *({name: data} for name, data in served.items() if name.endswith(".json")),
        {name: data for name, data in served.items() if name.startswith("002")},
        *written(
            lambda place: made.open_loop(place, 1, 40e3, 100e3, fill_gib=10),
            lambda place: made.overwriting(place, 2, 10, 1.5, rates=(80e3,) * 2),
            lambda place: made.overwriting(place, 3, 10, 1.5, tag="zones hot=5 writes=95", rates=(80e3,)),
            lambda place: made.result(place / "own.json", *untagged),
            lambda place: made.result(place / "depths.json", *depths),
            lambda place: [made.result(place / f"{number}.json", job) for number, job in enumerate(alone)],
        ),
    ]


def read_drive(place: Path) -> None:
    with contextlib.suppress(FlashtwinError):
        read_results(place, skip_bad=True)
    read_results(place)


def estimate_drive(place: Path) -> None:
    """As `flashtwin fit` does it before its search, which takes minutes."""
    parallelism.estimates(read_results(place, skip_bad=True))


TABLES = {
    "latency.csv": "drive,fill_gib,offered_per_s,reads_per_s,writes_per_s,read_us_50p,write_us_50p,threads,depth\n"
    "x,100,1000,500,490,60,9,6,64\nx,100,9000,500,4000,70,90,6,64\n",
    "write-amplification.csv": "drive,fill_gib,pattern,details,file,overwrites,wa_last_quarter,"
    "writes_per_s_last_quarter\nx,100,uniform,,one,4,2.5,5000\nx,100,zones,s0.95 f0.05 s0.05 f0.95,one,4,2.5,5000\n",
    "steady-writes.csv": "drive,series,pattern,details,writes_per_s,write_us_50p\nx,a,zipf-shuffle,0.8,5000,9\n",
}
COUNTS = {
    "a.txt": "Smart Log for NVME device:nvme0n1\nData Units Written                      : 64663716 (33.11 TB)\n",
    "b.txt": "SMART Cloud Attributes :-\n  Physical media units written -   \t        1 2068700589752320\n",
    "c.json": '{"nvme_smart_health_information_log": {"data_units_written": 5}}',
    "d.json": '{"Physical Media Units Written": {"hi": "0x1", "lo": "0x93a"}}',
    "drive.json": '{"sn": "S", "mn": "A drive", "tnvmcap": 960197124096}',
}


def read_twin(place: Path) -> None:
    drive = as_system("conventional", {"device": str(place / "mine.toml")})
    fitted_rows(drive)
    assert space_gib(drive) > 0
    assert overhead(drive) >= 1


# Results, stores, recipes and other files.


@functools.cache
def made_study() -> list[Folder]:
    """A study with candidates, causes, other speeds and other moments of acknowledgement; what no page reads is out."""

    def write(place: Path) -> None:
        ft.study(
            tiny.trace(400), place, ["conventional", "ca-ssd", "rr-ssd"], settings=tiny.DRIVE, effort=100,
            speeds=(10.0, 30.0), vary_acknowledgement=True, report=False,
        )  # fmt: skip
        shutil.rmtree(place / "grounds")
        (place / "causes" / "replays.json").unlink()

    return written(write)


def read_study(place: Path) -> None:
    """All that a report is made from."""
    found = load_any(place)
    for run in found.runs if isinstance(found, StudyFolder) else ():
        run.numbers, run.traits, run.raw_bytes, run.number("response.read.mean_ns")
        for name in names.tables(run.folder):
            run.table(name)
    found.characterization, found.fact("requests")


def write_page(place: Path) -> None:
    """A report with the data of all its charts, but without pictures, which take seconds."""
    kind = report._kind(place)
    found = kind.load(place)
    with mock.patch.dict(os.environ, {rendering.VARIABLE: rendering.NONE}):
        kind.page(found, [rendering.render(chart, found) for chart in kind.charts(found)])


def judge_study(place: Path) -> None:
    """The verdicts of a report, the choice among them."""
    report.findings(place, count=100)


def read_sweep(place: Path) -> None:
    found = sweeps.load(place)
    found.counts, found.best, found.axes, found.effects, found.seeds, found.best_trial  # noqa: B018 - makes them


def made_sweep(place: Path) -> None:
    swept = {"engine.hash_us": [10.0, 60.0]}
    ft.sweep(tiny.trace(400), place, ["conventional", "ca-ssd"], settings=swept, report=False)


def made_pages() -> list[Folder]:
    """Results of every kind that has a page."""
    others = written(made_sweep, lambda place: tiny.write_collection(place, 3), tiny.write_reproduction)
    return [*made_study(), *others]


def read_store(place: Path) -> None:
    store = Store(place)
    for key in ("a" * 64, "b" * 64):
        store.get(key)
        store.trace(key)


def made_store(place: Path) -> None:
    store = Store(place)
    store.put("a" * 64, {"host_pages_written": 5})
    store.put_refusal("b" * 64, "the drive is too small")
    store.put_trace("a" * 64, {"name": "x"})


def read_columns(place: Path) -> None:
    Reading(columns=str(place / "columns.toml")).open(place / "a.csv")


COLUMNS = """delimiter = ";"
header = true
time_unit = "ms"
[columns]
time = "when"
op = "what"
offset = "where"
length = "long"
"""


def read_recipe(place: Path) -> None:
    workload = ft.workload(place / "mine.toml")
    workload.description, workload.targets, workload.period_s(), workload.check_scale()


TARGETS = {
    "study": Target(made_study, read_study, 4),
    "verdicts": Target(made_study, judge_study, 4),
    "page": Target(made_pages, write_page, 8),
    "sweep": Target(lambda: written(made_sweep), read_sweep, 5),
    "store": Target(lambda: written(made_store), read_store),
    "columns": Target(
        lambda: [{"columns.toml": COLUMNS.encode(), "a.csv": b"when;what;where;long\n1;R;0;4096\n2;W;4096;512\n"}],
        read_columns,
    ),
    "prices": Target(
        lambda: [{"p.toml": b"flash_gib = 1.0\nlane = 0.5\ndie = 2\n"}], lambda place: Prices.read(place / "p.toml")
    ),
    "recipe": Target(
        lambda: [{"mine.toml": file.read_bytes()} for file in sorted((ROOT / "workloads").rglob("*.toml"))], read_recipe
    ),
    "fio": Target(fio_results, read_drive),
    "estimates": Target(lambda: fio_results()[-2:], estimate_drive, 50),
    "tables": Target(lambda: [{name: text.encode()} for name, text in TABLES.items()], read_drive),
    "counters": Target(
        lambda: [{**folder, name: text.encode()} for name, text in COUNTS.items() for folder in written(
            lambda place: made.overwriting(place, 1, 10, 1.5, rates=(80e3,)))],
        read_drive,
    ),
    "device": Target(lambda: [{"mine.toml": file.read_bytes()} for file in FITTED], read_twin),
}  # fmt: skip

OTHERS: list[Any] = [
    None, True, -1, 0, 1e15, 10**30, 10**400, 1e400, float("nan"), "", "many", "9" * 400, [], [1], {}, {"a": 1},
]  # fmt: skip
NUMBERS = [
    b"-1", b"0", b"1", b"999999999", b"18446744073709551616", b"1e300", b"1e999", b"nan", b'"', b"[", b",", b"\n",
]  # fmt: skip


def mutant(seeds: list[Folder], draw: random.Random) -> Folder:
    """A good folder with one file changed, cut, crossed with another, or left out, or with a few tables changed."""
    folder = dict(draw.choice(seeds))
    texts = sorted(name for name in folder if not name.endswith(".parquet"))
    name = draw.choice(texts if draw.random() < 0.8 else sorted(folder))
    if draw.random() < 0.02:
        del folder[name]
        return folder
    if name.endswith(".json") and draw.random() < 0.5:
        with contextlib.suppress(ValueError):
            value = json.loads(folder[name])
            for _ in range(draw.randint(1, 2)):
                damage(value, draw)
            folder[name] = json.dumps(value).encode()
            return folder
    if name.endswith(".parquet") and draw.random() < 0.8:
        tables = sorted(one for one in folder if one.endswith(".parquet"))
        for one in dict.fromkeys([name, *draw.sample(tables, draw.choice([0, min(7, len(tables))]))]):
            folder[one] = _changed_table(folder[one], draw)
        return folder
    for _ in range(draw.randint(1, 4)):
        folder[name] = _changed(folder[name], seeds, draw)
    return folder


def _changed_table(data: bytes, draw: random.Random) -> bytes:
    """Leaves out a column or rows, or puts something else in place of a value or of a whole column."""
    table = pq.read_table(io.BytesIO(data))
    at, row = draw.randrange(table.num_columns), draw.randrange(max(table.num_rows, 1))
    field, values = table.schema.field(at), table.column(at).to_pylist()
    match draw.randrange(6):
        case 0 if table.num_columns > 1:
            table = table.remove_column(at)
        case 1:
            table = table.slice(row, draw.randint(0, table.num_rows))
        case 2:
            whole = draw.choice([None, "many", -1.5, True, [1], {"a": 1}, 1e300])
            table = table.set_column(at, field.name, pa.array([whole] * table.num_rows))
        case _ if values:
            values[row] = draw.choice([None, None, 0, 1, 2**31, 2**63, -1, math.nan, math.inf, "", "many"])
            with contextlib.suppress(pa.ArrowException, OverflowError, TypeError):
                table = table.set_column(at, field.name, pa.array(values, field.type))
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def _changed(data: bytes, seeds: list[Folder], draw: random.Random) -> bytes:
    at, other = sorted(draw.randint(0, len(data)) for _ in range(2))
    other = min(other, at + 64)
    match draw.randrange(6):
        case 0:
            return data[:at] + bytes([draw.choice([0, 9, 10, 34, 44, 48, 57, 127, 128, 255])]) + data[at + 1 :]
        case 1:
            return data[: at if draw.random() < 0.3 else len(data) - at % 8] if data else data
        case 2:
            return data[:at] + data[other:]
        case 3:
            return data[:other] + data[at:]
        case 4:
            crossed = draw.choice(list(draw.choice(seeds).values()) or [b""])
            return data[:at] + crossed[draw.randint(0, len(crossed)) :]
    numbers = list(re.finditer(rb"\d+(\.\d+)?", data))
    if not numbers:
        return data
    number = draw.choice(numbers)
    return data[: number.start()] + draw.choice(NUMBERS) + data[number.end() :]


def damage(value: Any, draw: random.Random) -> None:
    """Puts something else in place of one value anywhere in a document."""
    while isinstance(value, dict | list) and value:
        key = draw.choice(list(value) if isinstance(value, dict) else range(len(value)))
        below = value[key]
        if not isinstance(below, dict | list) or not below or draw.random() < 0.2:
            if draw.random() < 0.2:
                del value[key]
            elif isinstance(below, str) and draw.random() < 0.5:
                value[key] = _changed(below.encode(), [{"": str(key).encode()}], draw).decode(errors="replace")
            else:
                value[key] = draw.choice(OTHERS)
            return
        value = below


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    """An error where more memory is asked for, on systems that tell how much is in use."""
    pages = Path("/proc/self/statm")
    before = resource.getrlimit(resource.RLIMIT_AS)
    if pages.exists():
        used = int(pages.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def quick() -> Iterator[None]:
    def hang(*_: object) -> None:
        raise TimeoutError(f"more than {MOST_S} s")

    before = signal.signal(signal.SIGALRM, hang)
    signal.setitimer(signal.ITIMER_REAL, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def withstands(name: str, mutants: int) -> None:
    target, begin = TARGETS[name], int(os.environ.get("FLASHTWIN_SEED", "0"))
    seeds = target.seeds()
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as limits:
        for seed in seeds:
            refused(target, seed, Path(place) / "seed")
        # What the first reads import counts neither as time nor as memory.
        limits.enter_context(little_memory())
        for number in range(begin, begin + int(os.environ.get("FLASHTWIN_MUTANTS", mutants))):
            folder = mutant(seeds, random.Random(number))
            try:
                with quick():
                    refused(target, folder, Path(place) / "mutant")
            except BaseException as error:
                error.add_note(f"mutant {number} of {name}: FLASHTWIN_SEED={number} FLASHTWIN_MUTANTS=1")
                raise


def fill(place: Path, folder: Folder) -> None:
    """Makes these the only files of a place. Equal ones stay, because writing all takes longer than most readers."""
    wanted = {place / name: data for name, data in folder.items()}
    for file in sorted(place.rglob("*"), reverse=True):
        if file.is_dir():
            with contextlib.suppress(OSError):
                file.rmdir()
        elif file not in wanted or file.read_bytes() != wanted[file]:
            file.unlink()
    for file, data in wanted.items():
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


def refused(target: Target, folder: Folder, place: Path) -> str:
    """The message by which a folder is refused; empty if it is read."""
    fill(place, folder)
    message = ""
    try:
        target.run(place)
    except FlashtwinError as error:
        message = str(error)
    assert not message or str(place) in message or KEY.match(message), f"no place in '{message}'"
    assert len(message) < 1500, f"too long: {message}"
    return message


@pytest.mark.parametrize("name", TARGETS)
def test_no_mutant_of_any_file_breaks_its_reader(name: str) -> None:
    withstands(name, TARGETS[name].mutants)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_many_mutants_of_each(name: str) -> None:
    withstands(name, TARGETS[name].mutants * 500)

"""The native core of flashtwin. Private: use the functions of `flashtwin`."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Literal, Self, TypeAlias, final

__version__: str

_Path: TypeAlias = str | PathLike[str]
#: Told how far the work is, and how much there is in all.
_Progress: TypeAlias = Callable[[int, int], None]
#: `format`, `on_bad_line`, `sort_window_ns`, `blkparse_action`, `volume`, `excerpt_ns`.
_Reading: TypeAlias = tuple[
    str | None, Literal["fail", "skip"], int, Literal["Q", "D", "C"], str | None, tuple[int, int] | None
]

@final
class Table:
    """A table of named columns. Hand it to anything that speaks the Arrow PyCapsule interface."""

    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Trace:
    """What the host asked for: requests sorted by time, with contents where the trace has them."""

    @staticmethod
    def open(path: _Path, reading: _Reading, progress: _Progress | None = None) -> Trace: ...
    @property
    def volumes(self) -> list[str]: ...
    def volume(self, name: str) -> Trace: ...
    def excerpt(self, from_ns: int, to_ns: int) -> Trace: ...
    @property
    def name(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def has_content(self) -> bool: ...
    @property
    def duration_ns(self) -> int: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def info_json(self) -> str: ...
    def workload(self, period_s: float) -> dict[str, Table]: ...
    def characterize(self, options_json: str = "{}", progress: _Progress | None = None) -> Characterization: ...
    def sample(self, rate: float, seed: int, by: Literal["address", "content"]) -> Trace: ...
    def write_parquet(self, path: _Path) -> None: ...

@final
class Scan:
    """A trace in a file. What is asked of the whole of it reads the file, once."""

    @staticmethod
    def open(path: _Path, reading: _Reading, window_requests: int = 0) -> Scan: ...
    @property
    def name(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def has_content(self) -> bool: ...
    @property
    def duration_ns(self) -> int: ...
    def __len__(self) -> int: ...
    def read(self, systems: Sequence[Resolved], progress: _Progress | None = None) -> None: ...
    def info_json(self, progress: _Progress | None = None) -> str: ...

@final
class Characterization:
    """What a workload is like to an SSD."""

    @property
    def summary_json(self) -> str: ...
    @property
    def table_names(self) -> list[str]: ...
    def table(self, name: str) -> Table: ...

@final
class Resolved:
    """A configuration with every key decided and checked."""

    @property
    def json(self) -> str: ...
    @property
    def toml(self) -> str: ...
    @property
    def capacity_pages(self) -> int: ...
    def filled_by(self, trace: Trace | Scan, fill: float) -> tuple[int, int]: ...

@final
class Overwriting:
    """A drive to which pages are written without a clock."""

    def __new__(cls, system: Resolved, pages: int) -> Self: ...
    def write(self, pages: bytes) -> tuple[int, int, int, int]: ...

@final
class RunResult:
    """What one system did with one trace."""

    @property
    def summary_json(self) -> str: ...
    @property
    def table_names(self) -> list[str]: ...
    def table(self, name: str) -> Table: ...
    def write(self, path: _Path) -> None: ...

def memory_in_whole(path: _Path, reading: _Reading) -> tuple[int, int | None]:
    """Bytes of memory that reading a trace whole and replaying it takes, estimated from its beginning, and bytes that
    can be had, where the system tells."""

def requests_by_volume(path: _Path, progress: _Progress | None = None) -> list[tuple[str, int]]:
    """Requests to each volume of a trace, by name; the file is read once, and not held."""

def characterize_stream(
    path: _Path, reading: _Reading, options_json: str = "{}", progress: _Progress | None = None
) -> Characterization: ...
def resolve_options(sets: Sequence[tuple[str, str]]) -> str:
    """The options of a characterization with some keys set otherwise: every key, checked, as JSON text."""

def options_schema() -> str:
    """JSON schema of the options of a characterization, as text."""

def systems() -> list[str]: ...
def system_toml(name: str) -> str: ...
def devices() -> list[str]: ...
def device_toml(name: str) -> str: ...
def config_keys() -> str: ...
def config_meaning(config: str) -> tuple[list[str], list[str]]: ...
def config_schema() -> str: ...
def ignored_because(key: str, config: str) -> str | None:
    """Why a configuration, as JSON text, does not look at a key; None where it does."""

def results_schema() -> str:
    """JSON schema of everything that is written, as text: of a `run` and of a `characterization` the summary and a row
    of each table, of a `trace` its `info` and a row of each table."""

def resolve(system: str, sets: Sequence[tuple[str, str]] = ...) -> Resolved: ...
def run(
    trace: Trace | Scan,
    systems: Sequence[Resolved],
    threads: int = 0,
    progress: Callable[[int, int, int], None] | None = None,
    finished: Callable[[int, RunResult], None] | None = None,
    requests: Sequence[_Path | None] | None = None,
    aged: tuple[_Path, str, float, int] | None = None,
    noted: Callable[[str], None] | None = None,
    informed: bool = False,
    timelines: Sequence[tuple[_Path, int, int | None] | None] | None = None,
) -> list[RunResult]: ...
def workloads() -> list[str]:
    """Names of the recipes that come with flashtwin."""

def workload_toml(name: str) -> str:
    """The recipe of a workload as TOML."""

def check_recipe(toml: str, place: str) -> None:
    """Refuses a text that is no recipe; `place` is what it is called in messages."""

def recipe_schema() -> str:
    """JSON schema of recipes, as text."""

def synthesize(
    toml: str, place: str, scale: float, seed: int, days: int | None = None, progress: _Progress | None = None
) -> Trace:
    """Makes the trace of a recipe, of `days` where they are given; `place` is what the recipe is called in messages."""

def synthesize_parquet(
    toml: str,
    place: str,
    scale: float,
    seed: int,
    path: _Path,
    threaded: bool = True,
    days: int | None = None,
    progress: _Progress | None = None,
) -> int:
    """Makes the trace of a recipe as a canonical Parquet file, without holding it; its number of requests."""

@final
class Server:
    """A server that runs on threads of its own until it is stopped, or collected."""

    @property
    def uri(self) -> str: ...
    @property
    def size_bytes(self) -> int: ...
    def figures_json(self) -> str: ...
    def result(self) -> RunResult | None: ...
    def stop(self) -> None: ...

def record(
    target: str,
    out: _Path,
    address: str,
    is_socket: bool,
    key_file: _Path | None = None,
    format: Literal["parquet", "fiu"] = "parquet",
    read_only: bool = False,
    name: str = "recording",
    loss_max_s: float = 10.0,
    tls: _Path | None = None,
) -> Server:
    """Serves a file, a block device or another server's export, and records what passes."""

def import_log_writes(path: _Path, out: _Path, key_file: _Path | None = None, progress: _Progress | None = None) -> int:
    """Writes a log of dm-log-writes down as canonical Parquet; its requests."""

def recover_recording(path: _Path) -> tuple[int, int]:
    """Cuts an interrupted recording back to what is whole: its rows, and the bytes that were cut off."""

def create_drive(image: _Path, system: str, size_bytes: int, sets: list[tuple[str, str]] = ...) -> None:
    """Makes the image of a drive."""

def expect_drive(
    image: _Path, system: str | None = None, size_bytes: int | None = None, sets: list[tuple[str, str]] = ...
) -> None:
    """Refuses an image that is not the drive asked for."""

def serve_drive(
    image: _Path,
    address: str,
    is_socket: bool,
    read_only: bool = False,
    period_s: float | None = None,
    tls: _Path | None = None,
    twin: tuple[str | None, list[tuple[str, str]]] | None = None,
) -> Server:
    """Serves a drive."""

def drive_info_json(image: _Path) -> str:
    """What a drive is, as JSON text."""

def check_drive_json(image: _Path, all_pages: bool = False) -> str:
    """Whether a drive is whole, as JSON text."""

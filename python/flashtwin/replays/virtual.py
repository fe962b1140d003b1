"""A drive in virtual time, for other simulators: they hand in requests, let time pass, and see what is completed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from numbers import Integral
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from flashtwin import _core
from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError, TraceError
from flashtwin.replays.filling import BLOCKS
from flashtwin.replays.presets import System, as_system, warn_of_ignored
from flashtwin.replays.running import Result
from flashtwin.results.frames import Table
from flashtwin.settings import Value, merged

#: Bytes that one content covers.
_CHUNK = 4_096
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
#: The numeric arguments of `submit`: how the core takes each, and the largest value.
_NUMBERS = {
    "time_ns": (np.dtype(np.int64), 2**63 - 1), "offset_bytes": (np.dtype(np.uint64), 2**63 - 1),
    "length_bytes": (np.dtype(np.uint32), 2**32 - 1),
}  # fmt: skip
_DURABLE_FLAG = 1


class Drive:
    """A drive in virtual time. Its clock begins at 0 and moves when you submit requests or let it advance.

    A trace that is handed in gives the figures of `replay`, because the same engine serves it. The drive begins empty,
    and a page that was never written is read without flash; with `preload="footprint"` it begins full and aged.

    >>> import flashtwin as ft
    >>> with ft.Drive("conventional", size="64M", fill=0.9) as drive:
    ...     written = drive.submit(0, "write", 4096, 8192)
    ...     while drive.next_event_ns is not None:
    ...         drive.advance(drive.next_event_ns)
    ...     done = drive.completed().to_arrow()
    ...     result = drive.finish()
    >>> done["id"].to_pylist(), done["done_ns"].to_pylist() == done["response_ns"].to_pylist()
    ([0], True)
    >>> result.summary["requests"]["write"]
    1
    """

    @checked
    def __init__(
        self,
        system: str | Path | System,
        *,
        size: int | str,
        fill: float | None = None,
        settings: Mapping[str, Value] | None = None,
        contents: int | None = None,
        per_request: bool = False,
        name: str = "drive",
        **sets: Value,
    ) -> None:
        """Makes a drive; all of its pages count as its footprint.

        Args:
            system: a name of `systems()`, a path of a TOML file, or what `system` returned.
            size: bytes of its address space, whole pages, as a number or text such as "64G" (K, M, G, T of 1,024).
            fill: the share of the drive that these bytes are, such as 0.9: the drive has as few blocks as that takes.
                Without it, the drive is as large as it is.
            settings: keys of the configuration to set otherwise, dotted ones as they are.
            contents: the most distinct contents of pages, for which the tables of a system that looks at contents are
                made. Without it, 4 a page (65,536 or more). Other systems count contents if it is given.
            per_request: whether the result has the table `requests`, as in `replay`.
            name: its name in the result, in place of a trace's.
            **sets: the same as `settings`, as keywords. `period_s` stays a day unless set.

        Raises:
            ArgumentError: an argument is of the wrong kind, or no size.
            ConfigError: a key is wrong, needs later requests (`partition.policy="offline"`) or a trace's clock
                (`speed`, `queue_depth`), or the size is above the capacity.
            SimError: the tables do not fit into memory.
        """
        keys = merged(settings, sets)
        chosen = as_system(system, keys)
        warn_of_ignored([(chosen.name, chosen)], [] if isinstance(system, System) else keys)
        pages = _pages(size, int(chosen.config["nand"]["page_bytes"]))
        if contents is not None and not 0 < contents < 2**32 - 1:
            raise ArgumentError(f"contents is {contents}: expected 1 to 4,294,967,294")
        if fill is not None:
            if not 0 < fill <= 1:
                raise ArgumentError(f"fill is {fill!r}: expected a share above 0 and up to 1, such as 0.9")
            chosen = chosen.with_sets({BLOCKS: chosen._resolved.blocks_filled_by(pages, fill)})
        #: The system, with the blocks that `fill` gives it.
        self.system = chosen
        self._native = _core.VirtualDrive(chosen._resolved, name, pages, contents, per_request)
        self._contents: dict[Any, int] = {}

    def __enter__(self) -> Self:
        """The drive itself, which is closed at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<flashtwin.Drive {self.system.name!r}>"

    def submit(self, time_ns: Any, op: Any, offset_bytes: Any, length_bytes: Any, content: Any = None) -> Any:
        """Hands in one request, or many, each at its time; the clock moves to the time of the last.

        Args:
            time_ns: when each comes, in ns of the drive's clock: ascending, and not before `now_ns`.
            op: "read", "write", "trim" or "flush", or any word for these that traces have; 0 to 3 are the same.
            offset_bytes: the first byte; ignored of a flush.
            length_bytes: bytes, 1 or more; 0 of a flush.
            content: what a write brings, for systems that look at contents: a number, bytes or text for every 4,096
                bytes that the request begins, equal for equal data; a list of these of a longer request. Of many
                requests a list with an entry, or None if it is not known, for each.

        A number stands for itself in each of many requests. If any argument but `content` is an array (shape `(n,)`),
        there are `n` requests.

        Returns:
            The id of the request, an `int`; of many an array of shape `(n,)`. They count from 0 in order.

        Raises:
            ArgumentError: a request is wrong, the message says which. None of them was taken in.
            SimError: the drive is full, finished or closed.
            ConfigError: there were more contents than `contents`. As after any error of the drive, make a new one.

        >>> import flashtwin as ft
        >>> drive = ft.Drive("ca-ssd", size="64M")
        >>> drive.submit(0, "write", 0, 8192, [7, 7])
        0
        >>> drive.submit([10, 20], ["write", "flush"], [8192, 0], [4096, 0], [7, None]).tolist()
        [1, 2]
        >>> drive.submit(15, "read", 0, 4096)
        Traceback (most recent call last):
            ...
        flashtwin.ArgumentError: request 0: time_ns is 15, and the clock is at 20 by then: submit requests in the ...
        """
        single = all(isinstance(one, Integral | str) for one in (time_ns, op, offset_bytes, length_bytes))
        given = {"time_ns": time_ns, "offset_bytes": offset_bytes, "length_bytes": length_bytes}
        if single:
            rows = {name: _number(name, value).to_bytes(_NUMBERS[name][0].itemsize, sys.byteorder)
                    for name, value in given.items()}  # fmt: skip
            meanings, count = [_meaning(str(op))], 1
        else:
            rows, meanings, count = _columns(given, op)
        submission = {
            **rows, "op": bytes(op for op, _ in meanings), "flags": bytes(flags for _, flags in meanings),
            "content": None if content is None else self._numbered([content] if single else content, count, rows),
        }  # fmt: skip
        first = self._native.submit(submission)
        return first if single else np.arange(first, first + count)

    def _numbered(self, content: Any, count: int, rows: Mapping[str, bytes]) -> tuple[bytes, bytes]:
        """Contents by number, in the order of first appearance: where those of each request begin, and all of them."""
        if not isinstance(content, Sequence | np.ndarray) or isinstance(content, str | bytes) or len(content) != count:
            raise ArgumentError(f"content: expected a list with an entry for each of {count} requests, or None")
        lengths = np.frombuffer(rows["length_bytes"], np.uint32).tolist()
        numbers: list[int] = []
        starts = [0]
        for place, (entry, length) in enumerate(zip(content, lengths, strict=True)):
            if entry is not None:
                values = [entry] if isinstance(entry, Integral | str | bytes) else list(entry)
                wanted = -(-length // _CHUNK)
                if len(values) != wanted:
                    raise ArgumentError(
                        f"request {place}: {len(values)} contents; a request of its length has {wanted}, one for every "
                        f"{_CHUNK:,} bytes"
                    )
                wrong = next((value for value in values if not isinstance(value, Integral | str | bytes)), None)
                if wrong is not None:
                    raise ArgumentError(f"request {place}: the content {wrong!r} is no whole number, bytes or text")
                numbers += [self._contents.setdefault(value, len(self._contents)) for value in values]
            starts.append(len(numbers))
        return np.array(starts, np.uint64).tobytes(), np.array(numbers, np.uint32).tobytes()

    def advance(self, to_ns: int) -> None:
        """Lets time pass to `to_ns`, in ns of the drive's clock. Profiling periods end when they are due.

        Raises:
            ArgumentError: `to_ns` is before `now_ns`, or beyond 2**60.
            SimError: the drive is full, finished or closed. After Ctrl-C it is closed, too.
        """
        self._native.advance(_number("to_ns", to_ns))

    @property
    def now_ns(self) -> int:
        """The drive's clock, in ns."""
        return self._native.now_ns

    @property
    def next_event_ns(self) -> int | None:
        """When something happens next that may complete a request, in ns, unless you submit another before.

        None: all requests are completed, or the rest waits for more (for example to fill a program unit).
        """
        return self._native.next_event_ns

    @property
    def under_way(self) -> int:
        """Requests that are not completed by now."""
        return self._native.under_way

    def completed(self) -> Table:
        """Takes the requests that were completed by now since the last call, in the order of completion.

        Returns:
            A table for anything that speaks the Arrow PyCapsule interface: `id` (of `submit`), `done_ns` (by the
            drive's clock), and the columns of the table `requests`: `response_ns`, and its parts, which sum to it.

        Raises:
            SimError: the drive is finished or closed.
        """
        return Table(self._native.completed())

    def finish(self) -> Result:
        """Serves everything under way, closes the drive, and returns the result that `replay` has of these requests.

        Figures are those of `replay` of a trace that uses every page of the drive and writes it before it reads it, if
        the clock did not advance beyond the last request. The table `request_blocks` has other blocks, because the
        number of requests was not known.

        Raises:
            SimError: the drive is full, finished or closed.
            ConfigError: the warm-up has not ended.
        """
        return Result(self.system.name, self._native.finish())

    def close(self) -> None:
        """Frees the drive's memory. The result of `finish` stays."""
        self._native.close()


def _pages(size: int | str, page_bytes: int) -> int:
    if isinstance(size, str):
        found = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:iB|B)?", size.strip(), re.IGNORECASE)
        if found is None:
            raise ArgumentError(f"size is {size!r}: expected bytes, with K, M, G or T (of 1,024), such as '64G'")
        size = int(found[1]) * _UNITS[found[2].upper()]
    pages, rest = divmod(size, page_bytes)
    if pages < 1 or rest or pages >= 2**32 - 1:
        raise ArgumentError(f"size is {size} bytes: expected whole pages of {page_bytes:,} bytes, 1 to 4,294,967,294")
    return pages


def _number(name: str, value: Any) -> int:
    most = _NUMBERS.get(name, _NUMBERS["time_ns"])[1]
    if not isinstance(value, Integral) or isinstance(value, bool) or not 0 <= value <= most:
        raise ArgumentError(f"{name} is {value!r}: expected a whole number, 0 to {most:,}")
    return int(value)


@cache
def _meaning(word: str) -> tuple[int, int]:
    """The number of an operation, and the flags of its request."""
    try:
        ((op, flush_first, durable),) = _core.operations([word])
    except TraceError as error:
        raise ArgumentError(f"op: {error}") from None
    if op is None or flush_first:
        raise ArgumentError(f"op is {word!r}: expected one request, 'read', 'write', 'trim' or 'flush'")
    return op, _DURABLE_FLAG if durable else 0


def _columns(given: Mapping[str, Any], op: Any) -> tuple[dict[str, bytes], list[tuple[int, int]], int]:
    """Columns as the core takes them, the meaning of each operation, and the number of requests."""
    arrays = {name: np.asarray(value) for name, value in {**given, "op": op}.items()}
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shape = (0, 0)
    if len(shape) != 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ArgumentError(f"arguments of different shapes: {shapes}; expected one number, or (n,) for n requests")
    rows = {name: _column(name, arrays[name], shape) for name in given}
    words = arrays["op"].astype(str) if arrays["op"].dtype.kind != "O" else np.array(list(map(str, op)))
    kinds, place = np.unique(words, return_inverse=True)
    meanings = [_meaning(str(word)) for word in kinds]
    return rows, [meanings[one] for one in np.broadcast_to(place.reshape(words.shape), shape).tolist()], shape[0]


def _column(name: str, array: Any, shape: tuple[int, ...]) -> bytes:
    dtype, most = _NUMBERS[name]
    if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() > most):
        wrong = array.dtype if array.dtype.kind not in "iu" else f"{array.min()} to {array.max()}"
        raise ArgumentError(f"{name} has {wrong}: expected whole numbers, 0 to {most:,}")
    return np.broadcast_to(array, shape).astype(dtype).tobytes()

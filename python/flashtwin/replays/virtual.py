"""A drive in virtual time, for other simulators: they hand in requests, let time pass, and see what is completed."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flashtwin import _core
from flashtwin.arguments import checked
from flashtwin.errors import ArgumentError, FlashtwinError, TraceError
from flashtwin.replays.filling import BLOCKS
from flashtwin.replays.presets import System, as_system, warn_of_ignored
from flashtwin.replays.running import Result
from flashtwin.results.frames import Table
from flashtwin.settings import Value, merged

_UNITS = " KMGT"
#: Stands for none.
_NO_STREAM = 65_535
#: Of times, operations, offsets and lengths.
_KINDS = (np.int64, None, np.uint64, np.uint32)


class Drive(AbstractContextManager["Drive"]):
    """A drive in virtual time. Its clock begins at 0 and moves when you submit requests or let it advance.

    It begins empty: a page that was never written is read without flash. With `preload="footprint"` it begins full
    and aged. After `finish`, after an error other than an `ArgumentError`, and after Ctrl-C it is closed: any call
    raises a `SimError`, as it does when the drive is full.

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
        **sets: Value,
    ) -> None:
        """Makes a drive.

        Args:
            system: a name of `systems()`, a path of a TOML file, or what `system` returned.
            size: bytes of its address space, whole pages, as a number or text such as "64G" (K, M, G, T of 1,024).
            fill: the share of the drive that these bytes are, such as 0.9: it has as few blocks as that takes.
            settings: keys of the configuration to set otherwise, dotted ones as they are.
            contents: the most distinct contents of pages, if a system looks at them; 4 a page unless given (65,536 or
                more). Other systems count contents if it is given.
            per_request: whether the result has the table `requests`, as in `replay`.
            **sets: the same as `settings`, as keywords.

        Raises:
            ArgumentError: an argument is of the wrong kind, or no size.
            ConfigError: a key is wrong, needs later requests (`partition.policy="offline"`) or a trace's clock
                (`speed`, `queue_depth`), or the size is above the capacity.
        """
        keys = merged(settings, sets)
        chosen = as_system(system, keys)
        warn_of_ignored([(chosen.name, chosen)], keys)
        pages = _pages(size, int(chosen.config["nand"]["page_bytes"]))
        if fill is not None:
            if not 0 < fill <= 1:
                raise ArgumentError(f"fill is {fill!r}: expected a share above 0 and up to 1, such as 0.9")
            chosen = chosen.with_sets({BLOCKS: chosen._resolved.blocks_filled_by(pages, fill)})
        #: The system, with the blocks that `fill` gives it.
        self.system: System = chosen
        self._native = _core.VirtualDrive(chosen._resolved, pages, contents, per_request)
        self._contents: dict[Any, int] = {}

    def __exit__(self, *error: object) -> None:
        self.close()

    def submit(
        self, time_ns: Any, op: Any, offset_bytes: Any, length_bytes: Any, content: Any = None, stream: Any = None
    ) -> Any:
        """Hands in one request, or `n` if any argument but `content` is an array of shape `(n,)`.

        The clock moves to the time of the last. A single value stands for itself in each of `n` requests.

        Args:
            time_ns: arrival in ns of the drive's clock: ascending, not before `now_ns`.
            op: "read", "write", "trim" or "flush", or another word for these that traces have.
            offset_bytes: the first byte; 0 of a flush.
            length_bytes: bytes, 1 or more; 0 of a flush.
            content: what a write brings, for systems that look at contents: a whole number, bytes or text for each
                4,096 bytes that it begins, equal for equal data, in a list unless it is one. For `n` requests a list
                of `n` of these, None where it is not known.
            stream: the number of the stream (or placement handle) of a write, 0 to 65,534, for
                `partition.policy="streams"`; None where it has none.

        Returns:
            The id of the request, an `int`, or those of `n` as an array of shape `(n,)`. They count from 0.

        Raises:
            ArgumentError: a request is wrong; the message says which. None was taken in.
            ConfigError: there were more contents than `contents`.

        >>> import flashtwin as ft
        >>> drive = ft.Drive("ca-ssd", size="64M")
        >>> drive.submit(0, "write", 0, 8192, [7, 7])
        0
        >>> drive.submit([10, 20], ["write", "flush"], [8192, 0], [4096, 0], [7, None]).tolist()
        [1, 2]
        >>> drive.submit(15, "read", 0, 4096)
        Traceback (most recent call last):
            ...
        flashtwin.ArgumentError: request 0: time_ns is 15, and the clock is at 20 by then: submit in order of time
        """
        given = [time_ns, op, offset_bytes, length_bytes, *([] if stream is None else [stream])]
        single = all(isinstance(one, Integral | str) for one in given)
        try:
            arrays = [] if single else list(np.atleast_1d(*np.broadcast_arrays(*given)))
            columns = [[one] for one in given] if single else list(map(_packed, arrays, _KINDS))
            ops, flags = _meanings(np.array([op]) if single else arrays[1])
            numbers = None if content is None else self._numbered([content] if single else content, len(ops))
        except FlashtwinError:
            raise
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"submit: {error}; expected one value, or n for each of n requests") from None
        times, _, offsets, lengths = columns[:4]
        given = [] if stream is None else [stream] if single else arrays[4].tolist()
        streams = list(map(_stream, given))
        first = self._native.submit(times, ops, flags, offsets, lengths, numbers, streams)
        return first if single else np.arange(first, first + len(ops))

    def _numbered(self, content: Any, requests: int) -> list[list[int]]:
        """The contents of each request by number, in the order of first appearance."""
        entries = [one if isinstance(one, list | tuple | np.ndarray) else [one] for one in content]
        if isinstance(content, str | bytes) or len(entries) != requests:
            raise ArgumentError(f"content has no entry for each of {requests} requests, None of those without")
        known = self._contents
        return [[] if one[:1] == [None] else [known.setdefault(value, len(known)) for value in one] for one in entries]

    def advance(self, to_ns: int) -> None:
        """Lets time pass to `to_ns`, in ns of the drive's clock. Profiling periods end when they are due.

        Raises:
            ArgumentError: `to_ns` is before `now_ns`, or beyond 2**60.
        """
        self._native.advance(to_ns)

    @property
    def now_ns(self) -> int:
        """The drive's clock, in ns."""
        return self._native.now_ns

    @property
    def next_event_ns(self) -> int | None:
        """When something happens next that may complete a request, in ns, unless you submit another before.

        None: all requests are completed, or the rest waits for more requests (to fill a program unit, say).
        """
        return self._native.next_event_ns

    def completed(self, *, parts: bool = True) -> Table:
        """Takes the requests completed by now since the last call, in the order of completion.

        Args:
            parts: whether to say where the time went. A host that wants the times alone saves cost.

        Returns:
            A table for anything that speaks the Arrow PyCapsule interface: `id` (of `submit`), `done_ns` (by the
            drive's clock), and the columns of the table `requests`, such as `response_ns` and its parts in ns. Without
            `parts`, `response_ns` is the last.
        """
        return Table(self._native.completed(parts))

    def snapshot(self) -> Drive:
        """Another drive in the same state, with the same requests under way, at any time. Each goes on by itself.

        It takes as much memory as the drive. A policy in Python that is a class needs `state()` and `restore(state)`.

        Raises:
            ArgumentError: the drive was made with `per_request=True`, or there is no room for another.
            ConfigError: a policy in Python cannot be copied.

        >>> import flashtwin as ft
        >>> drive = ft.Drive("conventional", size="64M")
        >>> drive.submit(0, "write", 0, 4096)
        0
        >>> busy = drive.snapshot()
        >>> len(busy.submit(0, ["write"] * 50, 8192, 4096)), drive.submit(0, "read", 0, 4096)
        (50, 1)
        >>> busy.finish().summary["requests"]["completed"], drive.finish().summary["requests"]["completed"]
        (51, 2)
        """
        other = copy.copy(self)
        other._native, other._contents = self._native.snapshot(), dict(self._contents)
        return other

    def finish(self) -> Result:
        """Serves everything under way, closes the drive and returns its result.

        Its figures are those of `replay` of a trace that writes each page of the drive before anything else, if the
        clock did not go beyond the last request. Only the blocks of `request_blocks` differ.

        Raises:
            ConfigError: the warm-up has not ended.
        """
        return Result(self.system.name, self._native.finish())

    def close(self) -> None:
        """Frees the drive's memory. The result of `finish` stays."""
        self._native.close()


def _pages(size: int | str, page_bytes: int) -> int:
    found = re.fullmatch(r"(\d+) ?([KMGT]?)(?:iB|B)?", str(size).strip())
    size_bytes = int(found[1]) << 10 * _UNITS.index(found[2] or " ") if found else 0
    pages, rest = divmod(size_bytes, page_bytes)
    if rest or not 0 < pages < 2**32 - 1:
        raise ArgumentError(f"size is {size!r}: expected whole pages of {page_bytes:,} bytes, such as '64G'")
    return pages


def _stream(number: Any) -> int:
    if number is None:
        return _NO_STREAM
    if not isinstance(number, Integral) or not 0 <= int(number) < _NO_STREAM:
        raise ArgumentError(f"stream is {number!r}: expected a whole number from 0 to {_NO_STREAM - 1:,}, or None")
    return int(number)


def _packed(numbers: NDArray[Any], kind: type[np.integer] | None) -> bytes | list[Any]:
    """The bytes of whole numbers, which cost less than an object each; a list if the core is to say what is wrong."""
    if numbers.dtype.kind in "iu" and kind is not None:
        packed = numbers.astype(kind)
        if (packed == numbers).all():
            return packed.tobytes()
    return [] if kind is None else numbers.tolist()


def _meanings(words: NDArray[Any]) -> tuple[bytes, bytes]:
    """The numbers and the flags of operations, word by word, because there are few."""
    numbers, left = np.zeros((2, len(words)), np.uint8), np.ones(len(words), bool)
    while left.any():
        word = words[left.argmax()]
        same = words == word
        numbers += np.array(_meaning(str(word)), np.uint8)[:, None] * same
        left &= ~same
    return numbers[0].tobytes(), numbers[1].tobytes()


@cache
def _meaning(word: str) -> tuple[int, int]:
    """The number of an operation, and 1 if it is durable."""
    try:
        ((op, flush_first, durable),) = _core.operations([word])
    except TraceError:
        op, flush_first, durable = None, False, False
    if op is None or flush_first:
        raise ArgumentError(f"op is {word!r}: expected one request, 'read', 'write', 'trim' or 'flush'")
    return op, int(durable)

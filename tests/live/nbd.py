"""A client of the protocol, written by hand, and the pages that it writes, with their allowed contents."""

import random
import socket
import struct
from collections.abc import Callable
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, unquote, urlparse

READ, WRITE, DISCONNECT, FLUSH, TRIM = range(5)
ZEROES, NO_HOLE = 6, 2
EIO, ENOSPC = 5, 28
PAGE = 4096


def get(stream: socket.socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        more = stream.recv(count - len(found))
        if not more:
            raise ConnectionError("the server has hung up")
        found += more
    return bytes(found)


def option(number: int, data: bytes = b"") -> bytes:
    return b"IHAVEOPT" + struct.pack(">II", number, len(data)) + data


def answer(stream: socket.socket) -> tuple[int, int, bytes]:
    """The option that is answered, the kind of answer, and its data."""
    _, number, kind, length = struct.unpack(">QIII", get(stream, 20))
    return number, kind, get(stream, length)


class Client:
    """A connection on a Unix socket, one request at a time, which returns the number of its error, 0 for none."""

    def __init__(self, uri: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(unquote(parse_qs(urlparse(uri).query)["socket"][0]))
        assert get(self._socket, 18)[:16] == b"NBDMAGICIHAVEOPT"
        self._socket.sendall(struct.pack(">I", 3) + option(7, bytes(6)))
        kind = 0
        while kind != 1:
            _, kind, data = answer(self._socket)
            assert kind in (1, 3), data
            if kind == 3 and data[:2] == b"\0\0":
                self.size_bytes = int.from_bytes(data[2:10], "big")

    def send(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> None:
        self._socket.sendall(struct.pack(">IHHQQI", 0x25609513, flags, command, 7, offset, length) + data)

    def _ask(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> int:
        self.send(command, offset, length, data, flags)
        magic, error, cookie = struct.unpack(">IIQ", get(self._socket, 16))
        assert (magic, cookie) == (0x67446698, 7)
        return int(error)

    def read(self, offset: int, length: int) -> tuple[int, bytes]:
        error = self._ask(READ, offset, length)
        return error, b"" if error else get(self._socket, length)

    def write(self, offset: int, data: bytes, *, durable: bool = False) -> int:
        return self._ask(WRITE, offset, len(data), data, int(durable))

    def flush(self) -> int:
        return self._ask(FLUSH)

    def trim(self, offset: int, length: int) -> int:
        return self._ask(TRIM, offset, length)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()


class Pages:
    """The allowed contents of each page: values name their write, so that another page's old bytes are found out."""

    def __init__(self, seed: int, pages: int) -> None:
        self.draw = random.Random(seed)
        self.pages = pages
        #: Values that a page may have now, and after the drive was opened again.
        self.now: dict[int, set[int]] = {}
        self.kept: dict[int, set[int]] = {}
        self.number = self.first = (seed + 1) * 1_000_000

    def write(self, client: Client, *, durable: bool = False) -> int:
        page = self.draw.randrange(self.pages // (8 if self.draw.random() < 0.7 else 1))
        self.number += 1
        # Some writes repeat earlier contents.
        value = self.number if self.draw.random() < 0.8 else self.number - self.draw.randrange(1, 40)
        data = value.to_bytes(8, "little") * (PAGE // 8)
        error = self._change(page, value, lambda: client.write(page * PAGE, data, durable=durable))
        if durable and not error:
            self.flushed()
        return error

    def trim(self, client: Client) -> int:
        page = self.draw.randrange(self.pages)
        before = self.now.get(page, {0})
        error = self._change(page, 0, lambda: client.trim(page * PAGE, PAGE))
        self.now[page] |= before
        return error

    def _change(self, page: int, value: int, change: Callable[[], int]) -> int:
        before = self.now.get(page, {0})
        # Until there is an answer, it may have happened or not.
        self.now[page] = before | {value}
        self.kept[page] = self.kept.get(page, {0}) | {value}
        error = change()
        if not error:
            self.now[page] = {value}
        return error

    def flush(self, client: Client) -> int:
        error = client.flush()
        if not error:
            self.flushed()
        return error

    def flushed(self) -> None:
        self.kept = {page: set(values) for page, values in self.now.items()}

    def restart(self) -> None:
        self.now = {page: set(values) for page, values in self.kept.items()}

    def read_all(self, client: Client) -> int:
        errors = 0
        for page in range(self.pages):
            error, data = client.read(page * PAGE, PAGE)
            if error:
                assert error == EIO, f"page {page}: error {error}"
                errors += 1
                continue
            value = int.from_bytes(data[:8], "little")
            assert data == data[:8] * (PAGE // 8), f"page {page} is no page that was written"
            may = self.now.get(page, {0})
            assert value in may, f"page {page} holds {value}, not {may}"
            self.now[page] = {value}
        return errors

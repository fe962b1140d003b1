"""A client of the protocol, written by hand: requests, and the numbers of the errors that come back."""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, unquote, urlparse

READ, WRITE, DISCONNECT, FLUSH, TRIM = range(5)
EIO, ENOSPC = 5, 28


class Client:
    """A connection to a server on a Unix socket, simple replies, one request at a time."""

    def __init__(self, uri: str) -> None:
        """Connects and goes into transmission."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(unquote(parse_qs(urlparse(uri).query)["socket"][0]))
        assert self._get(18)[:16] == b"NBDMAGICIHAVEOPT"
        self._socket.sendall(struct.pack(">I", 3))
        self._socket.sendall(b"IHAVEOPT" + struct.pack(">II", 7, 6) + bytes(6))
        kind = 0
        while kind != 1:
            _, _, kind, length = struct.unpack(">QIII", self._get(20))
            data = self._get(length)
            assert kind in (1, 3), data
            if kind == 3 and data[:2] == b"\0\0":
                self.size_bytes = int.from_bytes(data[2:10], "big")

    def _get(self, count: int) -> bytes:
        found = bytearray()
        while len(found) < count:
            more = self._socket.recv(count - len(found))
            if not more:
                raise ConnectionError("the server has hung up")
            found += more
        return bytes(found)

    def _ask(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"") -> int:
        self._socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, command, 7, offset, length) + data)
        magic, error, cookie = struct.unpack(">IIQ", self._get(16))
        assert (magic, cookie) == (0x67446698, 7)
        return int(error)

    def read(self, offset: int, length: int) -> tuple[int, bytes]:
        """The number of the error, 0 for none, and the bytes."""
        error = self._ask(READ, offset, length)
        return error, b"" if error else self._get(length)

    def write(self, offset: int, data: bytes) -> int:
        """The number of the error, 0 for none."""
        return self._ask(WRITE, offset, len(data), data)

    def flush(self) -> int:
        """The number of the error, 0 for none."""
        return self._ask(FLUSH)

    def trim(self, offset: int, length: int) -> int:
        """The number of the error, 0 for none."""
        return self._ask(TRIM, offset, length)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hangs up."""
        self._socket.close()

"""Clients that stall, or ask for more than their share, do not keep the others from being served."""

import contextlib
import time
from pathlib import Path

import flashtwin as ft

from ..conftest import PATIENCE_S
from .nbd import NO_HOLE, READ, WRITE, ZEROES, Client

SIZE, LONG, MIB = 64 << 20, 32 << 20, 1 << 20
#: A busy machine is slow, but not as slow as waiting for all that the others have asked for.
SOON_S = PATIENCE_S / 10


def test_a_long_request_does_not_wait_for_clients_that_stall(tmp_path: Path) -> None:
    server = ft.serve(tmp_path / "d.img", system="ca-ssd", size_bytes=SIZE)
    with server, contextlib.ExitStack() as others, Client(server.uri) as client:
        for number in range(62):
            other = others.enter_context(Client(server.uri))
            if number % 2:
                # A write of which a part comes.
                other.send(WRITE, 0, LONG, bytes(MIB // 2))
            else:
                for _ in range(4):
                    other.send(READ, 0, LONG)
        data = bytes(range(256)) * (LONG // 256)
        for length in (4096, MIB, LONG):
            began = time.monotonic()
            assert client.write(LONG, data[:length]) == 0
            assert client.read(LONG, length) == (0, data[:length])
            assert time.monotonic() - began < SOON_S
        assert server.figures["server"]["connections"] == 63, "the others still wait"


def test_readers_have_their_turn_while_others_write_zeroes(tmp_path: Path) -> None:
    server = ft.serve(tmp_path / "d.img", system="ca-ssd", size_bytes=SIZE)
    with server, contextlib.ExitStack() as others, Client(server.uri) as client:
        assert client.write(0, b"x" * MIB) == 0
        for _ in range(16):
            other = others.enter_context(Client(server.uri))
            for _ in range(8):
                other.send(ZEROES, LONG, LONG, flags=NO_HOLE)

        def zeroed() -> int:
            return int(server.figures["drive"]["host_pages_written"])

        while zeroed() < 4 * MIB // 4096:
            time.sleep(0.01)
        for length in (4096, MIB):
            before, began = zeroed(), time.monotonic()
            assert client.read(0, length) == (0, b"x" * length)
            took_s = time.monotonic() - began
            # The figures wait for a turn as well, and what is zeroed meanwhile is not the reader's.
            zeroed_pages, counted_s = zeroed() - before, time.monotonic() - began
            # For each 64 pages read a turn of 64 pages of each, and those of a tenth of a second.
            turns = max(1, length // 4096 // 64)
            assert zeroed_pages * took_s / counted_s < (4 * 17 * 64 + 20_000) * turns

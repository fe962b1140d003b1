"""TLS as libnbd speaks it: with certificates made here by OpenSSL, and refused connections."""

import shutil
import socket
import ssl
import struct
from pathlib import Path

import pytest

import flashtwin as ft

from ..tools import need
from .nbd import answer, option
from .serving import run

SIZE = 16 << 20


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders: `server` and `client` of one authority, `stranger` of another, `open` that knows no clients."""
    need("openssl", "nbdsh", "nbdinfo")
    folder = tmp_path_factory.mktemp("pki")
    fresh = ("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for authority in ("ours", "theirs"):
        to = ("-keyout", folder / f"{authority}-key.pem", "-out", folder / f"{authority}.pem")
        run(*fresh, "-x509", "-days", "2", "-subj", f"/CN={authority}", *to)
    for name, kind, authority in (
        ("server", "server", "ours"), ("client", "client", "ours"), ("stranger", "client", "theirs"),
    ):  # fmt: skip
        place, request, more = folder / name, folder / f"{name}.csr", folder / f"{name}.ext"
        place.mkdir()
        run(*fresh, "-subj", f"/CN={name}", "-keyout", place / f"{kind}-key.pem", "-out", request)
        more.write_text(f"subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage={kind}Auth\n")
        by = ("-CA", folder / f"{authority}.pem", "-CAkey", folder / f"{authority}-key.pem", "-CAcreateserial")
        to = ("-days", "2", "-extfile", more, "-out", place / f"{kind}-cert.pem")
        run("openssl", "x509", "-req", "-in", request, *by, *to)
        shutil.copy(folder / "ours.pem", place / "ca-cert.pem")
    shutil.copytree(folder / "server", folder / "open")
    (folder / "open" / "ca-cert.pem").unlink()
    return folder


def by(server: ft.Server, folder: Path) -> str:
    assert server.uri.startswith("nbds://")
    return f"{server.uri}?tls-certificates={folder}"


def test_bytes_are_written_and_read_through_tls(pki: Path, tmp_path: Path) -> None:
    script = """
import random
random.seed(3)
data = random.randbytes(3 << 20)
h.set_tls(nbd.TLS_REQUIRE)
h.set_uri_allow_local_file(True)
h.connect_uri("{uri}")
assert h.get_tls_negotiated()
h.pwrite(data, 4096)
h.flush()
# Many at once, in both directions.
for at in range(0, 3 << 20, 65536):
    h.aio_pread(nbd.Buffer(65536), 4096 + at)
    h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(data[at:at + 65536])), (8 << 20) + at)
while h.aio_in_flight():
    h.poll(-1)
assert bytes(h.pread(3 << 20, 4096)) == data and bytes(h.pread(3 << 20, 8 << 20)) == data
h.shutdown()
"""
    certificates = pki / "server"
    with ft.serve(
        tmp_path / "drive.img", system="ca-ssd", size_bytes=SIZE, listen="localhost:0", tls_certificates=certificates
    ) as server:
        run("nbdsh", "-c", script.format(uri=by(server, pki / "client")))
    assert server.figures["server"]["connections"] == 0
    assert server.figures["drive"]["host_pages_written"] == 2 * 768
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(SIZE))
    with ft.record(image, tmp_path / "t.parquet", listen="localhost:0", tls_certificates=certificates) as server:
        run("nbdsh", "-c", script.format(uri=by(server, pki / "client")))
    assert ft.open(tmp_path / "t.parquet").info["write_bytes"] == 6 << 20


def test_who_is_not_known_or_speaks_in_the_open_is_refused(pki: Path, tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    with ft.serve(
        image, system="ca-ssd", size_bytes=SIZE, listen="localhost:0", tls_certificates=pki / "server"
    ) as server:
        run("nbdinfo", by(server, pki / "stranger"), ok=False)
        run("nbdinfo", server.uri.replace("nbds://", "nbd://"), ok=False)
        run("nbdinfo", "--size", by(server, pki / "client"))
    # A server that knows no clients serves all of this machine, and nobody else's.
    with ft.serve(image, listen="localhost:0", tls_certificates=pki / "open") as server:
        assert run("nbdinfo", "--size", by(server, pki / "stranger")).strip() == str(SIZE)
    with pytest.raises(ft.LiveError, match="anybody there would be served"):
        ft.serve(image, listen="0.0.0.0:0", tls_certificates=pki / "open")
    with ft.serve(image, listen="0.0.0.0:0", tls_certificates=pki / "server") as server:
        assert "0.0.0.0" in server.uri


def hello(server: ft.Server) -> socket.socket:
    host, _, port = server.uri.removeprefix("nbds://").rstrip("/").rpartition(":")
    stream = socket.create_connection((host.strip("[]"), int(port)), timeout=20)
    assert stream.recv(18)[:8] == b"NBDMAGIC"
    stream.sendall(struct.pack(">I", 3))
    return stream


def test_the_protocol_before_and_behind_tls(pki: Path, tmp_path: Path) -> None:
    tls_required, invalid = 1 << 31 | 5, 1 << 31 | 3
    context = ssl.create_default_context(cafile=str(pki / "ours.pem"))
    context.load_cert_chain(pki / "client" / "client-cert.pem", pki / "client" / "client-key.pem")
    with ft.serve(
        tmp_path / "d.img", system="ca-ssd", size_bytes=SIZE, listen="localhost:0", tls_certificates=pki / "server"
    ) as server:
        with hello(server) as stream:
            for number in (3, 6, 7, 8, 10):
                stream.sendall(option(number))
                assert answer(stream)[:2] == (number, tls_required)
            # Structured replies were refused, and agreed on in the open they would not count either.
            stream.sendall(option(5, b"x"))
            assert answer(stream)[:2] == (5, invalid)
            stream.sendall(option(5))
            assert answer(stream)[:2] == (5, 1)
            with context.wrap_socket(stream, server_hostname="localhost") as secure:
                secure.sendall(option(5))
                assert answer(secure)[:2] == (5, invalid)
                secure.sendall(option(7, struct.pack(">IH", 0, 0)))
                assert [answer(secure)[1] for _ in range(3)] == [3, 3, 1]
        # The oldest way in has no answer: the connection ends.
        with hello(server) as stream:
            stream.sendall(option(1))
            assert stream.recv(1) == b""
        # Plain bytes slipped in between are taken for TLS, and refused.
        with hello(server) as stream:
            stream.sendall(option(5) + option(7, struct.pack(">IH", 0, 0)))
            assert answer(stream)[:2] == (5, 1)
            rest = b""
            while piece := stream.recv(4096):
                rest += piece
            assert struct.pack(">Q", 0x3E889045565A9) not in rest


def test_certificates_that_cannot_be_used_are_named(pki: Path, tmp_path: Path) -> None:
    def refused(folder: Path, match: str) -> None:
        with pytest.raises(ft.LiveError, match=match):
            ft.serve(tmp_path / "d.img", system="ca-ssd", size_bytes=SIZE, tls_certificates=folder)

    broken = tmp_path / "broken"
    broken.mkdir()
    refused(broken, r"server-cert.pem: a certificate in PEM was expected")
    shutil.copy(pki / "server" / "server-cert.pem", broken)
    refused(broken, r"server-key.pem: a private key in PEM was expected")
    shutil.copy(pki / "client" / "client-key.pem", broken / "server-key.pem")
    refused(broken, "broken: ")
    shutil.copy(pki / "server" / "server-key.pem", broken)
    (broken / "ca-cert.pem").write_text("nothing")
    refused(broken, r"ca-cert.pem: a certificate in PEM was expected .*holds none")

"""Requests a second of the NBD server beside nbdkit's file plugin, and what recording costs.

    python -m benches.nbd_speed --rounds 5 --seconds 3

One client (fio), 4 KB random reads and writes at depth 1 and 32. Servers take turns, and the median of the rounds
counts, because the load of a machine drifts. Each server reads all of its image once before it is measured.

Servers: nbdkit's `file`; ours on the same image, and before nbdkit as a proxy, with and without recording; and full
drives of two systems. Ours without recording is an example of the crate, because `flashtwin record` always records.
"""

import argparse
import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZE_BYTES = 1 << 30


def answers(path: Path) -> bool:
    """Whether somebody listens; a socket may be there before."""
    with socket.socket(socket.AF_UNIX) as tried:
        return tried.connect_ex(str(path)) == 0


@contextmanager
def served(words: list[str], place: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server's address and process, as long as it is used."""
    place.unlink(missing_ok=True)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        try:
            for _ in range(500):
                if answers(place):
                    break
                time.sleep(0.02)
            else:
                sys.exit(f"{words[0]} does not serve")
            yield f"nbd+unix:///?socket={place}", process
        finally:
            process.terminate()
            process.wait()


def fio(uri: str, *options: str) -> list[str]:
    """The command of a job of fio."""
    return ["fio", "--name=job", "--ioengine=nbd", f"--uri={uri}", *options]


def fill(uri: str, size: int, folder: Path) -> None:
    """Writes every page once, with bytes of its own."""
    own = ("--refill_buffers", "--allrandrepeat=0")
    words = fio(uri, "--rw=write", "--bs=1M", "--iodepth=4", f"--size={size}", *own)
    subprocess.run(words, capture_output=True, check=True, cwd=folder)


def requests_per_second(uri: str, kind: str, depth: int, seconds: float, folder: Path) -> float:
    """The rate that fio measures, when all has been read once: a new server has nothing of its image in memory."""
    once = fio(uri, "--rw=read", "--bs=1M", f"--size={SIZE_BYTES}")
    subprocess.run(once, capture_output=True, check=True, cwd=folder)
    words = fio(
        uri, f"--rw={kind}", "--bs=4k", f"--size={SIZE_BYTES}", f"--iodepth={depth}", "--time_based",
        f"--runtime={seconds}", "--output-format=json", "--norandommap", "--refill_buffers", "--allrandrepeat=0",
    )  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder)
    # It may have something to say before.
    found = json.loads(done.stdout[done.stdout.index("{") :])
    return float(found["jobs"][0][kind.removeprefix("rand")]["iops"])


def drive(image: Path, system: str, size: int, place: Path) -> list[str]:
    """The command that makes a drive and serves it."""
    words = [str(Path(sys.executable).with_name("flashtwin")), "serve", str(image), "--system", system]
    return [*words, "--size", f"{size >> 20}M", "--socket", str(place)]


def full_drive(system: str, folder: Path, place: Path) -> list[str]:
    """The command that serves a drive again after its pages were all written once."""
    words = drive(folder / f"{system}.img", system, SIZE_BYTES, place)
    with served(words, place) as (uri, _):
        fill(uri, SIZE_BYTES, folder)
    return [*words[:3], "--socket", str(place)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--folder", type=Path, help="where the image lies; in memory: the servers alone")
    options = parser.parse_args()
    for tool in ("fio", "nbdkit", "cargo"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not there; on Debian: apt install fio nbdkit")
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--quiet", "-p", "flashtwin-live", "--example", "serve"],
        cwd=ROOT,
        check=True,
    )
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, capture_output=True, check=True
    )
    program = Path(json.loads(metadata.stdout)["target_directory"]) / "release" / "examples" / "serve"
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        measure(options, str(program), Path(name))


def measure(options: argparse.Namespace, program: str, folder: Path) -> None:
    """All servers in turn."""
    image, place, behind = folder / "image", folder / "s", folder / "behind"
    with image.open("wb") as file:
        for _ in range(SIZE_BYTES >> 20):
            file.write(bytes(range(256)) * 4096)
    kit = ["nbdkit", "--foreground", "--unix"]
    out = folder / "trace.parquet"
    drives = {system: full_drive(system, folder, place) for system in ("conventional", "ca-ssd")}
    before = f"nbd+unix:///?socket={behind}"
    servers = {
        "nbdkit file": [*kit, str(place), "file", str(image)],
        "ours": [program, str(image), str(place)],
        "ours, recording": [program, str(image), str(place), str(out)],
        "proxy": [program, before, str(place)],
        "proxy, recording": [program, before, str(place), str(out)],
        **{f"drive, {system}": words for system, words in drives.items()},
    }
    jobs = [(kind, depth) for kind in ("randread", "randwrite") for depth in (1, 32)]
    found: dict[tuple[str, str, int], list[float]] = {}
    for _ in range(options.rounds):
        for server, words in servers.items():
            for kind, depth in jobs:
                with served([*kit, str(behind), "file", str(image)], behind), served(words, place) as (uri, _):
                    rate = requests_per_second(uri, kind, depth, options.seconds, folder)
                found.setdefault((server, kind, depth), []).append(rate)
    print(f"{'requests/s':24s}" + "".join(f"{kind + ' ' + str(depth):>14s}" for kind, depth in jobs))
    for server in servers:
        rates = [statistics.median(found[server, kind, depth]) for kind, depth in jobs]
        print(f"{server:24s}" + "".join(f"{rate:14,.0f}" for rate in rates))


if __name__ == "__main__":
    main()

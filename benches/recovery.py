"""How long a drive takes to open after its server was killed, and the memory that its tables take.

    python -m benches.recovery --size-gb 64 --fill-gb 16

A drive is written from its beginning, then at random for ten seconds with a flush every 256 writes. The server is
killed, caches are dropped where one may, and the drive is opened again. The time is the drive's own account, with the
checkpoint that follows. Memory is the growth of the process.
"""

import argparse
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from benches.nbd_speed import drive, fill, fio, served

import flashtwin as ft

GB = 1 << 30


def resident_bytes() -> int:
    """Memory that this process holds of its own."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("RssAnon"))


def write_and_kill(image: Path, system: str, size: int, written: int, folder: Path) -> None:
    """Makes the drive, writes, and kills its server in the middle."""
    place = folder / "s"
    with served(drive(image, system, size, place), place) as (uri, server):
        fill(uri, written, folder)
        again = fio(
            uri, "--rw=randwrite", "--bs=4k", "--iodepth=16", "--fsync=256", "--time_based", "--runtime=20",
            f"--size={written}", "--refill_buffers", "--allrandrepeat=0",
        )  # fmt: skip
        with subprocess.Popen(again, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder) as client:
            time.sleep(10)
            server.send_signal(signal.SIGKILL)
            server.wait()
            client.kill()
    place.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-gb", type=int, default=64)
    parser.add_argument("--fill-gb", type=int, default=16)
    parser.add_argument("--systems", default="conventional,ca-ssd")
    parser.add_argument("--folder", type=Path, help="where the image lies, which is as large as what is written")
    options = parser.parse_args()
    for system in options.systems.split(","):
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            image = Path(name) / "drive.img"
            write_and_kill(image, system, options.size_gb * GB, options.fill_gb * GB, Path(name))
            with suppress(OSError):
                Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
            before = resident_bytes()
            with ft.serve(image) as server:
                memory = resident_bytes() - before
                figures = server.figures["drive"]
            opened, held = figures["recovery"], figures["state"]["mapped_pages"] * 4096 / GB
            print(
                f"recovery: {system}, {options.size_gb} GB, {held:.1f} GB written: "
                f"{opened['seconds']:.2f} s, {opened['log_batches']} batches, {memory / 1e6:.0f} MB of memory"
            )


if __name__ == "__main__":
    main()

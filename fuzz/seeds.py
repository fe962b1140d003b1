"""Puts the samples of all formats where the target `trace` begins.

They are decompressed: mutants of compressed bytes say little.
"""

import bz2
import gzip
import lzma
from pathlib import Path

import pyarrow as pa

HERE = Path(__file__).parent
CORPUS = HERE / "corpus" / "trace"
OPEN = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda path: pa.input_stream(path, compression="zstd"),
}

CORPUS.mkdir(parents=True, exist_ok=True)
for sample in sorted((HERE.parent / "tests" / "data").glob("sample*")):
    opened = OPEN.get(sample.suffix, lambda path: path.open("rb"))(sample)
    with opened as file:
        (CORPUS / sample.name).write_bytes(file.read())

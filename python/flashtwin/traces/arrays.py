"""Arrow arrays of any library and type as the few types that traces have. Numbers stay exact."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow
from pyarrow import compute, types

#: Digits of a decimal, and those behind its point; the precision of a product is one more than the sum of its factors'.
DIGITS, SCALE, UNIT_DIGITS = 60, 18, 15


def one_array(column: Any) -> Any:
    """A column as one array of a plain type: no dictionary, no views, 32-bit offsets."""
    chunks = column.chunks if isinstance(column, pyarrow.ChunkedArray) else [column]
    plain = [_plain(chunk) for chunk in chunks]
    return pyarrow.concat_arrays(plain) if plain else _plain(pyarrow.array([], column.type))


def _plain(array: Any) -> Any:
    kind = array.type
    if types.is_dictionary(kind):
        return compute.take(_plain(array.dictionary), array.indices)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return array.cast(pyarrow.string())
    if types.is_large_binary(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return array.cast(pyarrow.binary())
    if types.is_large_list(kind) or types.is_fixed_size_list(kind) or types.is_list_view(kind):
        array = array.cast(pyarrow.list_(kind.value_type))
    if types.is_list(array.type):
        lengths = compute.fill_null(compute.list_value_length(array), 0)
        return lists(_plain(array.flatten()), lengths, compute.is_null(array))
    return array


def lists(values: Any, lengths: Any, missing: Any) -> Any:
    """Values as lists of these lengths."""
    ends = compute.cumulative_sum(lengths).cast(pyarrow.int32())
    starts = pyarrow.concat_arrays([pyarrow.array([0], pyarrow.int32()), ends])
    return pyarrow.ListArray.from_arrays(starts, values, mask=missing)


def text(array: Any) -> Any:
    """Words; whole numbers are written without a point, which pandas adds to columns with missing values."""
    if types.is_floating(array.type) or types.is_decimal(array.type):
        array = integers(array, 1)
    return array.cast(pyarrow.string())


def integers(array: Any, unit: int) -> Any:
    """Numbers times a whole unit. Decimals and texts are exact; a double with a fraction is its shortest decimal."""
    if types.is_floating(array.type):
        is_whole = compute.all(compute.equal(compute.floor(array), array)).as_py()
        array = array.cast(pyarrow.int64() if is_whole else pyarrow.string())
    if types.is_integer(array.type) or types.is_null(array.type):
        return compute.multiply_checked(array.cast(pyarrow.int64()), pyarrow.scalar(unit, pyarrow.int64()))
    if types.is_string(array.type):
        array = compute.utf8_trim_whitespace(array)
    elif not types.is_decimal(array.type):
        raise pyarrow.ArrowInvalid(f"{array.type} is no number")
    exact = array.cast(pyarrow.decimal256(DIGITS, SCALE))
    scaled = compute.multiply(exact, pyarrow.scalar(Decimal(unit), pyarrow.decimal256(UNIT_DIGITS, 0)))
    return compute.round(scaled).cast(pyarrow.int64())


def is_clock(column: Any) -> bool:
    """Whether its values are dates, durations or times of day, which bring their own unit."""
    kind, first = column.type, next((one.as_py() for one in column if one.is_valid), None)
    is_date = types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind) or types.is_time(kind)
    return bool(is_date or (isinstance(first, str) and "-" in first[1:]))


def nanoseconds(array: Any, unit_ns: int) -> Any:
    """Times; dates, durations and times of day bring their own unit."""
    kind = array.type
    if types.is_timestamp(kind) or types.is_date(kind):
        array = array.cast(pyarrow.timestamp("ns", getattr(kind, "tz", None)))
    elif types.is_duration(kind):
        array = array.cast(pyarrow.duration("ns"))
    elif types.is_time(kind):
        array = array.cast(pyarrow.time64("ns"))
    elif types.is_string(kind) and is_clock(array):
        array = array.cast(pyarrow.timestamp("ns"))
    else:
        return integers(array, unit_ns)
    return array.cast(pyarrow.int64())


def bytes_of(array: Any) -> Any:
    """Values as bytes, equal for equal values. Hex digits stand for bytes, an empty text is missing."""
    if types.is_binary(array.type):
        return array
    encoded = compute.dictionary_encode(array.cast(pyarrow.string()))
    values = pyarrow.array([_digest(value.strip()) for value in encoded.dictionary.to_pylist()], pyarrow.binary())
    return compute.take(values, encoded.indices)


def _digest(value: str) -> bytes | None:
    try:
        # Fewer digits may be a number, which is no bytes.
        return bytes.fromhex(value) if len(value) >= 32 else value.encode() or None
    except ValueError:
        return value.encode()

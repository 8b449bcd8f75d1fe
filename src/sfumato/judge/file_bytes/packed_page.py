"""A packed page of a Parquet file: what it unpacks to, and whether bytes stand behind the packed ones."""

from __future__ import annotations

from sfumato.judge.file_bytes.thrift import damaged

CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
ZSTD, BROTLI = 6, 4
ZSTD_FRAME = bytes.fromhex("28b52ffd")
HEADER_SIZES = {0: 0, 1: 2, 2: 4, 3: 8}
"""Bytes of a frame's content size, by two bits of its descriptor; none may be one."""
LARGEST_PAGE = (1 << 31) - 1
"""Sizes of pages are signed numbers of four bytes."""


def unpacked(page: bytes, codec: int, size: int) -> bytes:
    """Returns the bytes of a page before they were packed; raises `BadData` where they cannot be had."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    if codec not in CODECS or not 0 <= size <= LARGEST_PAGE:
        raise damaged()
    name = CODECS[codec]
    try:
        if name is None:
            return page
        return bytes(pa.Codec(name).decompress(page, decompressed_size=size, asbytes=True))
    except (pa.ArrowException, OSError):
        raise damaged() from None


def has_surplus(page: bytes, codec: int) -> bool | None:
    """Tells whether bytes stand behind what is unpacked; `None` where that is not known.

    Other libraries refuse such a page: only zstd passes over frames that hold nothing, and brotli stops.
    """
    if codec == BROTLI:
        return None
    return codec == ZSTD and bool(page) and _frame_end(page) != len(page)


def _frame_end(page: bytes) -> int:
    """Returns where the first zstd frame ends."""
    if page[:4] != ZSTD_FRAME or len(page) < 6:
        return 0
    descriptor = page[4]
    single = descriptor >> 5 & 1
    size = HEADER_SIZES[descriptor >> 6] or single
    place = 5 + (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3] + size
    last = False
    while not last:
        if place + 3 > len(page):
            return 0
        head = int.from_bytes(page[place : place + 3], "little")
        last, kind, length = bool(head & 1), head >> 1 & 3, head >> 3
        place += 3 + (1 if kind == 1 else length)
    return place + (4 if descriptor >> 2 & 1 else 0)

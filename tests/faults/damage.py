"""Damage: what bytes from outside may look like when they are cut, mixed up, or made to hurt."""

from __future__ import annotations

import gzip
import io
import random
import zipfile

TOKENS = (
    b"NaN",
    b"-Infinity",
    b"1e400",
    b"9" * 400,
    b"-" + b"9" * 25,
    b'"\\ud800"',
    b"[" * 5000,
    b'{"a":' * 5000,
    b"[" * 300 + b"]" * 300,
    b"[" * 900 + b"]" * 900,
    b'{"a":' * 900 + b"1" + b"}" * 900,
    b"null",
    b"true",
    b"{}",
    b"[]",
    b'""',
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x1b[31m",
    "\N{RIGHT-TO-LEFT OVERRIDE}".encode(),
    b'"',
    b"'",
    b",",
    b"\n",
    b"\r",
    b"- ",
    b": ",
    b"&a *a ",
    b"!!python/object:os.system ",
    b"x" * 200_000,
)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The same bytes after one to three harms; of what is packed, mostly of what is in it."""
    if content.startswith(b"PK\x03\x04") and chance.random() < 0.7:
        return _in_archive(content, chance)
    if content.startswith(b"\x1f\x8b") and chance.random() < 0.5:
        return gzip.compress(_harmed(gzip.decompress(content), chance), 1, mtime=0)
    return _harmed(content, chance)


def _in_archive(content, chance):
    """The same archive with one part that is harmed, and packed as if nothing were wrong."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        hit = chance.choice(old.namelist())
        for name in old.namelist():
            part = old.read(name)
            new.writestr(zipfile.ZipInfo(name), _harmed(part, chance) if name == hit else part)
    return out.getvalue()


def _harmed(content, chance):
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(content) + 1)
        other = min(len(content), place + chance.choice((1, 1, 2, 8, 64)))
        content = chance.choice((_cut, _flip, _insert, _replace, _repeat, _swap))(
            content, place, other, chance
        )
    return content


def _cut(content, place, other, _):
    return content[:place] if place % 2 else content[:place] + content[other:]


def _flip(content, place, other, chance):
    return (
        content[:place]
        + bytes(b ^ (1 << chance.randrange(8)) for b in content[place:other])
        + content[other:]
    )


def _insert(content, place, _, chance):
    return content[:place] + chance.choice(TOKENS) + content[place:]


def _replace(content, place, _, chance):
    """A value of a document, where there is one behind the place, else some bytes."""
    start = content.find(b":", place) + 1
    ends = [end for mark in (b",", b"}", b"\n") if (end := content.find(mark, start)) >= 0]
    if not start or not ends:
        return _insert(content, place, 0, chance)
    return content[:start] + b" " + chance.choice(TOKENS) + content[min(ends) :]


def _repeat(content, place, other, chance):
    return content[:other] + content[place:other] * chance.choice((1, 3, 50)) + content[other:]


def _swap(content, place, other, _):
    return (
        content[:place]
        + content[other : 2 * other - place]
        + content[place:other]
        + content[2 * other - place :]
    )

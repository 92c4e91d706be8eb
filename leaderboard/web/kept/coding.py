"""A body as it is sent: as it is, or packed as the browser can unpack it."""

import zlib
from dataclasses import dataclass, field

import zstandard
from flask import Request, Response, request

PLAIN, GZIP, ZSTD = "", "gzip", "zstd"
SMALLEST = 1024
"""Bytes below which packing saves no packet."""
GZIP_LEVEL, ZSTD_LEVEL = 6, 6


@dataclass(frozen=True)
class SentBody:
    """Bytes of a kind and their tag, packed in each coding once."""

    plain: bytes
    mimetype: str
    tag: str
    _packed: dict[str, bytes] = field(default_factory=dict)

    def packed(self, coding: str) -> bytes:
        """The bytes in a coding, made once."""
        if coding not in self._packed:
            self._packed[coding] = packed(self.plain, coding)
        return self._packed[coding]

    def response(self) -> Response:
        """The bytes in the best coding that this request takes, with the tag of that coding."""
        coding = _coding(request, len(self.plain))
        response = Response(self.packed(coding), mimetype=self.mimetype)
        if coding:
            response.content_encoding = coding
        # A tag names the very bytes, so that each coding has one of its own.
        response.set_etag(f"{self.tag}-{coding}" if coding else self.tag)
        response.vary.add("Accept-Encoding")
        return response


def packed(body: bytes, coding: str) -> bytes:
    """The body in a coding; the same bytes each time."""
    if coding == ZSTD:
        return zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(body)
    if coding == GZIP:
        packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
        return packer.compress(body) + packer.flush()
    return body


def _coding(asking: Request, size: int) -> str:
    if size < SMALLEST:
        return PLAIN
    accepted = asking.accept_encodings
    return next((name for name in (ZSTD, GZIP) if accepted.quality(name) > 0), PLAIN)

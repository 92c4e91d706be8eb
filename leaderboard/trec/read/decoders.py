"""Decoders of compressed files, one interface for all: what `archives` reads by, imported when needed."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import zstandard

try:
    from isal import igzip_lib
except ImportError:  # no build of it for this processor
    igzip_lib = None  # type: ignore[assignment]

_igzip: Any = igzip_lib


class Decoder(Protocol):
    """The decoder of one member: the interface that those of bz2, lzma and isal share."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether all input was consumed."""
        ...

    @property
    def unused_data(self) -> bytes:
        """Input beyond the member's end."""
        ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """The next plain bytes, of this and earlier input."""
        ...


class _InSteps:
    """A decoder without that interface, of zlib or zstandard; bounds the output by feeding little input."""

    def __init__(self, decoder: Any, step: int) -> None:
        self._decoder = decoder
        self._step = step
        self._pending = memoryview(b"")

    @property
    def eof(self) -> bool:
        return bool(self._decoder.eof)

    @property
    def needs_input(self) -> bool:
        return not self._pending

    @property
    def unused_data(self) -> bytes:
        return bytes(self._decoder.unused_data) + bytes(self._pending)

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if data:
            self._pending = memoryview(data)
        step, self._pending = self._pending[: self._step], self._pending[self._step :]
        return bytes(self._decoder.decompress(step))


def _gzip(_: int) -> Decoder:
    if not _igzip:
        return _InSteps(zlib.decompressobj(wbits=31), step=2**10)  # a byte represents 1 KB at most: 1 MB
    decoder: Decoder = _igzip.IgzipDecompressor(flag=_igzip.DECOMP_GZIP)
    return decoder


def _bzip2(_: int) -> Decoder:
    return bz2.BZ2Decompressor()


def _xz(memory: int) -> Decoder:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=memory)


def _zstd(memory: int) -> Decoder:
    decoder = zstandard.ZstdDecompressor(max_window_size=memory).decompressobj()
    return _InSteps(decoder, step=512)  # four bytes represent 128 KB at most: 16 MB


DECODERS: Mapping[str, Callable[[int], Decoder]] = {"gzip": _gzip, "bzip2": _bzip2, "xz": _xz, "zstd": _zstd}
"""Name of a codec -> what makes the decoder of one member, which may use this number of bytes of memory."""
ERRORS = (
    zlib.error,
    _igzip.error if _igzip else zlib.error,
    OSError,
    lzma.LZMAError,
    zstandard.ZstdError,
    EOFError,
    ValueError,
)
"""Exceptions of a decoder for a damaged file."""

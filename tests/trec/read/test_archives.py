"""Decompression: what is read, what is refused, and in which words."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache

import pytest
import zstandard

from leaderboard.errors import Invalid, TooLarge
from leaderboard.trec.read import decoders
from leaderboard.trec.read.archives import Limits
from leaderboard.trec.read.plain import is_longer, plain_blocks, plain_filler
from tests.trec.conftest import Written

PLAIN = b"".join(b"1 Q0 d%d %d %d.5 tag\n" % (n, n, 50000 - n) for n in range(50000))
CODECS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": cache(gzip.compress),
    "bzip2": cache(bz2.compress),
    "xz": cache(lzma.compress),
    "zstd": cache(zstandard.ZstdCompressor(write_checksum=True).compress),
}
"""Each packs a content once: most of these tests pack the same one."""


@pytest.fixture(params=CODECS)
def codec(request: pytest.FixtureRequest) -> str:
    """The name of one of the four compressions."""
    return str(request.param)


def test_plain_file_is_read_as_it_is(written: Written) -> None:
    """A file without a known magic number comes back unchanged."""
    assert b"".join(plain_blocks(written(PLAIN))) == PLAIN


def test_compressed_file_is_read(codec: str, written: Written) -> None:
    """Each compression gives the plain bytes back."""
    assert b"".join(plain_blocks(written(CODECS[codec](PLAIN)))) == PLAIN


def test_concatenated_members_are_one_file(codec: str, written: Written) -> None:
    """Members one after the other are read as if the plain files were concatenated."""
    pack = CODECS[codec]
    assert b"".join(plain_blocks(written(pack(PLAIN) + pack(b"end\n")))) == PLAIN + b"end\n"


def test_how_long_a_file_is_plain(codec: str, written: Written) -> None:
    """Told without reading more than asked for; a damaged file is not long, its check says what it is."""
    path = written(CODECS[codec](PLAIN))
    assert is_longer(path, len(PLAIN) - 1, 2**27)
    assert not is_longer(path, len(PLAIN), 2**27)
    assert not is_longer(written(CODECS[codec](PLAIN)[:-9]), len(PLAIN), 2**27)
    assert is_longer(written(PLAIN), len(PLAIN) - 1, 2**27)


@pytest.mark.parametrize(
    "packed",
    [
        lzma.compress(b"1 Q0 d 1 1.5 tag\n", preset=9),
        zstandard.ZstdCompressor(
            compression_params=zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
        )
        .compressobj()
        .compress(b"x" * 2**20),
    ],
    ids=["xz", "zstd"],
)
def test_what_takes_much_memory_is_long(packed: bytes, written: Written) -> None:
    """A decoder that would take more than allowed is refused, so the file counts as long."""
    path = written(packed)
    assert is_longer(path, 2**30, 2**25)
    with pytest.raises(TooLarge, match="32 MiB of memory"):
        list(plain_blocks(path, Limits(memory=2**25)))


def test_gzip_is_read_and_bounded_without_isal(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where isal has no build, zlib reads members, refuses bombs and notices a missing end alike."""
    monkeypatch.setattr(decoders, "_igzip", None)
    packed = gzip.compress(PLAIN)
    assert b"".join(plain_blocks(written(packed + gzip.compress(b"end\n")))) == PLAIN + b"end\n"
    with pytest.raises(TooLarge, match="expands more than 200 times"):
        list(plain_blocks(written(gzip.compress(bytes(64 * 2**20)))))
    with pytest.raises(Invalid, match="The gzip file ends in the middle: it was cut off"):
        list(plain_blocks(written(packed[:-1])))


def test_padding_after_a_member_is_passed_over(written: Written) -> None:
    """NUL bytes after a gzip member, as tape and block devices leave them, do no harm."""
    assert b"".join(plain_blocks(written(gzip.compress(b"a\n") + bytes(70000)))) == b"a\n"


@pytest.mark.parametrize("part", [0.3, 0.9, 0.9999])
def test_truncated_archive_is_refused(codec: str, part: float, written: Written) -> None:
    """A compressed file that was cut off is said to be cut off."""
    packed = CODECS[codec](PLAIN)
    with pytest.raises(Invalid, match=f"The {codec} file ends in the middle: it was cut off"):
        list(plain_blocks(written(packed[: int(len(packed) * part)])))


def test_bytes_after_the_archive_are_refused(codec: str, written: Written) -> None:
    """What follows the last member must be a member too."""
    with pytest.raises(Invalid, match=f"The {codec} file has bytes after its end that are not {codec} data"):
        list(plain_blocks(written(CODECS[codec](PLAIN) + b"more")))


def test_damaged_archive_is_refused(codec: str, written: Written) -> None:
    """Flipped bytes inside are noticed by the checksum or the decoder, never read as text."""
    packed = bytearray(CODECS[codec](PLAIN))
    middle = len(packed) // 2
    packed[middle : middle + 40] = bytes(255 - byte for byte in packed[middle : middle + 40])
    with pytest.raises(Invalid, match=f"The {codec} file (is damaged|ends in the middle|has bytes after)"):
        list(plain_blocks(written(bytes(packed))))


def test_bomb_is_refused_before_it_has_expanded(codec: str, written: Written) -> None:
    """A file of 48 MB zeros packed small is refused after a small part of it was decompressed."""
    bomb = CODECS[codec](bytes(48 * 2**20))
    taken = 0
    with pytest.raises(TooLarge, match="expands more than 200 times"):
        for block in plain_blocks(written(bomb)):
            taken += len(block)
    assert taken < 40 * 2**20


def test_small_file_may_compress_well(written: Written) -> None:
    """Below a megabyte the ratio says nothing: a short file of equal lines is read."""
    assert b"".join(plain_blocks(written(gzip.compress(b"1\n" * 400_000, 9)))) == b"1\n" * 400_000


def test_plain_size_is_limited(codec: str, written: Written) -> None:
    """The limit on plain bytes holds for compressed files, and names itself."""
    with pytest.raises(TooLarge, match="larger than 1 MiB when decompressed"):
        list(plain_blocks(written(CODECS[codec](PLAIN)), Limits(plain_bytes=2**20)))


def test_plain_size_of_plain_files_is_limited(written: Written) -> None:
    """The limit on plain bytes holds for files that are not compressed."""
    with pytest.raises(TooLarge, match="larger than 1 MiB"):
        list(plain_blocks(written(PLAIN), Limits(plain_bytes=2**20)))


def test_many_tiny_members_are_refused(written: Written) -> None:
    """An archive of very many empty members costs time for nothing and is refused."""
    with pytest.raises(Invalid, match="more than 100,000 parts"):
        list(plain_blocks(written(gzip.compress(b"") * 100_001)))


def zipped(*names: str) -> bytes:
    """A zip of files of these names, each a line of a run."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in names:
            packed.writestr(name, "1 Q0 d 1 1 t\n")
    return archive.getvalue()


def test_a_zip_of_one_file_is_that_file(written: Written) -> None:
    """What macOS puts beside it does not count; the file in it may be compressed itself."""
    alone = zipped("__MACOSX/._run.txt", "run.txt", ".DS_Store")
    assert b"".join(plain_blocks(written(alone))) == b"1 Q0 d 1 1 t\n"
    with plain_filler(written(alone)) as fill:
        room = bytearray(100)
        assert room[: fill(memoryview(room))] == b"1 Q0 d 1 1 t\n"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a.txt", "b.txt"), r"This is a zip archive of 2 files \(a.txt, b.txt\)\. Submit a single file"),
        (("__MACOSX/._a", ".DS_Store"), "This zip archive is empty."),
        (("xl/workbook.xml", "x"), "This is a spreadsheet. Save the sheet as CSV"),
    ],
)
def test_other_zips_are_refused_with_the_remedy(
    names: tuple[str, ...], message: str, written: Written
) -> None:
    """A zip of several files, or of none, and a spreadsheet are named."""
    with pytest.raises(Invalid, match=message):
        list(plain_blocks(written(zipped(*names))))


def test_a_damaged_zip_is_named(written: Written) -> None:
    """Bytes that do not match their checksum are not given out as the file's."""
    start = zipped("run.txt").find(b"run.txt") + len("run.txt")
    broken = zipped("run.txt")[:start] + b"\xff" * 4 + zipped("run.txt")[start + 4 :]
    with pytest.raises(Invalid, match="The zip archive is damaged"):
        list(plain_blocks(written(broken)))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["tar", "tar.gz"])
def test_tar_is_refused(pack: Callable[[bytes], bytes], written: Written) -> None:
    """A tar archive is refused, also when it is compressed."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as packed:
        packed.addfile(tarfile.TarInfo("run.txt"), io.BytesIO())
    with pytest.raises(Invalid, match="This is a tar archive. Submit the file in it"):
        list(plain_blocks(written(pack(archive.getvalue()))))


def test_double_compression_is_refused(written: Written) -> None:
    """A gzip file inside a gzip file is refused rather than read as text."""
    with pytest.raises(Invalid, match="The file is compressed twice"):
        list(plain_blocks(written(gzip.compress(gzip.compress(b"1 Q0 d 1 1 t\n")))))

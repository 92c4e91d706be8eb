"""Zip and tar archives of run files: each member a separate file, under a name that is ours.

Names of members are only shown. What an archive claims is not believed: sizes are added up before anything is
unpacked where the format says them, and counted again while it is.
"""

import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from shutil import copyfileobj
from struct import unpack_from
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import IO, cast

from leaderboard.errors import Invalid, Problem, TooLarge
from leaderboard.trec.read.archives import RATIO_FLOOR, READ_BYTES, Limits, Source, any_blocks

MOST_MEMBERS = 500
"""Files that one archive may hold."""
DIRECTORY_BYTES = 2**20
"""Bytes the list of members of a zip may have: it is read as a whole."""
NAME_BYTES = 4096
"""Bytes a tar may spend on a member's long name."""
SHOWN_NAME = 200

_ZIP, _ZIP_END, _ZIP_END_64 = b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x07"
_ZIP_END_BYTES, _ZIP_COMMENT_BYTES, _LOCATOR_BYTES = 22, 2**16, 20
_TAR_BLOCK = 512
_TAR_FILES, _TAR_FOLDER, _TAR_NAME, _TAR_HEADER, _TAR_GLOBAL = b"0\0", b"5", b"L", b"x", b"g"
_HIDDEN = re.compile(r"(?:^|/)(?:\.(?!\.?/)|__MACOSX/|thumbs\.db$|desktop\.ini$)", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
_PAX_PATH = re.compile(rb"\d+ path=([^\n]*)\n")
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True)
class BundledFile:
    """A member of an archive: its name there, to be shown, and where it was unpacked, or why it was not.

    leads_outside: whether its original name is absolute or contains `..`; it was unpacked under ours all the
    same.
    """

    name: str
    path: Path | None
    problem: Problem | None = None
    leads_outside: bool = False


def kind_of(path: Path, limits: Limits) -> str:
    """'zip' or 'tar' for an archive of files, compressed or not; '' for anything else, damaged files too."""
    try:
        first = next(any_blocks(path, limits), b"")
    except (Invalid, TooLarge):
        return ""
    if first.startswith((_ZIP, _ZIP_END)):
        return "zip"
    return "tar" if first[257:262] == b"ustar" else ""


def is_hidden(name: str) -> bool:
    """Whether a file is one that systems leave in folders, such as .DS_Store, not for submission."""
    return _HIDDEN.search(name) is not None


def unbundled(
    path: Path, kind: str, folder: Path, limits: Limits, most: int = MOST_MEMBERS, *, may_nest: bool = False
) -> Iterator[BundledFile]:
    """Unpack an archive into files of the folder, named by numbers; hidden files and folders are skipped.

    Members that are not plain files come with a problem, and so do archives, unless nesting is allowed.
    Raises Invalid for a damaged archive or one of too many members, TooLarge beyond the limits.
    """
    members = (_zipped if kind == "zip" else _tarred)(path, folder, limits, most)
    for member in members:
        if member.path is not None and not may_nest and kind_of(member.path, limits):
            member.path.unlink()
            yield _refused(
                member.name, "This is an archive in an archive.", "Put its files into one archive."
            )
        else:
            yield member


@contextmanager
def only_file(file: BufferedReader, limits: Limits) -> Iterator[BufferedReader]:
    """The one file of an open zip, hidden ones left out; raises Invalid for several or a damaged zip."""
    with ExitStack() as stack:
        try:
            if not file.seekable():
                copy = stack.enter_context(TemporaryFile())
                copyfileobj(file, copy)
                file = cast(BufferedReader, copy)
            _require_short_file(file, MOST_MEMBERS)
            archive = stack.enter_context(zipfile.ZipFile(file))
            infos = [info for info in archive.infolist() if not (info.is_dir() or is_hidden(info.filename))]
            fault = _of_office([info.filename for info in infos]) or _several(infos)
            if fault := fault or _fault_of(infos[0], limits):
                raise Invalid(" ".join(fault), [Problem(*fault)])
            yield cast(BufferedReader, stack.enter_context(archive.open(infos[0])))
        except _ZIP_ERRORS as error:
            raise Invalid("The zip archive is damaged. Create it again and resubmit it.") from error


def _several(infos: list[zipfile.ZipInfo]) -> tuple[str, str] | None:
    if len(infos) == 1:
        return None
    names = ", ".join(member_name(info.filename) for info in infos[:3])
    rule = (
        f"This is a zip archive of {len(infos):,} files ({names})." if infos else "This zip archive is empty."
    )
    return rule, "Submit a single file: plain, alone in a zip, or as .gz, .bz2, .xz or .zst."


def _of_office(names: list[str]) -> tuple[str, str] | None:
    if "xl/workbook.xml" in names or {"mimetype", "content.xml"} <= set(names):
        return "This is a spreadsheet.", "Save the sheet as CSV or as text with tabs and submit that."
    return None


def zip_names(path: Path, most: int = MOST_MEMBERS) -> list[str]:
    """The names of the files in a zip, as they came; raises as `unbundled`."""
    _require_short_directory(path, most)
    try:
        with zipfile.ZipFile(path) as archive:
            return [name for name in archive.namelist() if not is_hidden(name)]
    except _ZIP_ERRORS as error:
        raise Invalid("The zip archive is damaged. Create it again and resubmit it.") from error


def file_names(path: Path, kind: str, limits: Limits, most: int = MOST_MEMBERS) -> list[str]:
    """The names of the files in an archive, as they came, without unpacking any; raises as `unbundled`."""
    if kind == "zip":
        return [name for name in zip_names(path, most) if not name.endswith("/")]
    names = []
    for name, _, body in _tar_members(path, limits):
        names.append(name)
        _require_few(len(names), most)
        _pass_over(body)
    return names


def is_larger(path: Path, plain_bytes: int, limits: Limits) -> bool:
    """Whether the files of an archive are more bytes together; False for other files, and damaged ones."""
    try:
        if kind_of(path, limits) == "zip":
            _require_short_directory(path, MOST_MEMBERS)
            with zipfile.ZipFile(path) as archive:
                return sum(info.file_size for info in archive.infolist()) > plain_bytes
        total = 0
        for block in any_blocks(path, limits) if kind_of(path, limits) else ():
            total += len(block)
            if total > plain_bytes:
                return True
    except (*_ZIP_ERRORS, Invalid, TooLarge):
        return False
    return False


def member_name(name: str) -> str:
    """A file's name with its folders, fit for a page: no path out of a folder, no control characters.

    >>> member_name("../../etc/passwd"), member_name("C:\\\\runs\\\\a.txt")
    ('etc/passwd', 'C:/runs/a.txt')
    """
    text = "".join(letter for letter in name.replace("\\", "/") if letter.isprintable())
    parts = [part for part in text.split("/") if part not in ("", ".", "..")]
    return "/".join(parts)[-SHOWN_NAME:] or "unnamed"


def leads_outside(name: str) -> bool:
    """Whether a name in an archive is absolute or contains `..`, on any system.

    >>> [leads_outside(name) for name in ("a/b", "./a", "../a", "/a", "C:\\a", "a..b")]
    [False, False, True, True, True, False]
    """
    text = name.replace("\\", "/")
    return text.startswith("/") or ".." in text.split("/") or _DRIVE.match(text) is not None


def base_name(name: str) -> str:
    """A file's name without its folders, at most 200 characters of it.

    >>> base_name("runs/2026/best.txt")
    'best.txt'
    """
    return name.rsplit("/", 1)[-1][:SHOWN_NAME]


def _refused(name: str, rule: str, remedy: str) -> BundledFile:
    return BundledFile(member_name(name), None, Problem(rule, remedy), leads_outside(name))


def _write(pieces: Iterator[bytes], target: Path, most: int) -> int:
    """Write the pieces into a file; how many bytes they were. Raises TooLarge beyond `most`."""
    total = 0
    with target.open("wb") as file:
        for piece in pieces:
            total += len(piece)
            if total > most:
                raise TooLarge(
                    "The files of the archive are larger than this site accepts. Submit fewer files."
                )
            file.write(piece)
    return total


def _zipped(path: Path, folder: Path, limits: Limits, most: int) -> Iterator[BundledFile]:
    _require_short_directory(path, most)
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if not (info.is_dir() or is_hidden(info.filename))]
            _require_few(len(infos), most)
            if sum(info.file_size for info in infos) > limits.plain_bytes:
                raise TooLarge(
                    "The files of the archive are larger than this site accepts. Submit fewer files."
                )
            left = limits.plain_bytes
            for number, info in enumerate(infos):
                member, size = _unzipped(archive, info, folder / f"{path.name}-{number}", left, limits)
                left -= size
                yield member
    except _ZIP_ERRORS as error:
        raise Invalid("The zip archive is damaged. Create it again and resubmit it.") from error


def _require_short_directory(path: Path, most: int) -> None:
    """Raise TooLarge where a zip's list of members is long: reading it would use unlimited memory."""
    with path.open("rb") as file:
        _require_short_file(file, most)


def _require_short_file(file: BufferedReader, most: int) -> None:
    size = file.seek(0, 2)
    file.seek(max(0, size - _ZIP_END_BYTES - _ZIP_COMMENT_BYTES - _LOCATOR_BYTES))
    tail = file.read()
    at = tail.rfind(_ZIP_END)
    if at < 0 or len(tail) < at + _ZIP_END_BYTES:
        raise Invalid("The zip archive is cut off. Create it again and resubmit.", field="file")
    (directory,) = unpack_from("<I", tail, at + 12)
    if directory > DIRECTORY_BYTES * most // MOST_MEMBERS or tail[
        max(0, at - _LOCATOR_BYTES) : at
    ].startswith(_ZIP_END_64):
        raise TooLarge(f"The zip archive has more members than the {most:,} accepted at once.")


def _require_few(count: int, most: int) -> None:
    if count > most:
        raise TooLarge(f"The archive has {count:,} files or more; at most {most:,} are accepted at once.")


def _unzipped(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path, most: int, limits: Limits
) -> tuple[BundledFile, int]:
    """A member unpacked, with its size; or with its problem and 0."""
    name = info.filename
    if fault := _fault_of(info, limits):
        return _refused(name, *fault), 0
    with archive.open(info) as member:
        size = _write(_pieces(member), target, most)
    return BundledFile(member_name(name), target, leads_outside=leads_outside(name)), size


def _fault_of(info: zipfile.ZipInfo, limits: Limits) -> tuple[str, str] | None:
    """Rule and remedy where a member is not accepted."""
    if stat.S_ISLNK(info.external_attr >> 16):
        return "This is a link, not a file.", "Put the file itself into the archive."
    if info.flag_bits & 1:
        return "This file is encrypted.", "Create the archive without a password."
    if info.compress_type not in _ZIP_METHODS:
        return "Its compression method is not supported.", "Create the archive with a plain zip program."
    if info.file_size > max(RATIO_FLOOR, limits.ratio * info.compress_size):
        return f"It expands more than {limits.ratio} times; no run does.", "Submit the run without padding."
    return None


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(READ_BYTES):
        yield piece


class _Stream:
    """Plain bytes of a tar, read in the sizes it is made from; counts them."""

    def __init__(self, blocks: Iterator[bytes], most: int) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")
        self._left = most

    def take(self, size: int) -> Iterator[bytes]:
        """This number of bytes in pieces; raises Invalid where the archive ends before."""
        while size:
            if not self._rest:
                block = next(self._blocks, b"")
                if not block:
                    raise Invalid("The tar archive is cut off. Create it again and resubmit.", field="file")
                self._left -= len(block)
                if self._left < 0:
                    raise TooLarge("The archive is larger than this site accepts. Submit fewer files.")
                self._rest = memoryview(block)
            piece, self._rest = self._rest[:size], self._rest[size:]
            size -= len(piece)
            yield bytes(piece)

    def block(self) -> bytes:
        """One block of the archive."""
        return b"".join(self.take(_TAR_BLOCK))

    def padded(self, size: int) -> Iterator[bytes]:
        """This number of bytes; the padding of their last block is skipped."""
        yield from self.take(size)
        for _ in self.take(-size % _TAR_BLOCK):
            pass


def _tarred(path: Path, folder: Path, limits: Limits, most: int) -> Iterator[BundledFile]:
    for count, (name, kind, body) in enumerate(_tar_members(path, limits), 1):
        _require_few(count, most)
        if kind not in (*(bytes([code]) for code in _TAR_FILES), b""):
            _pass_over(body)
            yield _refused(name, "This is a link or a device, not a file.", "Put the file itself there.")
            continue
        target = folder / f"{path.name}-{count}"
        _write(body, target, limits.plain_bytes)
        yield BundledFile(member_name(name), target, leads_outside=leads_outside(name))


def _tar_members(path: Path, limits: Limits) -> Iterator[tuple[str, bytes, Iterator[bytes]]]:
    """Name, kind and bytes of the members of a tar but folders and hidden files; the bytes are to be used.

    The standard library's reader would hold headers of any length in memory.
    """
    stream = _Stream(any_blocks(path, limits), limits.plain_bytes)
    long_name = b""
    while (head := stream.block()).strip(b"\0"):
        size, kind = _tar_size(head), head[156:157]
        name = long_name or _tar_name(head)
        if kind in (_TAR_NAME, _TAR_HEADER, _TAR_GLOBAL):
            if size > NAME_BYTES:
                raise Invalid("The tar archive has too long a header. Create it without extended headers.")
            body = b"".join(stream.padded(size))
            if kind == _TAR_NAME:
                long_name = body.rstrip(b"\0")
            elif kind == _TAR_HEADER and (pax_path := _PAX_PATH.search(body)):
                long_name = pax_path[1]
            continue
        long_name = b""
        shown = name.decode("utf-8", "replace")
        if kind == _TAR_FOLDER or shown.endswith("/") or is_hidden(shown):
            _pass_over(stream.padded(size))
            continue
        yield shown, kind, stream.padded(size)


def _pass_over(body: Iterator[bytes]) -> None:
    for _ in body:
        pass


def _tar_name(head: bytes) -> bytes:
    name, prefix = (part.split(b"\0", 1)[0] for part in (head[:100], head[345:500]))
    # GNU's own format has times where the standard one has the beginning of a long name.
    return prefix + b"/" + name if prefix and head[257:263] == b"ustar\0" else name


def _tar_size(head: bytes) -> int:
    try:
        checksum = int(head[148:156].strip(b" \0"), 8)
        size = int(head[124:136].strip(b" \0") or b"0", 8)
    except ValueError:
        raise Invalid("The tar archive is damaged. Create it again and resubmit it.") from None
    if checksum != sum(head[:148]) + 8 * 32 + sum(head[156:]) or size < 0:
        raise Invalid("The tar archive is damaged. Create it again and resubmit it.")
    return size


@contextmanager
def on_disk(source: Source) -> Iterator[Path]:
    """The file as one with a path, for readers that go back or know a file by its first bytes."""
    if isinstance(source, Path):
        yield source
        return
    with NamedTemporaryFile(prefix="sent-") as copy:
        with source.open("rb") as sent:
            copyfileobj(sent, copy)
        copy.flush()
        yield Path(copy.name)

"""Plain bytes to numbered lines, and the collected problems of one file."""

from collections.abc import Iterator

from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem
from leaderboard.trec.read.archives import BLOCK_BYTES, DEFAULT_LIMITS, Limits, Source
from leaderboard.trec.read.plain import plain_blocks

__all__ = [
    "BOM",
    "BOM_NOTE",
    "DEFAULT_LIMITS",
    "OLD_MAC",
    "Limits",
    "Problems",
    "Source",
    "bytes_of",
    "has_bare_cr",
    "line_blocks",
    "numbered_lines",
    "plain_blocks",
    "raw_lines",
    "shown",
    "starts_with_mark",
    "text_of",
    "undecodable",
]

BOM = b"\xef\xbb\xbf"
SHOWN_CHARACTERS = 80
OLD_MAC = "The lines end in CR alone, as on old Macs; end them in LF or CR LF."

BOM_NOTE = Problem(
    "The file starts with a byte order mark.",
    "It was ignored; trec_eval would make it part of the first topic id.",
    1,
)

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Problems:
    """The problems of one file; stops reading by raising Invalid at the 25th."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.found: list[Problem] = []

    def add(self, problem: Problem) -> None:
        """Keep a problem; raises Invalid once there are as many as are ever shown."""
        self.found.append(problem)
        if len(self.found) >= MAX_PROBLEMS:
            self.stop()

    def stop(self) -> None:
        """Raise Invalid with all problems found, if there are any."""
        if not self.found:
            return
        more = "" if len(self.found) == 1 else f" (and {len(self.found) - 1} more)"
        raise Invalid(f"The {self.what} cannot be read: {self.found[0]}{more}", self.found)


def shown(text: bytes | str, length: int = SHOWN_CHARACTERS) -> str:
    """Text fit for a message: valid Unicode, no control characters, cut to a readable length."""
    if isinstance(text, bytes):
        text = text[: 4 * length].decode("utf-8", "backslashreplace")
    text = text.replace("\t", " ")
    text = "".join(
        character if character.isprintable() else f"\\x{ord(character):02x}"
        for character in text[: length + 1]
    )
    return text if len(text) <= length else text[: length - 1] + "…"


def text_of(value: bytes) -> str:
    """Text of an id; trec_eval accepts any bytes, so those that are not UTF-8 survive as escapes."""
    return value.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The bytes an id came as."""
    return text.encode("utf-8", "surrogateescape")


def starts_with_mark(path: Source, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether the file starts with a byte order mark."""
    return next(plain_blocks(path, limits), b"").startswith(BOM)


def has_bare_cr(line: bytes) -> bool:
    """Whether a CR is elsewhere than at the end of a line."""
    return b"\r" in line.rstrip()


def line_blocks(path: Source, limits: Limits = DEFAULT_LIMITS) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each with the number of its first line; the last line may lack its newline.

    A leading byte order mark is left in place. Raises Invalid for UTF-16, NUL bytes and lines longer than
    limits.line_bytes, and whatever plain_blocks raises.
    """
    number, carry = 1, b""
    for piece in _sliced(plain_blocks(path, limits), min(BLOCK_BYTES, limits.line_bytes)):
        if number == 1 and not carry:
            _refuse_utf16(piece)
        end = piece.rfind(b"\n") + 1
        if len(carry) + (piece.find(b"\n") if end else len(piece)) > limits.line_bytes:
            raise _too_long(number, limits, carry + piece)
        if not end:
            carry += piece
            continue
        block, carry = carry + piece[:end], piece[end:]
        _refuse_nul(number, block)
        yield number, block
        number += block.count(b"\n")
    if carry:
        _refuse_nul(number, carry)
        yield number, carry


def raw_lines(path: Source, limits: Limits = DEFAULT_LIMITS) -> Iterator[tuple[int, bytes]]:
    """Every line as bytes with its number, without line end and byte order mark."""
    for first, block in line_blocks(path, limits):
        if first == 1:
            block = block.removeprefix(BOM)
        for number, line in enumerate(block.removesuffix(b"\n").split(b"\n"), first):
            yield number, line.removesuffix(b"\r")


def numbered_lines(path: Source, limits: Limits = DEFAULT_LIMITS) -> Iterator[tuple[int, str]]:
    """Every line as text with its number, without line end and byte order mark.

    Raises Invalid at a line that is not UTF-8, and whatever line_blocks raises.
    """
    for number, line in raw_lines(path, limits):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _invalid(undecodable(number, line, error)) from error


def undecodable(number: int, line: bytes, error: UnicodeDecodeError) -> Problem:
    """The problem of a line that is not UTF-8, showing the bytes around the fault."""
    return Problem(
        "The text is not valid UTF-8.",
        "Convert the file to UTF-8 (for example with iconv).",
        number,
        "bytes",
        shown(line[max(0, error.start - 10) : error.end + 10]),
    )


def _sliced(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of about `size`: small ones are joined, large ones cut."""
    waiting: list[bytes] = []
    length = 0
    for block in blocks:
        waiting.append(block)
        length += len(block)
        if length >= size:
            joined = b"".join(waiting)
            whole = length - length % size
            yield from (joined[start : start + size] for start in range(0, whole, size))
            waiting, length = [joined[whole:]], length - whole
    if length:
        yield b"".join(waiting)


def _refuse_utf16(piece: bytes) -> None:
    if piece.startswith(_UTF16):
        raise _invalid(Problem("The file is UTF-16 text.", "Save it as UTF-8 and submit it again.", 1))


def _refuse_nul(number: int, block: bytes) -> None:
    position = block.find(b"\0")
    if position < 0:
        return
    line = number + block.count(b"\n", 0, position)
    raise _invalid(
        Problem(
            "The line contains a NUL byte.",
            "Save the file as plain UTF-8 text (not UTF-16, not binary).",
            line,
        )
    )


def _too_long(number: int, limits: Limits, read: bytes) -> Invalid:
    rule = f"The line is longer than {limits.line_bytes:,} bytes."
    remedy = OLD_MAC if has_bare_cr(read) else "Check that the file has line breaks and is a text file."
    return _invalid(Problem(rule, remedy, number))


def _invalid(problem: Problem) -> Invalid:
    return Invalid(f"The file cannot be read: {problem}", [problem])

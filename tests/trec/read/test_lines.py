"""Lines and their numbers, encodings, and how text is shown in messages."""

import pytest

from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem
from leaderboard.trec.read.lines import Limits, Problems, line_blocks, numbered_lines, shown
from tests.trec.conftest import Written


def test_lines_are_numbered_from_one(written: Written) -> None:
    """LF and CR LF end a line, blank lines count, and the last line may lack its end."""
    assert list(numbered_lines(written("a\r\n\nb\nc"))) == [(1, "a"), (2, ""), (3, "b"), (4, "c")]


def test_byte_order_mark_is_no_part_of_the_first_line(written: Written) -> None:
    """A UTF-8 byte order mark is dropped."""
    assert list(numbered_lines(written(b"\xef\xbb\xbfa\n"))) == [(1, "a")]


def test_blocks_hold_whole_lines(written: Written) -> None:
    """However small the blocks, none ends inside a line and the numbers go on."""
    lines = [f"line {number}" for number in range(1, 3000)]
    path = written("\n".join(lines))
    blocks = list(line_blocks(path, Limits(line_bytes=100)))
    assert len(blocks) > 100
    assert all(block.endswith(b"\n") for _, block in blocks[:-1])
    assert list(numbered_lines(path, Limits(line_bytes=100))) == list(enumerate(lines, 1))


def test_long_line_is_refused(written: Written) -> None:
    """A line over the limit is refused with its number, wherever it starts."""
    for before in range(0, 120, 7):
        text = "x\n" * before + "y" * 101 + "\nz\n"
        with pytest.raises(Invalid, match=f"line {before + 1}: The line is longer than 100 bytes"):
            list(numbered_lines(written(text), Limits(line_bytes=100)))


def test_longest_line_is_read(written: Written) -> None:
    """A line of exactly the limit passes."""
    text = "y" * 100 + "\n" + "z" * 100
    assert len(list(numbered_lines(written(text), Limits(line_bytes=100)))) == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_is_refused_with_the_remedy(encoding: str, written: Written) -> None:
    """UTF-16, with or without its mark, is refused and UTF-8 asked for."""
    with pytest.raises(Invalid, match="UTF-8"):
        list(numbered_lines(written("1 Q0 d 1 1 t\n".encode(encoding))))


def test_nul_is_refused_with_its_line(written: Written) -> None:
    """A NUL byte is refused with the line it is on."""
    with pytest.raises(Invalid, match="line 2: The line contains a NUL byte"):
        list(numbered_lines(written(b"a\nb\0c\n")))


def test_undecodable_bytes_are_refused_with_their_line(written: Written) -> None:
    """Bytes that are not UTF-8 are refused, shown, and a way to convert them named."""
    with pytest.raises(Invalid, match="line 2: bytes .*not valid UTF-8.*iconv"):
        list(numbered_lines(written(b"a\nM\xfcller\n")))


def test_problems_stop_at_twenty_five() -> None:
    """The 25th problem ends the reading; all 25 are in the exception."""
    problems = Problems("run")
    for number in range(1, MAX_PROBLEMS):
        problems.add(Problem("Wrong.", line=number))
    with pytest.raises(Invalid, match=r"The run cannot be read: line 1: Wrong. \(and 24 more\)") as caught:
        problems.add(Problem("Wrong.", line=MAX_PROBLEMS))
    assert len(caught.value.problems) == MAX_PROBLEMS


def test_shown_text_is_printable_and_short() -> None:
    """Messages never carry control characters, invalid text or endless values."""
    assert shown(b"a\tb\xff\x1b[31m") == "a b\\xff\\x1b[31m"
    assert shown("x" * 500) == "x" * 79 + "…"

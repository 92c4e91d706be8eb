"""Several threads on one run: what is said of the file is what one thread says, bit by bit, faults too."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, current_thread

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.trec.qrels.align import Aligner
from leaderboard.trec.qrels.arrays import read_judgments
from leaderboard.trec.read import buffers, kernel
from leaderboard.trec.read.ahead import Irregular, in_order, last_topic
from leaderboard.trec.read.kernel import Block
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits
from leaderboard.trec.read.scanning import Ahead, Scanned, scan_run
from tests.trec.conftest import Written
from tests.trec.read.test_blocks import DEPTH, WAYS, lines_of, qrels_text

pytestmark = pytest.mark.skipif(kernel.native is None, reason="the C kernel was not built")
PATIENCE = 60


class Kept:
    """Takes all that blocks say."""

    def __init__(self) -> None:
        self.rankings: list[object] = []

    def add(self, block: Block) -> None:
        """Keep topics, lines, order, docnos and the bits of scores."""
        best = block.best(10).tolist()
        docnos = [block.docno(entry) for entry in best]
        ties = block.ties().tolist()
        self.rankings.append((block.topics, block.lines, best, docnos, ties, block.columns.score.tobytes()))


def said(
    run: Path, threads: int, *, strict: bool = False, limits: Limits = DEFAULT_LIMITS, alone: int = 1
) -> object:
    """All that is known of a run that so many threads read, or why it was refused."""
    ahead = Ahead(lambda block: block.best(10), threads, alone)
    try:
        scanned: Scanned[Kept] = scan_run(run, Kept, strict=strict, limits=limits, ahead=ahead)
    except LeaderboardError as error:
        return error.message, error.problems if isinstance(error, Invalid) else ()
    return vars(scanned) | {"consumer": scanned.consumer.rankings}


def threads_of(run: Path, alone: int = 1) -> set[bool]:
    """Whether blocks of the run were worked on elsewhere than in the thread that reads it."""
    where: set[bool] = set()
    here = current_thread()
    ahead = Ahead(lambda block: where.add(current_thread() is not here), 2, alone)
    scan_run(run, Kept, strict=False, limits=DEFAULT_LIMITS, ahead=ahead)
    return where


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("size", [buffers.BUFFER_BYTES, 100, 1000, 4096])
@pytest.mark.parametrize("way", WAYS)
def test_two_threads_say_what_one_says(
    written: Written, way: str, size: int, strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rankings, lines, tags and notes of files in any form, plain and packed, in buffers of any size."""
    monkeypatch.setattr(buffers, "BUFFER_BYTES", size)
    text = WAYS[way](lines_of()).encode()
    for content in (text, gzip.compress(text)):
        run = written(content)
        assert said(run, 2, strict=strict) == said(run, 1, strict=strict)


def test_regular_files_are_read_by_threads(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first block, also between comments; with numpy alone and in small files none is started."""
    run = written("".join(lines_of()))
    commented = written(WAYS["blank lines and comments"](lines_of()))
    assert threads_of(run) == {False}
    monkeypatch.setattr(buffers, "BUFFER_BYTES", 2000)
    assert threads_of(run) == threads_of(commented) == {False, True}
    monkeypatch.setattr(kernel, "native", None)
    assert threads_of(run) == set()


def test_small_files_start_no_thread(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first four blocks are worked on where they are read, the others elsewhere."""
    run = written("".join(lines_of()))
    monkeypatch.setattr(buffers, "BUFFER_BYTES", run.stat().st_size // 3)
    assert threads_of(run, alone=4) == {False}
    monkeypatch.setattr(buffers, "BUFFER_BYTES", run.stat().st_size // 6)
    assert threads_of(run, alone=4) == {False, True}


def test_scores_are_those_of_one_thread(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hits with judgments: topic, rank and document of each, in the same order."""
    monkeypatch.setattr(buffers, "BUFFER_BYTES", 3000)
    run, compiled = written("".join(lines_of())), read_judgments(written(qrels_text()))
    hits = []
    for threads in (1, 2, 3):
        ahead = Ahead(lambda block: block.best(9), threads)
        scanned = scan_run(
            run, lambda: Aligner(compiled, dialect=9), strict=False, limits=DEFAULT_LIMITS, ahead=ahead
        )
        judged = scanned.consumer.judged()
        hits.append([part.tolist() for part in (judged.topic, judged.rank, judged.document)])
    assert hits[0] == hits[1] == hits[2]
    assert len(hits[0][0]) > 100


FAULTS: dict[str, Callable[[str, str], str]] = {
    "a field too few": lambda line, before: line.replace(" tag", ""),
    "no number": lambda line, before: line.replace(" tag", "x tag"),
    "a document twice": lambda line, before: before,
    "a NUL byte": lambda line, before: line.replace("tag", "t\0g"),
    "a control character": lambda line, before: line.replace("tag", "t\x01g"),
    "a CR in a comment": lambda line, before: f"# c\r{line}",
    "a long line": lambda line, before: line.replace("tag", "t" * 5000),
}
PLACES = ([3], [13], [29], [3, 13], [13, 29], [13, 14, 29])
"""Topics, by their number in the file, that get a fault."""


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_several_blocks_are_told_as_by_one_thread(
    written: Written, fault: str, places: list[int], strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines, rules and their order, also where a later block fails before an earlier one was looked at."""
    monkeypatch.setattr(buffers, "BUFFER_BYTES", 2000)
    lines = lines_of()
    for place in places:
        at = place * DEPTH + 7
        lines[at] = FAULTS[fault](lines[at], lines[at - 5])
    run = written("".join(lines))
    limits = Limits(line_bytes=4500)
    expected = said(run, 1, strict=strict, limits=limits)
    assert said(run, 2, strict=strict, limits=limits) == expected
    if strict or fault != "a control character":
        assert isinstance(expected, tuple)
        assert expected[1][0].line == places[0] * DEPTH + 8


@pytest.mark.parametrize("first", FAULTS)
@pytest.mark.parametrize("second", FAULTS)
def test_the_first_of_two_kinds_of_fault_decides(
    written: Written, first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document twice in one block and another fault in the next ones: the verdict of one thread."""
    monkeypatch.setattr(buffers, "BUFFER_BYTES", 2000)
    lines = lines_of()
    for place, fault in ((12, first), (14, second)):
        at = place * DEPTH + 7
        lines[at] = FAULTS[fault](lines[at], lines[at - 5])
    run, limits = written("".join(lines)), Limits(line_bytes=4500)
    assert said(run, 2, strict=True, limits=limits) == said(run, 1, strict=True, limits=limits)


def test_a_damaged_archive_is_told_after_what_stands_before_it(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cut .gz is refused as such, unless a topic in it has a document twice: that comes first."""
    monkeypatch.setattr(buffers, "BUFFER_BYTES", 2000)
    lines = lines_of()
    for content in ("".join(lines), "".join([*lines[:20], lines[3], *lines[20:]])):
        packed = gzip.compress(content.encode())
        run = written(packed[: len(packed) * 9 // 10])
        assert said(run, 2) == said(run, 1)
        assert isinstance(said(run, 2), tuple)


AMID = (
    "".join(f"33 Q0 {n} 1 {n}.5 t\n" for n in range(5))
    + "1 Q0 0 1 0.5 t\n" * 3
    + "33\tQ0 0  1 1e-3 u\n1\tQ0 0  1 1e-3 u\r\n"
)
"""In a buffer that begins and ends with one topic another one stands between, with a document twice."""


@st.composite
def irregular(draw: st.DrawFn) -> str:
    """Topics that may come again, between comments and blank lines, some lines short or odd."""
    line = st.sampled_from(
        ["{0} Q0 {1} 1 {1}.5 t", "{0}\tQ0 {1}  1 1e-3 u", " {0} 0 {1} x -{1} t", "#c {0}", "", "{0} Q0 {1}"]
    )
    topics = draw(st.lists(st.sampled_from(["1", "2", "33", "4", "5"]), max_size=12))
    return "".join(
        draw(line).format(topic, number) + draw(st.sampled_from(["\n", "\r\n"]))
        for topic in topics
        for number in range(draw(st.integers(1, 12)))
    )


@example(AMID, 40, False)
@given(irregular(), st.sampled_from([40, 80, 200]), st.booleans())
def test_two_threads_say_of_any_file_what_one_says(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int, strict: bool
) -> None:
    """Whatever the lines: the same rankings or the same refusal."""
    run = tmp_path_factory.mktemp("any") / "run"
    run.write_text(text, newline="")
    limits = Limits(line_bytes=size)
    assert said(run, 2, strict=strict, limits=limits) == said(run, 1, strict=strict, limits=limits)


def test_results_come_in_order_while_threads_work_at_once() -> None:
    """Two items meet in their work, which one thread would wait for in vain."""
    meeting = Barrier(2)

    def work(item: int) -> int:
        if item:
            meeting.wait(PATIENCE)
        return item * item

    assert list(in_order(iter(range(9)), work, threads=2, alone=1)) == [item * item for item in range(9)]


def test_a_failure_comes_after_the_results_before_it() -> None:
    """Of the work in place of its result, of the items after the results of all that were given."""

    def items() -> Iterator[int]:
        yield from range(8)
        raise OSError("no more")

    def work(item: int) -> float:
        return 1 / (item - 20)

    given_back = in_order(items(), work, threads=2, alone=2)
    assert [next(given_back) for _ in range(8)] == [1 / (item - 20) for item in range(8)]
    with pytest.raises(OSError, match="no more"):
        next(given_back)
    given_back = in_order(iter([1, 2, 20, 3]), work, threads=2, alone=0)
    assert [next(given_back), next(given_back)] == [-1 / 19, -1 / 18]
    with pytest.raises(ZeroDivisionError):
        next(given_back)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 30)), min_size=1, max_size=9), st.booleans())
def test_a_few_looks_find_the_last_topic(sizes: list[tuple[int, int]], commented: bool) -> None:
    """Where its first line begins, whatever stands between the lines."""
    between = "# c\n\n" if commented else ""
    parts = [
        "".join(f"{between}{topic}{'t' * width} Q0 {n} 1 1 t\n" for n in range(count))
        for topic, (width, count) in enumerate(sizes)
    ]
    body = bytearray("".join([*parts, between]).encode())
    assert last_topic(body, len(body)) == len("".join(parts[:-1]) + between)


def test_many_lines_without_an_entry_are_given_up_on() -> None:
    """A block of blank lines is for a reader that sees every line."""
    body = bytearray(b"1 Q0 a 1 1 t\n" + b"\n" * 200)
    with pytest.raises(Irregular):
        last_topic(body, len(body))
    assert last_topic(bytearray(b"\n#c\n1 Q0 a 1 1 t\n\n"), 18) == 4

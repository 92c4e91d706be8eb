"""Properties of all readers: nothing but our own errors, and nothing lost or added."""

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.trec.documents.documents import read_documents
from leaderboard.trec.qrels.arrays import read_judgments
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.runs.check import Rules, read_and_check
from leaderboard.trec.runs.runs import read_run
from leaderboard.trec.topics.topics import read_topics

pytestmark = pytest.mark.usefixtures("each_kernel")

SEEDS = (
    b"1 Q0 a 1 2.5 tag\n1 Q0 b 2 1.5 tag\n2 Q0 a 1 7 tag\n",
    b"# ir_metadata.start\n# tag: x\n# ir_metadata.end\n1 Q0 a 1 2.5 tag\r\n\r\n1 Q0 b 2 1.5 tag",
    b"1\ta\t1\n1\tb\t2\n",
    b"1 0 a 1\n1 0 b -2\n2 0 a L3\n",
    b"query-id\tcorpus-id\tscore\n1\ta\t2\n",
    b"<top>\n<num> Number: 1\n<title> x\n<desc> Description:\ny\n</top>\n",
    b'<?xml version="1.0"?><t><topic number="1"><query>x</query><subtopic>y</subtopic></topic></t>',
    b'{"_id": "1", "title": "x", "text": "y", "subtopics": [{"number": 1, "text": "z"}]}\n',
    b"<DOC><DOCNO>1</DOCNO><TEXT>x &amp; y</TEXT></DOC>\n",
    gzip.compress(b"1 Q0 a 1 2.5 tag\n" * 3, mtime=0),
)
FRAGMENTS = (
    b" ", b"\n", b"\t", b"\r", b"#", b"\0", b"\xff",
    b"nan", b"1e999", b"<top>", b"</top>", b"<DOC>", b"{", b"]",
    b"L1", b"&#0;", b"\xc2\xa0", b"<!DOCTYPE a>", b"1 Q0 a 1 2.5 tag\n", b"9" * 400, b"\x1b",
)  # fmt: skip

READERS: dict[str, Callable[[Path], object]] = {
    "run": read_run,
    "run, lenient": lambda path: read_run(path, strict=False),
    "run, small blocks": lambda path: read_run(path, limits=Limits(line_bytes=40)),
    "qrels": read_qrels,
    "qrels, in bulk": read_judgments,
    "topics": read_topics,
    "documents": lambda path: list(read_documents(path)),
}


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A file of some format, with pieces replaced, removed or put in."""
    content = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 5)))
        content[start:end] = draw(st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=3)))
    return bytes(content)


def in_file(content: bytes, read: Callable[[Path], object]) -> object:
    """What a reader makes of these bytes."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        return read(Path(file.name))


def error_of(content: bytes, read: Callable[[Path], object]) -> LeaderboardError | None:
    """The error a reader raises on these bytes; others than ours get through and fail the test."""
    try:
        in_file(content, read)
    except LeaderboardError as error:
        return error
    return None


@pytest.mark.parametrize("name", READERS)
@given(content=mutated())
def test_broken_files_raise_nothing_but_our_errors(name: str, content: bytes) -> None:
    """Whatever is in a file, a reader returns or raises an error with a message and printable problems."""
    error = error_of(content, READERS[name])
    if error is None:
        return
    problems = error.problems if isinstance(error, Invalid) else ()
    assert problems or error.message.endswith(".")
    for problem in problems:
        assert problem.rule.endswith(".")
        assert problem.value.isprintable()


@given(content=mutated())
def test_checker_never_raises(content: bytes) -> None:
    """The checker turns whatever is in a file into a report; without a run there are problems."""
    rules = Rules(("1", "2"), depth=1, tag_pattern="t.*", judged=("1",))
    run, report = in_file(content, lambda path: read_and_check(path, rules))  # type: ignore[misc]
    assert (run is None) <= bool(report.problems)


docnos = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6)
separators = st.sampled_from([" ", "\t", "  ", " \t"])


@st.composite
def runs(draw: st.DrawFn) -> tuple[str, dict[str, dict[str, float]]]:
    """A run's text, lines of topics mixed and written in all allowed ways, and what it says."""
    pairs = draw(st.lists(st.tuples(st.sampled_from(["1", "02", "q3"]), docnos), min_size=1, unique=True))
    rankings: dict[str, dict[str, float]] = {}
    lines = []
    for topic, docno in pairs:
        score = draw(st.floats(allow_nan=False, allow_infinity=False))
        rankings.setdefault(topic, {})[docno] = score
        separator = draw(separators)
        lines.append(separator.join([topic, "Q0", docno, "1", repr(score), "tag"]))
        lines.extend(draw(st.lists(st.sampled_from(["", "  ", "# c", "#1 Q0 x 1 1 t"]), max_size=1)))
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines), rankings


FAR_APART = "1 Q0 a 1 1.7976931348623157e+308 tag\n1 Q0 b 1 -1e300 tag"


@given(run_file=runs(), block=st.integers(80, 400), strict=st.booleans())
@example(run_file=(FAR_APART, {"1": {"a": 1.7976931348623157e308, "b": -1e300}}), block=80, strict=True)
def test_accepted_runs_say_what_the_file_says(
    run_file: tuple[str, dict[str, dict[str, float]]], block: int, strict: bool
) -> None:
    """Every entry of the file is in the run, bit for bit and in order, and no other, for any block size."""
    content, rankings = run_file
    run = in_file(
        content.encode(), lambda path: read_run(path, strict=strict, limits=Limits(line_bytes=block))
    )
    read = {
        topic: list(zip(ranking.docnos.tolist(), ranking.scores.tolist(), strict=True))
        for topic, ranking in run.rankings.items()  # type: ignore[attr-defined]
    }
    assert read == {
        topic: [(docno.encode(), score) for docno, score in entries.items()]
        for topic, entries in rankings.items()
    }
    assert list(read) == list(rankings)

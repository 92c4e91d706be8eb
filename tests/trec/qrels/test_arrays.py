"""Judgments read in bulk: the same verdict and the same grades as line by line, by either kernel."""

from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.qrels.align import CompiledJudgments
from leaderboard.trec.qrels.arrays import read_judgments
from leaderboard.trec.qrels.compiling import compile_qrels
from leaderboard.trec.qrels.qrels import read_qrels
from tests.trec.conftest import Written

pytestmark = pytest.mark.usefixtures("each_kernel")

GOOD = b"1 0 a 1\n1 0 b 0\n2 0 a 2\n"

REFUSED = {
    "one line of five": GOOD + b"2 0 b 1 extra\n",
    "old Macs": b"1 0 a 0\r1 0 b 1\r2 0 a 1\r",
    "old Macs, in one line": GOOD + b"2 0 b 1\r2 0 c 1\n",
    "comment with a CR": GOOD + b"# c\r2 0 b 1\n",
    "NUL behind": GOOD + b"2 0 b 1 \0\n",
    "NUL in a comment": GOOD + b"# \0\n",
    "NUL in a docno": GOOD + b"2 0 b\0c 1\n",
    "control character": GOOD + b"2 0 b\x1bc 1\n",
    "delete": GOOD + b"2 0 b\x7fc 1\n",
    "not UTF-8": GOOD + b"2 0 M\xfcller 1\n",
    "long docno": GOOD + b"2 0 " + b"x" * 256 + b" 1\n",
    "long topic": GOOD + b"x" * 256 + b" 0 a 1\n",
    "long iteration": b"1 " + b"x" * 256 + b" a 1\n",
    "grade with a fraction": GOOD + b"2 0 b 1.5\n",
    "grade with an exponent": GOOD + b"2 0 b 1e3\n",
    "ten digits": GOOD + b"2 0 b 1234567890\n",
    "ten digits, negative": GOOD + b"2 0 b -1234567890\n",
    "beyond a double's whole numbers": GOOD + b"2 0 b 9007199254740993\n",
    "beyond 64 bits": GOOD + b"2 0 b 18446744073709551617\n",
    "two grades": GOOD + b"2 0 a 1\n",
    "UTF-16": "\ufeff1 0 a 1\n".encode("utf-16-le"),
    "nothing": b"\n# c\n",
}

TAKEN = {
    "plain": GOOD,
    "tabs": GOOD.replace(b" ", b"\t"),
    "blanks": b"  1  0 \t a   1  \r\n\r\n1 0 b 0\r\n2 0 a 2",
    "CR CR LF": GOOD.replace(b"\n", b"\r\r\n"),
    "comments": b"# c \r\n" + GOOD + b"#\n",
    "UTF-8": "1 0 ä 1\n1 0 b 0\nß 0 a 2\n".encode(),
    "byte order mark": b"\xef\xbb\xbf" + GOOD,
    "nine digits": b"1 0 a 999999999\n1 0 b -999999999\n1 0 c +000000007\n",
    "NTCIR": b"1 0 a L2\n1 0 b L0\n",
    "BEIR": b"query-id\tcorpus-id\tscore\n1\ta\t1\n",
    "subtopics": b"1 1 a 1\n1 2 a 2\n1 1 b 0\n",
    "the same twice": GOOD + b"2 0 a 2\n",
    "scattered": b"2 0 a 2\n1 0 b 0\n2 0 b 1\n1 0 a 1\n",
}


def said(compiled: CompiledJudgments) -> tuple[object, ...]:
    """All that judgments say."""
    judgments, documents = compiled.judgments, compiled.documents
    subtopics = judgments.subtopics
    docnos = bytes(documents.letters[: int(documents.length.sum())])
    return (
        judgments.topics,
        judgments.grades.tolist(),
        judgments.starts.tolist(),
        docnos,
        documents.length.tolist(),
        None if subtopics is None else (subtopics.document.tolist(), subtopics.grade.tolist()),
    )


def refusal(reader: object, path: Path) -> list[str]:
    """The problems for which a reader refuses a file."""
    with pytest.raises(Invalid) as caught:
        reader(path)  # type: ignore[operator]
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_line_by_line_is_refused_in_bulk(name: str, written: Written) -> None:
    """With the same problems: line, value, rule and remedy."""
    path = written(REFUSED[name])
    problems = refusal(read_judgments, path)
    assert problems
    assert problems == refusal(read_qrels, path)


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken_is_the_same(name: str, written: Written) -> None:
    """Topics, docnos, grades and subtopics."""
    path = written(TAKEN[name])
    assert said(read_judgments(path)) == said(compile_qrels(read_qrels(path)))

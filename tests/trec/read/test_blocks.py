"""A run streamed in blocks: the same rankings and scores however the file is written, in flat memory."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from leaderboard.measures.grammar import parse
from leaderboard.trec.qrels.align import Aligner
from leaderboard.trec.qrels.arrays import read_judgments
from leaderboard.trec.read import buffers
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits
from leaderboard.trec.read.scanning import scan_run
from leaderboard.trec.runs.runs import read_run
from tests.make.loops import some
from tests.trec.conftest import Written

pytestmark = pytest.mark.usefixtures("each_kernel")

TOPICS, DEPTH = 30, 40
MEASURES = ("AP", "nDCG", "RR", "P@5", "Bpref")


def lines_of(seed: int = 3) -> list[str]:
    """A run's lines, topics together, best first, with ties."""
    rng = np.random.default_rng(seed)
    lines = []
    for topic in rng.permutation(TOPICS).tolist():
        scores = np.sort(rng.integers(0, 25, DEPTH) / 4)[::-1].tolist()
        docnos = rng.choice(200, DEPTH, replace=False).tolist()
        lines += [
            f"{topic} Q0 d{docno} {rank} {score} tag\n"
            for rank, (docno, score) in enumerate(zip(docnos, scores, strict=True), 1)
        ]
    return lines


def qrels_text() -> str:
    """Judgments of most topics, in no order."""
    rng = np.random.default_rng(5)
    pairs = [(topic, docno) for topic in range(TOPICS - 2) for docno in rng.choice(200, 30, replace=False)]
    return "".join(
        f"{pairs[place][0]} 0 d{pairs[place][1]} {place % 4 - 1}\n" for place in rng.permutation(len(pairs))
    )


def shuffled(lines: list[str]) -> list[str]:
    """The lines in no order at all."""
    return [lines[place] for place in np.random.default_rng(7).permutation(len(lines))]


WAYS: dict[str, Callable[[list[str]], str]] = {
    "regular": "".join,
    "tabs": lambda lines: "".join(lines).replace(" ", "\t"),
    "several blanks": lambda lines: "".join(lines).replace(" ", "  \t "),
    "CR LF": lambda lines: "".join(lines).replace("\n", "\r\n"),
    "blank lines and comments": lambda lines: "#c\n\n".join(lines),
    "no last newline": lambda lines: "".join(lines).rstrip("\n"),
    "a byte order mark": lambda lines: "\ufeff" + "".join(lines),
    "other second column": lambda lines: "".join(lines).replace("Q0", "0"),
    "out of order in a topic": lambda lines: "".join(
        "".join(lines[start : start + DEPTH][::-1]) for start in range(0, len(lines), DEPTH)
    ),
    "topics scattered": lambda lines: "".join(shuffled(lines)),
    "a topic in two parts": lambda lines: "".join([*lines[5:], *lines[:5]]),
}


def scores_of(run: Path, qrels: Path, limits: Limits = DEFAULT_LIMITS) -> dict[str, list[float]]:
    """Every topic's scores."""
    compiled = read_judgments(qrels)
    scanned = scan_run(run, lambda: Aligner(compiled, dialect=10), strict=True, limits=limits)
    judged = scanned.consumer.judged()
    return {name: parse(name).compute(judged).tolist() for name in MEASURES}


@pytest.mark.parametrize("size", some([buffers.BUFFER_BYTES, 64, 1000, 4096], [buffers.BUFFER_BYTES, 1000]))
def test_scores_do_not_depend_on_how_the_file_is_written(
    written: Written, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blanks, line ends, order of lines and the size of the buffer change no bit of a score."""
    qrels, lines = written(qrels_text()), lines_of()
    expected = scores_of(written("".join(lines)), qrels)
    assert sum(expected["AP"]) > 0.5
    monkeypatch.setattr(buffers, "BUFFER_BYTES", size)
    for way, text in ((way, write(lines)) for way, write in WAYS.items()):
        assert scores_of(written(text), qrels) == expected, way
    packed = gzip.compress(WAYS["topics scattered"](lines).encode())
    assert scores_of(written(packed), qrels) == expected


def test_a_topic_larger_than_the_buffer_is_one_ranking(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The buffer grows to the largest topic and is used on for the others."""
    monkeypatch.setattr(buffers, "BUFFER_BYTES", 256)
    text = "".join(
        f"{topic} Q0 d{n} {n} {-n} t\n"
        for topic, size in (("a", 3), ("b", 500), ("c", 2))
        for n in range(size)
    )
    run = read_run(written(text))
    assert {topic: len(ranking.docnos) for topic, ranking in run.rankings.items()} == {
        "a": 3,
        "b": 500,
        "c": 2,
    }
    assert run.split_topics == ()
    assert run.first_lines == {"a": 1, "b": 4, "c": 504}


def test_oddities_are_noted_once_with_their_first_line(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes name the first line of the file they apply to, in whichever block that is."""
    monkeypatch.setattr(buffers, "BUFFER_BYTES", 128)
    lines = [f"{n // 5} Q0 d{n} {n % 5 + 1} {-n} t\n" for n in range(100)]
    lines[41] = "8 0 d41 2 -41 t\n"
    lines[63] = "12 Q0 d63 4 -60.5 t\n"
    notes = [(note.field, note.line) for note in read_run(written("".join(lines))).notes]
    assert notes == [("iteration", 42), ("rank", 64)]
    lines[93] = "18 Q0 d93 x -93 t\n"
    lines[63] = "12 Q0 d63 4 -63 t\n"
    notes = [(note.field, note.line) for note in read_run(written("".join(lines))).notes]
    assert notes == [("iteration", 42), ("rank", 94)]


def test_all_tags_and_comments_are_seen(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tags that change in any block are collected, the last one is the run's; so are comments."""
    monkeypatch.setattr(buffers, "BUFFER_BYTES", 100)
    text = "".join(f"{n} Q0 d 1 1 tag{n // 10}\n" for n in range(40))
    run = read_run(written("# ir_metadata.start\n# tag: x\n# ir_metadata.end\n" + text))
    assert run.tags == ("tag0", "tag1", "tag2", "tag3")
    assert run.tag == "tag3"
    assert run.metadata == {"tag": "x"}


def test_qrels_are_read_alike_in_bulk_and_line_by_line(written: Written) -> None:
    """Comments, tabs, scattered topics, repeated lines and subtopics lead to the same judgments."""
    regular = "2 0 b 1\n2 0 a -1\n10 0 c 0\n"
    expected = read_judgments(written(regular))
    assert expected.judgments.topics == ("10", "2")
    assert expected.judgments.grades.tolist() == [0, -1, 1]
    for text in (
        "# c\n" + regular,
        regular.replace(" ", "\t"),
        regular.replace("\n", "\r\n"),
        "2 0 b 1\n10 0 c 0\n2 0 a -1\n",
        regular + "2 0 b 1\n",
        "2 1 b 1\n2 2 b 0\n2 1 a -1\n10 1 c 0\n",
        regular.replace("2 0", "2 x"),
    ):
        qrels = read_judgments(written(text))
        assert qrels.judgments.topics == expected.judgments.topics, text
        assert qrels.judgments.grades.tolist() == expected.judgments.grades.tolist(), text
        assert list(qrels.index) == list(expected.index)


PEAK = """
import sys
from pathlib import Path
from leaderboard.trec.read import kernel
from leaderboard.trec.qrels.align import Aligner
from leaderboard.trec.read.scanning import scan_run
from leaderboard.trec.read.lines import DEFAULT_LIMITS
from leaderboard.trec.qrels.arrays import read_judgments
if sys.argv[3] == "numpy":
    kernel.native = None
compiled = read_judgments(Path(sys.argv[1]))
run = scan_run(Path(sys.argv[2]), lambda: Aligner(compiled, dialect=10), strict=False, limits=DEFAULT_LIMITS)
assert run.consumer.judged().retrieved.sum()
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(status["VmHWM"].split()[0])
"""


@pytest.mark.trial
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_does_not_grow_with_the_number_of_topics(written: Written, each_kernel: str) -> None:
    """Ten times the topics (2 MB and 20 MB of lines) cost less than 6 MB more."""
    qrels = written("1 0 d5 1\n")
    peaks = []
    for topics in (100, 1000):
        ranking = "".join(f"%d Q0 d{n} {n} {-n}.123456 some-tag\n" for n in range(600))
        run = written("".join(ranking % ((topic,) * 600) for topic in range(1, topics + 1)))
        done = subprocess.run(
            [sys.executable, "-c", PEAK, str(qrels), str(run), each_kernel],
            capture_output=True,
            text=True,
            check=True,
        )
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 6 * 1024

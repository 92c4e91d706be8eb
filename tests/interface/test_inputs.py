"""Every form in which runs and judgments are given in Python means the same, and errors say what to do."""

import gzip
import io
import subprocess
import sys
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import zstandard

import leaderboard as lb
from leaderboard.trec.read import kernel

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 1, "é": 1}, "q3": {"x": 1}}
RUN = {
    "q2": {"é": 1.5, "z": 2.5, "d": 0.25},
    "q1": {"c": 3.0, "b": 3.0, "n": 1.0, "a": -2.0},
    "q9": {"a": 1.0},
}
MEASURES = ("nDCG@10", "AP", "RR")
EXPECTED = {"nDCG@10": 0.466972, "AP": 0.444444, "RR": 0.5}


class ScoredDoc(NamedTuple):
    """As ir_measures has it."""

    query_id: str
    doc_id: str
    score: float


class Qrel(NamedTuple):
    """As ir_measures has it."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class Frame:
    """A data frame as far as it is looked at: columns by name."""

    def __init__(self, **columns: Any) -> None:
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name: str) -> Any:
        """A column."""
        return self._columns[name]


def rows(by_topic: dict[str, dict[str, Any]]) -> list[tuple[str, str, Any]]:
    """Topic, docno and number of every document."""
    return [(topic, docno, value) for topic, each in by_topic.items() for docno, value in each.items()]


def run_text() -> str:
    """The run as a TREC file."""
    return "".join(f"{topic} Q0 {docno} 0 {score} tagged\n" for topic, docno, score in rows(RUN))


def qrels_text() -> str:
    """The judgments as a TREC file."""
    return "".join(f"{topic} 0 {docno} {grade}\n" for topic, docno, grade in rows(QRELS))


def written(path: Path, content: bytes) -> Path:
    """The path of a file with this content."""
    path.write_bytes(content)
    return path


def columns(by_topic: dict[str, dict[str, Any]], *names: str) -> dict[str, np.ndarray[Any, Any]]:
    """The documents as arrays under the names of columns."""
    return dict(zip(names, map(np.array, zip(*rows(by_topic), strict=True)), strict=True))


def runs_in_every_form(folder: Path) -> dict[str, Any]:
    """The same run, by what it is given as."""
    text = run_text().encode()
    path = written(folder / "run.txt", text)
    table = columns(RUN, "query_id", "doc_id", "score")
    shuffled = sorted(rows(RUN), key=lambda row: row[1])
    return {
        "path": path,
        "text of a path": str(path),
        "gzip": written(folder / "run.gz", gzip.compress(text)),
        "zstd": written(folder / "run.zst", zstandard.compress(text)),
        "file of bytes": io.BytesIO(path.read_bytes()),
        "file of text": io.StringIO(run_text()),
        "dictionary": RUN,
        "default dictionary": defaultdict(dict, {topic: OrderedDict(each) for topic, each in RUN.items()}),
        "numbers of numpy": {
            topic: {docno: np.float32(score) for docno, score in each.items()} for topic, each in RUN.items()
        },
        "read": lb.read_run(path),
        "read from a dictionary": lb.read_run(RUN),
        "arrays by name": table,
        "arrays in order": tuple(table.values()),
        "structured array": np.array(rows(RUN), dtype=[("qid", "U9"), ("docno", "U9"), ("score", "f8")]),
        "data frame": Frame(**table),
        "data frame of PyTerrier": Frame(**columns(RUN, "qid", "docno", "score")),
        "named tuples": [ScoredDoc(*row) for row in rows(RUN)],
        "named tuples in another order": (ScoredDoc(*row) for row in shuffled),
    }


def qrels_in_every_form(folder: Path) -> dict[str, Any]:
    """The same judgments, by what they are given as."""
    path = written(folder / "qrels.txt", qrels_text().encode())
    return {
        "path": path,
        "gzip": written(folder / "qrels.gz", gzip.compress(qrels_text().encode())),
        "file of bytes": io.BytesIO(path.read_bytes()),
        "file of text": io.StringIO(qrels_text()),
        "dictionary": {**QRELS, "without judgments": {}},
        "read": lb.read_qrels(path),
        "read from a dictionary": lb.read_qrels(QRELS),
        "arrays by name": columns(QRELS, "query_id", "doc_id", "relevance"),
        "data frame": Frame(**columns(QRELS, "qid", "docno", "label")),
        "named tuples": (Qrel(*row) for row in rows(QRELS)),
        "whole numbers as floats": {
            topic: {docno: float(grade) for docno, grade in each.items()} for topic, each in QRELS.items()
        },
    }


@pytest.mark.parametrize("native", [True, False], ids=["C kernel", "numpy alone"])
def test_every_form_gives_the_same_bits(
    tmp_path: Path, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths, files, dictionaries, tables and named tuples, of runs and of judgments."""
    if not native:
        monkeypatch.setattr(kernel, "native", None)
    whole = lb.evaluate(QRELS, RUN, MEASURES)
    assert {key: round(value, 6) for key, value in whole.mean.items()} == EXPECTED
    for form, run in runs_in_every_form(tmp_path).items():
        scores = lb.evaluate(QRELS, run, MEASURES)
        assert (scores.mean, scores.by_topic) == (whole.mean, whole.by_topic), form
    for form, qrels in qrels_in_every_form(tmp_path).items():
        scores = lb.evaluate(qrels, RUN, MEASURES)
        assert (scores.mean, scores.by_topic) == (whole.mean, whole.by_topic), form


def test_ids_may_be_whole_numbers() -> None:
    """Data frames have topics as numbers often enough; they mean the text."""
    by_number = lb.evaluate({7: {12: 1, 13: 0}}, Frame(qid=[7, 7], docno=[13, 12], score=[2, 1]), "RR")
    assert by_number.by_topic == lb.evaluate({"7": {"12": 1}}, {"7": {"13": 2, "12": 1}}, "RR").by_topic


def test_what_was_read_goes_back_to_dictionaries(tmp_path: Path) -> None:
    """In the order of the run, and of topics and docnos."""
    path = written(tmp_path / "run.txt", run_text().encode())
    run, qrels = lb.read_run(path), lb.read_qrels(QRELS)
    assert run.to_dict() == RUN
    assert list(run.to_dict()) == list(run.topics) == ["q2", "q1", "q9"]
    assert (run.name, len(run), len(qrels)) == ("tagged", 8, 6)
    assert qrels.to_dict() == QRELS
    assert repr(run) == "<Run 'tagged': 3 topics, 8 documents>"


def test_large_runs_are_gathered_in_parts() -> None:
    """The borders of parts play no role, nor how many documents a topic has."""
    run = {str(topic): {f"d{each}": 1.0 / each for each in range(1, 40_000)} for topic in range(3)}
    qrels = {topic: {"d1": 1, "d39999": 1} for topic in run}
    assert lb.evaluate(qrels, run, "P@1").mean["P@1"] == 1.0
    table = [ScoredDoc(*row) for row in rows(run)]
    assert lb.evaluate(qrels, reversed(table), "R@39999").mean["R@39999"] == 1.0
    assert len(lb.read_run(table)) == 3 * 39_999


def test_subtopics_are_seen_in_the_iteration() -> None:
    """Of a table too: where a document of a topic has several, they are subtopics; elsewhere rounds."""
    qrels = [Qrel("1", "a", 1, "x"), Qrel("1", "a", 1, "y"), Qrel("1", "b", 1, "y")]
    assert lb.evaluate(qrels, {"1": {"a": 1.0}}, "StRecall@10").mean["StRecall@10"] == 1.0
    rounds = [Qrel("1", "a", 1, "x"), Qrel("1", "b", 1, "y")]
    with pytest.raises(lb.Invalid, match="needs subtopic judgments"):
        lb.evaluate(rounds, {"1": {"a": 1.0}}, "StRecall@10")


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        (QRELS, {"q1": {"a": float("nan")}}, r"score 'nan': Topic q1, document a: .* not finite"),
        (QRELS, {"q1": {"a": "high"}}, r"Topic q1, document a"),
        (QRELS, {"q1": {None: 1.0}}, r"docno 'None': A docno is text .* or a whole number"),
        (QRELS, {"q1": 5}, r"Topic q1 needs a dictionary"),
        (QRELS, 5, r"A run cannot be of type int. Give a path"),
        (QRELS, [1, 2], r"The rows of a run are named tuples"),
        (QRELS, Frame(qid=["q1"], docno=["a"]), r"A run needs a column score; this one has qid, docno"),
        (QRELS, Frame(qid=["q1"], docno=["a"], score=["x"]), r"Row 1: a score is a finite number"),
        (QRELS, Frame(qid=["q1", "q2"], docno=["a"], score=[1.0]), r"The columns have 2, 1, 1 values"),
        (QRELS, Frame(qid=["q1"] * 2, docno=["a"] * 2, score=[1, 2]), r"Topic q1 has this document twice"),
        (QRELS, {"1": {"a": 1.0}}, r"no topic that qrels judges: the run has 1; .* lack the prefix q"),
        ({"q1": {"a": 1.5}}, RUN, r"grade '1.5': Topic q1, document a: a grade is a whole number"),
        ({"q1": {}}, RUN, r"There are no judgments"),
        ([], RUN, r"There are no judgments"),
        ([Qrel("q1", "a", 1)] * 2, RUN, r"Topic q1 has this document twice"),
        (Frame(qid=["q1"], docno=["a"], label=[0.5]), RUN, r"Row 1: a grade is a whole number"),
    ],
)
def test_errors_say_where_and_what_to_do(qrels: Any, run: Any, message: str) -> None:
    """Value, rule and remedy."""
    with pytest.raises(lb.Invalid, match=message):
        lb.evaluate(qrels, run, "AP")


def test_errors_of_files_have_the_readers_lines(tmp_path: Path) -> None:
    """Line, value, rule and remedy, and which file it was."""
    path = written(tmp_path / "run.txt", b"q1 Q0 a 1 2.0 t\nq1 Q0 b 2 high t\n")
    with path.open("rb") as file:
        for given in (path, file):
            with pytest.raises(lb.Invalid, match=r"run\.txt: .*line 2: score 'high'") as failure:
                lb.read_run(given)
            assert failure.value.problems[0].line == 2
    with pytest.raises(lb.Invalid, match=r"qrels.txt: .*line 1"):
        lb.read_qrels(written(tmp_path / "qrels.txt", b"q1 0 a one two three\n"))
    with pytest.raises(FileNotFoundError):
        lb.evaluate(tmp_path / "none.txt", RUN)


def test_importing_loads_the_numeric_core_only() -> None:
    """Frameworks, SciPy and data frames stay out of a process that evaluates."""
    code = (
        "import sys, leaderboard as lb; assert 'numpy' not in sys.modules;"
        "lb.read_run, lb.read_qrels, lb.measures(), lb.RelevanceEvaluator, lb.Invalid, lb.Scores;"
        "lb.evaluate({'1': {'a': 1}}, {'1': {'a': 1.0}}, 'all_trec').to_dict();"
        "print(*sys.modules, sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded.isdisjoint({"flask", "sqlalchemy", "scipy", "click", "pandas", "polars", "ir_measures"})
    rooms = {name.split(".")[1] for name in done.stdout.split() if name.startswith("leaderboard.")}
    assert rooms <= {"errors", "interface", "measures", "trec"}


def test_names_are_the_packages() -> None:
    """Each public name is there, and no other."""
    assert set(lb.__all__) <= set(dir(lb))
    assert all(getattr(lb, name) is not None for name in lb.__all__ if name != "use_in_ir_measures")
    with pytest.raises(AttributeError, match="no attribute 'evaluation'"):
        lb.evaluation  # noqa: B018

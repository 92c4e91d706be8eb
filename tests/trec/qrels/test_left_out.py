"""Documents left out by topic: removed before ranks and depth are counted, and from the ideal ranking."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leaderboard.errors import Invalid
from leaderboard.trec.qrels.left_out import LeftOut, read_left_out, read_renamed, without
from leaderboard.trec.qrels.qrels import Qrels
from leaderboard.trec.scores.scoring import Inputs, Options, Scorer
from tests.make import build

pytestmark = pytest.mark.usefixtures("each_kernel")

MEASURES = ("P@2", "RR", "AP", "nDCG", "nDCG@2", "bpref", "RBP", "ERR@10", "Rprec", "recall.2", "num_ret")


def written(folder: Path, text: str, name: str = "left-out.txt") -> Path:
    """A file with this text."""
    path = folder / name
    path.write_text(text)
    return path


def scored(
    folder: Path,
    judged: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str]],
    left_out: str | None = None,
    names: Sequence[str] = MEASURES,
    depth: int | None = None,
) -> dict[str, list[float]]:
    """Scores by topic under each measure's name."""
    files = () if left_out is None else (written(folder, left_out),)
    inputs = Inputs(build.qrels_file(folder, judged), left_out=files)
    report = Scorer(inputs, Options(names, depth=depth)).scores(build.run_file(folder, rankings))
    return {measure.key: scores.tolist() for measure, scores in report.scores.items()}


def test_ranks_close_up(tmp_path: Path) -> None:
    """Ranking d1 d2 d3 d4, d1 left out, d3 relevant: P@2 looks at d2 d3 and is 1/2, RR is 1/2."""
    judged, rankings = {"1": {"d3": 1}}, {"1": ["d1", "d2", "d3", "d4"]}
    assert scored(tmp_path, judged, rankings, "1 d1\n", ("P@2", "RR")) == {"P@2": [0.5], "RR": [0.5]}
    assert scored(tmp_path, judged, rankings, None, ("P@2", "RR")) == {"P@2": [0.0], "RR": [1 / 3]}


def test_depth_counts_what_is_left(tmp_path: Path) -> None:
    """Of depth 2, d2 and d3 are looked at, though d3 is the third of the file."""
    judged, rankings = {"1": {"d3": 1}}, {"1": ["d1", "d2", "d3", "d4"]}
    assert scored(tmp_path, judged, rankings, "1 d1\n", ("RR",), depth=2) == {"RR": [0.5]}
    assert scored(tmp_path, judged, rankings, None, ("RR",), depth=2) == {"RR": [0.0]}


def test_only_the_topic_of_the_line_is_meant(tmp_path: Path) -> None:
    """The same document stays in another topic's ranking."""
    judged = {"1": {"b": 1}, "2": {"b": 1}}
    rankings = {"1": ["a", "b"], "2": ["a", "b"]}
    assert scored(tmp_path, judged, rankings, "2 a\n", ("RR",)) == {"RR": [0.5, 1.0]}


@given(
    rankings=st.dictionaries(
        st.sampled_from("123"), st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1), min_size=1
    ),
    left_out=st.dictionaries(
        st.sampled_from("123"), st.sets(st.sampled_from("aceg"), min_size=1), min_size=1
    ),
)
def test_it_is_as_if_the_run_had_never_had_them(
    tmp_path_factory: pytest.TempPathFactory, rankings: dict[str, list[str]], left_out: dict[str, set[str]]
) -> None:
    """The scores are those of files that somebody took the documents out of by hand."""
    folder = tmp_path_factory.mktemp("left")
    judged = {topic: {"b": 1, "d": 2, "f": 0, "a": 0} for topic in "123"}
    by_hand = {
        topic: [docno for docno in docnos if docno not in left_out.get(topic, ())]
        for topic, docnos in rankings.items()
    }
    assume(any(by_hand.values()))
    fewer = {
        topic: {docno: grade for docno, grade in grades.items() if docno not in left_out.get(topic, ())}
        for topic, grades in judged.items()
    }
    lines = "".join(f"{topic} {docno}\n" for topic, docnos in left_out.items() for docno in docnos)
    assert scored(folder, judged, rankings, lines) == scored(folder, fewer, by_hand)


@given(rankings=st.dictionaries(st.sampled_from("12"), st.permutations("abcdef"), min_size=1))
def test_documents_that_no_run_has_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, rankings: dict[str, list[str]]
) -> None:
    """Leaving out what is in no ranking and not judged gives the same scores, to the last bit."""
    folder = tmp_path_factory.mktemp("nothing")
    judged = {topic: {"b": 1, "d": 2, "f": 0} for topic in "12"}
    assert scored(folder, judged, rankings, "1 x\n2 y\n1 z\n") == scored(folder, judged, rankings)


def test_none_is_left_out_where_bright_says_so(tmp_path: Path) -> None:
    """N/A is no document, in lines and in BRIGHT's JSON."""
    judged, rankings = {"1": {"b": 1}}, {"1": ["a", "b"]}
    for text in ("1 N/A\n", '{"id": "1", "excluded_ids": ["N/A"]}\n'):
        assert read_left_out([written(tmp_path, text)]).by_topic == {"1": frozenset()}
        assert scored(tmp_path, judged, rankings, text) == scored(tmp_path, judged, rankings)
    text = '{"id": 1, "query": "q", "excluded_ids": ["a", "x"]}\n'
    assert scored(tmp_path, judged, rankings, text, ("RR",)) == {"RR": [1.0]}


def test_a_relevant_document_is_never_left_out(tmp_path: Path) -> None:
    """It is an error that names topic and document; one judged not relevant leaves the ideal ranking."""
    with pytest.raises(Invalid, match=r"'b'.*topic 1 and judged relevant"):
        scored(tmp_path, {"1": {"b": 1}}, {"1": ["a", "b"]}, "1 b\n")
    judged = Qrels({"1": {b"a": 0, b"b": 1}}, "graded")
    assert without(judged, LeftOut({"1": frozenset({b"a"})})).judgments == {"1": {b"b": 1}}


def test_a_residual_round_leaves_out_all_that_was_judged(tmp_path: Path) -> None:
    """Whatever the grade, under the docnos of today; a topic without a relevant document is listed."""
    earlier = written(tmp_path, "1 1 a 2\n1 1 old 0\n2 1 c 0\n", "round1.txt")
    changed = written(tmp_path, "old older\nolder new\n", "changed.txt")
    inputs = Inputs(
        build.qrels_file(tmp_path, {"1": {"d": 1}, "2": {"e": 0}}),
        left_out=(earlier,),
        changed_docnos=changed,
    )
    scorer = Scorer(inputs, Options(("RR",)))
    run = build.run_file(tmp_path, {"1": ["a", "new", "d"], "2": ["c", "e"]})
    assert [scores.tolist() for scores in scorer.scores(run).scores.values()] == [[1.0, 0.0]]
    assert scorer.left_out_notes() == [
        "residual, 3 documents left out.",
        "No document is relevant to these topics, which score 0: 2.",
    ]


def test_a_topic_whose_judgments_are_all_left_out_scores_0(tmp_path: Path) -> None:
    """It still counts in the mean."""
    judged = {"1": {"b": 1}, "2": {"a": 0}}
    scores = scored(tmp_path, judged, {"1": ["b"], "2": ["a", "c"]}, "2 a\n")
    assert {key: values[1] for key, values in scores.items()} == dict.fromkeys(scores, 0.0) | {"NumRet": 1.0}


def test_a_run_that_has_nothing_else_is_refused(tmp_path: Path) -> None:
    """As one without a judged topic."""
    with pytest.raises(Invalid, match="no topic that"):
        scored(tmp_path, {"1": {"b": 1}}, {"1": ["a"]}, "1 a\n")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1 a b\n", "line 1.*topic docno"),
        ("1 a\n1 0 b 1\n", "line 2.*All lines must be"),
        ('{"id": "1"}\n', "line 1.*excluded_ids"),
        ("# nothing\n", "no lines"),
        ("9 a\n", "topics that are not judged"),
        ("1 \xff\x01\n", "control character"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_with_the_line(tmp_path: Path, text: str, match: str) -> None:
    """Line, rule and what was found."""
    with pytest.raises(Invalid, match=match):
        scored(tmp_path, {"1": {"b": 1}}, {"1": ["a"]}, text)


def test_changes_of_docnos_lead_to_one_end(tmp_path: Path) -> None:
    """A circle and two ends are refused; a document that kept its docno may be listed."""
    assert read_renamed(written(tmp_path, "a b\nb c\nd d\n")) == {b"a": b"c", b"b": b"c", b"d": b"d"}
    with pytest.raises(Invalid, match="cycle"):
        read_renamed(written(tmp_path, "a b\nb a\n"))
    with pytest.raises(Invalid, match="line 2.*two different"):
        read_renamed(written(tmp_path, "a b\na c\n"))
    with pytest.raises(Invalid, match="line 1.*old docno"):
        read_renamed(written(tmp_path, "a\n"))

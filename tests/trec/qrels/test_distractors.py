"""Documents known not to be relevant to any topic count as if every topic judged them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leaderboard.errors import Invalid
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged
from leaderboard.measures.selection import select
from leaderboard.trec.qrels.align import (
    CompiledJudgments,
    align,
    compile_judgments,
    read_distractors,
    with_distractors,
)
from leaderboard.trec.qrels.compiling import compile_qrels
from leaderboard.trec.qrels.packed import pack_distractors, pack_hits, unpack_distractors, unpack_hits
from leaderboard.trec.qrels.preferences import PreferenceJudgments
from leaderboard.trec.qrels.qrels import Qrels
from leaderboard.trec.read import kernel
from leaderboard.trec.runs.runs import Ranking

NEEDS = ("subtopics", "preferences", "collection size")
MORE = ("nDCG(gains={0:0.5})@5", "nDCG(gains={0:0.5,1:2})", "DCG@3")


def _measures() -> list[str]:
    """Every measure of the registry that needs no text, with parameters that make grade 0 count too."""
    chosen = [bound.key for bound in select(["all"], 10, list(NEEDS), 3)]
    return [*dict.fromkeys([*chosen, *(parse(key).key for key in MORE)])]


MEASURES = _measures()


def _world(seed: int) -> tuple[Qrels, PreferenceJudgments, set[bytes], list[Ranking]]:
    """Random judgments of subtopics and preferences, distractors, and a run with ties."""
    draw = np.random.default_rng(seed)
    docnos = [f"d{number}".encode() for number in range(30)]
    subtopics: dict[str, dict[str, dict[bytes, int]]] = {}
    pairs = {}
    rankings = []
    for topic in ("1", "2", "3", "4"):
        judged = draw.choice(18, size=int(draw.integers(3, 12)), replace=False)
        subtopics[topic] = {
            part: {docnos[document]: int(draw.integers(-1, 4)) for document in judged if draw.random() < 0.7}
            for part in ("1", "2")
        }
        first, second = docnos[judged[0]], docnos[judged[1]]
        pairs[topic] = {"": {(first, second): 2.0, (docnos[29], second): 1.0}}
        listed = draw.permutation(30)[: int(draw.integers(5, 28))]
        scores = np.sort(draw.integers(0, 15, size=len(listed)).astype(float))[::-1]
        rankings.append(Ranking(topic, np.array([docnos[document] for document in listed], "S3"), scores))
    judgments = {
        topic: {
            docno: max(part.get(docno, -9) for part in parts.values())
            for docno in set().union(*parts.values())
        }
        for topic, parts in subtopics.items()
    }
    distractors = {docnos[document] for document in draw.choice(np.arange(14, 30), size=8, replace=False)}
    spoken = {docno for grades in judgments.values() for docno, grade in grades.items() if grade > 0}
    return (
        Qrels(judgments, "subtopic", subtopics=subtopics),
        PreferenceJudgments(pairs),
        distractors - spoken,
        rankings,
    )


def _expanded(qrels: Qrels, distractors: set[bytes]) -> Qrels:
    """The same with a row of grade 0 for every distractor and topic that has no judgment of it."""
    judgments = {
        topic: {**dict.fromkeys(distractors, 0), **grades} for topic, grades in qrels.judgments.items()
    }
    return Qrels(judgments, "subtopic", subtopics=qrels.subtopics)


def _sized(compiled: CompiledJudgments) -> CompiledJudgments:
    return replace(compiled, judgments=replace(compiled.judgments, collection_size=500))


def _both(seed: int, dialect: int, depth: int | None = None) -> tuple[Judged, Judged]:
    """A run under judgments with distractors, and under the same written out."""
    qrels, preferences, distractors, run = _world(seed)
    named = {
        topic: {docno for pairs in judges.values() for pair in pairs for docno in pair}
        for topic, judges in preferences.pairs.items()
    }
    for topic, grades in qrels.judgments.items():
        grades.update({docno: 0 for docno in named[topic] & distractors if docno not in grades})
    plain = with_distractors(_sized(compile_qrels(qrels, preferences)), distractors)
    whole = _sized(compile_qrels(_expanded(qrels, distractors), preferences))
    return align(run, plain, dialect=dialect, depth=depth), align(run, whole, dialect=dialect, depth=depth)


@pytest.mark.parametrize("dialect", [9, 10])
@pytest.mark.parametrize("seed", range(6))
def test_every_measure_is_the_same_bit_for_bit_as_with_the_judgments_written_out(
    seed: int, dialect: int
) -> None:
    """One document that stands for all distractors changes no score of any measure of the registry."""
    ours, written = _both(seed, dialect)
    for key in MEASURES:
        bound = parse(key)
        assert bound.compute(ours).tobytes() == bound.compute(written).tobytes(), key
        parts, others = bound.parts(ours), bound.parts(written)
        assert (parts is None) == (others is None)
        if parts is not None and others is not None:
            assert parts.tobytes() == others.tobytes(), key


def test_the_measures_are_really_moved_by_distractors() -> None:
    """Counting them as judged changes bpref, Judged and the condensed list."""
    qrels, preferences, distractors, run = _world(1)
    compiled = _sized(compile_qrels(qrels, preferences))
    without = align(run, compiled, dialect=10)
    ours = align(run, with_distractors(compiled, distractors), dialect=10)
    for key in ("Judged@10", "Bpref", "Judged@20"):
        assert parse(key).compute(ours).tolist() != parse(key).compute(without).tolist(), key
    assert ours.condensed.retrieved.sum() > without.condensed.retrieved.sum()


def test_a_depth_cuts_distractors_like_other_documents() -> None:
    """Below the depth a distractor is not a hit."""
    ours, written = _both(3, 10, depth=4)
    for part in ("topic", "rank", "grade", "retrieved"):
        assert getattr(ours, part).tolist() == getattr(written, part).tolist(), part


def test_hits_on_distractors_are_packed_and_come_back() -> None:
    """Several ranks may have the one document that stands for all distractors."""
    ours, _ = _both(2, 10)
    back = unpack_hits(pack_hits(ours), ours.judgments, 10)
    for part in ("topic", "rank", "document", "retrieved"):
        assert getattr(back, part).tolist() == getattr(ours, part).tolist(), part


def test_it_is_the_same_without_the_c_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy alone finds the same distractors."""
    ours, _ = _both(4, 10)
    monkeypatch.setattr(kernel, "native", None)
    plain, _ = _both(4, 10)
    for part in ("topic", "rank", "document", "retrieved"):
        assert getattr(ours, part).tolist() == getattr(plain, part).tolist(), part


def test_a_topic_s_own_judgment_goes_first() -> None:
    """What one topic says of a document is not changed by what is said for all topics."""
    compiled = with_distractors(compile_judgments({"1": {b"a": -1, b"b": 1}}), {b"a", b"c"})
    run = [Ranking("1", np.array([b"a", b"c", b"b"], "S1"), np.array([3.0, 2.0, 1.0]))]
    judged = align(run, compiled, dialect=10)
    assert judged.grade.tolist() == [-1, 0, 1]
    assert judged.judgments.listed(0) == (1, 3)
    assert judged.judgments.nonrelevant(1).tolist() == [1]


def test_no_distractors_change_nothing() -> None:
    """An empty set leaves the judgments as they are."""
    compiled = compile_judgments({"1": {b"a": 1}})
    assert with_distractors(compiled, []) is compiled
    assert pack_distractors([]) is None
    assert unpack_distractors(None) == ()


def test_a_list_is_one_docno_a_line(tmp_path: Path) -> None:
    """Comments, blank lines and repetitions are passed over; a line with more is a problem."""
    path = tmp_path / "distractors.txt"
    path.write_text("# known\nb\n\na\nb\n")
    assert read_distractors(path) == {b"a", b"b"}
    path.write_text("a\n1 0 b 0\n")
    with pytest.raises(Invalid) as caught:
        read_distractors(path)
    assert caught.value.problems[0].line == 2
    path.write_text("\n")
    with pytest.raises(Invalid):
        read_distractors(path)

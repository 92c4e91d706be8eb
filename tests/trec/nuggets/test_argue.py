"""Auto-ARGUE's judgments: sentences, citations, answered questions."""

import json
from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.measures.answers.judged import JudgedSentence
from leaderboard.trec.nuggets.judgments import AnswerJudgments
from leaderboard.trec.nuggets.sets import Nugget, NuggetAnswer, is_counted, read_argued
from leaderboard.trec.nuggets.writing import lines_of
from tests.make.answers import jsonl
from tests.trec.nuggets.argued import answers, argued, attested, judgment, relevant, sentence

OR = Nugget("Why blue?", answers=(NuggetAnswer("scattering"), NuggetAnswer("air")))
AND = Nugget("Why blue?", answers=OR.answers, aggregator="AND")


def test_sentences_and_citations(tmp_path: Path) -> None:
    """A citation without a judgment does not bear out; what was matched is of the whole answer."""
    line = argued(
        "7",
        sentence("A.", "d4 d9", attested("d4"), attested("d9", False), relevant("d4"), relevant("d9")),
        sentence("B.", "d4", attested("d4"), answers("Why blue?", "scattering")),
        sentence("C.", "d1"),
        sentence("D.", "", judgment("X", requires_citation=True), judgment("Y", is_first_instance=True)),
        sentence("E.", "", judgment("X", requires_citation=True), judgment("Y", is_first_instance=False)),
    )
    found = read_argued(jsonl(tmp_path / "argue.jsonl", [line]))
    assert found.cells["one", "7"].sentences == (
        JudgedSentence(2, 1, 2),
        JudgedSentence(1, 1, 0),
        JudgedSentence(1, 0, 0),
        JudgedSentence(0, 0, 0, True),
        JudgedSentence(0, 0, 0, False),
    )
    assert found.notes == ()


@pytest.mark.parametrize(
    ("given", "by_or", "by_and"),
    [
        ([], "not_support", "not_support"),
        (["scattering"], "support", "not_support"),
        (["scattering", "air"], "support", "support"),
    ],
)
def test_one_answer_suffices_or_all_are_needed(
    tmp_path: Path, given: list[str], by_or: str, by_and: str
) -> None:
    """Answers may come from several sentences."""
    lines = [argued("7", *(sentence("A.", "d4", answers("Why blue?", one)) for one in given))]
    found = read_argued(jsonl(tmp_path / "argue.jsonl", lines)).cells["one", "7"]
    assert (found.label(OR), found.label(AND)) == (by_or, by_and)


def test_judgments_of_other_types_are_passed_over_and_said_where_they_may_matter(tmp_path: Path) -> None:
    """Of a sentence that cites nothing they may say that it had to."""
    line = argued(
        "7",
        sentence("A.", "d4", judgment("ELSE", "d4", is_good=True)),
        sentence("B.", "", judgment("NEEDS_SOURCE", answer=True)),
    )
    found = read_argued(jsonl(tmp_path / "argue.jsonl", [line]))
    assert [note.rule for note in found.notes] == [
        "Judgments of sentences without citations, of the type NEEDS_SOURCE, which is not known here: 1. "
        "Those sentences do not count in SentenceSupport."
    ]


def test_what_is_wrong(tmp_path: Path) -> None:
    """Keys that are missing, values of the wrong type, a cell twice."""
    good = argued("7", sentence("A.", "d4", attested("d4")))
    truth = argued("8", sentence("A.", "d4", judgment("SENTENCE_ATTESTED", "d4", is_attested="yes")))
    missing = argued("9", sentence("A.", "d4", judgment("SENTENCE_ATTESTED", is_attested=True)))
    with pytest.raises(Invalid) as caught:
        read_argued(jsonl(tmp_path / "argue.jsonl", [good, good, truth, missing, {"judgments": []}]))
    assert [str(problem) for problem in caught.value.problems] == [
        "line 2: topic '7': The run has judgments for this topic already. Keep one line.",
        "line 3: response.is_attested 'yes': response.is_attested must be true or false, not text. "
        "Write true or false there.",
        "line 4: key 'provenance': The key provenance is missing. Add it to the line.",
        "line 5: key 'report': The key report is missing. Add it to the line.",
    ]


def test_what_is_kept_can_be_read_again(tmp_path: Path) -> None:
    """The lines of a revision's file have counts, and are the same judgments; other lines stand beside."""
    first = argued(
        "7",
        sentence(
            "A.", "d4 d9", attested("d4"), attested("d9", False), relevant("d9"), answers("Why?", "a", "b")
        ),
        sentence("B.", "", judgment("NEEDS", requires_citation=True)),
    )
    found = read_argued(jsonl(tmp_path / "argue.jsonl", [first, argued("8", run="two")]))
    lines = list(lines_of(AnswerJudgments(argued=found), "argue", {"one": "one", "two": "two"}))
    again = read_argued(jsonl(tmp_path / "again.jsonl", [line.rstrip() for line in lines]))
    assert again.cells == found.cells
    assert [is_counted(json.loads(line)) for line in lines] == [True, True]
    assert len(read_argued(jsonl(tmp_path / "both.jsonl", [lines[0].rstrip(), argued("8")])).cells) == 2


def test_counts_are_those_of_a_sentence(tmp_path: Path) -> None:
    """No more citations bear a sentence out than it has; each fault with its line and remedy."""
    sound = {"citations": 1, "supporting": 1, "relevant": 0, "needs_citation": False}
    wrong = [{"supporting": 2}, {"relevant": -1}, {"citations": "1"}, {"needs_citation": 0}]
    lines = [
        {"topic_id": str(place), "run_id": "one", "sentences": [{**sound, **one}], "matched": {}}
        for place, one in enumerate(wrong)
    ]
    with pytest.raises(Invalid) as caught:
        read_argued(jsonl(tmp_path / "argue.jsonl", [*lines, {**lines[0], "matched": {"Why?": "yes"}}]))
    assert [(problem.line, problem.rule) for problem in caught.value.problems] == [
        (1, "A sentence has more supporting citations than its 1 citations in total."),
        (2, "relevant is negative."),
        (3, "citations must be a whole number, not text."),
        (4, "needs_citation must be true or false, not a whole number."),
        (5, "matched.Why? must be a list, not text."),
    ]
    assert all(problem.remedy for problem in caught.value.problems)

"""Files of answers scored: topics, missing answers, cells that nobody judged, Auto-ARGUE's sums."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from leaderboard.errors import Invalid, MissingInput, UnknownMeasure
from leaderboard.trec.nuggets.scoring import (
    AnswerScores,
    JudgmentFiles,
    Missing,
    read_judgments,
    score_answers,
)
from tests.make.answers import Line, answer, assigned, jsonl, nuggets, supported
from tests.trec.nuggets.argued import answers, argued, attested, sentence

SET = [nuggets("1", a="vital", b="okay"), nuggets("2", c="okay"), nuggets("3", d="vital"), nuggets("4")]
HELD = {"a": ("vital", "support"), "b": ("okay", "partial_support")}


def scored(
    folder: Path, run: list[Line], *names: str, missing: Missing = "mean-of-present", **files: list[Line]
) -> tuple[AnswerScores, list[str]]:
    """The scores of a run by files of these lines, and all that is said of them."""
    paths: dict[str, Any] = {name: jsonl(folder / name, lines) for name, lines in files.items()}
    judgments = read_judgments(JudgmentFiles(**paths))
    (one,), notes = score_answers(judgments, [jsonl(folder / "run.jsonl", run)], names, missing)
    return one, [note.rule for note in (*notes, *one.notes)]


def by_topic(one: AnswerScores, place: int = 0) -> dict[str, float | None]:
    """The scores by the measure in this place; None where nobody judged."""
    measure = list(one.scores)[place]
    values = one.values(measure).tolist()
    scores = [None if math.isnan(value) else value for value in values]
    return dict(zip(one.topics[measure], scores, strict=True))


def mean(one: AnswerScores, place: int = 0) -> float | None:
    """The one number of the measure in this place."""
    return one.aggregate(list(one.scores)[place])


RUN = [answer("1", ("Air.", ["d4"])), answer("2", ("Rain.", [])), answer("9", ("More.", []))]


def test_missing_answers_are_0_and_missing_judgments_are_not(tmp_path: Path) -> None:
    """Topic 2 was answered and not judged, 3 has no answer, 4 no nuggets, 9 is none of the set."""
    one, notes = scored(tmp_path, RUN, "A", nuggets=SET, assignments=[assigned("1", HELD)])
    assert by_topic(one) == {"1": 0.75, "2": None, "3": 0.0}
    assert mean(one) == 0.375
    assert "Run one is judged on 2 of 3 topics by NuggetRecall(set='all'); the others are left out." in notes


def test_what_is_not_judged_may_count_as_0_or_be_refused(tmp_path: Path) -> None:
    """By the word of whoever scores."""
    files = {"nuggets": SET, "assignments": [assigned("1", HELD)]}
    one, notes = scored(tmp_path, RUN, "A", missing="zero", **files)
    assert by_topic(one) == {"1": 0.75, "2": 0.0, "3": 0.0}
    assert mean(one) == 0.25
    assert "Run one is judged on 2 of 3 topics by NuggetRecall(set='all'); the others count as 0." in notes
    with pytest.raises(Invalid, match="topics that are not judged: 1.") as caught:
        scored(tmp_path, RUN, "A", missing="error", **files)
    assert [one.rule for one in caught.value.problems] == [
        "Run one is not judged on topic 2 by NuggetRecall(set='all')."
    ]


def test_an_empty_answer_has_0_without_a_judge(tmp_path: Path) -> None:
    """Nobody has to say that nothing is in it."""
    run = [answer("1"), answer("2", ("  ", []))]
    one, _ = scored(tmp_path, run, "A", "V_strict", nuggets=SET, assignments=[assigned("1", HELD, run="two")])
    assert by_topic(one) == by_topic(one, 1) == {"1": 0.0, "2": 0.0, "3": 0.0}


def test_without_vital_nuggets_v_is_0(tmp_path: Path) -> None:
    """As the nuggetizer has it; failed assignments and importances count as the measure says."""
    given = [nuggets("2", c="okay", f="failed")]
    lines = [assigned("2", {"c": ("okay", "failed"), "f": ("failed", "support")})]
    one, notes = scored(tmp_path, RUN, "V", "A", "W", nuggets=given, assignments=lines)
    assert [mean(one, place) for place in range(3)] == [0.0, 0.5, 0.5]
    assert "50.0% of all assignments failed; they count as not contained." in notes
    assert "No vital nuggets in 1 topic (2); V and V_strict are 0 there." in notes


def test_support_is_over_the_topics_that_anybody_was_judged_on(tmp_path: Path) -> None:
    """What cites nothing is 0 without a judge; what cites and has no label is not judged."""
    run = [
        answer("1", ("Air.", ["d4"]), ("So.", [])),
        answer("2", ("Rain.", [])),
        answer("3", ("Sea.", ["d9"])),
    ]
    labels = [supported("1", [2], []), supported("2", [1], run="two"), supported("3", [0], run="two")]
    one, notes = scored(tmp_path, run, "SupportP", "SupportR", support=labels)
    assert by_topic(one) == {"1": 1.0, "2": 0.0, "3": None}
    assert by_topic(one, 1) == {"1": 0.5, "2": 0.0, "3": None}
    assert "Judgments of runs that are not scored were ignored: 1 (two)." in notes
    labels[2] = supported("3", [-1])
    assert by_topic(scored(tmp_path, run, "SupportP", support=labels)[0])["3"] is None


def test_micro_values_are_quotients_of_sums(tmp_path: Path) -> None:
    """Auto-ARGUE's numbers over all topics, under its own names too."""
    answered = [{"answer": "x"}]
    bank = [
        {"query_id": "1", "nugget_bank": [{"question": "10", "answers": answered}]},
        {"query_id": "2", "nugget_bank": [{"question": f"2{n}", "answers": answered} for n in range(3)]},
    ]
    run = [answer("1", ("Air.", ["d4"])), answer("2", *(("Rain.", ["d9"]),) * 3)]
    lines = [
        argued("1", sentence("Air.", "d4", attested("d4"), answers("10", "x"))),
        argued("2", *[sentence("Rain.", "d9", attested("d9", False), answers("20", "x"))] * 3),
    ]
    names = [
        "sentence_support_macro", "sentence_support_micro", "nugget_coverage", "nugget_coverage_micro",
        "f1_macro", "f1_micro", "citation_support_micro",
    ]  # fmt: skip
    one, _ = scored(tmp_path, run, *names, nuggets=bank, argue=lines)
    coverage = 2 / 4
    assert [mean(one, place) for place in range(len(names))] == pytest.approx(
        [0.5, 0.25, (1 + 1 / 3) / 2, coverage, 0.5, 2 * 0.25 * coverage / (0.25 + coverage), 0.25]
    )
    assert list(by_topic(one, 1).values()) == [1.0, 0.0]


def test_a_topic_that_nobody_judged_weighs_in_sums_as_is_asked(tmp_path: Path) -> None:
    """Left out of both sums, or its divisor counts."""
    lines = [argued("1", sentence("Air.", "d4", attested("d4"))), argued("2", run="two")]
    run = [answer("1", ("Air.", ["d4"])), answer("2", *(("Rain.", ["d9"]),) * 3)]
    for missing, expected in (("mean-of-present", 1.0), ("zero", 0.25)):
        one, _ = scored(tmp_path, run, "SentenceSupport_micro", missing=missing, argue=lines)  # type: ignore[arg-type]
        assert mean(one) == expected


def test_other_texts_than_the_runs_are_said(tmp_path: Path) -> None:
    """Blanks aside, what was judged is what the run says."""
    lines = [assigned("1", HELD, text="Air. "), assigned("2", {"c": ("okay", "support")}, text="Snow.")]
    labels = [supported("1", [2])]
    labels[0]["sentences"][0]["text"] = "Fire."
    _, notes = scored(tmp_path, RUN, nuggets=SET, assignments=lines, support=labels)
    assert "The assignments of run one are of another text than its answers: 1 (2)." in notes
    assert "The support labels of run one are of another text than its answers: 1 (1)." in notes


def test_counts_need_no_judgments(tmp_path: Path) -> None:
    """Length, segments, citations; over the topics that were answered."""
    one, _ = scored(tmp_path, RUN)
    keys = [measure.key for measure in one.scores]
    assert keys == ["AnswerLength", "NumSegments", "NumCitations"]
    assert by_topic(one, 2) == {"1": 1.0, "2": 0.0, "9": 0.0}


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        ("V", {}, "NuggetRecall(set='vital') needs assignments"),
        ("SupportP", {"nuggets": SET}, "SupportP needs support labels (--support)"),
        ("f1", {"argue": [argued("1")]}, "ArgueF1 needs a nugget set and Auto-ARGUE's judgments"),
        ("SentenceSupport", {}, "SentenceSupport needs Auto-ARGUE's judgments (--argue)"),
    ],
)
def test_a_measure_without_its_judgments(
    tmp_path: Path, name: str, files: dict[str, list[Line]], message: str
) -> None:
    """It says which it needs."""
    with pytest.raises(MissingInput) as caught:
        scored(tmp_path, RUN, name, **files)
    assert caught.value.message.startswith(message)


def test_what_cannot_be_scored(tmp_path: Path) -> None:
    """A run twice, two kinds of labels, a measure that is not one, a file that cannot be read."""
    path = jsonl(tmp_path / "run.jsonl", RUN)
    judgments = read_judgments(JudgmentFiles())
    with pytest.raises(Invalid, match="run one is in an earlier file"):
        score_answers(judgments, [path, path], (), "zero")
    with pytest.raises(Invalid, match="give one of the two"):
        read_judgments(JudgmentFiles(assignments=path, argue=path))
    with pytest.raises(UnknownMeasure, match="did you mean V_strict"):
        score_answers(judgments, [path], ("V_strickt",), "zero")
    (tmp_path / "broken").write_text("{")
    with pytest.raises(Invalid, match="broken: The nugget set cannot be read"):
        read_judgments(JudgmentFiles(nuggets=tmp_path / "broken"))
    with pytest.raises(Invalid, match="broken: The answers cannot be read"):
        score_answers(judgments, [tmp_path / "broken"], (), "zero")
    assert json.loads(path.read_text().splitlines()[0])["metadata"]["run_id"] == "one"

"""A judge's qrels, with and without confidence."""

from collections.abc import Callable
from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.boards.judge_labels import read_judge_labels

Written = Callable[[str | bytes], Path]


def test_six_columns_have_confidence_and_run(written: Written) -> None:
    """Confidence is kept, and weighs nothing."""
    read = read_judge_labels(written("7 Q0 d1 2 0.75 oak\n7 Q0 d2 0 1 oak\n"))
    assert read.judgments == {"7": {b"d1": 2, b"d2": 0}}
    assert read.confidence == {"7": {b"d1": 0.75, b"d2": 1.0}}
    assert (read.run, read.notes) == ("oak", ())


def test_labels_are_numbers_or_true_and_false(written: Written) -> None:
    """As int(float(x)), which cuts what is behind the point: that is said."""
    read = read_judge_labels(written("# judge\n7 0 a 2.0\n7 0 b True\n7 0 c false\n7 0 d 1.9\n\n7 0 e -1\n"))
    assert read.judgments == {"7": {b"a": 2, b"b": 1, b"c": 0, b"d": 1, b"e": -1}}
    assert read.confidence == {}
    (note,) = read.notes
    assert note.line == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no judgments"),
        ("7 0 a\n", "this line has 3"),
        ("7 0 a good\n", "A label is a number"),
        ("7 0 a nan\n", "A label is a number"),
        ("7 0 a 1e99\n", "A label is a number"),
        ("7 0 a 1 high oak\n", "A confidence is a number"),
        ("7 0 a 1\n7 0 a 2\n", "already with label 1; here it has 2"),
    ],
)
def test_what_is_wrong_is_said(written: Written, text: str, said: str) -> None:
    """With the line."""
    with pytest.raises(Invalid, match=said):
        read_judge_labels(written(text))


def test_a_real_file_is_read(shared_data: Path) -> None:
    """The qrels of AutoJudge's example judge."""
    path = shared_data / "autojudge-kiddie" / "example-judge" / "qrels.txt"
    if not path.exists():
        pytest.skip(f"no sample of AutoJudge at {path}")
    read = read_judge_labels(path)
    assert len(read.judgments) == 122
    assert sum(map(len, read.judgments.values())) == 1342

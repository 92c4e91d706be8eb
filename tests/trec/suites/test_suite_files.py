"""The suite file: what it says, and what is wrong with it, all at once."""

from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.suites import read_suite, score_suite
from tests.make import suites


def test_members_in_order(tmp_path: Path) -> None:
    """With their groups, judgments beside the file, and the suite's measure where they name none."""
    head = 'baseline = "b"\nshared_topics = true\nmissing = "empty"\nmetadata = "required"'
    more = {"snapshot-3": 'measure = "RR"\nlanguage = "fr"\nleave_out = ["out.txt"]'}
    (tmp_path / "out.txt").write_text("5 x\n")
    suite = read_suite(suites.suite_file(tmp_path, head, more))
    assert suite.names == ("snapshot-1", "snapshot-2", "snapshot-3")
    assert [member.measure for member in suite.members] == ["AP", "AP", "RR"]
    assert suite.members[2].groups == {"language": "fr", "lag": "long"}
    assert suite.members[2].left_out == (tmp_path / "out.txt",)
    assert suite.members[0].qrels == tmp_path / "qrels-snapshot-1.txt"
    assert (suite.name, suite.reference, suite.baseline, suite.macro) == ("Web", "snapshot-1", "b", "lag")
    assert suite.shared_topics
    assert suite.missing_is_empty
    assert suite.metadata_is_required


@pytest.mark.parametrize(
    ("head", "more", "said"),
    [
        ('basline = "x"', "", "Did you mean baseline?"),
        ('shared_topics = "yes"', "", "must be true or false"),
        ('missing = "emty"', "", "Did you mean empty?"),
        ("", 'langauge = "fr"', "Did you mean language?"),
        ("", "leave_out = ['none.txt']", "needs a file that does not exist"),
        ("not toml", "", "is not TOML"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, head: str, more: str, said: str) -> None:
    """With what was meant."""
    with pytest.raises(Invalid) as error:
        read_suite(suites.suite_file(tmp_path, head, {"snapshot-2": more}))
    assert said in "\n".join([error.value.message, *map(str, error.value.problems)])


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """Names, judgments, measures, the reference and the groups of macro means."""
    path = tmp_path / "suite.toml"
    path.write_text(
        'reference = "thrid"\nmacro = "domain"\n'
        '[[members]]\nname = "one"\nqrels = "none.txt"\nmeasure = "AP"\n'
        '[[members]]\nname = "one"\nqrels = "suite.toml"\n[[members]]\nname = "../x"\nqrels = "suite.toml"\n'
        '[[members]]\nname = "third"\nqrels = "suite.toml"\nmeasure = "AP"\ndomain = "law"\n'
    )
    with pytest.raises(Invalid) as error:
        read_suite(path)
    said = "\n".join(map(str, error.value.problems))
    for each in (
        "'none.txt'",
        "The member has no measure",
        "letters, digits, dots",
        "Two members have this name",
        "Did you mean third?",
        "Macro means need it",
    ):
        assert each in said
    path.write_text("members = [1]\n")
    with pytest.raises(Invalid, match="a table"):
        read_suite(path)
    path.write_text('name = "x"\n')
    with pytest.raises(Invalid, match="no members"):
        read_suite(path)


def test_a_member_has_one_measure(tmp_path: Path) -> None:
    """A set of measures is several."""
    suite = read_suite(suites.suite_file(tmp_path, "", {"snapshot-2": 'measure = "official"'}))
    sent = suites.folder(tmp_path / "sent", suites.files({"snapshot-1": 1}))
    with pytest.raises(Invalid, match="one measure, not several"):
        score_suite(suite, [sent])

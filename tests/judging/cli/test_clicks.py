"""`leaderboard clicks`: a log in, its list, preferences out, and a revision made of them."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from leaderboard.trec.qrels.preferences import read_preferences
from tests.make import build

SESSIONS = [
    *[(f"Ann {place % 2}", "1", ("a", "c"), (0, 1)) for place in range(3)],
    ("Bob", "1", ("c", "a"), (0, 1)),
    ("Bob", "somewhere else", ("a", "c"), (0, 1)),
]


@pytest.fixture
def run(data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """A function that runs one command on a site with a task `t`."""
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    runner = CliRunner()

    def call(*arguments: object) -> Result:
        return runner.invoke(main, [str(argument) for argument in arguments])

    topics, qrels = build.topics_file(tmp_path), build.qrels_file(tmp_path)
    assert call("task", "create", "t", "--name", "T", "--topics", topics, "--qrels", qrels).exit_code == 0
    return call


def test_an_import_is_summed_up_and_listed(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Sessions and topics on stdout, what matched none on stderr; users nowhere."""
    done = run("clicks", "import", "t", build.click_log(tmp_path, SESSIONS))
    assert done.stdout == "Log 1 of t: 4 sessions on 1 topics.\n"
    assert "2 of 10 rows match no topic of the task" in done.stderr
    assert "2\tsomewhere else" in done.stderr
    listed = run("clicks", "list", "t").stdout.rstrip("\n").split("\t")
    assert [*listed[:3], listed[4]] == ["1", "4", "2", "clicks.csv"]
    assert "Ann" not in done.output
    assert "Bob" not in done.output


def test_preferences_are_a_file(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """By sessions, by users, both ways; what is printed reads back."""
    run("clicks", "import", "t", build.click_log(tmp_path, SESSIONS))
    assert run("clicks", "preferences", "t").stdout == ""
    assert run("clicks", "preferences", "t", "--least", 3).stdout == "1 c a 3\n"
    by_user = run(
        "clicks", "preferences", "t", "--least", 1, "--count", "users", "--keep", "both", "--log", 1
    )
    assert by_user.stdout == "1 c a 2\n1 a c 1\n"
    path = tmp_path / "preferences.txt"
    path.write_text(by_user.stdout)
    assert read_preferences(path).pairs["1"][""] == {(b"c", b"a"): 2.0, (b"a", b"c"): 1.0}


def test_preferences_are_published(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A revision with a note; without evidence none."""
    run("clicks", "import", "t", build.click_log(tmp_path, SESSIONS), "--no-user")
    refused = run("clicks", "preferences", "t", "--publish", "Clicks of May.")
    assert (refused.exit_code, "evidence" in refused.stderr) == (1, True)
    done = run("clicks", "preferences", "t", "--least", 2, "--publish", "Clicks of May.")
    assert "of t: 1 preferences from clicks." in done.stdout, done.output


def test_a_log_is_removed(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Its sessions are gone; a second time there is nothing to remove."""
    run("clicks", "import", "t", build.click_log(tmp_path, SESSIONS))
    assert run("clicks", "remove", "t", 1).exit_code == 0
    assert run("clicks", "list", "t").stdout == ""
    assert run("clicks", "remove", "t", 1).exit_code == 1


def test_a_broken_log_is_told_by_its_lines(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Line and rule on stderr, never what stands there."""
    path = tmp_path / "clicks.csv"
    path.write_text("user,query,document,rank,clicked\nAnn,1,a,first,Ann\n")
    done = run("clicks", "import", "t", path)
    assert done.exit_code == 1
    assert "line 2: The rank cannot be read." in done.stderr
    assert "Ann" not in done.output

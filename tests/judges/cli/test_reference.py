"""`leaderboard reference set`: from a file, from a task, looked at first, and refused."""

from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from leaderboard.db.engine import Database
from leaderboard.db.tables import QrelsRevision
from tests.judges import make as judging
from tests.make import build
from tests.make.loops import for_every

pytestmark = pytest.mark.trial


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A site with a task of judges and one of rankings."""
    folder, topics = tmp_path / "site", build.topics_file(tmp_path)
    made = run(folder, "task", "create", "judged", "--name", "J", "--topics", str(topics), "--kind", "judges")
    assert made.exit_code == 0, made.output
    database = Database(f"sqlite:///{folder}/leaderboard.sqlite3")
    judging.ranked(database, tmp_path)
    database.dispose()
    return folder


def run(data: Path, *words: str) -> Result:
    """The command on that site."""
    return CliRunner().invoke(main, [*words, "--data", str(data)])


def revisions(data: Path, task: str = "judged") -> list[str]:
    """The notes of a task's revisions, newest first."""
    listed = run(data, "qrels", "list", task).output
    return [line.split("\t")[-1] for line in listed.splitlines()]


def test_a_file_then_the_board_of_a_task(data: Path, tmp_path: Path) -> None:
    """Each is a revision; a look at it first leaves nothing."""
    board = judging.board_file(tmp_path, judging.REFERENCE)
    declared = tmp_path / "declared.csv"
    declared.write_text(judging.FACTS)
    given = ("reference", "set", "judged", "--file", str(board), "--declared", str(declared))
    looked = run(data, *given, "--preview")
    assert looked.exit_code == 0, looked.output
    assert "5 runs on 3 topics by M, board.txt" in looked.output
    assert revisions(data) == []
    # Both files may be in one archive.
    with ZipFile(tmp_path / "both.zip", "w") as archive:
        archive.write(board, board.name)
        archive.write(declared, declared.name)
    zipped = run(data, "reference", "set", "judged", "--file", str(tmp_path / "both.zip"), "--preview")
    assert (zipped.exit_code, zipped.stderr) == (0, looked.stderr)
    made = run(data, *given, "--note", "A file.", "--yes")
    assert made.exit_code == 0, made.output
    # Boards of judges are no trec_eval's.
    shown = run(data, "board", "judged").output
    assert "qrels revision 1" in shown
    assert "trec_eval" not in shown
    assert "Reference 1 of judged: 5 runs on 3 topics." in made.output
    again = run(data, "reference", "set", "judged", "--task", "t", "--measure", "nDCG@10", "--note", "Ours.")
    assert again.exit_code == 0, again.output
    assert "Reference 2 of judged: 4 runs on 3 topics." in again.output
    assert revisions(data) == ["Ours.", "A file."]


def test_what_is_odd_in_a_file_is_said_before_it_is_chosen(data: Path, tmp_path: Path) -> None:
    """Also where the draft was stored meanwhile."""
    board = judging.board_file(tmp_path, judging.REFERENCE)
    board.write_text(board.read_text() + "F 1 M 0.5\nF 2 M 0.5\nF 3 M 0.5\nF all M 0.9\n")
    looked = run(data, "reference", "set", "judged", "--file", str(board), "--preview")
    assert "warning: M of run F over all topics is given as 0.9" in looked.stderr, looked.output


@for_every(
    "case",
    [
        (("--note", "x"), "Name either a task (--task) or a board file (--file)."),
        (("--task", "t", "--machine", "--note", "x"), "--declared and --machine apply only to a board file"),
        (("--task", "t"), "Missing option '--note'."),
        (("--task", "nothing", "--note", "x"), "There is no task 'nothing'."),
        (("--task", "t", "--measure", "RR", "--note", "x"), "The board has no measure RR"),
    ],
)
def test_what_is_refused_changes_nothing(data: Path, case: tuple[tuple[str, ...], str]) -> None:
    """The message says what to give."""
    words, said = case
    refused = run(data, "reference", "set", "judged", *words)
    assert refused.exit_code != 0
    assert said in refused.output
    database = Database(f"sqlite:///{data}/leaderboard.sqlite3")
    with database.read() as session:
        assert session.query(QrelsRevision).count() == 1
    database.dispose()

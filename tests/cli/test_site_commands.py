"""Commands on a site's database: tasks, runs, judgments, boards from the terminal."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from tests.make import build, pictures

GOOD = {"1": ["a", "c", "x"], "2": ["d", "a"], "3": ["x", "e", "f"]}
WORSE = {"1": ["x", "c"], "2": ["a"], "3": ["x"]}


@pytest.fixture
def run(data_folder: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """A function that runs one command on a site of the test's own."""
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    runner = CliRunner()

    def call(*arguments: object) -> Result:
        return runner.invoke(main, [str(argument) for argument in arguments])

    return call


@pytest.fixture
def task(run, tmp_path: Path):  # type: ignore[no-untyped-def]
    """A published task `t` with judgments."""
    made = run(
        "task",
        "create",
        "t",
        "--name",
        "A task",
        "--topics",
        build.topics_file(tmp_path),
        "--qrels",
        build.qrels_file(tmp_path),
        "-m",
        "AP",
        "-m",
        "P@2",
    )
    assert made.exit_code == 0, made.output
    return run


def test_a_new_task_is_summed_up(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Counts and grades are printed, and the task is listed."""
    listed = task("task", "list")
    assert "t\tA task\topen\tpublished\t3 topics\t0 runs" in listed.output


def test_mismatches_between_topics_and_qrels_are_printed(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Ids on one side only are named when a task is made."""
    qrels = build.qrels_file(tmp_path, {"1": {"a": 1}, "77": {"b": 1}})
    made = run(
        "task", "create", "t", "--name", "T", "--topics", build.topics_file(tmp_path), "--qrels", qrels
    )
    assert "Topics without judgments: 2 (2, 3)." in made.output
    assert "Judged ids that are not topics: 1 (77)." in made.output


def test_a_bad_file_does_not_stop_the_others_and_the_exit_code_says_so(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Of three files the broken one is rejected with its lines, the others are added; the exit code is 1."""
    files = [
        build.run_file(tmp_path, GOOD, "good"),
        build.run_file(tmp_path, {"1": ["a", "a"]}, "broken"),
        build.run_file(tmp_path, WORSE, "worse"),
    ]
    added = task("run", "add", "t", *files, "--team", "Lab")
    assert added.exit_code == 1
    assert "as good (run 1)" in added.output
    assert "as worse (run 2)" in added.output
    assert "rejected" in added.stderr
    assert "line 2" in added.stderr


def test_runs_can_be_named_by_their_tag(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """With --name-from tag the sixth column names the run."""
    path = build.run_file(tmp_path, GOOD, "the-tag").rename(tmp_path / "some-file.txt")
    added = task("run", "add", "t", path, "--team", "Lab", "--name-from", "tag")
    assert "as the-tag" in added.output


def test_runs_are_added_by_a_list_or_by_folders(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A folder of files, and a list or their folders that say whose they are; one of them is needed."""
    for team, name, rankings in (("Owls", "good", GOOD), ("Bears", "worse", WORSE)):
        folder = tmp_path / "runs" / team
        folder.mkdir(parents=True)
        build.run_file(folder, rankings, name)
    rows = tmp_path / "runs.csv"
    rows.write_text("run,team,kind\ngood,Lynxes,baseline\n")
    listed = task("run", "add", "t", tmp_path / "runs", "--list", rows)
    assert listed.exit_code == 1
    assert "accepted  runs/Owls/good.txt as good (run 1)" in listed.output
    assert "rejected  runs/Bears/worse.txt: The list contains neither" in listed.output
    added = task("run", "add", "t", tmp_path / "runs" / "Bears", "--by-folder")
    assert "as worse (run 2)" in added.output
    assert "Lynxes" in task("board", "t").output
    assert task("run", "add", "t", rows).exit_code == 2


def test_the_board_is_printed_as_table_json_and_csv(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The same scores in three forms, at full precision in two of them."""
    task("run", "add", "t", build.run_file(tmp_path, GOOD, "good"), "--team", "Lab")
    task("run", "add", "t", build.run_file(tmp_path, WORSE, "worse"), "--team", "Lab", "--kind", "baseline")
    assert "2 jobs done." in task("worker", "--once").output
    table = task("board", "t").output
    assert "by AP, qrels revision 1 (human judgments), 3 topics, as trec_eval 10." in table
    assert "Highest mean AP: good (0.8611). It is the only ranked run" in table
    assert "1  good   Lab   0.8611  0.6667" in table
    data = json.loads(task("board", "t", "--format", "json").output)
    assert data["rows"][0]["scores"]["AP"] == (1 + 1 + (1 / 2 + 2 / 3) / 2) / 3
    assert [row["rank"] for row in data["rows"]] == [1, None]
    rows = list(csv.reader(io.StringIO(task("board", "t", "--measure", "P@2", "--format", "csv").output)))
    assert rows[0][:8] == ["rank", "run", "run_id", "team", "kind", "AP", "P@2", "state"]
    assert float(rows[1][6]) == data["rows"][0]["scores"]["P@2"]


def test_no_spreadsheet_runs_a_team_s_name_in_a_board(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The board that is printed as CSV quotes formulas as the site's files do."""
    task("run", "add", "t", build.run_file(tmp_path, GOOD, "good"), "--team", "＝cmd")
    rows = list(csv.reader(io.StringIO(task("board", "t", "--format", "csv").output)))
    assert rows[1][3] == "'＝cmd"


def test_a_revision_is_added_and_scored(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """`qrels add` says what changed, and the board follows once every run is scored."""
    task("run", "add", "t", build.run_file(tmp_path, GOOD, "good"), "--team", "Lab")
    task("worker", "--once")
    added = task("qrels", "add", "t", build.qrels_file(tmp_path, {"1": {"a": 1}}, "v2"), "--note", "less")
    assert "Revision 2 of t: 1 judgments on 1 topics (0 added, 1 changed, 6 removed)." in added.output
    assert "qrels revision 1" in task("board", "t").output
    task("worker", "--once")
    table = task("board", "t").output
    assert "qrels revision 2" in table
    assert [line.split()[-1] for line in table.splitlines()[-2:]] == ["1", "="]
    assert "since edition 1" in table


def test_an_account_can_be_made_organiser_of_a_task(task) -> None:  # type: ignore[no-untyped-def]
    """A task made from the command line gets an organiser for the browser; unknown names are said."""
    task("account", "create", "Ada")
    assert task("task", "organiser", "t", "ada").output == "ada organises t.\n"
    assert "There is no account 'Bob'." in task("task", "organiser", "t", "Bob").stderr


def test_the_only_organiser_account_organises_what_was_made_by_command(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Made before or after the account, by default or by name; readers and coordinators are named too."""
    assert "organiser\t" not in task("task", "show", "t").output
    task("account", "create", "Ada", "--organiser")
    assert "organiser\tAda" in task("task", "show", "t").output
    create = ("task", "create", "--name", "N", "--topics", build.topics_file(tmp_path), "--draft")
    assert "Organised in the browser by: Ada." in task(*create, "second").output
    task("account", "create", "Bob", "--organiser")
    assert "No account organises it in the browser yet" in task(*create, "third").output
    assert "Organised in the browser by: Bob." in task(*create, "fourth", "--organiser", "bob").output
    assert task("task", "organiser", "t", "bob", "--role", "reader").output == "bob reads t.\n"


def test_every_setting_is_changed_and_shown_by_command(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """`task set` takes texts and files, all or nothing; `task show` prints what the page shows."""
    text = tmp_path / "agreement.md"
    text.write_text("Be fair.")
    changed = task(
        "task", "set", "t", "name=A new name", f"agreement=@{text}", "final_runs=2", "--reason", "why"
    )
    assert changed.output == "t: name, final_runs, agreement changed.\n"
    assert task("task", "set", "t", "final_runs=2").output == "Nothing was changed.\n"
    shown = task("task", "show", "t").output
    assert "name\tA new name" in shown
    assert "agreement\t'Be fair.'" in shown
    refused = task("task", "set", "t", "nme=x", "depth=0", "licence=CC0")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "is not a setting" in refused.stderr
    assert "licence\tCC0" not in task("task", "show", "t").output
    assert "KEY=VALUE" in task("task", "set", "t", "name").stderr
    assert "There is no file" in task("task", "set", "t", "name=@nowhere").stderr


def test_a_logo_is_set_described_and_removed_by_command(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """With a text; a file or a text alone changes what is there; what is no picture is a sentence."""
    logo = pictures.file(tmp_path, pictures.saved(pictures.flag(), "PNG"))
    made = task("task", "logo", "t", logo, "--alt", "A flag")
    assert made.output == "t has a logo of 128 x 128 pixels: A flag\n"
    assert task("task", "logo", "t", "--alt", "The flag").output.endswith(": The flag\n")
    for arguments, code, said in (
        ((logo,), 1, "must have 1 to 200 characters"),
        ((build.topics_file(tmp_path), "--alt", "Topics"), 1, "is not a PNG"),
        ((), 2, "Give FILE"),
        (("--remove", "--alt", "A flag"), 2, "Give FILE"),
    ):
        refused = task("task", "logo", "t", *arguments)
        assert (refused.exit_code, said in refused.output) == (code, True), refused.output
    assert task("task", "logo", "t", "--remove").output == "t no longer has a logo.\n"
    assert task("task", "logo", "t", "--remove").exit_code == 1


def test_a_task_is_cloned_archived_and_discarded_by_command(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """What becomes of a task is the same as in the browser; a draft is deleted after a question only."""
    assert "next is a draft cloned from t" in task("task", "clone", "t", "next", "--revision", "none").output
    assert (
        task("task", "topics", "next", build.topics_file(tmp_path, ("7", "8"))).output
        == "Tab-separated columns: id=column1, title=column2.\nnext has 2 topics.\n"
    )
    corrected = task("task", "topic", "next", "7", "--title", "Sea snakes", "--narrative", "In the sea.")
    assert corrected.output == "Topic 7 of next is corrected.\n"
    task("task", "topic", "next", "7", "--title", "Snakes")
    recorded = task("audit", "list", "--action", "task.change").output
    assert [recorded.count(f"{part} of topic 7") for part in ("title", "description", "narrative")] == [
        2,
        0,
        1,
    ]
    assert "Give at least one setting" in task("task", "topic", "next", "7").stderr
    assert "has no topic '9'" in task("task", "topic", "next", "9", "--title", "x").stderr
    assert task("task", "publish", "next").output == "next is published.\n"
    assert task("task", "unpublish", "next").output == "next is a draft.\n"
    assert task("task", "discard", "next").exit_code == 1
    assert task("task", "discard", "next", "--yes").output == "next was deleted.\n"
    task("task", "archive", "t")
    sent = task("run", "add", "t", build.run_file(tmp_path, GOOD), "--team", "Lab")
    assert "is archived and accepts no runs" in sent.stderr
    assert task("task", "archive", "t", "--back").output == "t is back.\n"


def test_a_kind_of_task_presets_what_is_shown(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """`--kind` is the choice at the top of the form."""
    topics = build.topics_file(tmp_path)
    run("task", "create", "t", "--name", "T", "--topics", topics, "--kind", "hidden")
    shown = run("task", "show", "t").output
    assert "visibility\tblind" in shown
    assert "final_runs\t2" in shown


def test_dates_open_and_close_a_task(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A task says its dates, and refuses to close before it opens."""
    result = task("task", "dates", "t", "--closes", "2020-01-31T12:00:00")
    assert result.output == "t accepts runs from no limit until 2020-01-31 12:00 UTC.\n"
    wrong = task("task", "dates", "t", "--opens", "2020-02-01", "--closes", "2020-01-31")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert "close before it opens" in wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("board", "nothing"), "There is no task 'nothing'."),
        (("board", "t", "--measure", "nDCG@0"), "from 1 to"),
        (("board", "t", "--measure", "Rprec"), "is not on this board"),
        (("collection", "add", "c", "--link", "example.org"), "must start with http"),
        (("account", "create", " "), "name"),
    ],
)
def test_mistakes_end_in_a_sentence_and_exit_code_1(task, arguments: tuple[str, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    """No traceback: stderr says what is wrong, stdout stays empty."""
    result = task(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr


def test_an_account_is_made_with_a_link(run) -> None:  # type: ignore[no-untyped-def]
    """`account create` prints a one-time sign-in link."""
    result = run("account", "create", "Ada", "--organiser")
    assert "Account 'Ada' created as an organiser." in result.output
    assert "http://127.0.0.1:8000/sign-in/" in result.output


def test_a_lost_link_or_password_is_mended(run) -> None:  # type: ignore[no-untyped-def]
    """`account link` makes a fresh link, `account password` asks for a new password and checks its rules."""
    run("account", "create", "Ada")
    assert "/sign-in/" in run("account", "link", "ada").output
    assert "There is no account 'Bob'." in run("account", "link", "Bob").stderr
    words = "rivers and seven hills"
    changed = CliRunner().invoke(main, ["account", "password", "Ada"], input=f"{words}\n{words}\n")
    assert "The password of Ada was changed." in changed.output
    short = CliRunner().invoke(main, ["account", "password", "Ada"], input="short\nshort\n")
    assert short.exit_code == 1


def test_an_account_is_closed_opened_and_signed_out(run) -> None:  # type: ignore[no-untyped-def]
    """`account close`, `reopen` and `sign-out` say what they did; sign-out asks whom."""
    run("account", "create", "Ada")
    assert "The account of Ada is closed." in run("account", "close", "Ada").output
    assert "is open again" in run("account", "reopen", "Ada").output
    assert "Ada is signed out everywhere." in run("account", "sign-out", "Ada").output
    assert "0 sessions ended." in run("account", "sign-out", "--everybody").output
    assert "Give an account name or --everybody." in run("account", "sign-out").stderr
    assert "There is no account 'Bob'." in run("account", "close", "Bob").stderr


def test_teams_are_merged(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """`account merge-teams` gives the runs of one to the other; a name that no team has is named."""
    for name in ("Owls", "Bears"):
        task("run", "add", "t", build.run_file(tmp_path, GOOD, name), "--team", name)
    assert "There is no team named Cats." in task("account", "merge-teams", "Cats", "Owls").stderr
    assert "bears is now merged into Owls." in task("account", "merge-teams", "bears", "Owls").output
    assert "There is no team named Bears." in task("account", "merge-teams", "Bears", "Owls").stderr
    assert json.loads(task("board", "t", "--format", "json").stdout)["rows"][1]["team"] == "Owls"


def test_a_collection_with_documents_is_stored(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Documents are counted and listed."""
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id": "a", "title": "A", "text": "one"}\n{"_id": "b", "title": "B", "text": "two"}\n')
    added = run("collection", "add", "c", "--documents", path, "--link", "https://example.org/{docno}")
    assert "Collection 'c': 2 documents stored, size 2." in added.output
    assert run("collection", "list").output == "c\t2\t2\thttps://example.org/{docno}\n"


def test_the_board_compares_as_its_organisers_chose(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """`task comparison` changes the sentence above the board; what is none is refused, with the choices."""
    for name, rankings in (("good", GOOD), ("worse", WORSE)):
        task("run", "add", "t", build.run_file(tmp_path, rankings, name), "--team", f"Lab {name}")
    task("worker", "--once")
    assert "(paired t, Holm)" in task("board", "t").output
    output = task("task", "comparison", "t", "t+bonferroni").output
    assert "t compares runs by: paired t, Bonferroni." in output
    assert "(paired t, Bonferroni)" in task("board", "t").output
    refused = task("task", "comparison", "t", "luck")
    assert (refused.exit_code, "must be one of t+holm" in refused.stderr) == (1, True)


def test_a_team_is_known_by_its_primary_run(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """`board --one-per-team` shows the best run of a team until it declares another."""
    for name, rankings in (("good", GOOD), ("worse", WORSE)):
        task("run", "add", "t", build.run_file(tmp_path, rankings, name), "--team", "Lab")
    task("worker", "--once")
    assert "worse" not in task("board", "t", "--one-per-team").output
    rows = json.loads(task("board", "t", "--format", "json").output)["rows"]
    (worse,) = [row["run_id"] for row in rows if row["run"] == "worse"]
    task("run", "primary", str(worse))
    shown = task("board", "t", "--one-per-team", "--format", "csv").output
    assert "worse" in shown
    assert "good" not in shown
    task("run", "primary", str(worse), "--undo")
    assert "worse" not in task("board", "t", "--one-per-team").output
    assert task("run", "withdraw", str(worse), "--why", "wrong index").output == ""
    assert "worse" not in task("board", "t").output
    task("run", "restore", str(worse))
    assert "worse" in task("board", "t").output


def test_teams_go_by_pseudonyms_and_groups_have_boards(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """`task pseudonyms` prints the map, `task group` what may be said; neither hides a mistake."""
    for name, rankings in (("good", GOOD), ("worse", WORSE)):
        task("run", "add", "t", build.run_file(tmp_path, rankings, name), "--team", f"Lab {name}")
    task("worker", "--once")
    refused = task("task", "pseudonyms", "t")
    assert (refused.exit_code, "Readers may have seen" in refused.stderr) == (1, True)
    rows = [line.split("\t") for line in task("task", "pseudonyms", "t", "--sure").output.splitlines()]
    assert {team for _, team in rows} == {"Lab good", "Lab worse"}
    assert "Lab good\n" in task("task", "pseudonyms", "t", "--show-names").output
    late = task("task", "group", "t", "ours", "--team", "Lab good").output
    assert late == "ours: 1 teams, declared after the first score: no verdicts.\n"
    assert "worse" not in task("board", "t", "--group", "ours").output
    assert "is not a team of t" in task("task", "group", "t", "x", "--team", "Nobody").stderr
    assert "t no longer has the group ours" in task("task", "group", "t", "ours").output
    assert task("task", "group", "t", "ours").exit_code == 1


def test_a_board_is_frozen_once_and_listed(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The same board has the same address; a task without judgments ends in a sentence."""
    assert task("snapshot", "t", "--list").output == ""
    task("run", "add", "t", build.run_file(tmp_path, GOOD), "--team", "Lab")
    task("worker", "--once")
    first = task("snapshot", "t")
    address, digest = first.output.splitlines()
    assert (address, first.exit_code) == (f"/snapshots/{digest.split()[1][:16]}", 0)
    assert task("snapshot", "t").output == first.output
    assert task("snapshot", "t", "--list").output.startswith(f"{address}\tedition 1\t")
    task("task", "create", "bare", "--name", "Bare", "--topics", build.topics_file(tmp_path))
    refused = task("snapshot", "bare")
    assert (refused.exit_code, "no judgments yet" in refused.output) == (1, True)


def test_how_topics_are_read_is_printed_and_can_be_corrected(task, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A dry run stores nothing; --map says which field is which."""
    task("task", "clone", "t", "next", "--revision", "none")
    lines = tmp_path / "lines.tsv"
    lines.write_text("7\ten\tone\n")
    tried = task("task", "topics", "next", lines, "--dry-run").output
    assert tried == (
        "Tab-separated columns: id=column1, title=column2, description=column3. "
        "The columns have no headings, so they are identified by their order.\n"
    )
    made = task("task", "topics", "next", lines, "--map", "id=column1,title=column3").output
    assert made == (
        "Tab-separated columns: id=column1, title=column3. Not read: column2.\nnext has 1 topics.\n"
    )
    refused = task("task", "topics", "next", lines, "--map", "title=query")
    assert refused.exit_code == 1
    assert "No topic has the field 'query'. The fields of this file are column1, column2, column3." in (
        refused.output
    )

"""A task of judges goes out and comes back: references, boards and labels as sent, the boards of labels."""

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from leaderboard.boards.ops import board as boards
from leaderboard.boards.page import tables
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Phase, QrelsRevision, Run, Task
from leaderboard.errors import Invalid
from leaderboard.judges.ops import imported, sending, store
from leaderboard.judges.page import tables as judge_tables
from leaderboard.judges.page.board import judges_page
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.site.ops.checks import all_checks
from leaderboard.trec.boards.packing import KeptReference
from tests.bundles import make as bundles
from tests.judges import make as judging
from tests.make import build
from tests.make.copies import built_once

OTHER = ImportRequest(slug="again")
BOARD = "# a comment of Secret Owls\n# primary: N\n" + "".join(
    f"{run} {topic} {measure} {value}\n"
    for run, value in zip("ABCD", (0.9, 0.5, 0.7, 0.1), strict=True)
    for topic in "123"
    for measure in "MN"
)


@built_once
def build_ranked(database: Database, folder: Path) -> None:
    """Judges of a board of rankings: a board, labels, a withdrawn judge; the reference was a file before."""
    judging.ranked(database, folder)
    judging.task(database, folder)
    judging.refer(
        database, folder, {run: judging.REFERENCE[run] for run in "ABCD"}, facts="run,team\nA,Elms\n"
    )
    (folder / "elm.txt").write_text(BOARD)
    run_request = RunRequest("elm", facts={"llm": "gpt"})
    build.submit(database, folder / "elm.txt", "judged", team_name="Secret Owls", run_request=run_request)
    build.drain(database)
    judging.refer_to(database)
    run_request = RunRequest("oak", facts={"llm": "gpt-5"})
    judging.label(database, folder, judging.CONFIDENT, team_name="Bears", run_request=run_request)
    gone = judging.label(database, folder, judging.LABELS, "gone", team_name="Bears").run_id
    build.drain(database)
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, gone or 0, "a mistake")


@built_once
def build_answered(database: Database, folder: Path, measure: str = "NuggetRecall(set=all)") -> None:
    """Judges of a board of answers, with one kind of labels; where they are of nuggets, one in parts too."""
    judging.answered_task(database, folder)
    judging.task(database, folder, topics=("1", "2"))
    judging.refer_to(database, "said", measure=measure)
    lines = PAIRS if measure == "SupportP" else judging.held_nuggets()
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    assert judging.label(database, folder, text).run_id is not None
    if measure != "SupportP":
        own = judging.archive(folder, "alder", **judging.own_parts())
        made = build.submit(database, own, "judged", team_name="Other", run_request=RunRequest("alder"))
        assert made.run_id is not None, made.report
    build.drain(database)


PAIRS = [
    {
        "metadata": {"topic_id": topic, "run_id": run, "sentence_index": 0, "citation_index": 0},
        "support_label": "FS" if run == "A" else "NS",
        "status": "completed",
    }
    for run in judging.HELD
    for topic in ("1", "2")
]
"""Support labels of some citations: where the others are, their answers say."""


@pytest.fixture
def elsewhere(sqlite_template: Path, tmp_path: Path) -> Database:
    """An empty site."""
    return bundles.new_site(sqlite_template, tmp_path / "elsewhere")


def _close(database: Database, slug: str = "judged") -> None:
    with database.write() as session:
        of_task = select(Task.id).where(Task.slug == slug)
        over = now(session) - timedelta(days=1)
        session.execute(update(Phase).where(Phase.task_id.in_(of_task)).values(closes_at=over))


def _without_ids(facts: Any) -> Any:
    """What a page says without what names a site's rows."""
    if isinstance(facts, dict):
        return {key: _without_ids(value) for key, value in facts.items() if key not in ("run_id", "task")}
    return [_without_ids(each) for each in facts] if isinstance(facts, list) else facts


def _shown(database: Database, slug: str) -> Any:
    """The board, the page Judges and the page of each judge, with every number."""
    with database.read() as session:
        page = judges_page(session, OPERATOR, slug)
        pages = [judge_tables.judge_page(session, OPERATOR, slug, line.run_id) for line in page.lines]
        facts = [
            tables.board_facts(boards.board(session, OPERATOR, slug)),
            judge_tables.board_facts(page),
            *map(judge_tables.judge_facts, pages),
        ]
    assert len(facts) > 2
    return _without_ids(json.loads(json.dumps(facts)))


def _reference(database: Database, slug: str) -> KeptReference:
    with database.read() as session:
        kept = sending.newest_reference(
            session, session.scalars(select(Task.id).where(Task.slug == slug)).one()
        )
    assert kept is not None
    return kept


def _damage(database: Database) -> list[Any]:
    return [
        found
        for check in all_checks(with_scores=True)
        for place in check.places(database)
        for found in check.damage(database, place)
    ]


def _sent(database: Database, slug: str) -> list[str]:
    """The digest of what each judge said."""
    with database.read() as session:
        runs = session.scalars(select(Run.id).join(Task).where(Task.slug == slug).order_by(Run.id)).all()
        return [said.sha256 for run in runs if (said := store.sent_labels(session, run)) is not None]


@pytest.mark.trial
def test_on_its_own_site_it_is_linked_and_scored_again(database: Database, tmp_path: Path) -> None:
    """The same numbers on every page; labels are scored by the runs; a second export is the first."""
    build_ranked(database, tmp_path)
    _close(database)
    bundles.exported(database, tmp_path / "out", "judged")
    made = bundles.imported(database, tmp_path / "out", OTHER)
    assert (made.runs, made.revisions, made.unscored) == (3, 2, 0)
    assert _shown(database, "again") == _shown(database, "judged")
    assert _sent(database, "again") == _sent(database, "judged")
    assert _reference(database, "again").origin == _reference(database, "judged").origin
    assert _damage(database) == []
    bundles.exported(database, tmp_path / "back", "again")
    before, after = bundles.contents(tmp_path / "out"), bundles.contents(tmp_path / "back")
    assert before.keys() == after.keys()
    of_slug = {"records/task.jsonl", "scores/board.json", "citation.bib"}
    assert {name for name in before if before[name] != after[name]} <= of_slug
    assert before["runs/0001-elm.txt"] == BOARD.encode()


@pytest.mark.trial
def test_elsewhere_the_boards_of_labels_are_taken(
    database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    """Neither runs nor judgments are there; numbers are the same, and a second export is the first."""
    build_ranked(database, tmp_path)
    _close(database)
    bundles.exported(database, tmp_path / "out.zip", "judged")
    made = bundles.imported(elsewhere, tmp_path / "out.zip")
    assert made.unscored == 2
    assert _shown(elsewhere, "judged") == _shown(database, "judged")
    assert _reference(elsewhere, "judged").origin is None
    assert _damage(elsewhere) == []
    bundles.exported(database, tmp_path / "first", "judged")
    bundles.exported(elsewhere, tmp_path / "second", "judged")
    assert bundles.contents(tmp_path / "first") == bundles.contents(tmp_path / "second")


@pytest.mark.trial
def test_a_task_that_came_before_is_found(database: Database, elsewhere: Database, tmp_path: Path) -> None:
    """By the digests of its runs and judgments, under whatever slug; labels are scored by its runs."""
    build_ranked(database, tmp_path)
    _close(database)
    for slug in ("t", "judged"):
        bundles.exported(database, tmp_path / slug, slug)
    bundles.imported(elsewhere, tmp_path / "t", ImportRequest(slug="other"))
    made = bundles.imported(elsewhere, tmp_path / "judged")
    assert made.unscored == 0
    assert _reference(elsewhere, "judged").origin is not None
    assert _shown(elsewhere, "judged") == _shown(database, "judged")
    _open(elsewhere)
    late = judging.label(elsewhere, tmp_path, judging.LABELS, "late", team_name="Late")
    assert late.run_id is not None, late.report


def _open(database: Database) -> None:
    with database.write() as session:
        session.execute(update(Phase).values(closes_at=None))


@pytest.mark.trial
def test_other_judgments_are_another_board(database: Database, elsewhere: Database, tmp_path: Path) -> None:
    """The same runs under judgments of another digest are not what judges were held against."""
    build_ranked(database, tmp_path)
    for slug in ("t", "judged"):
        bundles.exported(database, tmp_path / slug, slug)
    bundles.rewrite(tmp_path / "t", "revisions", sha256="0" * 64)
    bundles.imported(elsewhere, tmp_path / "t")
    assert bundles.imported(elsewhere, tmp_path / "judged").unscored == 2


def test_new_labels_are_refused_where_the_runs_are_not(
    database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    """With the reason; a board is taken."""
    build_ranked(database, tmp_path)
    bundles.exported(database, tmp_path / "out", "judged")
    bundles.imported(elsewhere, tmp_path / "out")
    refused = judging.label(elsewhere, tmp_path, judging.LABELS, "late", team_name="Late")
    assert refused.report is not None
    assert [problem.rule for problem in refused.report.problems] == [
        "Labels are scored on the runs of the reference, which are not on this site."
    ]
    judging.judge(elsewhere, tmp_path, {run: (0.1, 0.5, 0.2) for run in "ABCD"}, "ash")


@pytest.mark.trial
@pytest.mark.parametrize("measure", ["NuggetRecall(set=all)", "SupportP"])
@pytest.mark.parametrize("is_linked", [True, False], ids=["linked", "elsewhere"])
def test_labels_of_answers(
    database: Database, elsewhere: Database, tmp_path: Path, measure: str, is_linked: bool
) -> None:
    """Assignments, and support labels of pairs, whose places the answers tell; archives stay archives."""
    build_answered(database, tmp_path, measure)
    _close(database)
    bundles.exported(database, tmp_path / "out", "judged")
    bundles.exported(database, tmp_path / "out.zip", "judged")
    if is_linked:
        bundles.exported(database, tmp_path / "said", "said")
        bundles.imported(elsewhere, tmp_path / "said")
    made = bundles.imported(elsewhere, tmp_path / "out.zip")
    judges = len(list((tmp_path / "out" / "runs").iterdir()))
    assert made.unscored == (0 if is_linked else judges)
    assert _shown(elsewhere, "judged") == _shown(database, "judged")
    assert _damage(elsewhere) == []
    bundles.exported(elsewhere, tmp_path / "back", "judged")
    assert bundles.contents(tmp_path / "out") == bundles.contents(tmp_path / "back")


@pytest.mark.trial
def test_a_release_names_nobody_and_its_map_leads_back(
    database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    """Runs of the reference go by numbers, in files of judges too; scores are the same."""
    build_ranked(database, tmp_path)
    _close(database)
    made = bundles.exported(database, tmp_path / "out", "judged", is_release=True)
    assert made is not None
    told = bundles.contents(tmp_path / "out")
    for name, body in told.items():
        for secret in (b"Secret", b"Bears", b"Elms", b"oak", b"elm", b"gpt", b'"A"'):
            assert secret not in body, (name, secret)
    names = {row["pseudonym"]: row["name"] for rows in json.loads(made.text()).values() for row in rows}
    bundles.imported(elsewhere, tmp_path / "out", ImportRequest(slug="bare"))
    bundles.imported(elsewhere, tmp_path / "out", ImportRequest(slug="named", names=names))
    assert _scores(elsewhere, "bare") == _scores(elsewhere, "named") == _scores(database, "judged")
    assert _reference(elsewhere, "named").reference.runs == _reference(database, "judged").reference.runs
    assert _sent(elsewhere, "named")[0] == _sent(database, "judged")[0]
    assert _damage(elsewhere) == []


def _scores(database: Database, slug: str) -> list[Any]:
    with database.read() as session:
        rows = tables.board_facts(boards.board(session, OPERATOR, slug))["rows"]
    return [(row["rank"], row["scores"]) for row in rows]


def _change(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    body = json.loads(path.read_bytes())
    change(body)
    path.write_text(json.dumps(body))


REFERENCE, LABELLED = "qrels/1-main-2.board.json", "judges/0002-oak.board-2-10.json"
BROKEN: dict[str, tuple[str, Callable[[dict[str, Any]], object], str]] = {
    "a value": (
        REFERENCE,
        lambda body: body["scores"][0].__setitem__(0, 7.0),
        "does not match the digest of its revision",
    ),
    "a text": (REFERENCE, lambda body: body["scores"][0].__setitem__(0, "x"), "does not contain a reference"),
    "no number": (
        REFERENCE,
        lambda body: body["scores"][0].__setitem__(0, 1e999),
        "does not contain a reference",
    ),
    "too large": (REFERENCE, lambda body: body["scores"][0].__setitem__(0, 10**400), "does not contain"),
    "a run twice": (REFERENCE, lambda body: body["runs"].__setitem__(0, "B"), "does not contain a reference"),
    "no run": (REFERENCE, lambda body: body["runs"].pop(), "does not contain a reference"),
    "ids": (REFERENCE, lambda body: body.update(origin={"task_id": 1}), "does not contain a reference"),
    "an origin": (
        REFERENCE,
        lambda body: body["elsewhere"].update(kind="odd"),
        "does not contain a reference",
    ),
    "a digest": (
        REFERENCE,
        lambda body: body["elsewhere"].update(judgments="../x"),
        "does not contain a reference",
    ),
    "facts": (REFERENCE, lambda body: body["facts"].update(Z={"team": "x"}), "does not contain a reference"),
    "other facts": (REFERENCE, lambda body: body["facts"]["A"].update(odd=1), "does not contain a reference"),
    "another board": (
        LABELLED,
        lambda body: body.update(runs=["Z"], values={}),
        "does not contain a judge's",
    ),
    "of other topics": (
        LABELLED,
        lambda body: body["topics"].append("9"),
        "does not match its reference's runs",
    ),
    "of labels": (
        LABELLED,
        lambda body: body.update(labels={"1": {"a": [1, None]}}, run=""),
        "is not the board",
    ),
    "an endless value": (
        LABELLED,
        lambda body: body["values"]["AP"]["A"].update({"1": 1e999}),
        "does not contain",
    ),
}


@pytest.mark.trial
@pytest.mark.parametrize("fault", BROKEN)
def test_what_no_site_has_written_is_refused_whole(
    database: Database, elsewhere: Database, tmp_path: Path, fault: str
) -> None:
    """Digests of the bundle are right; nothing of it is stored."""
    build_ranked(database, tmp_path)
    bundles.exported(database, tmp_path / "out", "judged")
    name, change, said = BROKEN[fault]
    _change(tmp_path / "out" / name, change)
    bundles.seal(tmp_path / "out")
    archive = shutil.make_archive(str(tmp_path / "out"), "zip", tmp_path / "out")
    with pytest.raises(Invalid, match=said) as refused:
        bundles.imported(elsewhere, Path(archive))
    assert "Download the bundle again" in refused.value.message
    assert name in refused.value.message
    with elsewhere.read() as session:
        assert session.scalars(select(QrelsRevision.id)).all() == []
        assert session.scalars(select(Task.id)).all() == []


@pytest.mark.trial
@pytest.mark.parametrize(
    ("table", "fields", "said"),
    [
        ("lines", {"kind": "graded"}, "line 1: is for judgments that judge tasks cannot have."),
        ("task", {"kind": "rankings"}, "line 1: is for judgments that ranking tasks cannot have."),
        ("revisions", {"sha256": "0" * 64}, "does not match the digest of its revision"),
        ("revisions", {"distractors": "topics.tsv"}, "A reference such as qrels/"),
        ("revisions", {"judgments": 1}, "differ from their revision: judgments"),
        ("runs", {"ranking_sha256": "0" * 64}, "does not match the digest of the rankings in its file."),
        ("runs", {"boards": [{"revision_id": 9, "dialect": 10, "file": "x"}]}, "must be objects with"),
        ("runs", {"boards": [{"revision_id": [], "dialect": 10, "file": "x"}]}, "must be objects with"),
        ("runs", {"labels": "topics.tsv"}, "does not contain a judge's submission"),
        (
            "runs",
            {"boards": [{"revision_id": 1, "dialect": 10, "file": LABELLED}]},
            "is not the board made from a judge",
        ),
    ],
)
def test_records_are_checked(
    database: Database, elsewhere: Database, tmp_path: Path, table: str, fields: dict[str, Any], said: str
) -> None:
    """A kind that does not fit, another digest, files that are not what they are said to be."""
    build_ranked(database, tmp_path)
    bundles.exported(database, tmp_path / "out", "judged")
    bundles.rewrite(tmp_path / "out", table, **fields)
    with pytest.raises(Invalid) as refused:
        bundles.imported(elsewhere, tmp_path / "out")
    assert said in refused.value.message
    with elsewhere.read() as session:
        assert session.scalars(select(Task.id)).all() == []


def test_a_reference_has_bounds(
    database: Database, elsewhere: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read whole, so it is not read at all where it is larger than any that a site writes."""
    build_ranked(database, tmp_path)
    bundles.exported(database, tmp_path / "out", "judged")
    monkeypatch.setattr(imported, "MOST_BYTES", 100)
    with pytest.raises(Invalid, match="does not contain a reference"):
        bundles.imported(elsewhere, tmp_path / "out")

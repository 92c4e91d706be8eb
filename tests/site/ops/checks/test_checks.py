"""Checks: nothing is said of a whole site, and every kind of damage is found and named."""

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sqlalchemy import LargeBinary, select, text, type_coerce, update

from benchmarks.damage import KINDS, SECRETS, Kind, is_found, is_number_found, rows_of, turned_number
from leaderboard.boards.ops import snapshots
from leaderboard.cli import main
from leaderboard.core.phase_rules import ALL_TOPICS
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Evaluation, EvaluationMean, Job, Statistic, metadata
from leaderboard.judging.ops import clicks
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision
from leaderboard.scoring.ops.evaluations import shown
from leaderboard.scoring.ops.qrels import files
from leaderboard.settings import Settings
from leaderboard.site.ops import backups
from leaderboard.site.ops.checks import all_checks
from leaderboard.stats import arrays
from leaderboard.trec.qrels.left_out import LeftOut
from tests.make import answered, build, pictures, pools
from tests.make.apps import application
from tests.make.copies import built_once

RANKINGS = {"1": ["a", "b", "c"], "2": ["d", "a"], "3": ["f", "e"]}
FLIPS = 300
"""The bits turned over in stored bytes of all kinds, and as many in plain numbers."""


@built_once
def _site(database: Database, folder: Path) -> int:
    """A task with all that is stored as bytes; the id of its run."""
    documents = folder / "documents.jsonl"
    documents.write_text("".join(f"{json.dumps({'docno': docno, 'text': 'text'})}\n" for docno in "abcdef"))
    build.task(database, folder, measures=("AP", "MicroP"), documents=documents)
    run_id = build.run(database, folder, RANKINGS)
    prepared = files.prepare(build.qrels_file(folder, {**build.JUDGMENTS, "1": {"a": 1}}, "more"))
    with database.write() as session:
        gone = LeftOut({"3": frozenset({b"yy"})})
        new = NewRevision(prepared=prepared, note="less", distractors=[b"zz"], left_out=gone)
        revisions.revise(session, OPERATOR, "t", new)
    build.drain(database)
    pools.pool(database, {"1": ["a", "b"]})
    pictures.give(database, folder)
    with database.write() as session:
        snapshots.keep(session, OPERATOR, snapshots.freeze(session, OPERATOR, "t"))
        rules = clicks.rules_for(session, OPERATOR, "t")
    log = clicks.prepare_import(build.click_log(folder), "clicks.csv", rules)
    with database.write() as session:
        clicks.add_import(session, OPERATOR, "t", log)
        session.add(
            Statistic(
                edition_id=session.scalars(select(Edition.id)).first(),
                digest="d",
                request={},
                result=arrays.pack({"p": np.array([0.5])}),
                created_at=datetime.now(UTC),
            )
        )
    return run_id


def _found(database: Database, *, with_scores: bool = False) -> list[str]:
    return [
        str(damage)
        for check in all_checks(with_scores=with_scores)
        for place in check.places(database)
        for damage in check.damage(database, place)
    ]


@pytest.mark.dialect
def test_a_whole_site_has_no_damage(database: Database, tmp_path: Path) -> None:
    """Nothing is found on either database, nor where its scores are computed again."""
    _site(database, tmp_path)
    assert _found(database, with_scores=True) == []


def test_every_column_of_bytes_has_a_check() -> None:
    """A new column of bytes needs a checksum and a check."""
    columns = {
        (table.name, column.name)
        for table in metadata.tables.values()
        for column in table.columns
        if isinstance(column.type, LargeBinary) or getattr(column.type, "impl", None).__class__ is LargeBinary
    }
    assert columns == {(kind.table, kind.column) for kind in KINDS} | SECRETS


@pytest.mark.dialect
@pytest.mark.trial
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.table}.{kind.column}")
def test_any_wrong_bit_is_found(kind: Kind, database: Database, tmp_path: Path) -> None:
    """Bits at random places, in each kind of stored bytes."""
    _site(database, tmp_path)
    if kind.table == "answer":
        answered.task(database, tmp_path)
        answered.run(database, tmp_path)
    if kind.table == "judge_board":
        judging = pytest.importorskip("tests.judges.make")
        judging.task(database, tmp_path)
        judging.refer(database, tmp_path)
        judging.judge(database, tmp_path)
    chance = random.Random(7)
    rows = rows_of(database, kind)
    assert rows, "the site has none of this kind"
    for _ in range(-(-FLIPS // len(KINDS))):
        row = chance.choice(rows)
        assert is_found(database, kind, row, chance.randrange(8 * len(row["stored_bytes"])))


def test_scores_that_are_not_those_of_the_rankings_are_found(database: Database, tmp_path: Path) -> None:
    """Other scores with the right checksum are found where all are computed again."""
    run_id = _site(database, tmp_path)
    with database.write() as session:
        evaluation = session.scalars(select(Evaluation).where(Evaluation.measure == "AP")).first()
        assert evaluation is not None
        evaluation.scores = evaluation.scores + np.spacing(1.0)
        for mean in session.scalars(
            select(EvaluationMean).where(EvaluationMean.evaluation_id == evaluation.id)
        ):
            mean.mean = float(evaluation.scores.mean())
    assert _found(database) == []
    found = _found(database, with_scores=True)
    assert any(f"{run_id}, 10): its recomputed AP scores differ" in line for line in found)


def test_a_mean_that_is_not_that_of_its_scores_is_found(database: Database, tmp_path: Path) -> None:
    """The plain check sees a mean that its scores do not make, and one with a wrong checksum."""
    _site(database, tmp_path)
    with database.write() as session:
        in_order = select(EvaluationMean).order_by(EvaluationMean.evaluation_id)
        first, second = session.scalars(in_order.limit(2)).all()
        first.mean = 0.25
        wrong = EvaluationMean.evaluation_id == second.evaluation_id
        session.execute(update(EvaluationMean).where(wrong).values(mean=0.25))
    found = _found(database)
    assert sum("does not match its stored scores" in line for line in found) == 1, found
    assert sum("over topic set 1: its checksum does not match" in line for line in found) == 1, found


@pytest.mark.dialect
@pytest.mark.parametrize("column", ["topics", "mean", "topic_set_id", "evaluation", "scored"])
def test_an_evaluator_scores_again_what_is_damaged(column: str, database: Database, tmp_path: Path) -> None:
    """Means and evaluations with a wrong checksum, whatever is wrong, are those that they were."""
    _site(database, tmp_path)
    wrong: dict[str, Any] = {
        "topics": update(EvaluationMean).values(topics=EvaluationMean.topics + 1),
        "mean": update(EvaluationMean).values(mean=EvaluationMean.mean + 0.5),
        "topic_set_id": update(EvaluationMean).values(checksum=None),
        "evaluation": update(Evaluation).values(dialect=9),
        "scored": update(Evaluation).values(checksum=7),
    }
    before = _means(database)
    assert before
    with database.write() as session:
        session.execute(wrong[column])
    assert _means(database) == (before if column in ("topics", "mean", "topic_set_id") else {})
    assert _found(database) != []
    build.drain(database)
    assert _found(database, with_scores=True) == []
    assert _means(database) == before


def _means(database: Database) -> dict[int, dict[str, float]]:
    """What the board of the task shows."""
    with database.read() as session:
        edition = session.scalars(select(Edition).where(Edition.state == "current")).one()
        return shown.means(session, edition, ALL_TOPICS)


@pytest.mark.trial
@pytest.mark.sqlite
@pytest.mark.parametrize("flips", [24, pytest.param(FLIPS, marks=pytest.mark.trial)])
def test_no_wrong_bit_of_a_plain_number_is_missed_or_shown(
    flips: int, database: Database, settings: Settings, tmp_path: Path
) -> None:
    """Each is found by the plain check; pages show the true number, none, or an error."""
    run_id = _site(database, tmp_path)
    client = application(settings, database).test_client()
    addresses = "/tasks/t.json", f"/runs/{run_id}.json", f"/api/v1/runs/{run_id}", "/tasks/t/topics/1.json"

    def seen() -> list[dict[str, object]]:
        with database.write():
            # Pages that are kept are dropped.
            pass
        answers = [client.get(address) for address in addresses]
        assert {answer.status_code for answer in answers} <= {200, 500}
        return [_scores_in(answer.get_json()) if answer.status_code == 200 else {} for answer in answers]

    whole = seen()
    assert all(whole), whole
    chance = random.Random(31)
    for _ in range(flips):
        with turned_number(database, chance) as place:
            assert is_number_found(database, place), place
            for is_, was in zip(seen(), whole, strict=True):
                assert is_.items() <= was.items(), (place, is_, was)
    assert seen() == whole


def _scores_in(answer: object, at: str = "") -> dict[str, object]:
    """The fractional numbers of an answer, each by where it stands."""
    if isinstance(answer, dict):
        inner = [_scores_in(value, f"{at}/{key}") for key, value in answer.items()]
    elif isinstance(answer, list):
        inner = [_scores_in(value, f"{at}/{place}") for place, value in enumerate(answer)]
    else:
        return {at: answer} if isinstance(answer, float) else {}
    return {key: value for each in inner for key, value in each.items()}


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE audit SET subject = 'run:99' WHERE id = 2", "row 2 does not follow"),
        ("UPDATE judgment SET grade = 3 WHERE docno = 'c'", "revision 1: its packed judgments differ"),
        ("UPDATE qrels_revision SET judgments = 9 WHERE id = 1", "revision 1: it has 7 of 9 judgments"),
        ("UPDATE run SET ranking_sha256 = 'x'", "their digest does not match"),
        ("UPDATE run SET entries = 99", "the numbers of topics and documents"),
        ("UPDATE upload SET sha256 = 'x'", "upload 1: bytes of upload 1: their digest does not match"),
        ("UPDATE document_block SET count = 5", "document block 1: its documents differ"),
        ("DELETE FROM ranking_block", "run 1: "),
    ],
)
def test_what_contradicts_itself_is_found(
    statement: str, said: str, database: Database, tmp_path: Path
) -> None:
    """Rows that were changed behind the program's back are named."""
    _site(database, tmp_path)
    with database.write() as session:
        session.execute(text(statement))
    assert any(said in line for line in _found(database)), _found(database)


@pytest.mark.sqlite
def test_rows_that_point_nowhere_are_found(database: Database, tmp_path: Path) -> None:
    """SQLite is asked for references to rows that are gone."""
    _site(database, tmp_path)
    with database.engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        raw.execute("PRAGMA foreign_keys=OFF")
        raw.execute("DELETE FROM upload")
        raw.execute("PRAGMA foreign_keys=ON")
    assert any("of run refers to a missing row of upload" in line for line in _found(database))


@pytest.mark.trial
def test_the_command_lists_damage_and_ends_with_1(
    database: Database, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 0 for a whole site, with a sample too; 1 with a line for each thing that is damaged."""
    _site(database, tmp_path)
    monkeypatch.setenv("LEADERBOARD_DATABASE_URL", settings.database_url)
    whole = CliRunner().invoke(main, ["db", "check", "--scores"])
    assert whole.exit_code == 0, whole.output
    assert "No backup yet." in whole.output
    assert "No damage found." in whole.output
    backups.back_up(database, tmp_path / "site.backup")
    assert "Last backup:" in CliRunner().invoke(main, ["db", "check", "--sample", "1"]).output
    with database.write() as session:
        scores = type_coerce(bytes(28), LargeBinary)
        session.execute(update(Evaluation).values(scores=scores))
        session.execute(update(Job).values(error=""))
    damaged = CliRunner().invoke(main, ["db", "check"])
    assert damaged.exit_code == 1
    assert "scores of run 1 by AP: their checksum does not match" in damaged.output
    assert "4 damaged" in damaged.output

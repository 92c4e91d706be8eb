"""Migrations: one line of them, up and down, and the tables they make are the ones in the code."""

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from click.testing import CliRunner
from sqlalchemy import inspect, select, text, update
from sqlalchemy.exc import IntegrityError

from leaderboard.accounts.ops import names
from leaderboard.cli import main
from leaderboard.core import audit
from leaderboard.core.policy import OPERATOR
from leaderboard.db import schema
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Account, Assessor, Entry, Member, QrelsRevision, Run, Team, Token, metadata
from leaderboard.errors import SchemaOutdated
from leaderboard.judging.ops import judging
from leaderboard.settings import DATABASE_FILE
from tests.make import build, people

pytestmark = pytest.mark.dialect


def _revisions() -> list[str]:
    scripts = ScriptDirectory.from_config(schema.config())
    return [script.revision for script in reversed(list(scripts.walk_revisions()))]


def test_the_history_is_one_line_of_numbered_steps() -> None:
    """There is one head, which the names of files tell, and revisions count up from 0001."""
    scripts = ScriptDirectory.from_config(schema.config())
    assert scripts.get_heads() == [schema.head()]
    assert _revisions() == [f"{number:04d}" for number in range(1, len(_revisions()) + 1)]


@pytest.mark.trial
def test_every_step_goes_up_down_and_up_again(database: Database) -> None:
    """From the newest schema down to nothing and up again, step by step, the same tables come out."""
    before = set(inspect(database.engine).get_table_names())
    schema.downgrade(database, "base")
    assert set(inspect(database.engine).get_table_names()) == {"alembic_version"}
    for revision in _revisions():
        schema.upgrade(database, revision)
        schema.downgrade(database, "-1")
        schema.upgrade(database, revision)
    assert set(inspect(database.engine).get_table_names()) == before
    schema.require_head(database)


def test_migrations_and_code_agree(database: Database) -> None:
    """The tables in the code and those the migrations make do not differ."""
    with database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []


def test_an_outdated_schema_is_refused_with_the_command_to_run(database: Database) -> None:
    """A program never works on a schema it was not written for."""
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    with pytest.raises(SchemaOutdated, match="leaderboard db upgrade"):
        schema.require_head(database)


@pytest.mark.trial
def test_a_step_that_would_break_references_changes_nothing(tmp_path: Path) -> None:
    """A migration that leaves rows pointing nowhere is rolled back whole."""
    database = Database(f"sqlite:///{tmp_path / 'a.sqlite3'}")
    schema.upgrade(database)
    raw = sqlite3.connect(tmp_path / "a.sqlite3")
    raw.execute(
        "INSERT INTO member (team_id, account_id, role, joined_at) VALUES (9, 9, 'member', '2026-01-01')"
    )
    raw.commit()
    raw.close()
    with pytest.raises(SchemaOutdated, match="2 rows with missing references"):
        schema.upgrade(database)
    database.dispose()


@pytest.mark.trial
def test_links_of_assessors_go_on_working_for_a_while(database: Database, tmp_path: Path) -> None:
    """Links made before links had an end get one, 180 days from the upgrade; who has no link gets none."""
    build.task(database, tmp_path)
    with database.write() as session:
        judging.add_link(session, OPERATOR, "t", ["Ada", "Bert"])
        session.execute(update(Assessor).where(Assessor.name == "Bert").values(token_sha256=None))
    schema.downgrade(database, "0005")
    schema.upgrade(database)
    with database.read() as session:
        ends = {
            row.name: row.expires_at for row in session.execute(select(Assessor.name, Assessor.expires_at))
        }
        days = (ends["Ada"] - now(session)).days if ends["Ada"] else 0
    assert (days, ends["Bert"]) == (179, None)


@pytest.mark.trial
def test_stored_runs_count_as_a_member_s_only_where_that_is_on_record(
    database: Database, tmp_path: Path
) -> None:
    """The uploader was in the team then, and organises nothing; what nobody knows the sender of was filed."""
    olga, ann = people.account(database, "Olga", is_organiser=True), people.account(database, "Ann")
    build.task(database, tmp_path, viewer=people.viewer(database, olga))
    teams, runs = {}, {}
    for name, sender in (
        ("own", ann),
        ("later", ann),
        ("organiser", olga),
        ("entered", ann),
        ("agreed", ann),
    ):
        teams[name] = people.team(database, name, sender)
        sending = people.viewer(database, sender)
        runs[name] = build.run(
            database, tmp_path, {"1": ["a"]}, f"run-{name}", team_name=name, viewer=sending
        )
    runs["filed"] = build.run(database, tmp_path, {"1": ["b"]}, "run-filed", team_name="Nobody")
    with database.write() as session:
        late = update(Member).where(Member.team_id.in_([teams["later"], teams["entered"], teams["agreed"]]))
        session.execute(late.values(joined_at=now(session) + timedelta(days=1)))
        agreed = update(Entry).where(Entry.team_id == teams["agreed"])
        session.execute(agreed.values(agreed_by=ann))
        asker = people.viewer(database, ann)
        audit.record(session, asker, "entry.enter", "task:1", team=teams["entered"], state="entered")
        # As it stands where an organiser filed it by a zip, before it joined the team.
        session.execute(
            update(Member)
            .where(Member.team_id == teams["organiser"])
            .values(joined_at=now(session) + timedelta(days=1))
        )
    schema.downgrade(database, "0024")
    schema.upgrade(database)
    with database.read() as session:
        rows = session.execute(select(Entry.team_id, Entry.entered_by))
        entered = {team_id: account_id for team_id, account_id in rows}
        filed = set(session.scalars(select(Run.id).where(Run.filed)))
    assert {name: entered[team_id] for name, team_id in teams.items()} == {
        "own": ann,
        "later": None,
        "organiser": None,
        "entered": ann,
        "agreed": ann,
    }
    assert filed == {runs["filed"], runs["organiser"]}


@pytest.mark.trial
def test_db_upgrade_makes_the_tables_and_says_so(tmp_path: Path) -> None:
    """The command makes a database from nothing; the second time there is nothing to do."""
    first = CliRunner().invoke(main, ["db", "upgrade", "--data", str(tmp_path / "d")])
    again = CliRunner().invoke(main, ["db", "upgrade", "--data", str(tmp_path / "d")])
    assert first.exit_code == again.exit_code == 0, first.output
    assert f"now at schema {schema.head()} (was empty)" in first.output
    assert "Nothing to do" in again.output


@pytest.mark.trial
def test_commands_make_the_tables_of_an_empty_folder_and_refuse_an_older_schema(tmp_path: Path) -> None:
    """A first command needs no other one before it; an older database names the command that migrates it."""
    task_list = ["task", "list", "--data", str(tmp_path / "d")]
    first = CliRunner().invoke(main, task_list)
    assert (first.exit_code, first.output) == (0, "")
    database = Database(f"sqlite:///{tmp_path / 'd' / DATABASE_FILE}")
    assert schema.current(database) == schema.head()
    schema.downgrade(database, "-1")
    database.dispose()
    result = CliRunner().invoke(main, task_list)
    assert result.exit_code == 1
    assert "leaderboard db upgrade" in result.output


@pytest.mark.trial
def test_links_for_screens_are_deleted_and_no_others(database: Database) -> None:
    """They opened a page that is gone; who was about to sign in still can."""
    ann = people.account(database, "Ann")
    with database.write() as session:
        for kind in ("screen", "sign_in"):
            ends = now(session) + timedelta(days=1)
            session.add(
                Token(
                    kind=kind,
                    token_sha256=kind,
                    account_id=ann,
                    scope="",
                    created_at=now(session),
                    expires_at=ends,
                )
            )
    schema.downgrade(database, "0030")
    schema.upgrade(database)
    with database.read() as session:
        assert session.scalars(select(Token.kind)).all() == ["sign_in"]


@pytest.mark.trial
def test_tokens_of_workers_are_deleted(database: Database) -> None:
    """With the answers kept for them and what they claimed under; the tokens of runners stay."""
    owner = people.account(database, "Olga")
    schema.downgrade(database, "0024")
    moment = "2026-11-01 00:00:00"
    with database.engine.begin() as connection:
        for number, kind in ((1, "personal"), (2, "runner"), (3, "worker")):
            connection.execute(
                text(
                    "INSERT INTO api_token"
                    " (id, account_id, kind, prefix, token_sha256, label, scopes, created_at)"
                    f" VALUES ({number}, {owner}, '{kind}', 'lb', '{number}', 'l', '[]', '{moment}')"
                )
            )
            connection.execute(
                text(
                    "INSERT INTO idempotency_key"
                    " (token_id, key, request_sha256, state, headers, body, created_at)"
                    f" VALUES ({number}, 'k', 'd', 'running', '{{}}', '', '{moment}')"
                )
            )
        for name in ("token 3:17", "host:1"):
            connection.execute(text(f"INSERT INTO worker (owner, seen_at) VALUES ('{name}', '{moment}')"))
    schema.upgrade(database)
    with database.read() as session:
        kinds = session.scalars(text("SELECT kind FROM api_token ORDER BY id")).all()
        keys = session.scalars(text("SELECT token_id FROM idempotency_key ORDER BY token_id")).all()
        owners = session.scalars(text("SELECT owner FROM worker")).all()
    assert (kinds, keys, owners) == (["personal", "runner"], [1, 2], ["host:1"])
    with pytest.raises(IntegrityError), database.engine.begin() as connection:
        connection.execute(text("UPDATE api_token SET kind = 'worker' WHERE id = 1"))


@pytest.mark.trial
def test_what_was_known_of_a_second_column_becomes_a_sentence(database: Database, tmp_path: Path) -> None:
    """That of the version that the migration belongs to."""
    expected = (
        "The second column holds 0.5, 1, but no document of a topic has two of them. "
        "It was taken for rounds; say so if these are subtopics."
    )
    build.task(database, tmp_path)
    schema.downgrade(database, "0028")
    with database.write() as session:
        session.execute(text("UPDATE qrels_revision SET rounds = '0.5, 1'"))
    schema.upgrade(database)
    with database.read() as session:
        assert session.scalars(select(QrelsRevision.read_as)).all() == [[expected]]


@pytest.mark.trial
def test_a_step_of_the_ladder_stands_in_the_way(database: Database, tmp_path: Path) -> None:
    """The sentence names the tasks and what to do; once it is empty, the step is made."""
    build.task(database, tmp_path)
    schema.downgrade(database, "0031")
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE task SET ladder_step = 0.01"))
    with pytest.raises(SchemaOutdated, match="a step of it: t.*task set SLUG ladder_step="):
        schema.upgrade(database)
    assert schema.current(database) == "0031"
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE task SET ladder_step = NULL"))
    schema.upgrade(database)
    schema.require_head(database)


@pytest.mark.trial
def test_an_offer_to_merge_teams_stands_in_the_way_while_it_waits(database: Database) -> None:
    """One that ran out or was withdrawn is deleted with the step."""
    owner = people.account(database, "Olga")
    team = people.team(database, "Owls", owner)
    schema.downgrade(database, "0031")
    with database.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO token (kind, token_sha256, account_id, team_id, scope, created_at, expires_at)"
                f" VALUES ('merge', 'd', {owner}, {team}, '', '2026-11-01 00:00:00', '2999-01-01 00:00:00')"
            )
        )
    with pytest.raises(SchemaOutdated, match="an offer of these teams waits: Owls"):
        schema.upgrade(database)
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE token SET expires_at = '2026-11-08 00:00:00'"))
    schema.upgrade(database)
    with database.read() as session:
        assert session.scalar(text("SELECT count(*) FROM token")) == 0


@pytest.mark.trial
def test_names_that_look_alike_by_the_newest_list_keep_one_skeleton(database: Database) -> None:
    """The oldest keeps it; a deleted account has none and is passed over."""
    owner = people.account(database, "Olga")
    first = people.team(database, "Owls", owner)
    second = people.team(database, "Bats", owner)
    with database.write() as session:
        session.execute(update(Team).where(Team.id == second).values(name="Owls.", skeleton="owls."))
        session.execute(update(Account).values(canonical=f"DELETED {owner}", skeleton=None))
    schema.downgrade(database, "0024")
    schema.upgrade(database)
    with database.read() as session:
        found = {row.id: row.skeleton for row in session.scalars(select(Team))}
        assert found == {first: names.skeleton("Owls"), second: None}
        assert session.scalars(select(Account.skeleton)).all() == [None]


@pytest.mark.sqlite
def test_migrations_allow_what_the_code_allows(tmp_path: Path) -> None:
    """The checks of columns are those of the models: Alembic compares none of them."""

    def checks(database: Database) -> dict[str, set[str]]:
        inspected = inspect(database.engine)
        return {
            table: {" ".join(check["sqltext"].split()) for check in inspected.get_check_constraints(table)}
            for table in inspected.get_table_names()
            if table != "alembic_version"
        }

    migrated, made = (Database(f"sqlite:///{tmp_path / name}") for name in ("migrated", "made"))
    for revision in _revisions():
        schema.upgrade(migrated, revision)
    metadata.create_all(made.engine)
    assert checks(migrated) == checks(made)

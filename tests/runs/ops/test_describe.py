"""Correcting what is said about a run: who may, what is kept, and that rankings never change."""

from pathlib import Path

import pytest
from sqlalchemy import select

from leaderboard.core import audit, policy
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, Run
from leaderboard.errors import Forbidden, Invalid, NotFound, SignInNeeded
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.scoring.ops import run_facts as runs_facts
from tests.make import build
from tests.make.copies import built_once
from tests.make.people import account, team, viewer

RANKINGS = {"1": ["a"], "2": ["d"], "3": ["e"]}
HEADER = "# ir_metadata.start\n# method:\n#   automatic: true\n# tag: x\n# ir_metadata.end\n"


@pytest.fixture
@built_once
def run_id(database: Database, tmp_path: Path) -> int:
    """A run of Owls with a header and facts of a form."""
    ann = account(database, "Ann")
    team(database, "Owls", ann)
    build.task(database, tmp_path)
    path = build.run_file(tmp_path, RANKINGS)
    path.write_text(HEADER + path.read_text())
    facts = {"latency_ms": 1 / 3, "llm": "none"}
    sent = build.submit(database, path, team_name="Owls", run_request=RunRequest("run", facts=facts))
    assert sent.run_id is not None
    return sent.run_id


def _described(database: Database, asker: Viewer, run_id: int, **given: str) -> tuple[str, ...]:
    with database.write() as session:
        return runs_facts.describe_run(session, asker, run_id, given)


def _run(database: Database, run_id: int) -> Run:
    with database.read() as session:
        return session.get_one(Run, run_id)


def test_a_form_is_stored_beside_the_header(database: Database, run_id: int) -> None:
    """What the form said with the upload and what the file's header says are both in the run's details."""
    assert _run(database, run_id).details == {
        "method": {"automatic": "true"},
        "tag": "x",
        "form": {"latency_ms": 1 / 3, "llm": "none"},
    }


def test_facts_change_and_rankings_do_not(database: Database, run_id: int) -> None:
    """Given facts are set or taken back, others stay to the last bit, header and rankings as they were."""
    before = _run(database, run_id)
    changed = _described(database, OPERATOR, run_id, code="https://example.org", llm=" ", type="manual")
    after = _run(database, run_id)
    assert changed == ("type", "llm", "code")
    assert runs_facts.form_of(after.details) == {
        "type": "manual",
        "code": "https://example.org",
        "latency_ms": 1 / 3,
    }
    assert runs_facts.header_of(after.details) == runs_facts.header_of(before.details)
    assert (after.ranking_sha256, after.tag, after.name) == (before.ranking_sha256, before.tag, before.name)


@pytest.mark.dialect
def test_the_record_says_what_changed(database: Database, run_id: int) -> None:
    """The audit has the run, the fields, their values before and after, and its chain holds."""
    _described(database, OPERATOR, run_id, llm="a model")
    with database.read() as session:
        row = session.scalars(select(Audit).where(Audit.action == "run.describe")).one()
        assert audit.verify(session).broken_at is None
    assert (row.subject, row.detail) == (f"run:{run_id}", {"changes": {"llm": ["none", "a model"]}})


def test_saving_without_a_change_changes_nothing(database: Database, run_id: int) -> None:
    """The form sent back as it was shown is no act: no record, the same numbers."""
    with database.read() as session:
        page = runs_facts.description_page(session, OPERATOR, run_id)
    assert _described(database, OPERATOR, run_id, **page.values) == ()
    with database.read() as session:
        assert session.scalars(select(Audit).where(Audit.action == "run.describe")).all() == []
    assert runs_facts.cost(_run(database, run_id).details, "latency_ms") == 1 / 3


@pytest.mark.dialect
def test_the_description_can_be_mended(database: Database, run_id: int) -> None:
    """A new description replaces the old one; one too long is refused and nothing is changed."""
    with database.write() as session:
        assert runs_facts.describe_run(session, OPERATOR, run_id, {}, " new ") == ("description",)
    assert _run(database, run_id).description == "new"
    with pytest.raises(Invalid, match="at most 10,000"), database.write() as session:
        runs_facts.describe_run(session, OPERATOR, run_id, {"llm": "x"}, "x" * 10_001)
    assert _run(database, run_id).description == "new"


def test_bad_facts_are_refused_whole(database: Database, run_id: int) -> None:
    """One bad field and nothing is stored."""
    before = _run(database, run_id).details
    with pytest.raises(Invalid):
        _described(database, OPERATOR, run_id, llm="fine", latency_ms="fast")
    assert _run(database, run_id).details == before


def test_only_the_team_and_organisers_may(database: Database, run_id: int) -> None:
    """A member and the task's organiser change facts; visitors, others and unknown runs are refused."""
    ann, bob = (account(database, name) for name in ("Anna", "Bob"))
    member = viewer(database, ann)
    owls = Viewer(member.account_id, member.name, team_ids=frozenset({_run(database, run_id).team_id}))
    assert _described(database, owls, run_id, llm="a") == ("llm",)
    organiser = Viewer(bob, organises=frozenset({_run(database, run_id).task_id}))
    assert _described(database, organiser, run_id, llm="b") == ("llm",)
    with pytest.raises(Forbidden):
        _described(database, viewer(database, bob), run_id, llm="c")
    with pytest.raises(SignInNeeded):
        _described(database, policy.ANONYMOUS, run_id, llm="c")
    with pytest.raises(NotFound):
        _described(database, OPERATOR, 999, llm="c")


def test_the_page_tells_form_and_header_apart(database: Database, run_id: int) -> None:
    """Values as they would be typed, and beside them what the header says of the same fields."""
    with database.read() as session:
        page = runs_facts.description_page(session, OPERATOR, run_id)
    assert page.values == {"llm": "none", "latency_ms": f"{1 / 3!r} ms"}
    assert {key: each.text for key, each in page.header.items()} == {"type": "automatic"}

"""Runs that agents submit: marked for good, limited apart, and held for review where a phase asks for it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.accounts.ops import tokens
from leaderboard.accounts.ops.tokens import AGENT, TokenRequest
from leaderboard.core.jobs import queue
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Audit, Phase, Run, TaskRole, Upload, UploadChunk
from leaderboard.errors import Conflict, Forbidden, Invalid, LeaderboardError, NotFound, OverQuota
from leaderboard.runs.ops import batches, fixing, limits, prepare, uploads, withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Delivery, Submission
from leaderboard.runs.ops.withdrawals import Review
from leaderboard.runs.page.head import seen_run
from leaderboard.tasks.page.organise import desk
from leaderboard.tasks.page.teams import team_page
from leaderboard.trec.read.lines import Limits
from tests.make import build, people

TEXT = "1 Q0 a 1 2 tag\n2 Q0 d 1 2 tag\n3 Q0 e 1 2 tag\n"
FIXABLE = TEXT + "1 Q0 a 2 1 tag\n"
Sends = Callable[..., Submission]


class Site:
    """A task that Olga organises and takes part in, as Ann does; each with an agent."""

    def __init__(self, database: Database, folder: Path) -> None:
        build.task(database, folder)
        self.database, self.folder = database, folder
        olga, ann = people.account(database, "Olga"), people.account(database, "Ann")
        self.teams = {"Olga": people.team(database, "Bears", olga), "Ann": people.team(database, "Owls", ann)}
        with database.write() as session:
            session.add(TaskRole(task_id=1, account_id=olga, role="organiser"))
        self.viewers = {name: people.viewer(database, of) for name, of in (("Olga", olga), ("Ann", ann))}

    def agent(self, name: str) -> Viewer:
        """The viewer that an agent of the account is."""
        wanted = TokenRequest(label="agent", kind=AGENT, scopes=("read", "submit"))
        with self.database.write() as session:
            made = tokens.make(session, self.viewers[name], wanted, factor_needed=False)
        with self.database.read() as session:
            asking = tokens.token_viewer(session, made.secret, factor_needed=False)
        assert asking is not None
        return asking.viewer

    def send(self, sender: Viewer, name: str, text: str = TEXT) -> Submission:
        """A file sent for the account's team and checked at once."""
        path = self.folder / f"{name}.run"
        path.write_text(text)
        team_id = self.teams[sender.name]
        with self.database.read() as session:
            rules = limits.rules_for(session, sender, "t", team_id)
        file = prepare.prepare(path, path.name, rules, Limits())
        with self.database.write() as session:
            return uploads.submit(
                session,
                Delivery(sender=sender, slug="t", team_id=team_id, file=file, run_request=RunRequest(name)),
            )

    def review(self, viewer: Viewer, upload_id: int, accept: bool, why: str = "") -> None:
        """Decide, and check again what was accepted."""
        with self.database.write() as session:
            withdrawals.review(session, viewer, upload_id, Review(accept=accept, why=why))
        build.drain(self.database)

    def upload(self, upload_id: int) -> Upload:
        """The upload as it is stored."""
        with self.database.read() as session:
            return session.get_one(Upload, upload_id)


@pytest.fixture
def site(database: Database, tmp_path: Path) -> Site:
    """The site, whose only phase has neither limits nor reviews."""
    return Site(database, tmp_path)


def _phase(site: Site, **values: object) -> None:
    with site.database.write() as session:
        session.execute(update(Phase).values(**values))


def test_an_agent_never_has_more_than_to_take_part(site: Site) -> None:
    """Its token organises and judges nothing, whoever owns it; other scopes cannot be asked for."""
    agent = site.agent("Olga")
    assert agent.is_agent
    assert agent.organises == agent.coordinates == frozenset()
    assert not site.viewers["Olga"].is_agent
    for scope in (Scope.ORGANISE, Scope.JUDGE):
        wanted = TokenRequest(label="agent", kind=AGENT, scopes=(scope,))
        with (
            pytest.raises(Forbidden, match="Choose scopes from read, submit"),
            site.database.write() as session,
        ):
            tokens.make(session, site.viewers["Olga"], wanted, factor_needed=False)


def test_runs_of_agents_say_so_for_good(site: Site) -> None:
    """On the run, the team's page and the organiser's list; a person's run of the same team does not."""
    by_agent, by_person = site.send(site.agent("Ann"), "one"), site.send(site.viewers["Ann"], "two")
    with site.database.read() as session:
        said = {
            sent.run_id: seen_run(session, site.viewers["Ann"], sent.run_id or 0).head(by_topic=False)[
                "agent"
            ]
            for sent in (by_agent, by_person)
        }
        listed = {
            run.run_id: run.is_agents
            for run in team_page(session, site.viewers["Ann"], site.teams["Ann"]).runs
        }
        shown = {
            sent.upload.id: sent.upload.agent for sent in desk(session, site.viewers["Olga"], "t").uploads
        }
    assert said == listed == {by_agent.run_id: True, by_person.run_id: False}
    assert shown == {by_agent.upload_id: True, by_person.upload_id: False}


def test_what_an_agent_sent_stays_its_own_when_a_person_fixes_it(site: Site) -> None:
    """And what a person sent is an agent's where that fixes it."""
    for sender, fixer in ((site.agent("Ann"), site.viewers["Ann"]), (site.viewers["Ann"], site.agent("Ann"))):
        rejected = site.send(sender, f"run-{sender.is_agent}", FIXABLE)
        with site.database.write() as session:
            made = fixing.ask(session, fixer, rejected.upload_id, ["duplicates"])
        assert site.upload(made.upload_id).agent


def test_agents_have_a_limit_of_their_own_within_the_others(site: Site) -> None:
    """Of a day, for team and account; people may still submit, and a limit of all is never exceeded."""
    _phase(site, agent_runs_per_day=1, runs_per_day=2)
    agent, ann = site.agent("Ann"), site.viewers["Ann"]
    with site.database.read() as session:
        left = limits.admission_quota(session, agent, "t", site.teams["Ann"])
    assert (left.left_today, left.limit) == (1, "1 run by agents per day for Owls")
    site.send(agent, "one")
    with pytest.raises(OverQuota, match="By agents, Owls has used all 1 runs for today"):
        site.send(agent, "two")
    site.send(ann, "three")
    with pytest.raises(OverQuota, match="Owls has used all 2 runs for today"):
        site.send(ann, "four")
    _phase(site, agent_runs_per_day=9)
    with pytest.raises(OverQuota, match="Owls has used all 2 runs for today"):
        site.send(agent, "five")


def test_agents_of_organisers_have_limits_and_reviews_too(site: Site) -> None:
    """Only the organiser in person is free of them."""
    _phase(site, agent_runs_per_day=1, agent_review=True)
    agent = site.agent("Olga")
    held = site.send(agent, "one")
    assert held.state == "held"
    with pytest.raises(OverQuota):
        site.send(agent, "two")
    assert site.send(site.viewers["Olga"], "three").state == "accepted"
    with pytest.raises(Forbidden), site.database.write() as session:
        withdrawals.review(session, agent, held.upload_id, Review(accept=True))
    site.review(site.viewers["Olga"], held.upload_id, True)
    assert site.upload(held.upload_id).state == "accepted"


def test_a_held_run_is_scored_once_an_organiser_accepts_it(site: Site) -> None:
    """It stands first in the list and is no run until then; its mark stays; the decision is on record."""
    _phase(site, agent_review=True)
    agent, ann, olga = site.agent("Ann"), site.viewers["Ann"], site.viewers["Olga"]
    held = site.send(agent, "one")
    site.send(ann, "two")
    assert (held.state, held.run_id) == ("held", None)
    with site.database.read() as session:
        page = desk(session, olga, "t")
        assert (page.uploads[0].upload.id, page.to_review) == (held.upload_id, 1)
        assert limits.rejections_left(session, ann.account_id) == limits.REJECTED_AN_HOUR
    site.review(olga, held.upload_id, True)
    with site.database.read() as session:
        run = session.scalars(select(Run).where(Run.upload_id == held.upload_id)).one()
        assert seen_run(session, ann, run.id).access.links.agent
        assert queue.run_states(session, [run.id])[run.id].state == "done"
        assert desk(session, olga, "t").to_review == 0
        assert session.scalars(
            select(Audit.action).where(Audit.subject == f"upload:{held.upload_id}")
        ).all() == ["upload.accept"]


def test_a_held_run_is_rejected_with_a_reason(site: Site) -> None:
    """The team reads it; the file goes; it counts no longer; nothing is decided twice."""
    _phase(site, agent_review=True, runs_in_all=1)
    held = site.send(site.agent("Ann"), "one")
    olga = site.viewers["Olga"]
    with pytest.raises(Invalid, match="reason"):
        site.review(olga, held.upload_id, False)
    site.review(olga, held.upload_id, False, "Found by trying all.")
    upload = site.upload(held.upload_id)
    report = uploads.report_of(upload)
    assert report is not None
    assert (upload.state, report.problems[0].rule) == (
        "rejected",
        "Rejected by the organisers after review: Found by trying all.",
    )
    with site.database.read() as session:
        assert session.scalars(select(UploadChunk).where(UploadChunk.upload_id == upload.id)).all() == []
    with pytest.raises(Conflict, match="its state is rejected"):
        site.review(olga, held.upload_id, True)
    assert site.send(site.viewers["Ann"], "two").state == "accepted"


@pytest.mark.parametrize(
    ("who", "error"), [("Ann", Forbidden), ("agent", Forbidden), ("stranger", NotFound), ("reads", NotFound)]
)
def test_only_organisers_review(site: Site, who: str, error: type[LeaderboardError]) -> None:
    """Its team knows of it and may not; others know of nothing; no token without the scope may."""
    _phase(site, agent_review=True)
    held = site.send(site.agent("Ann"), "one")
    zed = people.viewer(site.database, people.account(site.database, "Zed"))
    asker = {"Ann": site.viewers["Ann"], "agent": site.agent("Ann"), "stranger": zed}.get(
        who, replace(zed, reads=frozenset({2}))
    )
    with pytest.raises(error), site.database.write() as session:
        withdrawals.review(session, asker, held.upload_id, Review(accept=True))
    assert site.upload(held.upload_id).state == "held"


def test_what_waits_for_organisers_does_not_expire_and_a_fix_waits_again(site: Site) -> None:
    """A week is for senders; what an agent fixes of a person's file waits for the organisers too."""
    _phase(site, agent_review=True)
    agent = site.agent("Ann")
    held = site.send(agent, "one")
    with site.database.write() as session:
        session.execute(update(Upload).values(checked_at=now(session) - timedelta(days=30)))
        batches.expire(session)
    assert site.upload(held.upload_id).state == "held"
    rejected = site.send(site.viewers["Ann"], "two", FIXABLE)
    with site.database.write() as session:
        made = fixing.ask(session, agent, rejected.upload_id, ["duplicates"])
    build.drain(site.database)
    assert site.upload(made.upload_id).state == "held"

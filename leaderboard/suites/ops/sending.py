"""A suite run sent as one archive: each member's run becomes an ordinary run of its task, or nothing does."""

import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard import fields
from leaderboard.core import audit, policy, throttles
from leaderboard.core.actions import Action, File, Given
from leaderboard.core.kinds import UploadRules
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import add_unless_taken, lock_key, lock_row, now
from leaderboard.db.tables import Run, Suite, SuiteMember, SuiteRun, SuiteRunPart, Team
from leaderboard.errors import MAX_PROBLEMS, Conflict, Invalid, LeaderboardError, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.runs.ops import limits as runs_limits
from leaderboard.runs.ops import prepare, uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.prepare import PreparedUpload
from leaderboard.runs.ops.uploads import Delivery, RunDetails
from leaderboard.suites.ops import seen
from leaderboard.suites.ops.seen import KnownSuite
from leaderboard.trec.facts import read_fact_fields
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.suites import ANSWERS, RUNS, Submission, meant


@dataclass(frozen=True, slots=True, eq=False)
class SubmissionRules:
    """The rules for an archive; refused: members whose tasks accept no run now, with the reason."""

    names: tuple[str, ...]
    by_member: Mapping[str, UploadRules]
    refused: Mapping[str, str]
    needs_metadata: bool


@dataclass(frozen=True, slots=True, eq=False)
class PreparedSubmission:
    """A parsed archive: the checked files by member, the missing members, problems and warnings.

    Nothing may be stored if there are problems.
    """

    name: str
    sha256: str
    metadata: Mapping[str, Any]
    files: Mapping[str, PreparedUpload]
    missing: tuple[str, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRunQuery(RunDetails):
    """The team, and the entries for each run; check: whether the form only asks what would become of it."""

    check: Annotated[bool, Field(title="Check only", is_carried=True)] = False


def rules_of(session: Session, viewer: Viewer, slug: str, team_id: int) -> SubmissionRules:
    """The rules for an archive of the team, read before the check.

    Raises as `records.visible_suite` does, and NotFound unless the viewer is in the team.
    """
    known_suite = seen.visible_suite(session, viewer, slug)
    by_member: dict[str, UploadRules] = {}
    refused: dict[str, str] = {}
    for member in known_suite.members:
        try:
            by_member[member.member.name] = runs_limits.rules_for(session, viewer, member.task.slug, team_id)
        except LeaderboardError as error:
            refused[member.member.name] = error.message
    return SubmissionRules(known_suite.names, by_member, refused, known_suite.suite.metadata_is_required)


def prepared(
    path: Path, file_name: str, rules: SubmissionRules, folder: Path, limits: Limits
) -> PreparedSubmission:
    """An archive checked member by member; the files stay in the folder until they are stored.

    Needs no session. Raises Invalid for a file that is not an archive or is damaged, TooLarge beyond the
    limits; all else that is wrong is among its problems, 25 at most.
    """
    submission = Submission(path, rules.names, limits, names=(*RUNS, *ANSWERS), called=file_name)
    files: dict[str, PreparedUpload] = {}
    problems: list[Problem] = []
    warnings: list[Problem] = []
    try:
        for member, run in submission.runs():
            if why := rules.refused.get(member):
                problems.append(_of_member(member, Problem(why)))
                continue
            kept = Path(
                shutil.copyfile(run, folder / f"suite-{len(files)}{_ending(submission.seen[member])}")
            )
            checked = prepare.prepare(kept, submission.seen[member], rules.by_member[member], limits)
            files[member] = checked
            problems += (_of_member(member, problem) for problem in checked.report.problems)
            warnings += (_of_member(member, problem) for problem in checked.report.warnings)
        submission.require(rules.needs_metadata)
    except Invalid as error:
        if not error.problems:
            raise
        problems = [*error.problems, *problems]
    return PreparedSubmission(
        name=prepare.suggested_name(submission.name),
        sha256=prepare.digest(path),
        metadata=submission.metadata,
        files={member: _with_metadata(file, submission.metadata) for member, file in files.items()},
        missing=tuple(submission.missing),
        problems=tuple(problems[:MAX_PROBLEMS]),
        warnings=tuple(warnings[:MAX_PROBLEMS]),
    )


def send(
    session: Session,
    viewer: Viewer,
    slug: str,
    submission: PreparedSubmission,
    details: RunDetails,
    key: str | None = None,
    name: str = "",
) -> int:
    """Store a checked archive: a run in each member's task and the suite run of them; the suite run's id.

    name: that of the runs; empty: the archive's. All of it in the session's transaction. A key seen before
    gives the suite run that it made. Raises Invalid with every problem, also those that the tasks have with
    it now: names, limits, deadlines; Conflict for a key that was used with another archive.
    """
    lock_row(session, Team, details.team_id)
    if (earlier := _earlier(session, submission, key)) is not None:
        return earlier
    known_suite = seen.visible_suite(session, viewer, slug)
    name = name.strip() or submission.name
    if submission.problems:
        raise _refused(submission.problems)
    require_free_name(session, known_suite, details.team_id, name)
    request = RunRequest(name, details.kind, details.description, read_fact_fields(details.facts))
    runs = _runs(session, viewer, known_suite, submission, details.team_id, request, key)
    suite_run = SuiteRun(
        suite_id=known_suite.suite.id,
        team_id=details.team_id,
        account_id=viewer.account_id,
        name=name,
        sha256=submission.sha256,
        idempotency_key=key,
        details=dict(submission.metadata),
        created_at=now(session),
        withdrawn_at=None,
    )
    if not add_unless_taken(session, suite_run):
        raise Conflict("This form is already being submitted; wait for its answer.")
    members = {member_task.member.name: member_task.member.id for member_task in known_suite.members}
    session.add_all(
        SuiteRunPart(suite_run_id=suite_run.id, member_id=members[member], run_id=run_id)
        for member, run_id in runs.items()
    )
    session.flush()
    audit.record(session, viewer, "suite.send", f"suite_run:{suite_run.id}", name=name, members=len(runs))
    return suite_run.id


AT_ONCE = 1
"""Maximum archives checked at a time: each has one file per member."""
_turns = threading.BoundedSemaphore(AT_ONCE)
BUSY = "Another suite run is being checked now. Try again in a minute."


def _read(given: Given, asked: SuiteRunQuery) -> tuple[PreparedSubmission, str | None]:
    """A counted archive and the key of the request."""
    file, asker = given.files["file"], given.viewer
    count = runs_limits.count_check_only if asked.check else _count
    # The operator's are not counted: a command would keep the transaction while it reads the archive.
    if not asker.is_operator:
        with given.sessions.writing() as session:
            count(session, asker.account_id, asker.ip)
    within = Limits(plain_bytes=given.settings.plain_bytes)
    name = file.name or given.at[-1]
    return prepared(file.path, name, given.allowed, given.sessions.folder(), within), given.key


def _count(session: Session, account_id: int | None, ip: str) -> None:
    """Count an archive before it is checked; raises OverQuota for a minute after too many rejected ones.

    It counts as one rejected file until it is accepted.
    """
    if not runs_limits.count_check(session, account_id, ip):
        runs_limits.take_turn(session, account_id)


def _store(
    session: Session,
    viewer: Viewer,
    slug: str,
    name: str,
    sent: tuple[PreparedSubmission, str | None],
    asked: SuiteRunQuery,
) -> int | PreparedSubmission:
    submission, key = sent
    if asked.check:
        return submission
    suite_run_id = send(session, viewer, slug, submission, asked, key, name)
    runs_limits.count_accepted(session, viewer.account_id, viewer.ip)
    return suite_run_id


SEND = Action(
    name="send_suite_run",
    summary="Submit a suite run",
    more="The body is a zip or tar with one folder per member. Each member's run becomes an ordinary run of "
    "its task, under this name. If there is any problem, nothing is stored: 422, with every problem. With "
    "`Idempotency-Key`, the same archive sent again creates no second suite run.",
    method="PUT",
    path="/suites/<suite>/archives/<name>",
    form="/suites/<suite>/submit",
    named={"name": "name"},
    may=seen.visible_suite,
    record=SuiteRunQuery,
    plan=lambda session, viewer, slug, name, asked: rules_of(session, viewer, slug, asked.team_id),
    file=File(
        field="file",
        missing="Choose a zip or tar with one folder per member.",
        turn=partial(throttles.turn, _turns, BUSY, 60),
        prepare=_read,
    ),
    act=_store,
    scopes=(Scope.SUBMIT,),
    status=201,
)


def require_free_name(session: Session, known_suite: KnownSuite, team_id: int, name: str) -> None:
    """Raise Invalid where the team has another run of this name in the suite, or no run may have it."""
    if not prepare.NAME.fullmatch(name):
        rule = (
            "must be 1 to 64 letters, digits, dots, hyphens or underscores, starting with a letter or digit."
        )
        remedy = f"For example {prepare.suggested_name(name)}."
        raise _refused([Problem(rule, remedy, field="run name", value=name[:80])])
    lock_key(session, f"suite runs {known_suite.suite.id}")
    taken = select(SuiteRun.id).where(
        SuiteRun.suite_id == known_suite.suite.id,
        SuiteRun.team_id == team_id,
        SuiteRun.name == name,
        SuiteRun.withdrawn_at.is_(None),
    )
    if session.scalar(taken) is not None:
        rule = "is the name of another run of your team in this suite."
        remedy = "Submit it under another name."
        raise _refused([Problem(rule, remedy, field="run name", value=name)])


def _earlier(session: Session, submission: PreparedSubmission, key: str | None) -> int | None:
    """The outcome of an earlier submission of the same form."""
    suite_run = key and session.scalar(select(SuiteRun).where(SuiteRun.idempotency_key == key))
    if not suite_run:
        return None
    if suite_run.sha256 != submission.sha256:
        raise Conflict("This form was already submitted with another file. Reload the page.")
    return suite_run.id


def _runs(
    session: Session,
    viewer: Viewer,
    known_suite: KnownSuite,
    submission: PreparedSubmission,
    team_id: int,
    request: RunRequest,
    key: str | None,
) -> dict[str, int]:
    """Member -> id of the run that its task has from now on; raises Invalid unless all tasks take theirs."""
    runs: dict[str, int] = {}
    problems: list[Problem] = []
    # In one order for all suites: so that locks of tasks never deadlock.
    for member_task in sorted(known_suite.members, key=lambda member_task: member_task.task.id):
        member = member_task.member.name
        if member not in submission.files:
            continue
        delivery = Delivery(
            sender=viewer,
            slug=member_task.task.slug,
            team_id=team_id,
            file=submission.files[member],
            run_request=request,
            key=f"{key}:{member}" if key else None,
        )
        try:
            sent = uploads.submit(session, delivery)
        except LeaderboardError as error:
            problems.append(_of_member(member, Problem(error.message)))
            continue
        if sent.state == "held":
            rule = (
                f"{member_task.task.name} holds runs by agents for review, so they cannot form a suite run."
            )
            problems.append(_of_member(member, Problem(rule, "Submit the runs to the tasks one by one.")))
        elif sent.run_id is None:
            run_problems = sent.report.problems if sent.report is not None else ()
            problems += (_of_member(member, problem) for problem in run_problems)
        else:
            runs[member] = sent.run_id
    if problems or not runs:
        raise _refused(problems)
    return runs


def _refused(problems: "list[Problem] | tuple[Problem, ...]") -> Invalid:
    return Invalid("The suite run was rejected; nothing was stored.", problems[:MAX_PROBLEMS])


def _of_member(member: str, problem: Problem) -> Problem:
    """A problem of a member's run, prefixed with the member's name.

    >>> str(_of_member("law", Problem("is twice in the topic.", line=3, field="docno", value="D1")))
    "line 3: law, docno 'D1': is twice in the topic."
    """
    if problem.field and problem.value:
        return replace(problem, field=f"{member}, {problem.field}")
    if problem.value:
        return replace(problem, field=member)
    return replace(problem, field="member", value=member)


def _ending(name: str) -> str:
    return name[name.index("run.") + 3 :] if "run." in name else ""


def _with_metadata(file: PreparedUpload, metadata: Mapping[str, Any]) -> PreparedUpload:
    """The run with the archive's common metadata; its own file takes precedence."""
    if file.run is None or not metadata:
        return file
    return replace(file, run=replace(file.run, details={**metadata, **file.run.details}))


def members_of(known_suite: KnownSuite) -> Iterator[tuple[str, int]]:
    """Short name and id of every member."""
    return ((member.member.name, member.member.id) for member in known_suite.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRun:
    """The number of a run and the short name of the member that it is for."""

    member: Annotated[str, Field(title="Member", help="The short name of a member of the suite.", least=0)]
    run: Annotated[int, Field(title="Run", help="The number of the run.")]


def _read_runs(text: str) -> tuple[MemberRun, ...]:
    """The runs of a form, as in law=12; raises Invalid for what is not the number of a run."""
    pairs = (words.partition("=") for words in text.split())
    return tuple(fields.read(MemberRun, {"member": member, "run": run}) for member, _, run in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRuns:
    """Runs of the team for members that a suite run lacks."""

    runs: Annotated[
        tuple[MemberRun, ...], Field(title="Runs", help="A run for each missing member.", read=_read_runs)
    ]

    @property
    def chosen(self) -> dict[str, int]:
        """Member -> run id."""
        return {member_run.member: member_run.run for member_run in self.runs}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSuiteRun(ChosenRuns):
    """A suite run of runs that a team has."""

    team_id: Annotated[int, Field(title="Team", help="The number of the team.")]
    name: Annotated[str, Field(title="Run name", help="The name of each run.", least=0, read=str.strip)]


def put_together(
    session: Session, viewer: Viewer, slug: str, team_id: int, name: str, chosen: Mapping[str, int]
) -> int:
    """Make a suite run of runs that the team has: member -> run id; the suite run's id.

    Raises Invalid with a problem for each member whose run cannot be it, Forbidden unless the viewer is in
    the team.
    """
    policy.require_member(viewer, team_id)
    known_suite = seen.visible_suite(session, viewer, slug)
    lock_row(session, Team, team_id)
    require_free_name(session, known_suite, team_id, name)
    suite_run = SuiteRun(
        suite_id=known_suite.suite.id,
        team_id=team_id,
        account_id=viewer.account_id,
        name=name,
        sha256="",
        idempotency_key=None,
        details={},
        created_at=now(session),
        withdrawn_at=None,
    )
    session.add(suite_run)
    session.flush()
    _add(session, known_suite, suite_run, chosen)
    audit.record(session, viewer, "suite.send", f"suite_run:{suite_run.id}", name=name, members=len(chosen))
    return suite_run.id


def fill_in(
    session: Session, viewer: Viewer, slug: str, suite_run_id: int, chosen: Mapping[str, int]
) -> None:
    """Give members that a suite run lacks, or whose run was withdrawn, a run of the team; raises as above."""
    known_suite, suite_run = own_suite_run(session, viewer, slug, suite_run_id)
    lock_row(session, Team, suite_run.team_id)
    _add(session, known_suite, suite_run, chosen)
    audit.record(session, viewer, "suite.fill_in", f"suite_run:{suite_run.id}", members=sorted(chosen))


def withdraw_parts(session: Session, viewer: Viewer, slug: str, suite_run_id: int) -> None:
    """Withdraw a suite run from the suite's board; its runs stay in their tasks. Twice changes nothing."""
    _, suite_run = own_suite_run(session, viewer, slug, suite_run_id)
    if suite_run.withdrawn_at is None:
        suite_run.withdrawn_at = now(session)
        audit.record(session, viewer, "suite.withdraw_run", f"suite_run:{suite_run.id}")


def restore_parts(session: Session, viewer: Viewer, slug: str, suite_run_id: int) -> None:
    """Put a suite run back; raises Invalid where the team has another one of its name by now."""
    known_suite, suite_run = own_suite_run(session, viewer, slug, suite_run_id)
    if suite_run.withdrawn_at is not None:
        require_free_name(session, known_suite, suite_run.team_id, suite_run.name)
        suite_run.withdrawn_at = None
        audit.record(session, viewer, "suite.restore_run", f"suite_run:{suite_run.id}")


def own_suite_run(
    session: Session, viewer: Viewer, slug: str, suite_run_id: int
) -> tuple[KnownSuite, SuiteRun]:
    """A suite run of a team of the viewer's, or of a suite that it looks after; NotFound for all others."""
    known_suite = seen.visible_suite(session, viewer, slug)
    suite_run = session.get(SuiteRun, suite_run_id)
    if (
        suite_run is None
        or suite_run.suite_id != known_suite.suite.id
        or not may_change(viewer, known_suite, suite_run.team_id)
    ):
        raise NotFound(f"You have no run {suite_run_id} in this suite.")
    return known_suite, suite_run


def may_change(viewer: Viewer, known_suite: KnownSuite, team_id: int) -> bool:
    """Whether the viewer may change the suite runs of a team."""
    if policy.owns(viewer, team_id):
        return True
    # Not operators: a suite does not reveal what its tasks hide.
    return known_suite.may_change and all(
        policy.organises(viewer, member.task.id) for member in known_suite.members
    )


def suite_run_of(session: Session, run_id: int) -> list[tuple[Suite, SuiteRun]]:
    """The suite runs that contain a run, in suites that are not withdrawn; one statement.

    Call it only for a run whose team name is visible to the viewer: a suite run reveals it.
    """
    rows = session.execute(
        select(Suite, SuiteRun)
        .join(SuiteRun, SuiteRun.suite_id == Suite.id)
        .join(SuiteRunPart, SuiteRunPart.suite_run_id == SuiteRun.id)
        .join(SuiteMember, SuiteMember.id == SuiteRunPart.member_id)
        .where(
            SuiteRunPart.run_id == run_id,
            SuiteMember.position.is_not(None),
            SuiteRun.withdrawn_at.is_(None),
            Suite.withdrawn_at.is_(None),
        )
        .order_by(Suite.title)
    )
    return [(suite, run) for suite, run in rows]


def _add(session: Session, known_suite: KnownSuite, suite_run: SuiteRun, chosen: Mapping[str, int]) -> None:
    members = dict(members_of(known_suite))
    standing = _standing(session, suite_run.id)
    problems = [
        problem
        for member, run_id in chosen.items()
        if (problem := _problem(session, known_suite, suite_run, members, standing, member, run_id))
    ]
    if not chosen:
        problems.append(Problem("No run is selected.", "Choose a run for at least one member."))
    if problems:
        raise Invalid("These runs cannot form a suite run; nothing was changed.", problems)
    for member, run_id in chosen.items():
        part = session.get(SuiteRunPart, (suite_run.id, members[member]))
        if part is None:
            session.add(SuiteRunPart(suite_run_id=suite_run.id, member_id=members[member], run_id=run_id))
        else:
            part.run_id = run_id
    session.flush()


def _standing(session: Session, suite_run_id: int) -> set[int]:
    """The ids of the members for which a suite run has a run that was not withdrawn."""
    rows = session.scalars(
        select(SuiteRunPart.member_id)
        .join(Run, Run.id == SuiteRunPart.run_id)
        .where(SuiteRunPart.suite_run_id == suite_run_id, Run.withdrawn_at.is_(None))
    )
    return set(rows)


def _problem(
    session: Session,
    known_suite: KnownSuite,
    suite_run: SuiteRun,
    members: Mapping[str, int],
    standing: set[int],
    member: str,
    run_id: int,
) -> Problem | None:
    """Why a run cannot be a member's of this suite run; None where it can."""
    if member not in members:
        return Problem(
            "This member does not exist.", meant(member, known_suite.names), field="member", value=member[:80]
        )
    if members[member] in standing:
        rule, remedy = (
            "already has a run in this suite run.",
            "Withdraw that run first, or create another suite run.",
        )
        return Problem(rule, remedy, field="member", value=member)
    run = session.get(Run, run_id)
    task_id = next(
        member_task.task.id for member_task in known_suite.members if member_task.member.name == member
    )
    if (
        run is None
        or run.team_id != suite_run.team_id
        or run.task_id != task_id
        or run.withdrawn_at is not None
    ):
        rule = f"is not a run of the team in the task of {member}."
        return Problem(rule, "Choose a run on its board.", field="run", value=str(run_id))
    used = session.scalar(
        select(SuiteRunPart.suite_run_id)
        .join(SuiteRun, SuiteRun.id == SuiteRunPart.suite_run_id)
        .where(SuiteRunPart.member_id == members[member], SuiteRunPart.run_id == run_id)
        .where(SuiteRun.id != suite_run.id)
    )
    if used is not None:
        rule = f"is the run of {member} in another suite run."
        return Problem(rule, "A run can belong to only one suite run.", field="run", value=run.name)
    return None

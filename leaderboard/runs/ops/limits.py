"""Limits on the runs a team and an account can submit, and on their rejected files."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from math import ceil
from operator import itemgetter

from sqlalchemy import ColumnElement, SelectBase, case, false, func, or_, select, union
from sqlalchemy.orm import Session

from leaderboard.core import kinds, policy, throttles
from leaderboard.core.kinds import UploadRules
from leaderboard.core.phase_rules import KINDS
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Account, Member, Phase, Run, Task, Team, TopicSet, Upload
from leaderboard.errors import Closed, Invalid, NotFound, OverQuota, TooLarge
from leaderboard.runs import slots
from leaderboard.scoring.ops import collections, scored_topics
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.scored_topics import is_over
from leaderboard.tables.record import utc_time
from leaderboard.tasks.ops import entries, phases
from leaderboard.trec.documents.documents import DocnoFilter
from leaderboard.trec.facts import FactValue
from leaderboard.trec.runs.check import Rules

REJECTED_AN_HOUR = 20
REJECTED_AN_HOUR_OF_A_NETWORK = 100
AN_HOUR = timedelta(hours=1)
RULE = (
    "Accepted runs (including withdrawn ones) and files waiting to be checked count; rejected files do not."
)
COUNTED = ("received", "held", "accepted")
"""States of uploads that are runs, or may become some."""
CHECKS_AN_HOUR = 60
"""Maximum check-only files per account, or per network for visitors."""
BETWEEN_TURNS = timedelta(minutes=1)
"""Minimum delay between two checks after too many rejected files."""
TAKES_TURNS = (
    f"{REJECTED_AN_HOUR} of your files were rejected within an hour, so your files are now checked one at a "
    "time"
)
ANNOUNCED_FROM = 5
"""Number of remaining rejections from which the limit is announced."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The remaining runs of a team; None means no limit. next_at: when the daily limit resets.

    left_today: the minimum over all limits, daily and total; limit names the limit that applies.
    per_day: the smallest daily limit.
    """

    left_today: int | None
    left_in_all: int | None
    next_at: datetime
    per_day: int | None = None
    limit: str = ""

    def __str__(self) -> str:
        """The remaining runs, as text; empty if there is no limit."""
        words = [] if self.per_day is None else [f"{self.left_today} left today ({self.limit})"]
        if self.left_in_all is not None:
            words.append(f"{self.left_in_all} left in total")
        if self.per_day is not None:
            words.append(f"the daily limit resets {self.next_at:%Y-%m-%d %H:%M} UTC")
        return ", ".join(words)

    @property
    def is_used_up(self) -> bool:
        """Whether no run may be added now."""
        return self.left_today == 0


@dataclass(frozen=True, slots=True)
class _Sender:
    """The counted sender, as named in a refusal."""

    words: str
    whose: ColumnElement[bool]
    per_day: int | None
    in_all: int | None


def quota(
    session: Session, phase: Phase, team: Team, account_id: int | None, *, is_agent: bool = False
) -> Quota:
    """The remaining runs of the account, or its agent, for the team; 0 if either has used all."""
    return quotas(session, [(phase, team.id, team.name)], account_id, is_agent=is_agent)[phase.id, team.id]


def quotas(
    session: Session,
    asked: Sequence[tuple[Phase, int, str]],
    account_id: int | None,
    *,
    is_agent: bool = False,
) -> dict[tuple[int, int], Quota]:
    """The quotas by phase and team number, in one statement.

    asked: phases with a team's number and name. account_id: the account whose own limits also apply; None
    for no account. is_agent: whether those of agents apply too.
    """
    midnight = _midnight(now(session))
    is_today = case((Upload.created_at >= midnight, 1), else_=0)
    of_account = false() if account_id is None else _of_account(account_id)
    is_own = case((of_account, 1), else_=0)
    rows = session.execute(
        select(Upload.phase_id, Upload.team_id, Upload.agent, is_own, func.count(), func.sum(is_today))
        .where(
            Upload.phase_id.in_({phase.id for phase, _, _ in asked}),
            Upload.state.in_(COUNTED),
            Upload.id.in_(_uploads_of(asked, account_id)),
        )
        .group_by(Upload.phase_id, Upload.team_id, Upload.agent, is_own)
    )
    of_team: Counter[tuple[int, int, str]] = Counter()
    own: Counter[tuple[int, str]] = Counter()
    for phase_id, team_id, by_agent, owned, sent, today in rows:
        numbers = {"per day": int(today), "in total": sent, "by agents per day": int(today) * by_agent}
        for when, number in numbers.items():
            of_team[phase_id, team_id, when] += number
            own[phase_id, when] += owned * number

    def left(phase: Phase, team_id: int, name: str) -> Quota:
        limits = [("per day", phase.runs_per_day, name), ("in total", phase.runs_in_all, name)]
        own_limits = list(zip(("per day", "in total"), _account_limits(phase), strict=True))
        if is_agent:
            limits.append(("by agents per day", phase.agent_runs_per_day, name))
            own_limits.append(("by agents per day", phase.agent_runs_per_day))
        remaining = [
            (limit - of_team[phase.id, team_id, when], limit, when, whose)
            for when, limit, whose in limits
            if limit is not None
        ]
        if account_id is not None:
            remaining += [
                (limit - own[phase.id, when], limit, when, "you and all your teams")
                for when, limit in own_limits
                if limit is not None
            ]
        return _quota(remaining, midnight + timedelta(days=1))

    return {(phase.id, team_id): left(phase, team_id, name) for phase, team_id, name in asked}


def _uploads_of(asked: Sequence[tuple[Phase, int, str]], account_id: int | None) -> SelectBase:
    """The uploads of the teams, the account and its teams: each by an index, which `or` would not use."""
    tasks = Upload.task_id.in_({phase.task_id for phase, _, _ in asked})
    of_teams = select(Upload.id).where(tasks, Upload.team_id.in_({team_id for _, team_id, _ in asked}))
    if account_id is None:
        return of_teams
    of_own_teams = select(Upload.id).join(Member, Member.team_id == Upload.team_id)
    return union(
        of_teams,
        select(Upload.id).where(tasks, Upload.account_id == account_id),
        of_own_teams.where(tasks, Member.account_id == account_id),
    )


def _quota(remaining: Sequence[tuple[int, int, str, str]], next_at: datetime) -> Quota:
    """The quota by limits: what each leaves, what it is, when and for whom it counts."""
    if not remaining:
        return Quota(None, None, next_at)
    # Of equal ones the daily limit of the team is named, which comes first.
    least, limit, when, whose = min(remaining, key=itemgetter(0))
    in_all = [number for number, _, of, _ in remaining if of == "in total"]
    return Quota(
        max(0, least),
        max(0, min(in_all)) if in_all else None,
        next_at,
        min((number for _, number, of, _ in remaining if of != "in total"), default=None),
        f"{limit} run{'' if limit == 1 else 's'} {when} for {whose}",
    )


def hold(session: Session, team_id: int, account_id: int | None) -> None:
    """Hold the rows of team and account, in this order, so that their counts stay true."""
    lock_row(session, Team, team_id)
    if account_id is not None:
        lock_row(session, Account, account_id)


def require_room(
    session: Session, phase: Phase, team: Team, account_id: int | None, *, is_agent: bool = False
) -> None:
    """Raise OverQuota where team or account has used its runs; files that wait for their check count."""
    _require_room(session, _senders(phase, team, account_id, is_agent), phase, now(session))


def require_still_room(session: Session, phase: Phase, upload: Upload) -> None:
    """Raise OverQuota where a file that was received is over the limits of the day it came in.

    Files received after it do not count. Organisers and the operator have no limits.
    """
    if _is_free(session, upload):
        return
    hold(session, upload.team_id, upload.account_id)
    team = session.get_one(Team, upload.team_id)
    # Only what came before it: files that others send later never displace one that has a place.
    before = Upload.id < upload.id
    senders = _senders(phase, team, upload.account_id, upload.agent)
    _require_room(session, senders, phase, upload.created_at, before)


def count_check(session: Session, account_id: int | None, ip: str = "") -> bool:
    """Count a file as rejected before its check; return whether it may be checked at once.

    Commit this first, so that none is checked for free; `count_accepted` undoes it. Not at once, and
    uncounted, where 20 files of the account or 100 of a network were rejected within an hour: such a file
    waits for its turn (`turn_of`). Without an account nothing is counted.
    """
    if account_id is None:
        return True
    try:
        throttles.spend(session, _account_key(account_id), REJECTED_AN_HOUR, AN_HOUR)
    except OverQuota:
        return False
    try:
        if ip:
            throttles.spend(session, _network_key(ip), REJECTED_AN_HOUR_OF_A_NETWORK, AN_HOUR)
    except OverQuota:
        throttles.give_back(session, _account_key(account_id))
        return False
    return True


def turn_of(session: Session, upload: Upload) -> datetime:
    """The time from which a file may be checked after too many rejected files of its account.

    That is a minute after the check before. A good file is accepted this way too, with at most one check per
    minute. Raises OverQuota while another file of the account waits: it is checked first.
    """
    own = Upload.account_id == upload.account_id, Upload.batch_id.is_(None), Upload.id != upload.id
    waiting = session.scalar(select(Upload.file_name).where(*own, Upload.state == "received").limit(1))
    if waiting is not None:
        raise OverQuota(
            f"{waiting} is waiting to be checked. After {REJECTED_AN_HOUR} rejected files within an hour, "
            "your files are checked one at a time. Submit this file once the check is done.",
            retry_after_s=ceil(BETWEEN_TURNS.total_seconds()),
        )
    at = now(session)
    last = session.scalar(select(func.max(Upload.checked_at)).where(*own))
    return at if last is None else max(at, last + BETWEEN_TURNS)


def take_turn(session: Session, account_id: int | None) -> None:
    """As `turn_of`, for a file checked while its sender waits; raises OverQuota within the minute."""
    throttles.spend(session, f"turn account:{account_id}", 1, BETWEEN_TURNS, TAKES_TURNS)


def rejections_left(session: Session, account_id: int | None) -> int:
    """The number of further rejected files within the hour before the account's files are checked in turn."""
    if account_id is None:
        return REJECTED_AN_HOUR
    return throttles.left(session, _account_key(account_id), REJECTED_AN_HOUR, AN_HOUR)


def rejections_in_words(left: int) -> str:
    """The warning before the limit is reached; empty while many rejections are left.

    >>> rejections_in_words(6)
    ''
    >>> rejections_in_words(1)
    'After 1 more rejected file within this hour your files are checked one at a time, at most one a minute.'
    """
    if left > ANNOUNCED_FROM:
        return ""
    if left == 0:
        return f"{TAKES_TURNS}, at most one a minute."
    files = "file" if left == 1 else "files"
    return (
        f"After {left} more rejected {files} within this hour your files are checked one at a time, at most "
        "one a minute."
    )


def count_check_only(session: Session, account_id: int | None, ip: str) -> None:
    """Count a file that is checked and not sent; OverQuota after 60 of an account or network in an hour."""
    key = f"check ip {throttles.network(ip)}" if account_id is None else f"check account:{account_id}"
    throttles.spend(
        session, key, CHECKS_AN_HOUR, AN_HOUR, "Too many files were checked without being submitted"
    )


def count_accepted(session: Session, account_id: int | None, ip: str = "") -> None:
    """Uncount what `count_check` counted: the file was accepted."""
    if account_id is None:
        return
    throttles.give_back(session, _account_key(account_id))
    if ip:
        throttles.give_back(session, _network_key(ip))


def count_rejected(session: Session, account_id: int | None) -> None:
    """Count a file of a batch that was rejected; it was not counted before its check, as may be many."""
    if account_id is not None:
        with suppress(OverQuota):
            throttles.spend(session, _account_key(account_id), REJECTED_AN_HOUR, AN_HOUR)


def _require_room(
    session: Session, senders: Sequence[_Sender], phase: Phase, at: datetime, *others: ColumnElement[bool]
) -> None:
    midnight = _midnight(at)
    tomorrow = midnight + timedelta(days=1)
    today = Upload.created_at >= midnight, Upload.created_at < tomorrow
    for sender in senders:
        if _is_full(sender.in_all, session, phase, sender, *others):
            raise OverQuota(f"{sender.words} used all {sender.in_all} runs of the phase {phase.name}.")
        if _is_full(sender.per_day, session, phase, sender, *others, *today):
            raise OverQuota(
                f"{sender.words} used all {sender.per_day} runs for today. The limit resets "
                f"{tomorrow:%Y-%m-%d %H:%M} UTC.",
                retry_after_s=ceil((tomorrow - at).total_seconds()),
            )


def _is_full(
    limit: int | None, session: Session, phase: Phase, sender: _Sender, *which: ColumnElement[bool]
) -> bool:
    return limit is not None and _count(session, phase, sender, *which) >= limit


def _count(session: Session, phase: Phase, sender: _Sender, *which: ColumnElement[bool]) -> int:
    """Files of the sender that are runs of the phase, or may become some."""
    sent = select(func.count(Upload.id)).where(
        Upload.phase_id == phase.id, Upload.state.in_(COUNTED), sender.whose, *which
    )
    return session.scalar(sent) or 0


def _senders(phase: Phase, team: Team, account_id: int | None, is_agent: bool) -> list[_Sender]:
    """The team, and the account with all its teams, so that another team does not give an account more runs.

    For an agent the same two again, with what their agents sent.
    """
    senders = [_Sender(f"{team.name} has", Upload.team_id == team.id, phase.runs_per_day, phase.runs_in_all)]
    if account_id is not None:
        of_account = _of_account(account_id)
        senders.append(_Sender("You and your teams have together", of_account, *_account_limits(phase)))
    if is_agent:
        senders += [
            _Sender(f"By agents, {each.words}", each.whose & Upload.agent, phase.agent_runs_per_day, None)
            for each in senders
        ]
    return senders


def _of_account(account_id: int) -> ColumnElement[bool]:
    """Whether a file counts for an account: it sent it, or one of its teams did."""
    teams = select(Member.team_id).where(Member.account_id == account_id)
    return or_(Upload.account_id == account_id, Upload.team_id.in_(teams))


def _account_limits(phase: Phase) -> tuple[int | None, int | None]:
    """The account's run limits over all its teams, per day and in total; by default those of a team."""
    per_day = phase.runs_per_day if phase.account_runs_per_day is None else phase.account_runs_per_day
    in_all = phase.runs_in_all if phase.account_runs_in_all is None else phase.account_runs_in_all
    return per_day, in_all


def _is_free(session: Session, upload: Upload) -> bool:
    if upload.agent:
        return False
    return upload.account_id is None or policy.is_organiser(session, upload.task_id, upload.account_id)


def _midnight(at: datetime) -> datetime:
    return datetime(at.year, at.month, at.day, tzinfo=UTC)


def _account_key(account_id: int) -> str:
    return f"rejected account:{account_id}"


def _network_key(ip: str) -> str:
    return f"rejected ip {throttles.network(ip)}"


ORGANISERS_KINDS = frozenset({"baseline", "late"})


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The requested name and properties of a run."""

    name: str
    kind: str = "official"
    description: str = ""
    facts: Mapping[str, FactValue] = field(default_factory=dict, hash=False)
    """Facts about the run from the form, by key, in storage units."""
    phase: str = ""
    """The target phase; empty: the open phase."""
    execution: Mapping[str, str] = field(default_factory=dict, hash=False)
    """A runner's statement of how it made the file: by, image, commit; empty for other senders."""
    reproduces: Mapping[str, int] = field(default_factory=dict, hash=False)
    """The reproduced runs: run numbers by original, original_baseline, baseline; empty: none."""
    filed: bool = False
    """Whether organisers file it for the team; set by `uploads`, never by the sender."""
    late: str = ""
    """An organiser's reason to count the run after its phase has closed; empty if none."""


def rules_for(
    session: Session, viewer: Viewer, slug: str, team_id: int, phase_name: str = "", *, any_team: bool = False
) -> UploadRules:
    """The rules for the team's files in this task, for the open phase or the named one.

    any_team: as in `admit`. Raises NotFound unless the viewer is in the team, Closed if the task accepts no
    runs now.
    """
    task, team, phase = _open(session, viewer, slug, team_id, phase_name, any_team=any_team)
    return _rules(session, task, phase, team.id)


def admission_quota(session: Session, viewer: Viewer, slug: str, team_id: int, phase_name: str = "") -> Quota:
    """The team's remaining runs; raises as `rules_for` does."""
    task, team, phase = _open(session, viewer, slug, team_id, phase_name)
    account_id = None if policy.organises(viewer, task.id) else viewer.account_id
    return quota(session, phase, team, account_id, is_agent=viewer.is_agent)


def check_rules(session: Session, upload_id: int) -> UploadRules:
    """The rules a received upload is checked against by the evaluator."""
    upload = session.get_one(Upload, upload_id)
    task = session.get_one(Task, upload.task_id)
    return _rules(session, task, phase_of(session, upload), upload.team_id)


def admit(
    session: Session,
    viewer: Viewer,
    slug: str,
    team_id: int,
    run_request: RunRequest,
    *,
    any_team: bool = False,
) -> tuple[Task, Team, Phase]:
    """Deadline, team, kind and limits, with the rows of team and account locked so that counts stay true.

    any_team: whether organisers may name a team that they are not in.
    """
    hold(session, team_id, viewer.account_id)
    task, team, phase = _open(session, viewer, slug, team_id, run_request.phase, any_team=any_team)
    if run_request.kind not in KINDS:
        raise Invalid(f"A run's kind is one of {', '.join(KINDS)}, not {run_request.kind!r}.", field="kind")
    if run_request.kind in ORGANISERS_KINDS and not policy.organises(viewer, task.id):
        raise Invalid(f"Only organisers can add {run_request.kind} runs; choose official or unofficial.")
    if phase.kinds and run_request.kind not in phase.kinds:
        raise Invalid(
            f"The phase {phase.name} accepts {' and '.join(phase.kinds)} runs, not {run_request.kind} runs."
        )
    if run_request.kind not in ORGANISERS_KINDS and not run_request.late.strip():
        _require_in_time(session, task, phase)
    if run_request.reproduces:
        if not (admitted := tuple(slots.ADMITTED)):
            raise Invalid("This site keeps no reproductions; submit the run without one.", field="reproduces")
        for require in admitted:
            require(session, viewer, task, phase.id, run_request.reproduces)
    if not policy.organises(viewer, task.id):
        require_room(session, phase, team, viewer.account_id, is_agent=viewer.is_agent)
    return task, team, phase


def _require_in_time(session: Session, task: Task, phase: Phase) -> None:
    """Raise Closed where the phase has closed: only organisers get here then, without a note on it."""
    if is_over(session, phase.id):
        raise Closed(
            f"{task.name} closed at {utc_time(phase.closes_at)}, so a run submitted now is late. Submit it "
            "as a late or baseline run, or give the reason why it counts (late, --late). The reason is "
            "shown with the run."
        )


def public_rules(
    session: Session, viewer: Viewer, slug: str, phase_name: str = "", size: int = 0
) -> UploadRules:
    """The rules for any file of a size in a task visible to the viewer, for every sender.

    None of it depends on a team; the phase and its maximum size are those of a run submitted now. Raises
    Closed for a draft: its rules may still change.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    _require_published(task)
    phase = phases.for_checks(session, viewer, task, phase_name)
    require_size(phase, size)
    return _rules(session, task, phase, None)


def require_size(phase: Phase, size: int) -> None:
    """Raise TooLarge for a file over the phase's maximum size."""
    if phase.largest_bytes is not None and size > phase.largest_bytes:
        raise TooLarge(
            f"The phase {phase.name} accepts files of at most {phase.largest_bytes:,} bytes as submitted; "
            f"this file has {size:,}. Compress it, or list fewer documents per topic."
        )


def _open(
    session: Session, viewer: Viewer, slug: str, team_id: int, phase_name: str, *, any_team: bool = False
) -> tuple[Task, Team, Phase]:
    task, _ = policy.visible_task(session, viewer, slug)
    if not viewer.is_operator:
        policy.require_account(viewer)
    team = _own_team(session, viewer, team_id, any_team and policy.organises(viewer, task.id))
    phase = require_taken(session, viewer, task, phase_name)
    if not policy.organises(viewer, task.id):
        entries.require_entered(session, task, team)
    return task, team, phase


def require_taken(session: Session, viewer: Viewer, task: Task, phase_name: str = "") -> Phase:
    """The phase that accepts the viewer's runs; raises Closed where none does."""
    _require_published(task)
    if task.archived_at is not None:
        raise Closed(f"{task.name} is archived and accepts no runs.")
    return phases.for_runs(session, viewer, task, phase_name)


def _require_published(task: Task) -> None:
    if task.published_at is None:
        raise Closed(f"{task.name} is a draft; it accepts runs once it is published.")


def _own_team(session: Session, viewer: Viewer, team_id: int, any_team: bool) -> Team:
    """The team; one of others and one that does not exist look the same, unless any may be named."""
    may_name = any_team or viewer.is_operator or policy.owns(viewer, team_id)
    team = session.get(Team, team_id) if may_name else None
    if team is None or team.merged_into_id is not None:
        raise NotFound(f"You are not in team {team_id}.", team=team_id)
    return team


def phase_of(session: Session, upload: Upload) -> Phase:
    """The phase that an upload was sent to."""
    return session.get_one(Phase, upload.phase_id)


def _rules(session: Session, task: Task, phase: Phase, team_id: int | None) -> UploadRules:
    visibility = phase.visibility or task.visibility
    topics = topics_of(session, task, phase)
    counted = set(scored_topics.scored(session, task))
    scored = tuple(topic for topic in topics if topic in counted)
    docno_filter = collections.known_docnos(session, task.collection_id)
    revision = (
        files.newest(session, task.id) if visibility == "open" and policy.is_shown(session, task) else None
    )
    checks = Rules(
        topics=tuple(topics),
        depth=task.depth,
        tag_pattern=task.tag_pattern or None,
        unknown_docnos=None if docno_filter is None else partial(DocnoFilter.unknown, docno_filter),
        judged=tuple(revision.topics) if revision else (),
        scored=None if len(scored) == len(topics) else scored,
        dialect=task.dialect,
    )
    runs = session.execute(
        select(Run.id, Run.name, Run.sketch).where(Run.task_id == task.id, Run.team_id == team_id)
    )
    return UploadRules(
        task_id=task.id,
        kind=(kind := kinds.of(task.kind)),
        checks=checks,
        is_blind=visibility == "blind",
        earlier=tuple((row.id, row.name, row.sketch) for row in runs),
        own=kind.rules(session, task, topics),
    )


def topics_of(session: Session, task: Task, phase: Phase) -> list[str]:
    """The ids of the topics that the phase scores, in the task's order."""
    chosen = session.get_one(TopicSet, phase.topic_set_id).topics if phase.topic_set_id else None
    return scored_topics.topic_set_ids(session, task) if chosen is None else chosen

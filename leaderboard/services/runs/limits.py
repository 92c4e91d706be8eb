"""How many runs a team and an account may send, and how many of their files may be rejected."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil

from sqlalchemy import ColumnElement, case, func, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Account, Member, Phase, Team, Upload
from leaderboard.errors import OverQuota
from leaderboard.services import policy, throttles
from leaderboard.services.policy import Viewer

REJECTED_AN_HOUR = 20
REJECTED_AN_HOUR_OF_A_NETWORK = 100
AN_HOUR = timedelta(hours=1)
RULE = "Accepted runs count, withdrawn ones too, and files that wait for their check; rejected files do not."
COUNTED = ("received", "held", "accepted")
"""States of uploads that are runs, or may become some."""
CHECKS_AN_HOUR = 60
"""Files that an account, or a network without one, may have checked without sending them."""
BETWEEN_TURNS = timedelta(minutes=1)
"""At least so long after the check of a file the next one begins, where too many were rejected."""
TAKES_TURNS = (
    f"{REJECTED_AN_HOUR} of your files were rejected within an hour, so they are checked one at a time"
)
SAID_FROM = 5
"""How many rejections are left when it is said that there is a limit."""


@dataclass(frozen=True, slots=True)
class Quota:
    """How many runs a team may still add; None is no limit. next_at: when the day's count starts anew.

    per_day: the limit that left_today is left of.
    """

    left_today: int | None
    left_in_all: int | None
    next_at: datetime
    per_day: int | None = None

    def __str__(self) -> str:
        """What is left, in words; empty where nothing is limited."""
        left = ((self.left_today, "today"), (self.left_in_all, "in all"))
        words = [f"{number} left {when}" for number, when in left if number is not None]
        if self.left_today is not None:
            words.append(f"the next day of runs begins {self.next_at:%Y-%m-%d %H:%M} UTC")
        return ", ".join(words)

    @property
    def is_used_up(self) -> bool:
        """Whether no run may be added now."""
        return 0 in (self.left_today, self.left_in_all)


@dataclass(frozen=True, slots=True)
class _Sender:
    """Whose runs are counted, in the words of a refusal."""

    words: str
    whose: ColumnElement[bool]
    per_day: int | None
    in_all: int | None


def quota(session: Session, phase: Phase, team: Team, account_id: int | None) -> Quota:
    """How many runs the account may still add for the team; none is left where either has used all."""
    midnight = _midnight(now(session))
    senders = _senders(phase, team, account_id)
    today = Upload.created_at >= midnight
    left_today = [
        (sender.per_day - _count(session, phase, sender, today), sender.per_day)
        for sender in senders
        if sender.per_day is not None
    ]
    left, per_day = min(left_today, default=(None, None))
    left_in_all = [
        sender.in_all - _count(session, phase, sender) for sender in senders if sender.in_all is not None
    ]
    return Quota(
        None if left is None else max(0, left),
        max(0, min(left_in_all)) if left_in_all else None,
        midnight + timedelta(days=1),
        per_day,
    )


def quotas(session: Session, phases: Mapping[int, Phase], viewer: Viewer) -> dict[int, Quota]:
    """What an account may still add to each of many tasks, with any of its teams; one statement.

    What it sent with all its teams is never less than what one of these did, so that alone is counted.
    phases are by task.
    """
    midnight = _midnight(now(session))
    is_today = case((Upload.created_at >= midnight, 1), else_=0)
    rows = session.execute(
        select(Upload.phase_id, func.count().label("sent"), func.sum(is_today).label("today"))
        .where(
            Upload.phase_id.in_([phase.id for phase in phases.values()]),
            Upload.state.in_(COUNTED),
            or_(Upload.account_id == viewer.account_id, Upload.team_id.in_(viewer.team_ids)),
        )
        .group_by(Upload.phase_id)
    )
    used = {row.phase_id: (int(row.today), row.sent) for row in rows}

    def left(limit: int | None, sent: int) -> int | None:
        return None if limit is None else max(0, limit - sent)

    def quota_of(phase: Phase) -> Quota:
        today, sent = used.get(phase.id, (0, 0))
        per_day, in_all = _account_limits(phase)
        return Quota(left(per_day, today), left(in_all, sent), midnight + timedelta(days=1), per_day)

    return {task_id: quota_of(phase) for task_id, phase in phases.items()}


def hold(session: Session, team_id: int, account_id: int | None) -> None:
    """Hold the rows of team and account, in this order, so that what is counted for them stays true."""
    lock_row(session, Team, team_id)
    if account_id is not None:
        lock_row(session, Account, account_id)


def require_room(session: Session, phase: Phase, team: Team, account_id: int | None) -> None:
    """Raise OverQuota where team or account has used its runs; files that wait for their check count."""
    _require_room(session, phase, team, account_id, now(session))


def require_still_room(session: Session, phase: Phase, upload: Upload) -> None:
    """Raise OverQuota where a file that was received is over the limits of the day it came in.

    Files received after it do not count. Organisers and the operator have no limits.
    """
    if _is_free(session, upload):
        return
    hold(session, upload.team_id, upload.account_id)
    team = session.get_one(Team, upload.team_id)
    # Only what came before it: nothing that others send later takes the place of a file that had one.
    before = Upload.id < upload.id
    _require_room(session, phase, team, upload.account_id, upload.created_at, before)


def count_check(session: Session, account_id: int | None, ip: str = "") -> bool:
    """Count a file as rejected before it is checked; whether it may be checked at once.

    Commit this first, so that none is checked for free; `count_accepted` takes it back. Not at once, and
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
    """When a file may be checked that came after too many rejected ones of its account.

    That is a minute after the check before. A good file is taken like this too, and no more work is done than
    one check a minute. Raises OverQuota while another file of the account waits: it is checked first.
    """
    own = Upload.account_id == upload.account_id, Upload.batch_id.is_(None), Upload.id != upload.id
    waiting = session.scalar(select(Upload.file_name).where(*own, Upload.state == "received").limit(1))
    if waiting is not None:
        raise OverQuota(
            f"{waiting} waits for its check, and after {REJECTED_AN_HOUR} rejected files within an hour your "
            "files are checked one at a time. Send this one once that is done.",
            retry_after_s=ceil(BETWEEN_TURNS.total_seconds()),
        )
    at = now(session)
    last = session.scalar(select(func.max(Upload.checked_at)).where(*own))
    return at if last is None else max(at, last + BETWEEN_TURNS)


def take_turn(session: Session, account_id: int | None) -> None:
    """As `turn_of`, for what is checked while its sender waits; raises OverQuota within the minute."""
    throttles.spend(session, f"turn account:{account_id}", 1, BETWEEN_TURNS, TAKES_TURNS)


def rejections_left(session: Session, account_id: int | None) -> int:
    """How many more files of the account may be rejected within the hour before its files take turns."""
    if account_id is None:
        return REJECTED_AN_HOUR
    return throttles.left(session, _account_key(account_id), REJECTED_AN_HOUR, AN_HOUR)


def rejections_in_words(left: int) -> str:
    """What is said of that before it happens; empty while many are left.

    >>> rejections_in_words(6)
    ''
    >>> rejections_in_words(1)
    'After 1 more rejected file within this hour your files are checked one at a time, at most one a minute.'
    """
    if left > SAID_FROM:
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
    throttles.spend(session, key, CHECKS_AN_HOUR, AN_HOUR, "Too many files were checked without being sent")


def count_accepted(session: Session, account_id: int | None, ip: str = "") -> None:
    """Take back what `count_check` counted: the file was accepted."""
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
    session: Session,
    phase: Phase,
    team: Team,
    account_id: int | None,
    at: datetime,
    *others: ColumnElement[bool],
) -> None:
    midnight = _midnight(at)
    tomorrow = midnight + timedelta(days=1)
    today = Upload.created_at >= midnight, Upload.created_at < tomorrow
    for sender in _senders(phase, team, account_id):
        if _is_full(sender.in_all, session, phase, sender, *others):
            raise OverQuota(f"{sender.words} used all {sender.in_all} runs of this phase, {phase.name}.")
        if _is_full(sender.per_day, session, phase, sender, *others, *today):
            raise OverQuota(
                f"{sender.words} used the {sender.per_day} runs of today; "
                f"the next can be sent from {tomorrow:%Y-%m-%d %H:%M} UTC on.",
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


def _senders(phase: Phase, team: Team, account_id: int | None) -> list[_Sender]:
    """The team, and the account with all its teams: making another team gives nobody more runs."""
    senders = [_Sender(f"{team.name} has", Upload.team_id == team.id, phase.runs_per_day, phase.runs_in_all)]
    if account_id is not None:
        teams = select(Member.team_id).where(Member.account_id == account_id)
        whose = or_(Upload.account_id == account_id, Upload.team_id.in_(teams))
        senders.append(_Sender("You and your teams have together", whose, *_account_limits(phase)))
    return senders


def _account_limits(phase: Phase) -> tuple[int | None, int | None]:
    """Runs that an account may send with all its teams, a day and in all: as many as a team unless said."""
    per_day = phase.runs_per_day if phase.account_runs_per_day is None else phase.account_runs_per_day
    in_all = phase.runs_in_all if phase.account_runs_in_all is None else phase.account_runs_in_all
    return per_day, in_all


def _is_free(session: Session, upload: Upload) -> bool:
    return upload.account_id is None or policy.is_organiser(session, upload.task_id, upload.account_id)


def _midnight(at: datetime) -> datetime:
    return datetime(at.year, at.month, at.day, tzinfo=UTC)


def _account_key(account_id: int) -> str:
    return f"rejected account:{account_id}"


def _network_key(ip: str) -> str:
    return f"rejected ip {throttles.network(ip)}"

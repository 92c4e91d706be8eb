"""Snapshots: public boards frozen as canonical text, addressed by digest and never changed."""

import hashlib
import json
import zlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import literal, select
from sqlalchemy.orm import Session

from leaderboard.boards.ops import board
from leaderboard.boards.ops.board import Board
from leaderboard.boards.ops.rows import Row, place_facts
from leaderboard.checksums import belonging_to, compressed, damaged, plain_bytes
from leaderboard.core import audit, policy, shown_names, throttles
from leaderboard.core.actions import Action, by_account
from leaderboard.core.policy import ANONYMOUS, Scope, TaskAccess, Viewer
from leaderboard.core.shown_names import ShownNames
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Edition, Evaluation, Snapshot, Task
from leaderboard.errors import Conflict, Damaged, NotFound
from leaderboard.scoring.ops.evaluations.shown import whole_editions
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.scoring.ops.statistics.standings import ALPHA, Standing
from leaderboard.stats.pairs.corrections import LEVEL

FORMAT = 1
ADDRESS = 16
"""Number of hexadecimal digest digits in the address of a snapshot."""
_MAGIC, _LEVEL = b"LBS1", 9
AN_HOUR, MOST_AN_HOUR = timedelta(hours=1), 20


@dataclass(frozen=True, slots=True)
class FrozenBoard:
    """A board as canonical JSON: sorted keys, no spaces, shortest exact doubles, UTF-8, final newline."""

    task_id: int
    edition_id: int
    body: bytes

    @property
    def sha256(self) -> str:
        """Digest of the body."""
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True)
class ListedSnapshot:
    """A snapshot in the list of snapshots."""

    address: str
    sha256: str
    edition: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class OpenedSnapshot:
    """A stored snapshot that a reader may see: record, body and parsed facts."""

    sha256: str
    created_at: datetime
    body: bytes
    facts: dict[str, Any]

    @property
    def address(self) -> str:
        """The part of the digest that is in its address."""
        return self.sha256[:ADDRESS]


def freeze(session: Session, viewer: Viewer, slug: str) -> FrozenBoard:
    """The complete current public board of a task, ranked by its primary measure.

    Raises NotFound for an unknown task, SignInNeeded for a visitor, Conflict if there is nothing public to
    freeze: a draft, a sealed task, a task without judgments, or a comparison of runs not yet computed.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    if not viewer.is_operator:
        policy.require_account(viewer)
    if task.published_at is None:
        raise Conflict(
            f"{task.name} is a draft that only organisers see; publish it before you freeze its board."
        )
    shown = board.board(session, ANONYMOUS, slug)
    if not shown.access.means:
        raise Conflict(
            f"{task.name} is sealed: scores are not public until it closes, so there is nothing to freeze."
        )
    if shown.basis is None:
        raise Conflict(f"{task.name} has no judgments yet, so its board has no scores to freeze.")
    if isinstance(shown.standing, WaitingResult):
        raise Conflict(
            "The comparison of the runs is not computed yet. Start it on the board, then freeze the board."
        )
    edition_id = session.scalars(
        select(Edition.id).where(Edition.task_id == task.id, Edition.number == shown.basis.edition)
    ).one()
    return FrozenBoard(task.id, edition_id, body_of(session, shown))


def keep(session: Session, viewer: Viewer, frozen: FrozenBoard) -> str:
    """Store a frozen board, at most once; returns its address.

    Raises SignInNeeded for a visitor, OverQuota for more than twenty tries of an account in an hour.
    """
    if not viewer.is_operator:
        account_id = policy.require_account(viewer)
        throttles.spend(session, f"snapshot account:{account_id}", MOST_AN_HOUR, AN_HOUR)
    lock_row(session, Task, frozen.task_id)
    sha256 = frozen.sha256
    if session.scalar(select(Snapshot.id).where(Snapshot.sha256 == sha256)) is None:
        session.add(
            Snapshot(
                task_id=frozen.task_id,
                edition_id=frozen.edition_id,
                sha256=sha256,
                body=compressed(_MAGIC, frozen.body, _LEVEL),
                created_at=now(session),
                created_by=viewer.account_id,
            )
        )
        audit.record(session, viewer, "snapshot.keep", f"task:{frozen.task_id}", sha256=sha256)
    return sha256[:ADDRESS]


KEEP = Action(
    name="keep_snapshot",
    summary="Freeze the current public board",
    more="The content at the address never changes and can be cited.",
    path="/tasks/<slug>/snapshots",
    form="/tasks/<slug>/snapshots",
    may=by_account,
    scopes=(Scope.SUBMIT, Scope.ORGANISE),
    plan=freeze,
    act=lambda session, viewer, _, frozen: (keep(session, viewer, frozen), frozen.sha256),
    status=201,
)


def listed(session: Session, viewer: Viewer, task: Task, seen: TaskAccess) -> tuple[ListedSnapshot, ...]:
    """The task's snapshots visible to a viewer, newest first; one statement."""
    if not seen.means:
        return ()
    names = shown_names.shown_names(session, viewer, task)
    # For a viewer who sees everything, bodies need no check.
    body = literal(None) if seen.details and not names.runs else Snapshot.body
    rows = whole_editions(
        session,
        select(Snapshot.sha256, Snapshot.created_at, Edition, body.label("body"))
        .join(Edition, Edition.id == Snapshot.edition_id)
        .where(Snapshot.task_id == task.id)
        .order_by(Snapshot.id.desc()),
    )
    return tuple(
        ListedSnapshot(row.sha256[:ADDRESS], row.sha256, row.Edition.number, row.created_at)
        for row in rows
        if row.body is None or _is_known_within(row.sha256, row.body, seen, names)
    )


def opened(session: Session, viewer: Viewer, address: str) -> OpenedSnapshot:
    """The snapshot with an address or a full digest.

    Raises NotFound if it does not exist or reveals more of its task than the viewer may see now, Damaged if
    its body does not match its digest.
    """
    row = None
    if len(address) >= ADDRESS and set(address) <= set("0123456789abcdef"):
        row = session.execute(
            select(Snapshot.sha256, Snapshot.body, Snapshot.created_at, Task.slug)
            .join(Task, Task.id == Snapshot.task_id)
            .where(Snapshot.sha256 >= address, Snapshot.sha256 < f"{address}g")
            .order_by(Snapshot.id)
        ).first()
    if row is not None:
        body = whole_body(row.sha256, row.body)
        facts = json.loads(body)
        if _is_shown(session, viewer, row.slug, facts):
            return OpenedSnapshot(row.sha256, row.created_at, body, facts)
    raise NotFound(f"No snapshot {address[:64]!r} exists.")


def released(session: Session, slug: str, edition: int, phase: str = "") -> bytes:
    """The board of an edition as visitors see it now, in the form that is hashed; phase: '' is the shown one.

    Raises NotFound where they see none.
    """
    shown = board.board(session, replace(ANONYMOUS, phase=phase), slug, edition=edition)
    if shown.basis is None or not shown.access.means:
        raise NotFound(f"No edition {edition} of this board is public.")
    return body_of(session, shown)


def whole_body(sha256: str, body: bytes) -> bytes:
    """A stored body, decompressed; raises Damaged if it does not match the digest."""
    with belonging_to(f"snapshot {sha256[:ADDRESS]}"):
        plain = _plain(body)
        if hashlib.sha256(plain).hexdigest() != sha256:
            raise damaged("facts", "their digest does not match")
    return plain


def _plain(body: bytes) -> bytes:
    if body.startswith(_MAGIC):
        return plain_bytes(_MAGIC, body, "facts")
    try:
        return zlib.decompress(body)
    except zlib.error as error:
        raise damaged("facts", "they cannot be decompressed") from error


def body_of(session: Session, shown: Board) -> bytes:
    """A board as canonical JSON, without transient facts such as places in a queue."""
    return canonical(facts_of(session, shown))


def canonical(facts: dict[str, Any]) -> bytes:
    """The facts of a board in the form that is hashed."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def restore(session: Session, task: Task, facts: dict[str, Any], values: dict[str, Any]) -> None:
    """Store an imported snapshot with its edition and date, unless it already exists."""
    body = canonical(facts)
    sha256 = hashlib.sha256(body).hexdigest()
    if session.scalar(select(Snapshot.id).where(Snapshot.sha256 == sha256)) is None:
        packed = compressed(_MAGIC, body, _LEVEL)
        session.add(Snapshot(**{**values, "task_id": task.id, "sha256": sha256, "body": packed}))


def _is_shown(session: Session, viewer: Viewer, slug: str, facts: dict[str, Any]) -> bool:
    try:
        task, seen = policy.visible_task(session, viewer, slug)
    except NotFound:
        return False
    return _within(facts, seen, shown_names.shown_names(session, viewer, task))


def _is_known_within(sha256: str, body: bytes, seen: TaskAccess, names: ShownNames) -> bool:
    """Whether a stored body reveals no more than may be seen; False for a damaged one."""
    try:
        return _within(json.loads(whole_body(sha256, body)), seen, names)
    except Damaged:
        return False


def _within(facts: dict[str, Any], seen: TaskAccess, names: ShownNames) -> bool:
    """Whether a body reveals no more than may be seen.

    An open task may have become blind since, and its teams may have received pseudonyms. A digest of rankings
    identifies the team as a name does, because other tasks may show the same digest. Earlier versions froze
    it.
    """
    named = (row for row in facts["rows"] if row["run_id"] in names.runs)
    return (
        seen.means
        and (seen.details or not facts["details"])
        and all(row["run"] == names.runs[row["run_id"]] and not row["ranking_sha256"] for row in named)
    )


def facts_of(session: Session, shown: Board) -> dict[str, Any]:
    """The facts of a board that is scored."""
    basis = shown.basis
    assert basis is not None, "a board that is frozen has an edition"
    return {
        "format": FORMAT,
        "task": shown.slug,
        "name": shown.task,
        # Omitted for a single phase, so that earlier snapshots keep their digest.
        **({"phase": basis.phase} if basis.phase else {}),
        "visibility": shown.visibility,
        "details": shown.access.details,
        "decimals": shown.access.decimals,
        "edition": basis.edition,
        "revision": basis.revision,
        "revision_note": basis.revision_note if shown.access.details else "",
        "revision_sha256": basis.revision_sha256 or None,
        "origin": basis.origin,
        "origin_name": basis.origin_name,
        "dialect": basis.dialect,
        **({"left_out": basis.left_out} if basis.left_out else {}),
        "topics": basis.topics,
        "topic_ids": list(shown.source.topics) if shown.source else None,
        "measures": [
            {
                "key": measure.key,
                "title": measure.title,
                "direction": measure.direction,
                "digits": measure.digits,
                "version": measure.version,
                "aggregate": measure.aggregate,
            }
            for measure in shown.measures
        ],
        "sorted_by": shown.sorted_by,
        "ranked_by": shown.ranked_by,
        "comparison": _comparison(shown),
        "sentences": list(shown.sentences),
        "evaluators": _evaluators(session, shown),
        "rows": [_row(shown, row) for row in shown.rows],
    }


def _comparison(shown: Board) -> dict[str, Any] | None:
    standing = shown.standing
    if not isinstance(standing, Standing):
        return None
    method = standing.method
    return {
        "method": method.key,
        "title": method.title,
        "version": method.version,
        "alpha": ALPHA,
        "level": LEVEL,
        "resamples": standing.table.resamples,
        "pairs": standing.pairs,
        "told_apart": standing.told_apart,
    }


def _row(shown: Board, row: Row) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "run": row.run,
        "run_id": row.run_id,
        "team": row.team,
        "kind": row.kind,
        "scores": row.scores,
        "scored": row.state == "done",
        "ranking_sha256": row.ranking_sha256 if shown.access.details and not row.masked else None,
        **place_facts(shown.places.get(row.run_id)),
    }


def _evaluators(session: Session, shown: Board) -> list[str]:
    """Versions of this program that computed the scores."""
    assert shown.basis is not None, "a board that is frozen has an edition"
    versions = session.scalars(
        select(Evaluation.evaluator)
        .where(
            Evaluation.revision_id == shown.basis.revision_id,
            Evaluation.dialect == shown.basis.dialect,
            Evaluation.measure.in_([measure.key for measure in shown.measures]),
            Evaluation.run_id.in_([row.run_id for row in shown.rows]),
        )
        .distinct()
    )
    return sorted(versions)

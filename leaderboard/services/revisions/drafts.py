"""Judgments that are looked at before they are published: kept under a token, for a day at most."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Qrels, QrelsRevision, Topic
from leaderboard.errors import Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.services import policy
from leaderboard.services.actions import Action
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import judged_inputs, lines
from leaderboard.services.qrels.files import PreparedQrels, as_task, newest
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.qrels.left_out import LeftOutList, RevisionLeftOut, of_revision
from leaderboard.services.qrels.lines import DRAFT, Origin
from leaderboard.services.revisions import publish as revisions
from leaderboard.services.revisions import rounds
from leaderboard.services.revisions.publish import NewRevision, Revision
from leaderboard.trec.qrels.left_out import NOTHING, LeftOut

KEPT = timedelta(days=1)
TOKEN_BYTES = 16
NOTE_CHARACTERS = 300


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """What would be published: judgments, their line, who judged, distractors, what is left out."""

    token: str
    line: str
    by: Origin
    prepared: PreparedQrels
    distractors: frozenset[bytes]
    left_out: LeftOut
    note: str
    revision_id: int
    """Of the draft itself: its packed judgments are stored like those of any revision."""


def keep(
    session: Session,
    viewer: Viewer,
    slug: str,
    prepared: PreparedQrels | None,
    note: str,
    *,
    origin: str | None = None,
    origin_name: str = "",
    distractors: Collection[bytes] | None = None,
    left_out: RevisionLeftOut | None = None,
    line: str = MAIN,
) -> str:
    """Keep judgments to be looked at; the token that finds them again.

    prepared None are the board's newest ones, with other documents beside them; distractors and left_out
    None are those of the line's newest revision. Drafts older than a day are dropped. Raises as
    `revisions.revise` where it is clear by now that they cannot be published, and Invalid without a note.
    """
    task = policy.own_task(session, viewer, slug)
    if not 0 < len(note.strip()) <= NOTE_CHARACTERS:
        problem = Problem("says what is new in this revision.", "Write a sentence.", field="note")
        raise Invalid(
            f"A revision needs a note of at most {NOTE_CHARACTERS} characters: the board's history shows it.",
            [problem],
        )
    if prepared is not None and prepared.kind in ("graded", "subtopic", "preference"):
        topics = session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id))
        prepared = as_task(prepared, topics.all())
    judged, given = rounds.judged(session, task.id, prepared, left_out)
    by = Origin(origin, origin_name)
    target = revisions.target_of(session, task.id, judged.kind, line)
    fitting = lines.fitting(session, task, judged.kind, by, target)
    before = newest(session, task.id, line)
    others = lines.distractors_of(before) if distractors is None else distractors
    lines.require_irrelevant(judged.judgments, others)
    given = given or LeftOutList(of_revision(before) if target == line else NOTHING)
    revisions.require_left_out(session, task, given, judged, target)
    _drop_old(session, task.id)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    known = Origin(fitting.origin, fitting.origin_name) if fitting is not None else by
    kept = lines.new(session, task, judged.kind, known, f"{DRAFT}{token} {line}")
    lines.add(session, viewer, kept, None, judged, note, others, leaves=given.listed, listed=False)
    return token


def find(session: Session, viewer: Viewer, slug: str, token: str) -> Draft:
    """A kept draft; raises NotFound where there is none, or it is no longer kept."""
    task = policy.own_task(session, viewer, slug)
    row = session.execute(
        select(Qrels, QrelsRevision)
        .join(QrelsRevision, QrelsRevision.qrels_id == Qrels.id)
        .where(
            Qrels.task_id == task.id,
            Qrels.name.startswith(f"{DRAFT}{token} ", autoescape=True),
            QrelsRevision.created_at > now(session) - KEPT,
        )
        .options(*judged_inputs.WHOLE)
    ).one_or_none()
    if row is None:
        raise NotFound("These judgments are no longer kept: they are for a day. Send them again.")
    qrels, revision = row
    return Draft(
        token=token,
        line=qrels.name.split(" ", 2)[2],
        by=Origin(qrels.origin, qrels.origin_name),
        prepared=lines.stored(session, revision),
        distractors=lines.distractors_of(revision),
        left_out=of_revision(revision),
        note=revision.note,
        revision_id=revision.id,
    )


def publish(session: Session, viewer: Viewer, slug: str, token: str, *, base: int | None = None) -> Revision:
    """Make a revision of a draft, which is gone then; raises as `revisions.revise`."""
    draft = find(session, viewer, slug, token)
    new = NewRevision(
        prepared=draft.prepared,
        note=draft.note,
        by=draft.by,
        distractors=draft.distractors,
        left_out=draft.left_out,
        line=draft.line,
        base=base,
    )
    made = revisions.revise(session, viewer, slug, new)
    _drop(session, draft)
    return made


def discard(session: Session, viewer: Viewer, slug: str, token: str) -> None:
    """Give a draft up."""
    _drop(session, find(session, viewer, slug, token))


def _drop(session: Session, draft: Draft) -> None:
    line = select(QrelsRevision.qrels_id).where(QrelsRevision.id == draft.revision_id).scalar_subquery()
    session.execute(delete(Qrels).where(Qrels.id == line))


def _drop_old(session: Session, task_id: int) -> None:
    old = (
        select(Qrels.id)
        .join(QrelsRevision, QrelsRevision.qrels_id == Qrels.id)
        .where(
            Qrels.task_id == task_id,
            Qrels.name.startswith(DRAFT, autoescape=True),
            QrelsRevision.created_at <= now(session) - KEPT,
        )
    )
    session.execute(delete(Qrels).where(Qrels.id.in_(old)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What was looked at before."""

    base: Annotated[
        int | None,
        Field(
            title="Revision before",
            help="The number of the revision that the changes were looked at against; null: the newest.",
            least=0,
        ),
    ] = None


ACTIONS = (
    Action(
        name="publish_revision",
        summary="Make a revision of a draft",
        more="Every run is scored under it, and the board changes when all are.",
        path="/tasks/<slug>/revisions/drafts/<token>/publish",
        form="/tasks/<slug>/revisions/drafts/<token>",
        record=Publication,
        act=lambda session, viewer, slug, token, asked: publish(
            session, viewer, slug, token, base=asked.base
        ),
        done=lambda _, made: f"revision {made.number}",
        status=201,
    ),
    Action(
        name="discard_revision",
        summary="Discard a draft of a revision",
        method="DELETE",
        path="/tasks/<slug>/revisions/drafts/<token>",
        form="/tasks/<slug>/revisions/drafts/<token>/discard",
        page="revisions.index",
        act=discard,
        done=lambda *_: "draft discarded",
    ),
)

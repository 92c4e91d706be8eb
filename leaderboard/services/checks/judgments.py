"""Check of judgments: what is packed for evaluators against the rows, the counts and the digests."""

from collections.abc import Iterator, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import Database
from leaderboard.db.tables import Judgment, Qrels, QrelsRevision
from leaderboard.services.checks.damage import DamageCheck
from leaderboard.services.qrels import judged_inputs, left_out, lines
from leaderboard.services.qrels.files import PreparedQrels
from leaderboard.trec.qrels.packed_judgments import unpack_judgments


def _revisions(database: Database) -> Sequence[int]:
    with database.read() as session:
        return session.scalars(select(QrelsRevision.id).order_by(QrelsRevision.id)).all()


def _judgments(database: Database, revision_id: int) -> Iterator[str]:
    with database.read() as session:
        options = judged_inputs.WHOLE
        revision = session.get(QrelsRevision, revision_id, options=options)
        if revision is None:
            # A draft that was given up since.
            return
        prepared = lines.stored(session, revision)
        lines.distractors_of(revision)
        left_out.of_revision(revision)
        if prepared.size != revision.judgments:
            yield f"it has {prepared.size:,} judgments of {revision.judgments:,}"
        if _differs(session, revision, prepared):
            yield "its packed judgments are not those of its rows"
        if not lines.has_its_digest(session, revision):
            yield "its judgments do not have its digest"


def _differs(session: Session, revision: QrelsRevision, prepared: PreparedQrels) -> bool:
    """Whether rows and packed judgments differ; drafts and preferences have no rows."""
    if not lines.is_packed_whole(session.get_one(Qrels, revision.qrels_id)):
        return unpack_judgments(revision.packed) != prepared.judgments
    columns = Judgment.topic_id, Judgment.subtopic, Judgment.docno, Judgment.grade
    rows = session.execute(select(*columns).where(Judgment.revision_id == revision.id))
    found = {(topic, part, docno.encode(), grade) for topic, part, docno, grade in rows}
    return bool(found) and found != set(prepared.rows)


CHECKS = (DamageCheck("judgments", "revision", _revisions, _judgments),)

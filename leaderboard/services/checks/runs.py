"""Checks of runs: their files as sent, and their rankings."""

from collections.abc import Iterator, Sequence

from sqlalchemy import func, select

from leaderboard.db.engine import Database
from leaderboard.db.tables import RankingBlock, RankingIndex, Run, Task, Upload, UploadChunk
from leaderboard.services.answers import sending, store
from leaderboard.services.checks.damage import DamageCheck
from leaderboard.services.judges import store as boards
from leaderboard.services.rankings.blocks import whole_blocks
from leaderboard.services.runs.files import StoredFile
from leaderboard.trec.runs.fingerprints import similarity
from leaderboard.trec.runs.packing import read_index, unpack_topic


def _uploads(database: Database) -> Sequence[int]:
    with database.read() as session:
        return session.scalars(select(Upload.id).order_by(Upload.id)).all()


def _file(database: Database, upload_id: int) -> Iterator[str]:
    with database.read() as session:
        upload = session.get(Upload, upload_id)
        pieces = select(func.count()).where(UploadChunk.upload_id == upload_id)
        stored = session.scalar(pieces)
    if upload is None or (upload.state == "rejected" and not stored):
        return
    StoredFile(database, upload_id).require_whole(upload.sha256)
    yield from ()


def _runs(database: Database) -> Sequence[int]:
    with database.read() as session:
        of_rankings = select(Run.id).join(Task, Task.id == Run.task_id).where(Task.kind == "rankings")
        return session.scalars(of_rankings.order_by(Run.id)).all()


def _runs_of_answers(database: Database) -> Sequence[int]:
    with database.read() as session:
        of_answers = select(Run.id).join(Task, Task.id == Run.task_id).where(Task.kind == "answers")
        return session.scalars(of_answers.order_by(Run.id)).all()


def _answers(database: Database, run_id: int) -> Iterator[str]:
    with database.read() as session:
        run = session.get_one(Run, run_id)
        # Its checksum is all there is to ask.
        similarity(run.sketch, run.sketch)
        if sending.digest_of(store.of_run(session, run_id)) != run.ranking_sha256:
            yield "its answers do not have its digest"


def _runs_of_judges(database: Database) -> Sequence[int]:
    with database.read() as session:
        of_judges = select(Run.id).join(Task, Task.id == Run.task_id).where(Task.kind == "judges")
        return session.scalars(of_judges.order_by(Run.id)).all()


def _board(database: Database, run_id: int) -> Iterator[str]:
    with database.read() as session:
        run = session.get_one(Run, run_id)
        # Its checksum is all there is to ask.
        similarity(run.sketch, run.sketch)
        sent = boards.sent(session, run_id)
    if sent is None or sent.sha256 != run.ranking_sha256:
        yield "its board or its labels do not have its digest"


def _rankings(database: Database, run_id: int) -> Iterator[str]:
    with database.read() as session:
        run = session.get_one(Run, run_id)
        index = session.scalars(select(RankingIndex.body).where(RankingIndex.run_id == run_id)).one()
    places = read_index(index)
    # Its checksum is all there is to ask: versions had different hashes.
    similarity(run.sketch, run.sketch)
    topics = entries = deepest = 0
    for block in whole_blocks(database, run_id, run.ranking_sha256):
        topics, entries = topics + len(block.topics), entries + int(block.sizes().sum())
        deepest = max(deepest, int(block.sizes().max()))
    if (topics, entries, deepest) != (run.topics, run.entries, run.deepest):
        yield "it does not have the numbers of topics and documents that were counted"
    yield from _misplaced(database, run_id, places)


def _misplaced(database: Database, run_id: int, places: dict[str, tuple[int, int, int]]) -> Iterator[str]:
    """Topics that are not where the index says."""
    by_block: dict[int, list[str]] = {}
    for topic, (number, _, _) in places.items():
        by_block.setdefault(number, []).append(topic)
    for number, topics in by_block.items():
        with database.read() as session:
            block = RankingBlock.run_id == run_id, RankingBlock.number == number
            body = session.scalars(select(RankingBlock.body).where(*block)).one()
        for topic in topics:
            if unpack_topic(body, *places[topic][1:]).topic != topic:
                yield f"topic {topic} is not where its index says"


CHECKS = (
    DamageCheck("files as sent", "upload", _uploads, _file),
    DamageCheck("rankings", "run", _runs, _rankings),
    DamageCheck("runs of answers", "run", _runs_of_answers, _answers),
    DamageCheck("boards of judges", "run", _runs_of_judges, _board),
)

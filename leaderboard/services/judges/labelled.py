"""The board that a judge's labels make: the runs of its task's reference, scored by them."""

from collections.abc import Callable, Sequence

import numpy as np
from sqlalchemy import select

from leaderboard.db.engine import Database
from leaderboard.db.tables import Collection, Edition, Run, Task
from leaderboard.errors import Conflict, Invalid
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.naming import parse
from leaderboard.services.rankings.blocks import whole_blocks
from leaderboard.trec.boards.board_files import BoardFile
from leaderboard.trec.boards.labels import KeptLabels
from leaderboard.trec.boards.packing import KeptBoard, KeptReference, Origin
from leaderboard.trec.qrels.align import Aligner, CompiledJudgments
from leaderboard.trec.qrels.packed_judgments import pack_judgments
from leaderboard.trec.qrels.revision_inputs import RevisionInputs, compiled_inputs

KIND = "rankings"
USUAL_DIALECT = 10


def board_of(database: Database, kept: KeptReference, sent: KeptLabels) -> KeptBoard:
    """The board of a judge's labels by the reference's measure, on the topics that they speak of.

    Rankings are read block by block, each run outside a transaction. Raises Conflict where the runs of the
    reference are gone, Invalid where a score is no finite number, Damaged.
    """
    origin = kept.origin
    if origin is None or origin.kind != KIND:
        raise Conflict("The reference is no board of rankings of this site: choose another one.")
    dialect, size, digests = _basis(database, origin)
    compiled = judgments_of(kept, sent, size)
    compute = measure_of(kept)
    values = {}
    for name, run_id in zip(kept.reference.runs, origin.run_ids, strict=True):
        aligner = Aligner(compiled, dialect=dialect)
        for block in whole_blocks(database, run_id, digests[run_id]):
            aligner.add(block)
        values[name] = _by_topic(name, compiled.judgments.topics, compute(aligner.judged()))
    return KeptBoard(_file(kept, values, compiled.judgments.topics), kept.reference.measure)


def judgments_of(kept: KeptReference, sent: KeptLabels, size: int | None = None) -> CompiledJudgments:
    """The labels on the reference's topics, ready to be aligned with runs; size: of the collection."""
    known = set(kept.reference.topics)
    labels = {topic: grades for topic, grades in sent.labels.judgments.items() if topic in known}
    return compiled_inputs(RevisionInputs(pack_judgments(labels), collection_size=size, name="the labels"))


def measure_of(kept: KeptReference) -> Callable[[Judged], FloatArray]:
    """The reference's measure; computing it raises MissingInput where labels alone are not enough."""
    bound = parse(kept.reference.measure)
    return bound.compute


def on_no_run(compiled: CompiledJudgments) -> Judged:
    """What a run without a document is to labels."""
    return Aligner(compiled, dialect=USUAL_DIALECT).judged()


def _basis(database: Database, origin: Origin) -> tuple[int, int | None, dict[int, str]]:
    """Dialect and size of the collection of the board that was chosen, and the digests of its runs."""
    with database.read() as session:
        edition = session.get(Edition, origin.edition_id)
        query = select(Run.id, Run.ranking_sha256).where(Run.id.in_(origin.run_ids))
        digests = {run_id: sha256 for run_id, sha256 in session.execute(query)}
        sizes = select(Collection.size).join(Task, Task.collection_id == Collection.id)
        size = session.scalar(sizes.where(Task.id == origin.task_id))
    if edition is None or len(digests) < len(origin.run_ids):
        raise Conflict("Runs of the reference are gone, so labels cannot score them: choose another one.")
    return edition.dialect, size, digests


def _by_topic(run: str, topics: Sequence[str], scores: FloatArray) -> dict[str, float]:
    if not np.isfinite(scores).all():
        raise Invalid(f"By these labels a score of run {run} is no finite number; send smaller labels.")
    return dict(zip(topics, scores.tolist(), strict=True))


def _file(kept: KeptReference, values: dict[str, dict[str, float]], topics: Sequence[str]) -> BoardFile:
    return BoardFile(
        name="",
        order="",
        values={kept.reference.measure: values},
        totals={},
        unusable=(),
        runs=kept.reference.runs,
        topics=tuple(topics),
        warnings=(),
    )

"""The board that a judge's labels make: the runs of its task's reference, scored by them."""

from collections.abc import Callable, Sequence

import numpy as np

from leaderboard.errors import Conflict, Invalid
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.naming import parse
from leaderboard.services.judges.labels.run_sources import RunSource
from leaderboard.trec.boards.board_files import BoardFile
from leaderboard.trec.boards.labels import KeptLabels
from leaderboard.trec.boards.packing import KeptBoard, KeptReference
from leaderboard.trec.qrels.align import Aligner, CompiledJudgments
from leaderboard.trec.qrels.packed_judgments import pack_judgments
from leaderboard.trec.qrels.packed_left_out import pack_left_out, unpack_left_out
from leaderboard.trec.qrels.revision_inputs import RevisionInputs, compiled_inputs

KIND = "rankings"
USUAL_DIALECT = 10


def board_of(runs: RunSource, kept: KeptReference, sent: KeptLabels) -> KeptBoard:
    """The board of a judge's labels by the reference's measure, on the topics that they speak of.

    Rankings are read block by block. Raises Conflict where the runs of the
    reference are gone, Invalid where a score is no finite number, Damaged.
    """
    origin = kept.origin
    if origin is None or origin.kind != KIND:
        raise Conflict("The reference is no board of rankings of this site: choose another one.")
    basis = runs.basis(origin)
    compiled = judgments_of(kept, sent, basis.size, basis.left_out)
    compute = measure_of(kept)
    values = {}
    for name, run_id in zip(kept.reference.runs, origin.run_ids, strict=True):
        aligner = Aligner(compiled, dialect=basis.dialect)
        for block in runs.blocks(run_id, basis.digests[run_id]):
            aligner.add(block)
        values[name] = _by_topic(name, compiled.judgments.topics, compute(aligner.judged()))
    return KeptBoard(_file(kept, values, compiled.judgments.topics), kept.reference.measure)


def judgments_of(
    kept: KeptReference, sent: KeptLabels, size: int | None = None, left_out: bytes | None = None
) -> CompiledJudgments:
    """The labels on the reference's topics, ready to be aligned with runs.

    size: of the collection. left_out: documents that the reference's board leaves out of rankings, packed; a
    label of one counts nowhere.
    """
    known, gone = set(kept.reference.topics), unpack_left_out(left_out)
    counting = {
        topic: {docno: grade for docno, grade in grades.items() if docno not in gone.get(topic, ())}
        for topic, grades in sent.labels.judgments.items()
        if topic in known
    }
    labels = {topic: grades for topic, grades in counting.items() if grades}
    packed, leaving = pack_judgments(labels), pack_left_out({topic: gone.get(topic, ()) for topic in labels})
    inputs = RevisionInputs(packed, left_out=leaving, collection_size=size, name="the labels")
    return compiled_inputs(inputs)


def measure_of(kept: KeptReference) -> Callable[[Judged], FloatArray]:
    """The reference's measure; computing it raises MissingInput where labels alone are not enough."""
    bound = parse(kept.reference.measure)
    return bound.compute


def on_no_run(compiled: CompiledJudgments) -> Judged:
    """What a run without a document is to labels."""
    return Aligner(compiled, dialect=USUAL_DIALECT).judged()


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

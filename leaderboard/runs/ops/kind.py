"""Runs that rank documents."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core.kinds import (
    LEAST_COVERAGE,
    RANKINGS,
    Again,
    Others,
    PackedRun,
    Plan,
    RunKind,
    RunScores,
    UploadRules,
)
from leaderboard.core.phase_rules import LEAST_MEDIAN_DEPTH
from leaderboard.db.engine import Database
from leaderboard.db.tables import QrelsRevision, RankingBlock, RankingIndex, Run, Task
from leaderboard.errors import Problem
from leaderboard.measures import grammar
from leaderboard.measures.judged import Judged
from leaderboard.pooling.registry import DEFAULT, METHODS
from leaderboard.runs.ops.uploads import add_numbered
from leaderboard.scoring.ops.evaluations.score import of_judged
from leaderboard.scoring.ops.rankings import indices_of, whole_blocks
from leaderboard.trec.qrels.align import Aligner, CompiledJudgments
from leaderboard.trec.qrels.packed import pack_hits, unpack_hits
from leaderboard.trec.qrels.revision_inputs import compiled_inputs
from leaderboard.trec.read.lines import Limits, Source
from leaderboard.trec.read.scanning import Scanned
from leaderboard.trec.runs.check import Checked, Report, fitting_tag, read_and_check
from leaderboard.trec.runs.fingerprints import SKETCH_DEPTH, RankingDigest, Sketch
from leaderboard.trec.runs.packing import RunPacker, read_index, unpack_topic

MOST_UNKNOWN = 0.01
"""Maximum share of unknown documents in a blind task: a higher share indicates a probe."""
# A damage check reads all runs of a revision, one after the other.
_compiled = lru_cache(maxsize=1)(compiled_inputs)


def _checked(
    source: Source, rules: UploadRules, limits: Limits, others: Others | None
) -> tuple[Report, PackedRun | None]:
    makers: Others = () if others is None else (RunPacker, RankingDigest, Sketch, *others)
    scanned, report = read_and_check(source, rules.checks, limits, *makers)
    if scanned is not None and rules.is_blind:
        report = _with_probe_problems(report, scanned.consumer, rules)
    if scanned is None or not report.accepted or others is None:
        return report, None
    return report, _packed(scanned)


def _sample(rules: UploadRules, docnos: Sequence[str]) -> Iterator[str]:
    ranked = docnos[: rules.checks.depth]
    pattern = rules.checks.tag_pattern
    tag = "sample" if not pattern or fitting_tag("sample", pattern) else ""
    for topic in rules.checks.expected:
        for rank, docno in enumerate(ranked, 1):
            # Three columns have no tag, which the task's rule could refuse.
            six = f"{topic} Q0 {docno} {rank} {len(ranked) - rank + 1} {tag}"
            yield six if tag else f"{topic} {docno} {rank}"


def _with_probe_problems(report: Report, run: Checked, rules: UploadRules) -> Report:
    topics = set(rules.checks.expected)
    depths = sorted(depth for topic, depth in run.depths.items() if topic in topics)
    problems = []
    if topics and len(depths) < LEAST_COVERAGE * len(topics):
        which = "topics" if rules.checks.scored is None else "scored topics"
        problems.append(f"has {len(depths)} of {len(topics)} {which}; a blind task requires at least 80%.")
    if depths and depths[len(depths) // 2] < LEAST_MEDIAN_DEPTH:
        problems.append(
            f"lists fewer than {LEAST_MEDIAN_DEPTH} documents for most topics; a blind task accepts only "
            "deeper runs."
        )
    if run.unknown > MOST_UNKNOWN * run.entries:
        problems.append("has more than 1% documents that are not in the collection.")
    # Runs like these are probes: their scores would reveal what is judged.
    remedy = "Submit the complete run; this task accepts only complete runs until it closes."
    probes = [Problem(rule, remedy, field="run") for rule in problems]
    return replace(report, problems=(*report.problems, *probes))


def _packed(scanned: Scanned[Checked]) -> PackedRun:
    packer, digest, sketch = scanned.consumer.others[:3]
    assert isinstance(packer, RunPacker)
    assert isinstance(digest, RankingDigest)
    assert isinstance(sketch, Sketch)
    packed = packer.packed()
    return PackedRun(
        tag=scanned.tag,
        details=scanned.metadata,
        topics=len(scanned.consumer.depths),
        entries=scanned.entries,
        deepest=max(scanned.consumer.depths.values()),
        digest=digest.hexdigest(),
        sketch=sketch.packed(),
        order_differs=digest.differs,
        index=packed.index,
        blocks=packed.blocks,
    )


def _store(session: Session, run_id: int, packed: PackedRun) -> None:
    session.add(RankingIndex(run_id=run_id, body=packed.index))
    add_numbered(session, RankingBlock, {"run_id": run_id}, packed.blocks)


def _damage(database: Database, run: Run) -> Iterator[str]:
    with database.read() as session:
        index = session.scalars(select(RankingIndex.body).where(RankingIndex.run_id == run.id)).one()
    places, topics, entries, deepest = read_index(index), 0, 0, 0
    for block in whole_blocks(database, run.id, run.ranking_sha256):
        topics, entries = topics + len(block.topics), entries + int(block.sizes().sum())
        deepest = max(deepest, int(block.sizes().max()))
    if (topics, entries, deepest) != (run.topics, run.entries, run.deepest):
        yield "it does not have the numbers of topics and documents that were counted"
    yield from _misplaced(database, run.id, places)


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


def _measures(session: Session, task: Task, revision: QrelsRevision) -> list[dict[str, Any]]:
    return [{"key": key, "version": grammar.parse(key).measure.version} for key in task.measures]


def _compute(database: Database, run_id: int, plan: Plan) -> RunScores:
    return of_judged(plan, _judged(database, run_id, plan, compiled_inputs(plan.inputs)))


def _again(database: Database, run_id: int, plan: Plan, hits: bytes | None) -> tuple[tuple[str, ...], Again]:
    judged = _judged(database, run_id, plan, _compiled(plan.inputs))
    is_same = hits is None or pack_hits(judged) == pack_hits(_hits(run_id, plan, hits))
    wrong = () if is_same else ("its judged hits come out differently",)
    return wrong, lambda bound: (bound.compute(judged), bound.parts(judged))


def _hits(_: int, plan: Plan, hits: bytes) -> Judged:
    return unpack_hits(hits, _compiled(plan.inputs).judgments, plan.dialect)


def _judged(database: Database, run_id: int, plan: Plan, compiled: CompiledJudgments) -> Judged:
    """The judged hits of a run, read block by block, so that memory stays flat."""
    aligner = Aligner(compiled, dialect=plan.dialect)
    for block in whole_blocks(database, run_id, plan.ranking_sha256):
        aligner.add(block)
    return aligner.judged()


def _topics_of(session: Session, run_ids: Collection[int]) -> set[str]:
    return {topic for index in indices_of(session, run_ids).values() for topic in index}


KIND = RunKind(
    name=RANKINGS,
    judgments="graded",
    ranks_documents=True,
    may_be_open=True,
    usual_measures=(),
    parse=grammar.parse,
    alike=f"top {SKETCH_DEPTH} documents",
    stored="rankings",
    hidden_name="run.txt.gz",
    pooled="rankings",
    pool_methods=METHODS,
    usual_pool=DEFAULT,
    shortest=len(" Q0 d 1 1 t\n"),
    missed="; a topic missing from a run scores as an empty ranking",
    missing=". ",
    rules=lambda *_: None,
    checked=_checked,
    sample=_sample,
    topics_of=_topics_of,
    prepared=lambda *_: [],
    is_one_run=lambda *_: False,
    store=_store,
    damage=_damage,
    measures=_measures,
    has_hits=lambda *_: True,
    compute=_compute,
    again=_again,
    open_hits=_hits,
    basis=None,
    packed=None,
    procedure=None,
)

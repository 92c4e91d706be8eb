"""Answers of runs: storage, reading and checks on submission."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to, compressed, damaged, plain_bytes, with_checksum
from leaderboard.core.kinds import Others, PackedRun, UploadRules, refused_probe
from leaderboard.db.engine import Database
from leaderboard.db.tables import Answer as StoredAnswer
from leaderboard.db.tables import Run, Task, Topic
from leaderboard.pooling.bound import BoundMethod
from leaderboard.scoring.ops.rankings import NO_TOP, Top, TopicTops, numbered
from leaderboard.trec.answers.check import AnswerRules, check_answers
from leaderboard.trec.answers.dialects import DIALECTS, LONGEVAL
from leaderboard.trec.answers.packages import metadata_of
from leaderboard.trec.answers.record import Answer, AnswerTopic, Citation, Segment
from leaderboard.trec.read.bundles import on_disk
from leaderboard.trec.read.lines import Limits, Source
from leaderboard.trec.runs.check import Report
from leaderboard.trec.runs.fingerprints import SKETCH_SIZE
from leaderboard.trec.runs.packing import PackedBlocks

MAGIC = b"ANS1"
_LEVEL = 3
BATCH = 64
"""Number of answers (of a few KB) added or read per statement."""


def add_answers(session: Session, run_id: int, answers: Iterable[Answer]) -> None:
    """Store the answers of a run in batches, each topic once."""
    add_packed(session, run_id, ((answer.topic, packed(answer)) for answer in answers))


def add_run(session: Session, run_id: int, packed: PackedRun) -> None:
    """As `add_answers`, for an accepted file."""
    add_packed(session, run_id, zip(packed.answers, packed.blocks, strict=True))


def add_packed(session: Session, run_id: int, answers: Iterable[tuple[str, bytes]]) -> None:
    """As `add_answers`, for topics with answers from `packed`."""
    left = iter(answers)
    while some := list(islice(left, BATCH)):
        rows = [{"run_id": run_id, "topic_id": topic, "body": body} for topic, body in some]
        session.execute(insert(StoredAnswer), rows)


def of_topic(session: Session, run_id: int, topic_id: str) -> Answer | None:
    """The answer of a run for a topic, None if absent; raises Damaged."""
    here = StoredAnswer.run_id == run_id, StoredAnswer.topic_id == topic_id
    body = session.scalar(select(StoredAnswer.body).where(*here))
    return None if body is None else opened(run_id, topic_id, body)


def of_run(session: Session, run_id: int) -> Iterator[Answer]:
    """All answers of a run by topic id in byte order, a few in memory at a time; raises Damaged."""
    query = (
        select(StoredAnswer.topic_id, StoredAnswer.body)
        .where(StoredAnswer.run_id == run_id)
        .order_by(StoredAnswer.topic_id)
        .execution_options(yield_per=BATCH)
    )
    with session.execute(query) as rows:
        for topic_id, body in rows:
            yield opened(run_id, topic_id, body)


def of_topic_in(session: Session, run_ids: Collection[int], topic_id: str) -> Iterator[tuple[int, Answer]]:
    """Run id and answer of the runs that answer the topic; one statement; raises Damaged."""
    rows = session.execute(
        select(StoredAnswer.run_id, StoredAnswer.body)
        .where(StoredAnswer.run_id.in_(run_ids), StoredAnswer.topic_id == topic_id)
        .order_by(StoredAnswer.run_id)
    )
    for run_id, body in rows:
        yield run_id, opened(run_id, topic_id, body)


def topics_of(session: Session, run_ids: Collection[int]) -> set[str]:
    """The topics answered by any of the runs; one statement."""
    topics = select(StoredAnswer.topic_id).where(StoredAnswer.run_id.in_(run_ids)).distinct()
    return set(session.scalars(topics))


def packed(answer: Answer) -> bytes:
    """Pack an answer for storage.

    >>> answer = Answer("u", "7", (Segment("Blue.", (Citation("d4", 0.9),)),), ("d4",), "{}")
    >>> opened(1, "7", packed(answer)) == answer
    True
    """
    record = {
        "run": answer.run,
        "segments": [_segment_record(segment) for segment in answer.segments],
        "cut_off": [_segment_record(segment) for segment in answer.cut_off],
        "references": answer.references,
        "line": answer.line,
    }
    return compressed(MAGIC, json.dumps(record, separators=(",", ":")).encode(), _LEVEL)


def opened(run_id: int, topic_id: str, body: bytes) -> Answer:
    """Unpack a stored answer; raises Damaged, naming the run and the topic."""
    with belonging_to(f"run {run_id} on topic {topic_id}"):
        try:
            record = json.loads(plain_bytes(MAGIC, body, "answers"))
            return Answer(
                record["run"],
                topic_id,
                tuple(map(_segment, record["segments"])),
                tuple(record["references"]),
                record["line"],
                tuple(map(_segment, record["cut_off"])),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise damaged("answers", "they have another form") from error


def _segment_record(segment: Segment) -> list[Any]:
    return [segment.text, [[citation.docno, citation.confidence] for citation in segment.citations]]


def _segment(record: list[Any]) -> Segment:
    text, citations = record
    return Segment(text, tuple(Citation(docno, confidence) for docno, confidence in citations))


def read_cited(
    session: Session, run_ids: Sequence[int], topic_ids: Sequence[str], bound: BoundMethod
) -> dict[str, TopicTops]:
    """Topic -> citations of every run by a pooling method for answers; reads one answer at a time.

    Scores are 1 / place. Segments beyond the limit do not count. Raises Damaged.
    """
    first = bound.values["first"]
    assert isinstance(first, int), "methods of answers take the first so many"
    chosen = cited_first if bound.method.name == "citations" else references_first
    tops: dict[str, dict[int, Top]] = {topic: {} for topic in topic_ids}
    for run_id in run_ids:
        for answer in of_run(session, run_id):
            if answer.topic in tops:
                tops[answer.topic][run_id] = _top(chosen(answer, first))
    return {topic: numbered([of.get(run_id, NO_TOP) for run_id in run_ids]) for topic, of in tops.items()}


def cited_first(answer: Answer, first: int) -> Iterator[str]:
    """Citations by position: first citations of all segments, then second ones, up to a limit."""
    most = max((len(segment.citations) for segment in answer.segments), default=0)
    for place in range(min(first, most)):
        for segment in answer.segments:
            for citation in islice(segment.citations, place, place + 1):
                yield citation.docno


def references_first(answer: Answer, first: int) -> Iterator[str]:
    """Its first references, up to a limit."""
    yield from answer.references[:first]


def _top(docnos: Iterator[str]) -> Top:
    ranking = [docno.encode("utf-8", "surrogateescape") for docno in dict.fromkeys(docnos)]
    return (np.array(ranking), 1.0 / np.arange(1, len(ranking) + 1)) if ranking else NO_TOP


def rules_of(session: Session, task: Task, topic_ids: list[str]) -> AnswerRules:
    """The task's rules for a file of answers on these topics."""
    rows = session.execute(
        select(Topic.topic_id, Topic.answer_limit, Topic.title, Topic.description, Topic.narrative).where(
            Topic.task_id == task.id
        )
    )
    topics = {topic: AnswerTopic(topic, tuple(filter(None, parts)), limit) for topic, limit, *parts in rows}
    given = task.answer_rules
    return AnswerRules(
        topics={topic_id: topics[topic_id] for topic_id in topic_ids},
        dialects=tuple(given.get("dialects") or ()),
        limit=given.get("limit"),
        unit=given.get("unit") or None,
        over=given.get("over") or None,
        docno_pattern=given.get("docno_pattern") or None,
    )


def checked(
    source: Source, asked: UploadRules, limits: Limits, others: Others | None
) -> tuple[Report, PackedRun | None]:
    """The report on a file, with the limits applied, and its answers if acceptable."""
    rules: AnswerRules = asked.own
    packer = _Packer()
    with on_disk(source) as path:
        report = check_answers(path, rules, packer.add)
        details = metadata_of(path) if report.accepted else {}
    if report.facts:
        limit = DIALECTS[report.facts["dialect"]].limit if rules.limit is None else rules.limit
        own = {
            topic: answer_topic.limit
            for topic, answer_topic in (rules.topics or {}).items()
            if answer_topic.limit is not None
        }
        limited = {"limit": limit, **({"limits": own} if own else {})}
        report = replace(report, facts={**report.facts, **limited})
    if asked.is_blind:
        remedy = "Submit the run with all its answers; this task accepts no other runs."
        report = refused_probe(report, "answers", rules.topics or (), "answers", remedy)
    return report, packer.packed(details) if report.accepted else None


SAMPLE = "This is a sample."


def sample(rules: UploadRules, docnos: Sequence[str]) -> Iterator[str]:
    """Lines of a run in the first dialect that the task accepts: one sentence per topic, with a citation.

    None for LongEval's, whose runs are archives.
    """
    own: AnswerRules = rules.own
    taken = [name for name in own.dialects or ("rag25",) if name != LONGEVAL.name]
    if not taken:
        return
    dialect = DIALECTS[taken[0]]
    cited, facts = docnos[:1], {"team_id": "sample-team", "run_id": "sample", "type": "automatic"}
    texts = {"text": SAMPLE, "citations": [0 if dialect.positions else docno for docno in cited]}
    body = {"references": cited, "responses" if dialect.name == "report" else "answer": [texts]}
    for topic in (own.topics or {}).values():
        metadata = facts | {dialect.topic_keys[0]: topic.topic, "run_desc": "A sample."}
        if dialect.official:
            metadata[dialect.official] = next(iter(topic.texts), topic.topic)
        if dialect.top_level:
            yield json.dumps(metadata | body | {"response_length": len(SAMPLE.split())}, ensure_ascii=False)
        else:
            yield json.dumps({"metadata": metadata} | body, ensure_ascii=False)


class _Packer:
    """Consumer of the answers of a file, one by one."""

    def __init__(self) -> None:
        self.run = ""
        self._bodies = PackedBlocks()
        self._digests: dict[str, bytes] = {}
        self._sizes: list[int] = []
        self._smallest = np.empty(0, "<u8")

    def add(self, answer: Answer) -> None:
        """Add an answer, truncated to the limit; only a digest stays in memory, the body goes to disk."""
        if answer.topic in self._digests:
            # The check already reported this, and the file is refused.
            return
        self.run = self.run or answer.run
        self._bodies.append(packed(answer))
        self._digests[answer.topic] = _digest(answer)
        self._sizes.append(len(answer.segments))
        hashes = np.array(sorted(_hashes(answer)), "<u8")
        self._smallest = np.union1d(self._smallest, hashes)[:SKETCH_SIZE]

    def packed(self, details: Mapping[str, Any]) -> PackedRun:
        """All answers with the facts of the run; sketch: of cited documents and texts."""
        return PackedRun(
            tag=self.run,
            topics=len(self._digests),
            answers=tuple(self._digests),
            blocks=self._bodies,
            entries=sum(self._sizes),
            deepest=max(self._sizes, default=0),
            digest=_whole(self._digests),
            sketch=with_checksum(self._smallest.astype("<u8").tobytes()),
            details=details,
        )


def damage(database: Database, run: Run) -> Iterator[str]:
    """Problems of the stored answers of a run; also raises Damaged."""
    with database.read() as session:
        digests = {answer.topic: _digest(answer) for answer in of_run(session, run.id)}
    if _whole(digests) != run.ranking_sha256:
        yield "its answers do not have its digest"


def _whole(digests: Mapping[str, bytes]) -> str:
    """The digest of a run's answers, from the digests by topic."""
    whole = hashlib.sha256()
    for topic in sorted(digests):
        whole.update(topic.encode() + b"\n" + digests[topic])
    return whole.hexdigest()


def _digest(answer: Answer) -> bytes:
    segments = [
        [segment.text, [[citation.docno, citation.confidence] for citation in segment.citations]]
        for segment in answer.segments
    ]
    return hashlib.sha256(json.dumps([segments, answer.references]).encode()).digest()


def _hashes(answer: Answer) -> Iterator[int]:
    """A number for each document cited on the topic, and for each segment's text."""
    cited = {citation.docno for segment in answer.segments for citation in segment.citations}
    for kind, parts in (("cited", cited), ("text", set(answer.texts))):
        for part in parts:
            whole = json.dumps([answer.topic, kind, part]).encode()
            yield int.from_bytes(hashlib.blake2b(whole, digest_size=8).digest(), "little")

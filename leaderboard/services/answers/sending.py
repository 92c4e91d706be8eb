"""A file of answers on its way in: the rules of its task, its check, and the run it becomes."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.checksums import with_checksum
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run, Task, Topic
from leaderboard.services.answers import store
from leaderboard.services.kinds import Others, PackedRun, UploadRules, refused_probe
from leaderboard.trec.answers.check import AnswerRules, check_answers
from leaderboard.trec.answers.dialects import DIALECTS
from leaderboard.trec.answers.packages import metadata_of
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.answers.topics import AnswerTopic
from leaderboard.trec.read.lines import Limits, Source
from leaderboard.trec.read.on_disk import on_disk
from leaderboard.trec.runs.fingerprints import SKETCH_SIZE
from leaderboard.trec.runs.packing import PackedBlocks
from leaderboard.trec.runs.reports import Report


def rules_of(session: Session, task: Task, topic_ids: list[str]) -> AnswerRules:
    """What the task asks of a file of answers to these of its topics."""
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
    """The report on a file, with the limits that held, and its answers if it can be accepted."""
    rules: AnswerRules = asked.own
    packer = _Packer()
    with on_disk(source) as path:
        report = check_answers(path, rules, packer.add)
        details = metadata_of(path) if report.accepted else {}
    if report.facts:
        limit = DIALECTS[report.facts["dialect"]].limit if rules.limit is None else rules.limit
        own = {topic: one.limit for topic, one in (rules.topics or {}).items() if one.limit is not None}
        limited = {"limit": limit, **({"limits": own} if own else {})}
        report = replace(report, facts={**report.facts, **limited})
    if asked.is_blind:
        remedy = "Send the run with all its answers; this task takes no other."
        report = refused_probe(report, "answers", rules.topics or (), "answers", remedy)
    return report, packer.packed(details) if report.accepted else None


class _Packer:
    """Takes the answers of a file one by one."""

    def __init__(self) -> None:
        self.run = ""
        self._bodies = PackedBlocks()
        self._digests: dict[str, bytes] = {}
        self._sizes: list[int] = []
        self._smallest = np.empty(0, "<u8")

    def add(self, answer: Answer) -> None:
        """Take an answer as it counts; memory holds a digest of it, its body goes to disk."""
        if answer.topic in self._digests:
            # The check has found this already, and the file is refused.
            return
        self.run = self.run or answer.run
        self._bodies.append(store.packed(answer))
        self._digests[answer.topic] = _digest(answer)
        self._sizes.append(len(answer.segments))
        hashes = np.array(sorted(_hashes(answer)), "<u8")
        self._smallest = np.union1d(self._smallest, hashes)[:SKETCH_SIZE]

    def packed(self, details: Mapping[str, Any]) -> PackedRun:
        """All of them, and what is said of the run; sketch: of cited documents and texts."""
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
    """What is wrong with the stored answers of a run; raises Damaged as well."""
    with database.read() as session:
        digests = {answer.topic: _digest(answer) for answer in store.of_run(session, run.id)}
    if _whole(digests) != run.ranking_sha256:
        yield "its answers do not have its digest"


def _whole(digests: Mapping[str, bytes]) -> str:
    """The digest of a run's answers, of those by topic."""
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
    """A number for each document that is cited on the topic, and for each segment's text."""
    cited = {citation.docno for segment in answer.segments for citation in segment.citations}
    for kind, parts in (("cited", cited), ("text", set(answer.texts))):
        for part in parts:
            whole = json.dumps([answer.topic, kind, part]).encode()
            yield int.from_bytes(hashlib.blake2b(whole, digest_size=8).digest(), "little")

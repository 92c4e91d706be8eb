"""Judgments with all inputs of measures: grades, subtopics and preferences."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from leaderboard.measures.judged import IntArray, Subtopics
from leaderboard.trec.qrels.align import CompiledJudgments, compile_judgments
from leaderboard.trec.qrels.preferences import PreferenceJudgments, preferences_of, with_documents
from leaderboard.trec.qrels.qrels import Qrels
from leaderboard.trec.read.lines import bytes_of


def compile_qrels(qrels: Qrels, preferences: PreferenceJudgments | None = None) -> CompiledJudgments:
    """The judgments ready to be aligned with runs, with the subtopics of qrels of that kind.

    Documents and topics that occur only in preferences are added, pooled but not judged: a run finds
    them, and no measure of grades treats them as relevant.

    >>> subtopics = {"1": {"1": {b"a": 1}, "2": {b"b": 2}}}
    >>> qrels = Qrels({"1": {b"a": 1, b"b": 2}}, "subtopic", subtopics=subtopics)
    >>> compile_qrels(qrels).judgments.subtopics.subtopic
    array([0, 1])
    """
    by_topic = qrels.judgments if preferences is None else with_documents(qrels.judgments, preferences)
    compiled = compile_judgments(by_topic)
    judgments = compiled.judgments
    docnos = [sorted(by_topic[topic]) for topic in judgments.topics]
    if qrels.kind == "subtopic":
        subtopics = subtopics_of(qrels.subtopics, judgments.topics, judgments.starts, docnos)
        judgments = replace(judgments, subtopics=subtopics)
    if preferences is not None:
        given = preferences_of(preferences, judgments.topics, judgments.starts, docnos)
        judgments = replace(judgments, preferences=given)
    return replace(compiled, judgments=judgments)


def subtopics_of(
    by_topic: Mapping[str, Mapping[str, Mapping[bytes, int]]],
    topics: Sequence[str],
    starts: IntArray,
    docnos: Sequence[Sequence[bytes]],
) -> Subtopics:
    """The judgments of subtopics (topic -> subtopic -> docno -> grade) by place of topic and document.

    topics, starts: those of the Judgments; docnos: the judged documents of each topic in their order,
    among them all that by_topic has. Subtopics that are numbers come first, by value, as in ndeval. One
    that no document is relevant to is kept: it has no part in any score, at any level. Topics that
    are not in topics are left out.

    >>> by_topic = {"7": {"10": {b"a": 1}, "9": {b"a": 0, b"b": 2}}}
    >>> made = subtopics_of(by_topic, ["7"], np.array([0, 2]), [[b"a", b"b"]])
    >>> made.document, made.subtopic, made.grade, made.count
    (array([0, 0, 1]), array([0, 1, 0]), array([0, 1, 2]), array([2]))
    """
    rows: list[tuple[int, int, int]] = []
    for topic, start, judged in zip(topics, starts[:-1].tolist(), docnos, strict=True):
        place = {docno: start + index for index, docno in enumerate(judged)}
        parts = by_topic.get(topic, {})
        for part, subtopic in enumerate(sorted(parts, key=_by_number)):
            rows.extend((place[docno], part, grade) for docno, grade in parts[subtopic].items())
    document, number, grade = np.array(sorted(rows), dtype=np.int64).reshape(-1, 3).T.copy()
    count = np.array([len(by_topic.get(topic, ())) for topic in topics], dtype=np.int64)
    return Subtopics(document, number, grade, count)


def _by_number(subtopic: str) -> tuple[bool, int, bytes]:
    is_number = subtopic.isascii() and subtopic.isdigit()
    return not is_number, int(subtopic) if is_number else 0, bytes_of(subtopic)

"""Judgments with all that a measure may need of them: grades, subtopics and preferences."""

from dataclasses import replace

from leaderboard.trec.qrels.align import CompiledJudgments, compile_judgments
from leaderboard.trec.qrels.preferences import PreferenceJudgments, preferences_of, with_documents
from leaderboard.trec.qrels.qrels import Qrels
from leaderboard.trec.qrels.subtopics import subtopics_of


def compile_qrels(qrels: Qrels, preferences: PreferenceJudgments | None = None) -> CompiledJudgments:
    """The judgments ready to be aligned with runs, with the subtopics of qrels of that kind.

    Documents and topics that only preferences speak of are added, pooled but not judged: a run finds
    them, and no measure of grades takes them for relevant.

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

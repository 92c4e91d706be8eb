"""All inputs of the scores of one revision, packed for storage and compiled for alignment."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from leaderboard.checksums import belonging_to, compressed, plain_bytes
from leaderboard.measures.judged import UNJUDGED
from leaderboard.trec.qrels.align import CompiledJudgments, with_distractors
from leaderboard.trec.qrels.compiling import compile_qrels
from leaderboard.trec.qrels.left_out import LeftOut, compiled_left_out, without
from leaderboard.trec.qrels.packed import (
    pack_judgments,
    unpack_compiled,
    unpack_distractors,
    unpack_judgments,
    unpack_left_out,
)
from leaderboard.trec.qrels.preferences import PreferenceJudgments
from leaderboard.trec.qrels.qrels import Qrels

_PREFERENCES = b"LBP1"
_LEVEL = 3
_BETWEEN = "\t"
"""Between topic and subtopic: neither has white space."""

BySubtopic = Mapping[str, Mapping[str, Mapping[bytes, int]]]
"""Topic -> subtopic -> docno -> grade."""


@dataclass(frozen=True, slots=True)
class RevisionInputs:
    """Packed judgments and further inputs, None if absent."""

    judgments: bytes
    subtopics: bytes | None = None
    preferences: bytes | None = None
    distractors: bytes | None = None
    left_out: bytes | None = None
    collection_size: int | None = None
    name: str = ""
    """Name in error messages, such as `revision 2`."""
    kind: str = "graded"
    """Kind of judgments: grades, answers (nuggets and labels), or board (the reference of judges)."""

    @property
    def are_of_documents(self) -> bool:
        """Whether documents are judged, so that a run has judged hits."""
        return self.kind not in ("answers", "board")


def compiled_inputs(inputs: RevisionInputs) -> CompiledJudgments:
    """The judgments with all further inputs.

    Documents and topics that occur only in subtopics or preferences are added as `leaderboard evaluate` adds
    them: pooled but not judged, so that no measure of grades treats them as relevant. A distractor among them
    has grade 0. Documents left out of a topic are not judged for it. Raises Damaged, by the name of the
    inputs, where any of them is.
    """
    with belonging_to(inputs.name):
        return _compiled(inputs)


def _compiled(inputs: RevisionInputs) -> CompiledJudgments:
    if not inputs.are_of_documents:
        return _without_documents(inputs)
    distractors = unpack_distractors(inputs.distractors)
    if inputs.subtopics is None and inputs.preferences is None and inputs.left_out is None:
        compiled = unpack_compiled(inputs.judgments)
    else:
        compiled = _with_companions(inputs, frozenset(distractors))
    sized = replace(compiled.judgments, collection_size=inputs.collection_size)
    whole = with_distractors(replace(compiled, judgments=sized), distractors)
    return whole if inputs.left_out is None else _leaving(whole, inputs.left_out, frozenset(distractors))


def _leaving(compiled: CompiledJudgments, packed: bytes, distractors: frozenset[bytes]) -> CompiledJudgments:
    """The judgments, whose runs lose what is left out; a distractor among it counts no more for its topic."""
    left_out = LeftOut(unpack_left_out(packed))
    judgments = compiled.judgments
    if judgments.distractors is not None:
        gone = [len(distractors & left_out.by_topic.get(topic, frozenset())) for topic in judgments.topics]
        judgments = replace(judgments, distractors=judgments.distractors - np.array(gone, np.int64))
    return replace(compiled, judgments=judgments, left_out=compiled_left_out(left_out))


def _without_documents(inputs: RevisionInputs) -> CompiledJudgments:
    """The topics of judgments of answers or of a reference, none of which judges single documents."""
    topics: Collection[str]
    if inputs.kind == "board":
        from leaderboard.trec.boards.packing import unpack_reference

        topics = unpack_reference(inputs.judgments).reference.topics
    else:
        from leaderboard.trec.nuggets.packing import unpacked

        topics = unpacked(inputs.judgments).topics
    return compile_qrels(Qrels({topic: {} for topic in topics}, "graded"))


def _with_companions(inputs: RevisionInputs, distractors: Collection[bytes]) -> CompiledJudgments:
    by_topic = unpack_judgments(inputs.judgments)
    subtopics = unpack_subtopics(inputs.subtopics) if inputs.subtopics is not None else {}
    preferences = unpack_preferences(inputs.preferences) if inputs.preferences is not None else None
    named = [
        (topic, docno) for topic, parts in subtopics.items() for part in parts.values() for docno in part
    ]
    for topic, judges in preferences.pairs.items() if preferences is not None else ():
        named += [(topic, docno) for pairs in judges.values() for pair in pairs for docno in pair]
    for topic, docno in named:
        by_topic.setdefault(topic, {}).setdefault(docno, 0 if docno in distractors else UNJUDGED)
    kind = "graded" if inputs.subtopics is None else "subtopic"
    qrels = Qrels(by_topic, kind, subtopics=subtopics)
    if inputs.left_out is not None:
        qrels = without(qrels, LeftOut(unpack_left_out(inputs.left_out)))
    return compile_qrels(qrels, preferences)


def pack_subtopics(by_topic: BySubtopic) -> bytes:
    """Judgments of subtopics as one compressed string.

    >>> unpack_subtopics(pack_subtopics({"7": {"2": {b"a": 1}}}))
    {'7': {'2': {b'a': 1}}}
    """
    return pack_judgments(
        {f"{topic}{_BETWEEN}{part}": by_topic[topic][part] for topic in by_topic for part in by_topic[topic]}
    )


def unpack_subtopics(packed: bytes) -> dict[str, dict[str, dict[bytes, int]]]:
    """Topic -> subtopic -> docno -> grade, all in byte order."""
    topics: dict[str, dict[str, dict[bytes, int]]] = {}
    for both, grades in unpack_judgments(packed).items():
        topic, _, subtopic = both.partition(_BETWEEN)
        topics.setdefault(topic, {})[subtopic] = grades
    return topics


def highest_grades(by_topic: BySubtopic) -> dict[str, dict[bytes, int]]:
    """Topic -> docno -> the highest grade of any subtopic.

    >>> highest_grades({"7": {"1": {b"a": 0}, "2": {b"a": 2}}})
    {'7': {b'a': 2}}
    """
    highest: dict[str, dict[bytes, int]] = {}
    for topic, parts in by_topic.items():
        grades = highest.setdefault(topic, {})
        for part in parts.values():
            for docno, grade in part.items():
                grades[docno] = max(grade, grades.get(docno, grade))
    return highest


def pack_preferences(preferences: PreferenceJudgments) -> bytes:
    """Preferences as one compressed string; notes are left out.

    >>> given = PreferenceJudgments({"1": {"": {(b"a", b"b"): 2.0}, "judge": {}}})
    >>> unpack_preferences(pack_preferences(given)).pairs == given.pairs
    True
    """
    plain = [
        [
            topic,
            [
                [
                    judge,
                    [
                        [better.decode(), worse.decode(), pairs[better, worse]]
                        for better, worse in sorted(pairs)
                    ],
                ]
                for judge, pairs in sorted(judges.items())
            ],
        ]
        for topic, judges in sorted(preferences.pairs.items())
    ]
    body = json.dumps(plain, separators=(",", ":")).encode()
    return compressed(_PREFERENCES, body, _LEVEL)


def unpack_preferences(packed: bytes) -> PreferenceJudgments:
    """The preferences; raises Damaged where the bytes are not what was packed."""
    plain = json.loads(plain_bytes(_PREFERENCES, packed, "preferences"))
    return PreferenceJudgments(
        {
            topic: {
                judge: {(better.encode(), worse.encode()): weight for better, worse, weight in pairs}
                for judge, pairs in judges
            }
            for topic, judges in plain
        }
    )

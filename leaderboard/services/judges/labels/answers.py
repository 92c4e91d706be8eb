"""The board that a judge's labels of answers make: the answers of the reference's runs, scored by them."""

import math
from collections.abc import Mapping

from sqlalchemy.orm import Session

from leaderboard.errors import Conflict
from leaderboard.measures.answers.registry import parse
from leaderboard.memory import Kept
from leaderboard.services.answers import store
from leaderboard.services.judges.labels.run_sources import RunSource
from leaderboard.services.nuggets import scoring
from leaderboard.trec.boards.answer_labels import KeptAnswerLabels, Places
from leaderboard.trec.boards.board_files import BoardFile
from leaderboard.trec.boards.packing import KeptBoard, KeptReference

KIND = "answers"
_places: Kept[Places] = Kept(__name__)


def board_of(runs: RunSource, kept: KeptReference, sent: KeptAnswerLabels) -> KeptBoard:
    """The board of a judge's labels by the reference's measure, on the topics that they are of.

    A topic of a run without labels has no value. Raises Conflict where the runs of the reference are gone,
    Invalid where labels are of another answer, Damaged.
    """
    key = parse(kept.reference.measure).key
    origin = kept.origin
    if origin is None or origin.kind != KIND:
        raise Conflict("The reference is no board of answers of this site: choose another one.")
    runs.basis(origin)
    values: dict[str, dict[str, float]] = {}
    for name, run_id in zip(kept.reference.runs, origin.run_ids, strict=True):
        answers = runs.answers(run_id)
        scored = scoring.scores(sent.answers, name, answers, [key])[key].scores.tolist()
        by_topic = zip(sent.answers.topics, scored, strict=True)
        values[name] = {topic: value for topic, value in by_topic if math.isfinite(value)}
    values = {name: row for name, row in values.items() if row}
    topics = tuple(dict.fromkeys(topic for row in values.values() for topic in row))
    board = BoardFile("", "", {kept.reference.measure: values}, {}, (), tuple(values), topics, ())
    return KeptBoard(board, kept.reference.measure)


def places(session: Session, kept: KeptReference) -> Places:
    """How many documents each segment of the reference's answers cites; nothing of other references."""
    origin = kept.origin
    if origin is None or origin.kind != KIND:
        return {}
    # Answers never change, and reading all of them takes seconds.
    key = str(session.get_bind().engine.url), origin.run_ids
    if (known := _places.get(key)) is not None:
        return known
    return _places.put(key, _read(session, dict(zip(kept.reference.runs, origin.run_ids, strict=True))))


def _read(session: Session, runs: Mapping[str, int]) -> Places:
    return {
        (name, answer.topic): tuple(len(segment.citations) for segment in answer.segments)
        for name, run_id in runs.items()
        for answer in store.of_run(session, run_id)
    }

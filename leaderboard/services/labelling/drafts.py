"""From a round of labelling to a draft of a revision, which goes the road of any revision."""

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task
from leaderboard.errors import Conflict, Invalid
from leaderboard.services.answers import store
from leaderboard.services.labelling import rounds, settled
from leaderboard.services.labelling.items import ASSIGNMENTS, NUGGETS
from leaderboard.services.labelling.settled import RoundLabels, round_labels, settled_labels, settled_nuggets
from leaderboard.services.nuggets import reading, stored
from leaderboard.services.nuggets.prepared import of_answers
from leaderboard.services.nuggets.uploads import together
from leaderboard.services.policy import Viewer, require_organiser
from leaderboard.services.revisions import drafts
from leaderboard.trec.nuggets.assignments import AssignedNuggets, Assignments
from leaderboard.trec.nuggets.judgments import AnswerJudgments
from leaderboard.trec.nuggets.packing import MadeBy, PackedAnswers, Part
from leaderboard.trec.nuggets.sets import NuggetSet
from leaderboard.trec.nuggets.support import LabelledSegments, SupportLabels

MODES = {
    "merge": "with what the newest revision has of other topics and runs",
    "replace": "alone: nothing that the newest revision has of its kind stays",
}


def keep(session: Session, viewer: Viewer, slug: str, number: int, *, rule: str, mode: str, note: str) -> str:
    """Keep what was settled by a rule as a draft; the token that finds it.

    Raises Invalid for another rule or mode and without a note, Conflict where nothing is settled yet or the
    task's nuggets are others by now.
    """
    task, here = rounds.own_round(session, viewer, slug, number)
    require_organiser(viewer, task)
    if mode not in MODES:
        raise Invalid(f"Labels are published by one of {', '.join(MODES)}, not {mode[:20]!r}.")
    before = stored.newest(session, task.id) or PackedAnswers(AnswerJudgments())
    made = round_labels(session, here)
    part: Part = here.kind  # type: ignore[assignment]
    old = before.judgments if mode == "merge" else AnswerJudgments()
    sent = _sent(session, task, made, before.judgments, old, rule)
    kept, notes = reading.kept({part}, before.judgments, sent.nuggets)
    maker = _maker(before, part) if mode == "merge" else MadeBy()
    whole = together(before, sent, kept, {part: maker}, notes)
    return drafts.keep(session, viewer, slug, of_answers(whole, f"round {number}"), note)


def _sent(
    session: Session, task: Task, made: RoundLabels, before: AnswerJudgments, old: AnswerJudgments, rule: str
) -> AnswerJudgments:
    """The part that was made, together with that of `old` where it says nothing."""
    if made.here.kind == NUGGETS:
        topics = settled_nuggets(session, made).topics
        if not topics:
            raise Conflict("There is nothing to publish yet: no topic is done and decided.")
        return AnswerJudgments(NuggetSet({**old.nuggets.topics, **topics}))
    cells = settled.cells(made, settled_labels(made, rule))
    if not cells:
        raise Conflict("There is nothing to publish yet: no answer is labelled and decided.")
    digests = _digests(session, task)
    if made.here.kind == ASSIGNMENTS:
        _require_same(made, before.nuggets)
        assigned = {(digests[run], topic): _assigned(labels) for (run, topic), labels in cells.items()}
        earlier = old.assignments.cells if old.assignments else {}
        return AnswerJudgments(before.nuggets, Assignments(before.nuggets, {**earlier, **assigned}))
    supported = {}
    for (run, topic), labels in cells.items():
        answer = store.of_topic(session, run, topic)
        if answer is not None:
            supported[digests[run], topic] = LabelledSegments(settled.supported(labels, answer))
    whole = SupportLabels({**old.support.answers, **supported})
    return replace(AnswerJudgments(before.nuggets), support=whole)


def _digests(session: Session, task: Task) -> dict[int, str]:
    rows = session.execute(select(Run.id, Run.ranking_sha256).where(Run.task_id == task.id))
    return {row.id: row.ranking_sha256 for row in rows}


def _assigned(labels: Mapping[tuple[int, int], int]) -> AssignedNuggets:
    given = (settled.ASSIGNED[labels[place]] for place in sorted(labels))
    return AssignedNuggets(tuple(given))


def _require_same(made: RoundLabels, nuggets: NuggetSet) -> None:
    """Raise Conflict where the board's nuggets are not those that were assigned."""
    others = [
        topic
        for topic, there in made.topics.items()
        if [nugget["text"] for nugget in there.nuggets] != [one.text for one in nuggets.topics.get(topic, ())]
    ]
    if others:
        named = ", ".join(others[:20])
        raise Conflict(
            f"The nuggets of these topics are others since revision {made.here.revision}: {named}. Open a "
            "round for the new ones; the labels of this one can be taken as a file."
        )


def _maker(before: PackedAnswers, part: Part) -> MadeBy:
    """Who made labels that are added to those of the revision before."""
    earlier = before.made_by.get(part)
    return MadeBy() if earlier is None or earlier.kind == "human" else MadeBy("both", earlier.name)

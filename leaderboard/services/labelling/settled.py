"""What came of a round: one label an item or one list of nuggets a topic, and the file that it makes."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import (
    LabellingRound,
    LabellingShare,
    LabellingTopic,
    Run,
    Task,
    Team,
    Topic,
    WrittenNugget,
)
from leaderboard.errors import Conflict, Invalid
from leaderboard.measures.answers.judged import Assignment
from leaderboard.services import answers, revisions
from leaderboard.services.judging import (
    GivenLabel,
    JudgedLabels,
    Place,
    by_place,
    grades_of,
    judges_of,
    settled_by,
)
from leaderboard.services.labelling import decisions, rounds
from leaderboard.services.labelling import labels as given_labels
from leaderboard.services.labelling.labels import ASSIGNMENTS, NUGGETS, UNSURE, LabelItem, of_answer
from leaderboard.services.nuggets import reading, scoring
from leaderboard.services.nuggets.reading import of_answers, together
from leaderboard.services.policy import Viewer, require_organiser
from leaderboard.stats.assessors import RULES
from leaderboard.trec.answers.counting import words
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.nuggets.assignments import AssignedNuggets, Assignments
from leaderboard.trec.nuggets.judgments import AnswerJudgments
from leaderboard.trec.nuggets.packing import MadeBy, PackedAnswers, Part
from leaderboard.trec.nuggets.sets import Nugget, NuggetSet
from leaderboard.trec.nuggets.support import LabelledSegments, SupportLabels

USUAL = "adjudicated"


@dataclass(frozen=True, kw_only=True, eq=False)
class RoundLabels(JudgedLabels):
    """A round with all that was labelled in it; judges by name, adjudicators last."""

    here: LabellingRound
    topics: Mapping[str, LabellingTopic]
    shares: tuple[LabellingShare, ...]

    @cached_property
    def items(self) -> dict[Place, LabelItem]:
        """All that there is to be labelled, by topic and name."""
        return {
            (item.topic_id, item.name): item
            for topic in self.topics.values()
            for answer in topic.answers
            for item in of_answer(topic.topic_id, answer)
        }

    @cached_property
    def adjudicators(self) -> frozenset[int]:
        """The ids of those whose labels decide."""
        return frozenset(one.id for one in self.judges if one.is_adjudicator)

    @cached_property
    def disagreements(self) -> dict[LabelItem, list[GivenLabel]]:
        """The items that assessors label differently, in their order, with what they say."""
        found = {
            self.items[place]: labels
            for place, labels in by_place(self.labels).items()
            if len(grades_of(labels)) > 1
        }
        return dict(sorted(found.items()))

    @cached_property
    def undecided(self) -> tuple[LabelItem, ...]:
        """Those of them that nobody decided on."""
        decided = {self.items[label.place] for label in self.decisions}
        return tuple(item for item in self.disagreements if item not in decided)


@dataclass(frozen=True)
class SettledLabels:
    """One label an item by a rule; the others are open, which an adjudicator decides, or nobody could say."""

    rule: str
    labels: Mapping[LabelItem, int]
    open: tuple[LabelItem, ...]
    unsure: tuple[LabelItem, ...]
    left: int
    """Items without any label."""


@dataclass(frozen=True)
class SettledNuggets:
    """One list of nuggets a topic: of the adjudicator, of the one who wrote, or that all wrote alike."""

    topics: Mapping[str, tuple[Nugget, ...]]
    open: tuple[str, ...]
    """Topics that two assessors wrote differing lists of, and nobody decided."""
    left: tuple[str, ...]
    """Topics that somebody is not done with."""


def round_labels(session: Session, here: LabellingRound) -> RoundLabels:
    """All of a round; a few statements."""
    shares = tuple(rounds.shares_of(session, here.id))
    given = given_labels.in_force(session, here.id)
    there = {one.assessor_id for one in given} | {share.assessor_id for share in shares}
    task = session.get_one(Task, here.task_id)
    judges = {judge.id: judge for judge in judges_of(session, task) if judge.id in there}
    said = [
        GivenLabel(
            topic_id=one.topic_id,
            docno=one.item.name,
            judge=judges[one.assessor_id],
            grade=None if one.label == UNSURE else one.label,
            saved_at=one.saved_at,
        )
        for one in given
    ]
    return RoundLabels(
        judges=tuple(sorted(judges.values(), key=lambda one: (one.is_adjudicator, one.name, one.id))),
        labels=tuple(label for label in said if not label.judge.is_adjudicator),
        decisions=tuple(label for label in said if label.judge.is_adjudicator),
        here=here,
        topics={topic.topic_id: topic for topic in rounds.topics_of(session, here.id)},
        shares=shares,
    )


def settled_labels(made: RoundLabels, rule: str = USUAL) -> SettledLabels:
    """One label an item by one of the rules for grades; raises Invalid for another rule.

    Who could not say counts as having skipped the item.
    """
    if rule not in RULES:
        raise Invalid(f"Labels are settled by one of {', '.join(RULES)}, not {rule[:20]!r}.")
    given = [label for label in (*made.labels, *made.decisions) if label.place in made.items]
    found = settled_by(given, RULES[rule].key)
    return SettledLabels(
        rule=rule,
        labels={made.items[place]: label for place, label in found.grades.items()},
        open=tuple(made.items[place] for place in found.open),
        unsure=tuple(made.items[place] for place in found.skipped),
        left=len(made.items) - len({label.place for label in given}),
    )


def settled_nuggets(session: Session, made: RoundLabels) -> SettledNuggets:
    """One list of nuggets a topic, where all who have it are done; one statement."""
    lists: dict[tuple[str, int], list[WrittenNugget]] = {}
    for one in decisions.written_nuggets(session, made.here.id):
        if decisions.stands(one):
            lists.setdefault((one.topic_id, one.assessor_id), []).append(one)
    topics, still_open, left = {}, [], []
    for topic_id in made.topics:
        shares = [share for share in made.shares if share.topic_id == topic_id]
        decided = [share for share in shares if share.assessor_id in made.adjudicators and share.done_at]
        asked = decided[-1:] or [share for share in shares if share.assessor_id not in made.adjudicators]
        found = [_listed(lists.get((topic_id, share.assessor_id), [])) for share in asked]
        if any(share.done_at is None for share in asked):
            left.append(topic_id)
        elif any(set(one) != set(found[0]) for one in found):
            still_open.append(topic_id)
        else:
            topics[topic_id] = found[0]
    return SettledNuggets(topics, tuple(still_open), tuple(left))


def _listed(written: list[WrittenNugget]) -> tuple[Nugget, ...]:
    """The nuggets of a list, vital ones first."""
    ordered = sorted(written, key=lambda one: (one.importance != decisions.VITAL, one.id))
    return tuple(
        Nugget(one.text, "vital" if one.importance == decisions.VITAL else "okay") for one in ordered
    )


ASSIGNED: dict[int, Assignment] = {2: "support", 1: "partial_support", 0: "not_support"}
"""A label -> what files call it."""


def lines(session: Session, made: RoundLabels, rule: str) -> Iterator[str]:
    """What was settled by a rule, as lines of a file that can be sent back; a topic or answer a line."""
    titles = _titles(session, made)
    if made.here.kind == NUGGETS:
        for topic, nuggets in settled_nuggets(session, made).topics.items():
            yield _line({"query": titles[topic], "qid": topic, "nuggets": list(map(_of_nugget, nuggets))})
        return
    names = run_names(session, made.here.task_id)
    for (run_id, topic), labels in settled_cells(made, settled_labels(made, rule)).items():
        answer = answers.of_topic(session, run_id, topic)
        if answer is None:
            continue
        facts = {"query": titles[topic], "run_id": names[run_id]}
        if made.here.kind == ASSIGNMENTS:
            yield _line(_assigned(made, topic, labels, answer) | facts)
        else:
            yield _line(_supported(topic, labels, answer) | facts)


def settled_cells(
    made: RoundLabels, settled: SettledLabels
) -> dict[tuple[int, str], dict[tuple[int, int], int]]:
    """(run, topic) -> (place, citation) -> label: answers with all nuggets assigned, or a citation labelled.

    An answer whose nuggets are not all assigned is not judged: files know no nugget without a label.
    """
    found: dict[tuple[int, str], dict[tuple[int, int], int]] = {}
    for item, label in settled.labels.items():
        found.setdefault((item.run_id, item.topic_id), {})[item.place, item.citation] = label
    if made.here.kind == ASSIGNMENTS:
        whole = {topic: len(there.nuggets) for topic, there in made.topics.items()}
        found = {cell: labels for cell, labels in found.items() if len(labels) == whole[cell[1]]}
    return dict(sorted(found.items(), key=lambda cell: (cell[0][1], cell[0][0])))


def settled_supported(labels: Mapping[tuple[int, int], int], answer: Answer) -> tuple[tuple[int, ...], ...]:
    """The support labels of an answer's segments, a citation each; -1 where it was not labelled."""
    return tuple(
        tuple(labels.get((place, citation), UNSURE) for citation in range(len(segment.citations)))
        for place, segment in enumerate(answer.segments)
    )


def run_names(session: Session, task_id: int) -> dict[int, str]:
    """Run id -> its name; TEAM/NAME where several runs of the task have the name."""
    rows = session.execute(
        select(Run.id, Run.name, Team.name.label("team"))
        .join(Team, Team.id == Run.team_id)
        .where(Run.task_id == task_id)
    ).all()
    times = Counter(row.name for row in rows)
    return {row.id: row.name if times[row.name] == 1 else f"{row.team}/{row.name}" for row in rows}


def _titles(session: Session, made: RoundLabels) -> dict[str, str]:
    rows = session.execute(
        select(Topic.topic_id, Topic.title).where(
            Topic.task_id == made.here.task_id, Topic.topic_id.in_(made.topics)
        )
    )
    return dict.fromkeys(made.topics, "") | {topic: title for topic, title in rows}


def _of_nugget(nugget: Nugget) -> dict[str, str]:
    return {"text": nugget.text, "importance": nugget.importance}


def _assigned(
    made: RoundLabels, topic: str, labels: Mapping[tuple[int, int], int], answer: Answer
) -> dict[str, Any]:
    nuggets = [
        {**nugget, "assignment": ASSIGNED[labels[place, 0]]}
        for place, nugget in enumerate(made.topics[topic].nuggets)
    ]
    length = words(answer.texts)
    return {"qid": topic, "answer_text": answer.text, "response_length": length, "nuggets": nuggets}


def _supported(topic: str, labels: Mapping[tuple[int, int], int], answer: Answer) -> dict[str, Any]:
    given = settled_supported(labels, answer)
    sentences = [
        {
            "sentenceID": place,
            "text": segment.text,
            "citations": [
                {"citationID": at, "reference": citation.docno, "support": str(given[place][at])}
                for at, citation in enumerate(segment.citations)
            ],
        }
        for place, segment in enumerate(answer.segments)
    ]
    return {"topic_id": topic, "sentences": sentences}


def _line(record: Mapping[str, Any]) -> str:
    return f"{json.dumps(record, ensure_ascii=False)}\n"


MODES = {
    "merge": "with what the newest revision has of other topics and runs",
    "replace": "alone: nothing that the newest revision has of its kind stays",
}


def keep_draft(
    session: Session, viewer: Viewer, slug: str, number: int, *, rule: str, mode: str, note: str
) -> str:
    """Keep what was settled by a rule as a draft; the token that finds it.

    Raises Invalid for another rule or mode and without a note, Conflict where nothing is settled yet or the
    task's nuggets are others by now.
    """
    task, here = rounds.own_round(session, viewer, slug, number)
    require_organiser(viewer, task)
    if mode not in MODES:
        raise Invalid(f"Labels are published by one of {', '.join(MODES)}, not {mode[:20]!r}.")
    before = scoring.newest(session, task.id) or PackedAnswers(AnswerJudgments())
    made = round_labels(session, here)
    part: Part = here.kind  # type: ignore[assignment]
    old = before.judgments if mode == "merge" else AnswerJudgments()
    sent = _sent(session, task, made, before.judgments, old, rule)
    kept, notes = reading.kept({part}, before.judgments, sent.nuggets)
    maker = _maker(before, part) if mode == "merge" else MadeBy()
    whole = together(before, sent, kept, {part: maker}, notes)
    return revisions.keep_draft(session, viewer, slug, of_answers(whole, f"round {number}"), note)


def _sent(
    session: Session, task: Task, made: RoundLabels, before: AnswerJudgments, old: AnswerJudgments, rule: str
) -> AnswerJudgments:
    """The part that was made, together with that of `old` where it says nothing."""
    if made.here.kind == NUGGETS:
        topics = settled_nuggets(session, made).topics
        if not topics:
            raise Conflict("There is nothing to publish yet: no topic is done and decided.")
        return AnswerJudgments(NuggetSet({**old.nuggets.topics, **topics}))
    cells = settled_cells(made, settled_labels(made, rule))
    if not cells:
        raise Conflict("There is nothing to publish yet: no answer is labelled and decided.")
    digests = _digests(session, task)
    if made.here.kind == ASSIGNMENTS:
        _require_same(made, before.nuggets)
        assigned = {(digests[run], topic): _drafts_assigned(labels) for (run, topic), labels in cells.items()}
        earlier = old.assignments.cells if old.assignments else {}
        return AnswerJudgments(before.nuggets, Assignments(before.nuggets, {**earlier, **assigned}))
    supported = {}
    for (run, topic), labels in cells.items():
        answer = answers.of_topic(session, run, topic)
        if answer is not None:
            supported[digests[run], topic] = LabelledSegments(settled_supported(labels, answer))
    whole = SupportLabels({**old.support.answers, **supported})
    return replace(AnswerJudgments(before.nuggets), support=whole)


def _digests(session: Session, task: Task) -> dict[int, str]:
    rows = session.execute(select(Run.id, Run.ranking_sha256).where(Run.task_id == task.id))
    return {row.id: row.ranking_sha256 for row in rows}


def _drafts_assigned(labels: Mapping[tuple[int, int], int]) -> AssignedNuggets:
    given = (ASSIGNED[labels[place]] for place in sorted(labels))
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

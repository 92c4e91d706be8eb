"""Results of a round: one label per item or one nugget list per topic, and the resulting file."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.answers.ops import answers
from leaderboard.answers.ops.nuggets import reading, scoring
from leaderboard.answers.ops.nuggets.reading import of_answers, together
from leaderboard.core.policy import Viewer, require_organiser
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
from leaderboard.judging.ops.judging import (
    GivenLabel,
    JudgedLabels,
    Place,
    by_place,
    grades_of,
    judges_of,
    settled_by,
)
from leaderboard.judging.ops.labelling import decisions, rounds
from leaderboard.judging.ops.labelling import labels as given_labels
from leaderboard.judging.ops.labelling.labels import ASSIGNMENTS, NUGGETS, UNSURE, LabelItem, of_answer
from leaderboard.measures.answers.judged import Assignment
from leaderboard.qrels.ops import revisions
from leaderboard.stats.assessors import RULES
from leaderboard.trec.answers.record import Answer, words
from leaderboard.trec.nuggets.assignments import AssignedNuggets, Assignments
from leaderboard.trec.nuggets.judgments import AnswerJudgments
from leaderboard.trec.nuggets.packing import MadeBy, PackedAnswers, Part
from leaderboard.trec.nuggets.sets import Nugget, NuggetSet
from leaderboard.trec.nuggets.support import LabelledSegments, SupportLabels

USUAL = "adjudicated"


@dataclass(frozen=True, kw_only=True, eq=False)
class RoundLabels(JudgedLabels):
    """A round with all its labels; judges by name, adjudicators last."""

    here: LabellingRound
    topics: Mapping[str, LabellingTopic]
    shares: tuple[LabellingShare, ...]

    @cached_property
    def items(self) -> dict[Place, LabelItem]:
        """All items to label, by topic and name."""
        return {
            (item.topic_id, item.name): item
            for topic in self.topics.values()
            for answer in topic.answers
            for item in of_answer(topic.topic_id, answer)
        }

    @cached_property
    def adjudicators(self) -> frozenset[int]:
        """Ids of the adjudicators."""
        return frozenset(judge.id for judge in self.judges if judge.is_adjudicator)

    @cached_property
    def disagreements(self) -> dict[LabelItem, list[GivenLabel]]:
        """The items with different labels, in order, with these labels."""
        differing = {
            self.items[place]: labels
            for place, labels in by_place(self.labels).items()
            if len(grades_of(labels)) > 1
        }
        return dict(sorted(differing.items()))

    @cached_property
    def undecided(self) -> tuple[LabelItem, ...]:
        """The disagreements without a decision."""
        decided = {self.items[label.place] for label in self.decisions}
        return tuple(item for item in self.disagreements if item not in decided)


@dataclass(frozen=True)
class SettledLabels:
    """One label per item by a rule; the rest is open, for an adjudicator to decide, or `cannot say`."""

    rule: str
    labels: Mapping[LabelItem, int]
    open: tuple[LabelItem, ...]
    unsure: tuple[LabelItem, ...]
    left: int
    """Unlabelled items."""


@dataclass(frozen=True)
class SettledNuggets:
    """One nugget list per topic: by the adjudicator, by the only assessor, or identical by all."""

    topics: Mapping[str, tuple[Nugget, ...]]
    open: tuple[str, ...]
    """Topics with differing lists of two assessors and no decision."""
    left: tuple[str, ...]
    """Topics that an assessor has not completed."""


def round_labels(session: Session, here: LabellingRound) -> RoundLabels:
    """All labels of a round; a few statements."""
    shares = tuple(rounds.shares_of(session, here.id))
    given = given_labels.in_force(session, here.id)
    there = {label.assessor_id for label in given} | {share.assessor_id for share in shares}
    task = session.get_one(Task, here.task_id)
    judges = {judge.id: judge for judge in judges_of(session, task) if judge.id in there}
    labels = [
        GivenLabel(
            topic_id=label.topic_id,
            docno=label.item.name,
            judge=judges[label.assessor_id],
            grade=None if label.label == UNSURE else label.label,
            saved_at=label.saved_at,
        )
        for label in given
    ]
    return RoundLabels(
        judges=tuple(sorted(judges.values(), key=lambda judge: (judge.is_adjudicator, judge.name, judge.id))),
        labels=tuple(label for label in labels if not label.judge.is_adjudicator),
        decisions=tuple(label for label in labels if label.judge.is_adjudicator),
        here=here,
        topics={topic.topic_id: topic for topic in rounds.topics_of(session, here.id)},
        shares=shares,
    )


def settled_labels(collected: RoundLabels, rule: str = USUAL) -> SettledLabels:
    """One label per item by a rule for grades; raises Invalid for an unknown rule.

    `Cannot say` counts as skipped.
    """
    if rule not in RULES:
        raise Invalid(f"The settling rule must be one of {', '.join(RULES)}, not {rule[:20]!r}.")
    given = [label for label in (*collected.labels, *collected.decisions) if label.place in collected.items]
    settled = settled_by(given, RULES[rule].key)
    return SettledLabels(
        rule=rule,
        labels={collected.items[place]: label for place, label in settled.grades.items()},
        open=tuple(collected.items[place] for place in settled.open),
        unsure=tuple(collected.items[place] for place in settled.skipped),
        left=len(collected.items) - len({label.place for label in given}),
    )


def settled_nuggets(session: Session, collected: RoundLabels) -> SettledNuggets:
    """One nugget list per topic, once all its assessors are done; one statement."""
    lists: dict[tuple[str, int], list[WrittenNugget]] = {}
    for nugget in decisions.written_nuggets(session, collected.here.id):
        if decisions.stands(nugget):
            lists.setdefault((nugget.topic_id, nugget.assessor_id), []).append(nugget)
    topics, still_open, left = {}, [], []
    for topic_id in collected.topics:
        shares = [share for share in collected.shares if share.topic_id == topic_id]
        decided = [share for share in shares if share.assessor_id in collected.adjudicators and share.done_at]
        labelling_shares = decided[-1:] or [
            share for share in shares if share.assessor_id not in collected.adjudicators
        ]
        written = [_listed(lists.get((topic_id, share.assessor_id), [])) for share in labelling_shares]
        if any(share.done_at is None for share in labelling_shares):
            left.append(topic_id)
        elif any(set(nuggets) != set(written[0]) for nuggets in written):
            still_open.append(topic_id)
        else:
            topics[topic_id] = written[0]
    return SettledNuggets(topics, tuple(still_open), tuple(left))


def _listed(written: list[WrittenNugget]) -> tuple[Nugget, ...]:
    """The nuggets of a list, vital ones first."""
    ordered = sorted(written, key=lambda nugget: (nugget.importance != decisions.VITAL, nugget.id))
    return tuple(
        Nugget(nugget.text, "vital" if nugget.importance == decisions.VITAL else "okay") for nugget in ordered
    )


ASSIGNED: dict[int, Assignment] = {2: "support", 1: "partial_support", 0: "not_support"}
"""Label -> its name in files."""


def lines(session: Session, collected: RoundLabels, rule: str) -> Iterator[str]:
    """Settled results as lines of an importable file; one topic or answer per line."""
    titles = _titles(session, collected)
    if collected.here.kind == NUGGETS:
        for topic, nuggets in settled_nuggets(session, collected).topics.items():
            yield _line({"query": titles[topic], "qid": topic, "nuggets": list(map(_of_nugget, nuggets))})
        return
    names = run_names(session, collected.here.task_id)
    for (run_id, topic), labels in settled_cells(collected, settled_labels(collected, rule)).items():
        answer = answers.of_topic(session, run_id, topic)
        if answer is None:
            continue
        facts = {"query": titles[topic], "run_id": names[run_id]}
        if collected.here.kind == ASSIGNMENTS:
            yield _line(_assigned(collected, topic, labels, answer) | facts)
        else:
            yield _line(_supported(topic, labels, answer) | facts)


def settled_cells(
    collected: RoundLabels, settled: SettledLabels
) -> dict[tuple[int, str], dict[tuple[int, int], int]]:
    """(run, topic) -> (position, citation) -> label: answers with all nuggets or any citation labelled.

    An answer without labels for all its nuggets is unjudged: files require a label for every nugget.
    """
    cells: dict[tuple[int, str], dict[tuple[int, int], int]] = {}
    for item, label in settled.labels.items():
        cells.setdefault((item.run_id, item.topic_id), {})[item.place, item.citation] = label
    if collected.here.kind == ASSIGNMENTS:
        whole = {topic: len(there.nuggets) for topic, there in collected.topics.items()}
        cells = {cell: labels for cell, labels in cells.items() if len(labels) == whole[cell[1]]}
    return dict(sorted(cells.items(), key=lambda cell: (cell[0][1], cell[0][0])))


def settled_supported(labels: Mapping[tuple[int, int], int], answer: Answer) -> tuple[tuple[int, ...], ...]:
    """The support labels of an answer's segments, one per citation; -1 if unlabelled."""
    return tuple(
        tuple(labels.get((place, citation), UNSURE) for citation in range(len(segment.citations)))
        for place, segment in enumerate(answer.segments)
    )


def run_names(session: Session, task_id: int) -> dict[int, str]:
    """Run id -> its name; TEAM/NAME if several runs of the task have the name."""
    rows = session.execute(
        select(Run.id, Run.name, Team.name.label("team"))
        .join(Team, Team.id == Run.team_id)
        .where(Run.task_id == task_id)
    ).all()
    times = Counter(row.name for row in rows)
    return {row.id: row.name if times[row.name] == 1 else f"{row.team}/{row.name}" for row in rows}


def _titles(session: Session, collected: RoundLabels) -> dict[str, str]:
    rows = session.execute(
        select(Topic.topic_id, Topic.title).where(
            Topic.task_id == collected.here.task_id, Topic.topic_id.in_(collected.topics)
        )
    )
    return dict.fromkeys(collected.topics, "") | {topic: title for topic, title in rows}


def _of_nugget(nugget: Nugget) -> dict[str, str]:
    return {"text": nugget.text, "importance": nugget.importance}


def _assigned(
    collected: RoundLabels, topic: str, labels: Mapping[tuple[int, int], int], answer: Answer
) -> dict[str, Any]:
    nuggets = [
        {**nugget, "assignment": ASSIGNED[labels[place, 0]]}
        for place, nugget in enumerate(collected.topics[topic].nuggets)
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
    "merge": "add to the newest revision, keeping its other topics and runs",
    "replace": "replace everything of this kind in the newest revision",
}


def keep_draft(
    session: Session, viewer: Viewer, slug: str, number: int, *, rule: str, mode: str, note: str
) -> str:
    """Keep the settled labels as a draft; return its token.

    Raises Invalid for an unknown rule or mode and without a note, Conflict if nothing is settled yet or the
    task's nuggets have changed.
    """
    task, labelling_round = rounds.own_round(session, viewer, slug, number)
    require_organiser(viewer, task)
    if mode not in MODES:
        raise Invalid(f"The publishing mode must be one of {', '.join(MODES)}, not {mode[:20]!r}.")
    before = scoring.newest(session, task.id) or PackedAnswers(AnswerJudgments())
    collected = round_labels(session, labelling_round)
    part: Part = labelling_round.kind  # type: ignore[assignment]
    old = before.judgments if mode == "merge" else AnswerJudgments()
    sent = _sent(session, task, collected, before.judgments, old, rule)
    kept, notes = reading.kept({part}, before.judgments, sent.nuggets)
    maker = _maker(before, part) if mode == "merge" else MadeBy()
    whole = together(before, sent, kept, {part: maker}, notes)
    return revisions.keep_draft(session, viewer, slug, of_answers(whole, f"round {number}"), note)


def _sent(
    session: Session,
    task: Task,
    collected: RoundLabels,
    before: AnswerJudgments,
    old: AnswerJudgments,
    rule: str,
) -> AnswerJudgments:
    """The settled part, combined with that of `old` where it has no labels."""
    if collected.here.kind == NUGGETS:
        topics = settled_nuggets(session, collected).topics
        if not topics:
            raise Conflict("There is nothing to publish yet: no topic is complete and decided.")
        return AnswerJudgments(NuggetSet({**old.nuggets.topics, **topics}))
    cells = settled_cells(collected, settled_labels(collected, rule))
    if not cells:
        raise Conflict("There is nothing to publish yet: no answer is labelled and decided.")
    digests = _digests(session, task)
    if collected.here.kind == ASSIGNMENTS:
        _require_same(collected, before.nuggets)
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


def _require_same(collected: RoundLabels, nuggets: NuggetSet) -> None:
    """Raise Conflict if the board's nuggets differ from those that were assigned."""
    others = [
        topic
        for topic, there in collected.topics.items()
        if [nugget["text"] for nugget in there.nuggets]
        != [nugget.text for nugget in nuggets.topics.get(topic, ())]
    ]
    if others:
        named = ", ".join(others[:20])
        raise Conflict(
            f"The nuggets of these topics have changed since revision {collected.here.revision}: {named}. "
            "Open a round for the new nuggets; you can download the labels of this one as a file."
        )


def _maker(before: PackedAnswers, part: Part) -> MadeBy:
    """The origin of labels that are added to the previous revision."""
    earlier = before.made_by.get(part)
    return MadeBy() if earlier is None or earlier.kind == "human" else MadeBy("both", earlier.name)

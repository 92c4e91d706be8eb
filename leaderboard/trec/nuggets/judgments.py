"""All judgments of answers, and one run's judged answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from leaderboard.errors import Invalid, Problem
from leaderboard.measures.answers.judged import AnswerSize, Assignment, JudgedAnswer
from leaderboard.measures.answers.record import Basis
from leaderboard.trec.answers.record import Answer, characters, folded, nfkc_words, words
from leaderboard.trec.nuggets.assignments import Assignments, differing_texts
from leaderboard.trec.nuggets.sets import ArguedAnswers, NuggetSet
from leaderboard.trec.nuggets.support import SupportLabels
from leaderboard.trec.read.json_objects import Fault
from leaderboard.trec.read.lines import shown

MANY_FAILED = 0.01
"""The share of failed assignments from which scores rest on too many of them."""
NAMED = 5


@dataclass(frozen=True)
class AnswerJudgments:
    """The judgments of all runs' answers; parts that are not judged are empty.

    Labels of nuggets are assignments, or, if absent, the questions that Auto-ARGUE found answered.
    """

    nuggets: NuggetSet = field(default_factory=NuggetSet)
    assignments: Assignments | None = None
    support: SupportLabels = field(default_factory=SupportLabels)
    argued: ArguedAnswers = field(default_factory=ArguedAnswers)

    def has(self, basis: Basis) -> bool:
        """Whether measures of that basis can be computed."""
        has_nuggets = self.assignments is not None or bool(self.nuggets.topics and self.argued.cells)
        return {
            "nuggets": has_nuggets,
            "support": bool(self.support.cells),
            "sentences": bool(self.argued.cells),
            "nuggets and sentences": has_nuggets and bool(self.argued.cells),
            "answers": True,
        }[basis]

    def topics(self, basis: Basis, answered: Sequence[str]) -> tuple[str, ...]:
        """The topics that measures of that basis are over, the same for all runs.

        Those with nuggets, with support labels of any run, with sentences of any run; for counts all of them,
        or those answered where nothing was judged.
        """
        with_nuggets = [topic for topic, nuggets in self.nuggets.topics.items() if nuggets]
        labelled = sorted({topic for _, topic in self.support.cells})
        argued = sorted({topic for _, topic in self.argued.cells})
        if basis == "nuggets":
            return tuple(with_nuggets)
        if basis == "support":
            return tuple(labelled)
        if basis == "sentences":
            return tuple(argued)
        if basis == "nuggets and sentences":
            return tuple(topic for topic in with_nuggets if topic in set(argued))
        return tuple(dict.fromkeys([*with_nuggets, *labelled, *argued])) or tuple(answered)

    def labels(self, run: str, topic: str) -> tuple[Assignment, ...] | None:
        """The labels of a topic's nuggets, in the set's order, of one run; None where unjudged."""
        if self.assignments is not None:
            cell = self.assignments.cells.get((run, topic))
            return cell.labels if cell else None
        argued = self.argued.cells.get((run, topic))
        return None if argued is None else tuple(map(argued.label, self.nuggets.topics.get(topic, ())))

    def seen(self, run: str, topic: str, answer: Answer | None) -> JudgedAnswer:
        """A run's judged answer to a topic; raises Invalid where labels belong to another one."""
        argued = self.argued.cells.get((run, topic))
        try:
            support = self.support.of(run, topic, answer)
        except Fault as fault:
            problem = Problem(fault.rule, fault.remedy, None, fault.field, fault.value)
            raise Invalid(fault.rule, [problem]) from fault
        return JudgedAnswer(
            topic,
            size_of(answer),
            tuple(nugget.importance for nugget in self.nuggets.topics.get(topic, ())),
            self.labels(run, topic),
            support,
            argued.sentences if argued else None,
        )


def size_of(answer: Answer | None) -> AnswerSize:
    """Length of an answer and its number of citations."""
    if answer is None:
        return AnswerSize()
    texts, cited = answer.texts, [len(segment.citations) for segment in answer.segments]
    return AnswerSize(
        words(texts),
        nfkc_words(texts),
        characters(texts),
        len(texts),
        sum(cited),
        len(cited) - cited.count(0),
    )


def notes_on(judgments: AnswerJudgments, runs: Sequence[str]) -> Iterator[Problem]:
    """Notes on the judgments for readers of the scores, given the scored runs."""
    yield from judgments.nuggets.notes
    yield from judgments.argued.notes
    assignments = judgments.assignments
    if assignments is not None and assignments.failed_share > MANY_FAILED:
        share = f"{assignments.failed_share:.1%}"
        yield Problem(
            f"{share} of all assignments failed; they count as not contained.", "Assign them again."
        )
    cells = {*judgments.support.cells, *judgments.argued.cells, *(assignments.cells if assignments else ())}
    others = sorted({run for run, _ in cells} - set(runs))
    if others:
        named = ", ".join(map(shown, others[:NAMED])) + (", ..." if len(others) > NAMED else "")
        yield Problem(f"Judgments of runs that are not scored were ignored: {len(others):,} ({named}).")


def notes_on_run(judgments: AnswerJudgments, run: str, answers: Mapping[str, Answer]) -> Iterator[Problem]:
    """Notes where the judged text differs from the run's."""
    if judgments.assignments is not None:
        texts = {topic: answer.text for topic, answer in answers.items()}
        if differing := differing_texts(judgments.assignments, run, texts):
            yield _other_text(run, "assignments", differing)
    differing = [
        topic
        for (of_run, topic), labelled in judgments.support.answers.items()
        if of_run == run and any(labelled.texts) and labelled.texts != _texts(answers.get(topic))
    ]
    if differing:
        yield _other_text(run, "support labels", differing)


def _texts(answer: Answer | None) -> tuple[str, ...]:
    return tuple(map(folded, answer.texts)) if answer else ()


def _other_text(run: str, judged: str, topics: list[str]) -> Problem:
    named = ", ".join(map(shown, topics[:NAMED])) + (", ..." if len(topics) > NAMED else "")
    rule = f"The {judged} of run {shown(run)} are of another text than its answers: {len(topics):,}"
    return Problem(f"{rule} ({named}).", "Check that they belong to this version of the run.")

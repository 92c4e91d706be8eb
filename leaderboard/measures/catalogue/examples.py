"""A measure's worked example, taken from the docstring of its function and computed again."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from doctest import DocTestParser
from functools import cache
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np

from leaderboard.measures.binding import bind
from leaderboard.measures.judged import UNJUDGED, Judged
from leaderboard.measures.record import Measure

LETTERS = ascii_lowercase
NEIGHBOURS = 3
"""This many ranks in a row without a judged document are shown in one line."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A judged document: its grade, and its grade for each subtopic it is relevant to, numbered from 1.

    letter: its name in preferences, empty if absent.
    """

    grade: int
    subtopics: tuple[tuple[int, int], ...] = ()
    letter: str = ""

    @property
    def grade_words(self) -> str:
        """The letter, if any, and the grade or the meaning of a negative grade."""
        if self.letter:
            return self.letter if self.grade == UNJUDGED else f"{self.letter}, grade {self.grade}"
        return "-1, pooled but not judged" if self.grade == UNJUDGED else str(self.grade)

    @property
    def subtopic_words(self) -> str:
        """The subtopics it is relevant to, and its grade where that is not 1."""
        return ", ".join(
            str(number) if grade == 1 else f"{number} (grade {grade})" for number, grade in self.subtopics
        )

    @property
    def words(self) -> str:
        """The grade, and the subtopics if any."""
        if not self.subtopics:
            return self.grade_words
        kind = "subtopic" if len(self.subtopics) == 1 else "subtopics"
        return f"{self.grade_words}, {kind} {self.subtopic_words}"


@dataclass(frozen=True, slots=True)
class Place:
    """A rank and its document, or several ranks in a row, whose documents are not in the judgments.

    name: `3`, `4–7`, or `not retrieved`.
    """

    name: str
    document: Graded | None


@dataclass(frozen=True, slots=True)
class Ranking:
    """Input of a measure for one topic.

    places: its ranks, then the judged documents that were not retrieved; facts: whatever else there is
    to know.
    """

    places: tuple[Place, ...]
    facts: tuple[str, ...]

    @property
    def heading(self) -> str:
        """The heading of the column of documents."""
        return (
            "Document" if any(place.document.letter for place in self.places if place.document) else "Grade"
        )

    @property
    def has_subtopics(self) -> bool:
        """Whether documents are relevant to subtopics."""
        return any(place.document.subtopics for place in self.places if place.document)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Every place and its item."""
        nothing = "not in the judgments"
        return tuple(
            (place.name, place.document.words if place.document else nothing) for place in self.places
        )


class Score(NamedTuple):
    """A measure with its parameters, and its value for a ranking: a number, or a text."""

    written: str
    value: float | str

    @property
    def text(self) -> str:
        """The value, to six decimals where it has as many.

        >>> Score("AP", 1 / 3).text, Score("NumRet", 100.0).text, Score("RelString@3", "2-.").text
        ('0.333333', '100', '2-.')
        """
        if isinstance(self.value, str):
            return self.value
        return f"{self.value:.6f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class Worked:
    """One ranking and its scores."""

    ranking: Ranking
    scores: tuple[Score, ...]

    @property
    def summary(self) -> str:
        """The scores and further facts in one line."""
        return "; ".join(
            (", ".join(f"{score.written} = {score.text}" for score in self.scores), *self.ranking.facts)
        )


class _Call(NamedTuple):
    judged: Judged
    params: Mapping[str, Any]
    scores: list[float | str]


@cache
def worked_examples(measure: Measure) -> tuple[Worked, ...]:
    """Every ranking in the docstring of the measure's function, with its scores, computed now.

    >>> from leaderboard.measures.registry import NAMES
    >>> [worked.scores for worked in worked_examples(NAMES["P"])]
    [(Score(written='P@5', value=0.4),)]
    """
    scores_of: dict[Ranking, list[Score]] = {}
    for call in _calls(measure):
        written = bind(measure, call.params).key
        for topic, value in enumerate(call.scores):
            scores_of.setdefault(_ranking(call.judged, topic), []).append(Score(written, value))
    return tuple(Worked(ranking, tuple(scores)) for ranking, scores in scores_of.items())


def _calls(measure: Measure) -> list[_Call]:
    """The calls of the measure's function that the examples of its docstring make."""
    calls: list[_Call] = []

    def recorded(judged: Judged, **params: Any) -> Any:
        scores = measure.compute(judged, **params)
        calls.append(_Call(judged, params, scores.tolist()))
        return scores

    compute: Any = measure.compute
    scope = {**compute.__globals__, compute.__name__: recorded}
    for example in DocTestParser().get_examples(inspect.getdoc(compute) or ""):
        exec(compile(example.source, f"<example of {measure.name}>", "exec"), scope)
    return calls


def _ranking(judged: Judged, topic: int) -> Ranking:
    judgments = judged.judgments
    mine = judged.topic == topic
    hits = dict(zip(judged.rank[mine].tolist(), judged.document[mine].tolist(), strict=True))
    own = range(int(judgments.starts[topic]), int(judgments.starts[topic + 1]))
    letters = dict(zip(own, LETTERS, strict=False)) if judgments.preferences is not None else {}
    documents = {document: _graded(judged, document, letters.get(document, "")) for document in own}
    ranked = {rank: documents[document] for rank, document in hits.items()}
    missed = [
        Place("not retrieved", documents[document]) for document in own if document not in hits.values()
    ]
    places = (*_ranks(ranked, int(judged.retrieved[topic])), *missed)
    return Ranking(places, (*_facts(judged, topic), *_preferences(judged, letters)))


def _ranks(ranked: Mapping[int, Graded], retrieved: int) -> Iterator[Place]:
    """Rank after rank, gaps of several ranks as one."""
    after = 1
    for rank in (*sorted(ranked), retrieved + 1):
        yield from _gap(after, rank - 1)
        if rank in ranked:
            yield Place(str(rank), ranked[rank])
        after = rank + 1


def _gap(first: int, last: int) -> list[Place]:
    if last - first + 1 >= NEIGHBOURS:
        return [Place(f"{first}–{last}", None)]
    return [Place(str(rank), None) for rank in range(first, last + 1)]


def _graded(judged: Judged, document: int, letter: str) -> Graded:
    grade, subtopics = int(judged.judgments.grades[document]), judged.judgments.subtopics
    if subtopics is None:
        return Graded(grade, letter=letter)
    relevant = (subtopics.document == document) & (subtopics.grade > 0)
    numbers, grades = (subtopics.subtopic[relevant] + 1).tolist(), subtopics.grade[relevant].tolist()
    return Graded(grade, tuple(zip(numbers, grades, strict=True)), letter)


def _facts(judged: Judged, topic: int) -> Iterator[str]:
    judgments = judged.judgments
    if judged.dialect != Judged.dialect:
        yield f"as trec_eval {judged.dialect}"
    if judgments.collection_size is not None:
        yield f"{judgments.collection_size} documents in the collection"
    if judgments.subtopics is not None:
        count = int(judgments.subtopics.count[topic])
        yield f"{count} {'subtopic' if count == 1 else 'subtopics'}"
    if judged.dissimilarity is not None:
        dissimilarity = judged.dissimilarity[topic]
        for first, second in zip(*np.triu_indices(len(dissimilarity), 1), strict=True):
            yield f"ranks {first + 1} and {second + 1} have dissimilarity {dissimilarity[first, second]:g}"


def _preferences(judged: Judged, letters: Mapping[int, str]) -> Iterator[str]:
    """Every judge's preferences between documents of the topic, which have these letters."""
    pairs = judged.judgments.preferences
    if pairs is None:
        return
    judge = pairs.judge.tolist()
    of_judge: dict[int, list[str]] = {}
    for place, better in enumerate(pairs.better.tolist()):
        if better in letters:
            times = "" if pairs.weight[place] == 1 else f" with weight {pairs.weight[place]:g}"
            pair = f"{letters[better]} to {letters[int(pairs.worse[place])]}{times}"
            of_judge.setdefault(judge[place], []).append(pair)
    for number, pairs_of_judge in sorted(of_judge.items()):
        whose = f"judge {number + 1} prefers " if len(of_judge) > 1 else "preferred: "
        yield whose + ", ".join(pairs_of_judge)

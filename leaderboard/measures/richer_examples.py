"""One-topic examples with subtopics or preferences, for the measures' docstrings and docs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from leaderboard.measures.judged import UNJUDGED, Judged, Judgments, Preferences, Subtopics


def judged(
    hits: Mapping[int, int],
    *,
    missed: Iterable[int] = (),
    retrieved: int | None = None,
    dialect: int = 10,
    collection_size: int | None = None,
) -> Judged:
    """One topic's ranking with the given grade at each judged rank, as every measure takes it.

    missed: grades of judged documents that were not retrieved; retrieved: length of the ranking,
    by default up to the last judged rank.

    >>> judged({1: 2, 3: 0}, missed=[1]).judgments.grades
    array([2, 0, 1])
    """
    rank = np.array(sorted(hits), dtype=np.int64)
    grades = np.array([*(hits[rank] for rank in sorted(hits)), *missed], dtype=np.int64)
    judgments = Judgments(("1",), grades, np.array([0, len(grades)]), collection_size=collection_size)
    length = int(rank.max(initial=0)) if retrieved is None else retrieved
    hit = np.arange(len(rank))
    return Judged(judgments, np.zeros(len(rank), dtype=np.int64), rank, hit, np.array([length]), dialect)


Relevance = Collection[int] | Mapping[int, int]
"""Numbers of subtopics, from 1, and the grade for each where it is not 1."""


def covering(
    hits: Mapping[int, Relevance],
    *,
    missed: Iterable[Relevance] = (),
    subtopics: int | None = None,
    retrieved: int | None = None,
) -> Judged:
    """One topic's ranking with the subtopics the document at each judged rank is relevant to.

    missed: those of documents not retrieved; subtopics: how many there are, by default up to the
    highest named; retrieved: length of the ranking, by default up to the last judged rank.

    >>> covering({1: (1, 2), 3: {2: 4}}).judgments.subtopics.grade
    array([1, 1, 4])
    """
    documents = [_graded(grades) for grades in (*(hits[rank] for rank in sorted(hits)), *missed)]
    highest = [max(grades.values(), default=0) for grades in documents]
    plain = judged(
        dict(zip(sorted(hits), highest, strict=False)), missed=highest[len(hits) :], retrieved=retrieved
    )
    rows = [
        (place, number - 1, grades[number]) for place, grades in enumerate(documents) for number in grades
    ]
    document, subtopic, grade = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    count = int(subtopic.max(initial=-1)) + 1 if subtopics is None else subtopics
    judged_subtopics = Subtopics(document, subtopic, grade, np.array([count]))
    return replace(plain, judgments=replace(plain.judgments, subtopics=judged_subtopics))


def preferred(ranking: str, *judges: Sequence[str]) -> Judged:
    """One topic's ranking of documents, each called by a letter, and what each judge preferred.

    "ab" says that a is better than b. All documents in a preference are pooled, none has a grade; those
    in no preference are not judged.

    >>> preferred("bxa", ["ab", "cb"]).rank
    array([1, 3])
    """
    letters = sorted({letter for pairs in judges for pair in pairs for letter in pair})
    rows = [
        (letters.index(pair[0]), letters.index(pair[1]), judge)
        for judge, pairs in enumerate(judges)
        for pair in pairs
    ]
    better, worse, judge = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    given = Preferences(better, worse, np.ones(len(rows)), judge, np.array([len(judges)]))
    judgments = Judgments(
        ("1",), np.full(len(letters), UNJUDGED), np.array([0, len(letters)]), preferences=given
    )
    rank = np.array([place for place, letter in enumerate(ranking, 1) if letter in letters], dtype=np.int64)
    document = np.array([letters.index(ranking[place - 1]) for place in rank], dtype=np.int64)
    return Judged(judgments, np.zeros(len(rank), dtype=np.int64), rank, document, np.array([len(ranking)]))


def _graded(relevance: Relevance) -> dict[int, int]:
    grades = relevance if isinstance(relevance, Mapping) else dict.fromkeys(relevance, 1)
    return dict(sorted(grades.items()))

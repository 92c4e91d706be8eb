"""Rankings of documents relevant to subtopics, and the measures of them once more, document by document."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from leaderboard.measures.judged import Judged
from leaderboard.trec.qrels.align import align
from leaderboard.trec.qrels.compiling import compile_qrels
from leaderboard.trec.qrels.qrels import Qrels
from leaderboard.trec.runs.runs import Ranking

Grades = dict[str, int]
"""Subtopic -> grade of one document."""


@dataclass(frozen=True)
class Diverse:
    """One topic: the judged documents by docno, and the ranking, which may have others."""

    documents: dict[str, Grades]
    ranking: tuple[str, ...]

    def grades_at(self, rank: int) -> Grades:
        """The grades of the document at a rank, none for one that was not judged."""
        return self.documents.get(self.ranking[rank - 1], {})


def scored(*topics: Diverse) -> Judged:
    """The topics' rankings as measures take them, read like qrels and run of files."""
    subtopics: dict[str, dict[str, dict[bytes, int]]] = {}
    for place, topic in enumerate(topics):
        parts = subtopics.setdefault(f"t{place}", {})
        for docno, grades in topic.documents.items():
            for subtopic, grade in grades.items():
                parts.setdefault(subtopic, {})[docno.encode()] = grade
    judgments = {
        topic: {
            docno: max(part[docno] for part in parts.values() if docno in part)
            for docno in {docno for part in parts.values() for docno in part}
        }
        for topic, parts in subtopics.items()
    }
    compiled = compile_qrels(Qrels(judgments, "subtopic", subtopics=subtopics))
    rankings = [
        Ranking(
            f"t{place}",
            np.array([docno.encode() for docno in topic.ranking], dtype="S9"),
            -np.arange(len(topic.ranking), dtype=np.float64),
        )
        for place, topic in enumerate(topics)
        if topic.ranking
    ]
    return align(rankings, compiled, dialect=10)


@st.composite
def drawn(draw: st.DrawFn) -> Diverse:
    """Topics of up to a dozen judged documents, some not retrieved, some retrieved ones not judged."""
    grades = st.dictionaries(st.sampled_from(["1", "2", "3", "10", "x"]), st.integers(-2, 3), min_size=1)
    judged = draw(st.lists(grades, min_size=1, max_size=12))
    docnos = draw(st.permutations([f"d{number}" for number in range(len(judged) + 6)]))
    ranking = draw(st.lists(st.sampled_from(docnos), unique=True))
    return Diverse(dict(zip(docnos, judged, strict=False)), tuple(ranking))


Discount = Callable[[int], float]

DISCOUNTS: dict[str, Discount] = {"alpha": lambda rank: 1 / math.log2(rank + 1), "ERR": lambda rank: 1 / rank}


def novelty(order: Sequence[Grades], rel: int, alpha: float, weight: Discount) -> float:
    """The weighed novelty of documents in that order."""
    seen: Counter[str] = Counter()
    total = 0.0
    for rank, grades in enumerate(order, start=1):
        relevant = [subtopic for subtopic, grade in grades.items() if grade >= rel]
        total += weight(rank) * sum((1 - alpha) ** seen[subtopic] for subtopic in relevant)
        seen.update(relevant)
    return total


def greedy(topic: Diverse, rel: int, alpha: float) -> list[Grades]:
    """The judged documents, at every rank the one that adds most, of several the greatest docno."""
    left, seen, order = sorted(topic.documents, reverse=True), Counter[str](), list[Grades]()

    def worth(docno: str) -> float:
        return sum((1 - alpha) ** seen[subtopic] for subtopic in relevant(docno))

    def relevant(docno: str) -> list[str]:
        return [document for document, grade in topic.documents[docno].items() if grade >= rel]

    while left:
        best = max(left, key=worth)
        left.remove(best)
        seen.update(relevant(best))
        order.append(topic.documents[best])
    return order


def answerable(topic: Diverse, rel: int) -> set[str]:
    """The subtopics with a relevant document."""
    return {
        subtopic for grades in topic.documents.values() for subtopic, grade in grades.items() if grade >= rel
    }


def quotient(value: float, divisor: float) -> float:
    """One over the other, 0 over 0."""
    return value / divisor if divisor else 0.0


def by_definition(topic: Diverse, name: str, rel: int, alpha: float, cutoff: int) -> float:
    """alpha_DCG, alpha_nDCG, ERR_IA or nERR_IA of one topic."""
    weight = DISCOUNTS["alpha" if "alpha" in name else "ERR"]
    run = [topic.grades_at(rank) for rank in range(1, len(topic.ranking) + 1)]
    value = novelty(run[:cutoff], rel, alpha, weight)
    if name in ("alpha_nDCG", "nERR_IA"):
        return quotient(value, novelty(greedy(topic, rel, alpha)[:cutoff], rel, alpha, weight))
    perfect = [dict.fromkeys(answerable(topic, rel), rel)] * cutoff
    return quotient(value, novelty(perfect, rel, alpha, weight))


def biased(topic: Diverse, name: str, rel: int, alpha: float, beta: float) -> float:
    """NRBP or nNRBP of one topic."""

    def weight(rank: int) -> float:
        return beta ** (rank - 1)

    run = [topic.grades_at(rank) for rank in range(1, len(topic.ranking) + 1)]
    value = novelty(run, rel, alpha, weight)
    if name == "nNRBP":
        return quotient(value, novelty(greedy(topic, rel, alpha), rel, alpha, weight))
    return quotient(value * (1 - (1 - alpha) * beta), len(answerable(topic, rel)))


def dcg(gains: Sequence[int]) -> float:
    """Discounted gain, 0 for what is below 0."""
    return sum(max(gain, 0) / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def of_one_subtopic(topic: Diverse, subtopic: str, name: str, rel: int, cutoff: int) -> float:
    """P@cutoff, AP or nDCG@cutoff of a ranking for one of its subtopics."""
    run = [topic.grades_at(rank).get(subtopic, -9) for rank in range(1, len(topic.ranking) + 1)]
    judged = [grades.get(subtopic, -9) for grades in topic.documents.values()]
    if name == "P_IA":
        return sum(grade >= rel for grade in run[:cutoff]) / cutoff
    if name == "nDCG_IA":
        return quotient(dcg(run[:cutoff]), dcg(sorted(judged, reverse=True)[:cutoff]))
    hits = [rank for rank, grade in enumerate(run, start=1) if grade >= rel]
    return sum(nth / rank for nth, rank in enumerate(hits, start=1)) / sum(grade >= rel for grade in judged)


def mean_of_subtopics(topic: Diverse, name: str, rel: int, cutoff: int) -> float:
    """P_IA, AP_IA or nDCG_IA of one topic."""
    subtopics = answerable(topic, rel)
    return quotient(
        sum(of_one_subtopic(topic, subtopic, name, rel, cutoff) for subtopic in subtopics), len(subtopics)
    )


def d_ndcg(topic: Diverse, cutoff: int) -> float:
    """D-nDCG of one topic."""

    def gain(grades: Grades) -> int:
        return sum(max(grade, 0) for grade in grades.values())

    run = [gain(topic.grades_at(rank)) for rank in range(1, len(topic.ranking) + 1)]
    ideal = sorted(map(gain, topic.documents.values()), reverse=True)
    return quotient(dcg(run[:cutoff]), dcg(ideal[:cutoff]))


def subtopic_recall(topic: Diverse, rel: int, cutoff: int) -> float:
    """The share of subtopics in the top."""
    top = Diverse({docno: topic.documents.get(docno, {}) for docno in topic.ranking[:cutoff]}, ())
    return quotient(len(answerable(top, rel)), len(answerable(topic, rel)))

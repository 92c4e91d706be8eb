"""How far the labels of a judge agree with the reference's: grades of the same documents.

Of what assessors' agreement has (leaderboard.stats.assessors.agreement), and what holds one side for true:
precision, recall and F1 of the relevant documents, mean absolute error and bias.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from leaderboard.stats.assessors.agreement import Confusion, Ratings, alpha, cohen, confusion, overlap
from leaderboard.tables.record import Shown

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """Agreement on what is relevant: from grade truth on by the reference, from grade judge on by the judge.

    None where a coefficient is undefined: jaccard where nothing is relevant, precision and recall where the
    judge or the reference finds nothing, kappa where both find all or nothing.
    """

    truth: Annotated[int, Shown("Relevant from grade", key="grade")]
    judge: Annotated[int, Shown("From label", key="label")]
    kappa: Annotated[float | None, Shown("κ")]
    jaccard: float | None
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True, slots=True, eq=False)
class LabelAgreement:
    """Agreement on grades, kappa, linear, quadratic and alpha at most 1; None where one is undefined.

    mae is the mean of |judge - reference|, bias that of judge - reference, in grades. Where the scales
    differ, all that counts distances between grades is undefined.
    """

    documents: int
    kappa: float | None
    linear: float | None
    quadratic: float | None
    alpha: float | None
    mae: float | None
    bias: float | None
    levels: tuple[LevelAgreement, ...]
    confusion: Confusion


def label_agreement(
    reference: IntArray, judge: IntArray, levels: Sequence[tuple[int, int]] = (), *, same_scale: bool = True
) -> LabelAgreement:
    """The agreement of the grades of the same documents, (documents,) each.

    levels: from which grade on a document is relevant, by reference and by judge; without any, each grade
    given above 0, the same for both.

    >>> found = label_agreement(np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2]))
    >>> round(found.kappa, 6), found.mae, found.bias, found.levels[0].jaccard
    (0.636364, 0.25, 0.25, 1.0)
    """
    table = confusion(reference, judge)
    chosen = levels or [(grade, grade) for grade in table.grades if grade > 0]
    apart = (judge - reference).astype(np.float64)
    is_measured = same_scale and len(apart) > 0
    return LabelAgreement(
        documents=len(reference),
        kappa=cohen(table).value,
        linear=cohen(table, "linear").value if same_scale else None,
        quadratic=cohen(table, "quadratic").value if same_scale else None,
        alpha=_alpha(reference, judge) if same_scale else None,
        mae=float(np.abs(apart).mean()) if is_measured else None,
        bias=float(apart.mean()) if is_measured else None,
        levels=tuple(level_agreement(reference, judge, *level) for level in chosen),
        confusion=table,
    )


def level_agreement(reference: IntArray, judge: IntArray, truth: int, level: int) -> LevelAgreement:
    """The agreement on what is relevant: reference >= truth against judge >= level.

    >>> found = level_agreement(np.array([0, 1, 2]), np.array([1, 1, 0]), 1, 1)
    >>> found.precision, found.recall, found.f1
    (0.5, 0.5, 0.5)
    """
    one, two = (reference >= truth).astype(np.int64), (judge >= level).astype(np.int64)
    both, found, wanted = int((one & two).sum()), int(two.sum()), int(one.sum())
    return LevelAgreement(
        truth=truth,
        judge=level,
        kappa=cohen(confusion(one, two)).value,
        jaccard=overlap(one, two).value,
        precision=both / found if found else None,
        recall=both / wanted if wanted else None,
        f1=2 * both / (found + wanted) if found + wanted else None,
    )


def united(
    reference: Mapping[bytes, int], judge: Mapping[bytes, int], highest: int
) -> tuple[IntArray, IntArray]:
    """The grades of all documents of either, 0 where one has none, cut to 0 to highest, by docno.

    >>> united({b"a": 3, b"b": -1}, {b"c": 1}, 2)
    (array([2, 0, 0]), array([0, 0, 1]))
    """
    docnos = sorted({*reference, *judge})
    one, two = (
        np.array([grades.get(docno, 0) for docno in docnos], dtype=np.int64) for grades in (reference, judge)
    )
    return np.clip(one, 0, highest), np.clip(two, 0, highest)


def shared(reference: Mapping[bytes, int], judge: Mapping[bytes, int]) -> tuple[IntArray, IntArray]:
    """The grades of the documents that both judged, by docno.

    >>> shared({b"a": 3, b"b": 1}, {b"b": 2})
    (array([1]), array([2]))
    """
    docnos = sorted(reference.keys() & judge.keys())
    one, two = (
        np.array([grades[docno] for docno in docnos], dtype=np.int64) for grades in (reference, judge)
    )
    return one, two


def mean_of_topics(values: Sequence[float | None]) -> tuple[float | None, int]:
    """The mean over the topics on which a coefficient is defined, and how many those are.

    >>> mean_of_topics([0.5, None, 1.0]), mean_of_topics([None])
    ((0.75, 2), (None, 0))
    """
    defined = [value for value in values if value is not None]
    return (sum(defined) / len(defined) if defined else None), len(defined)


def _alpha(reference: IntArray, judge: IntArray) -> float | None:
    grades = np.vstack((reference, judge))
    documents = tuple(("", str(place)) for place in range(grades.shape[1]))
    return alpha(Ratings(("reference", "judge"), documents, grades, np.ones(grades.shape, dtype=bool))).value

"""All topics of a task: judgments, difficulty and discrimination."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.boards.page.scores import table as scores_table
from leaderboard.boards.page.scores.table import Field
from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Topic
from leaderboard.errors import Invalid
from leaderboard.measures.judged import UNJUDGED, Judgments
from leaderboard.scoring.ops import rankings, scored_topics
from leaderboard.scoring.ops.evaluations.shown import shown_edition
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead, grade_names
from leaderboard.stats.reliability import FEWEST_RUNS, discrimination
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from

MOST_GRADES = 5
"""Maximum number of grades with a column each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difficulty:
    """Score distribution of the compared runs on a topic, from worst to best."""

    worst: float
    lower: float
    median: float
    upper: float
    best: float
    sd: float
    """The standard deviation over runs."""
    best_run: str
    """The best run, first by name if tied."""
    best_run_id: int
    best_runs: int
    """Number of runs with the best score."""

    @property
    def is_flat(self) -> bool:
        """Whether all runs have the same score."""
        return self.worst == self.best


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic in the list; counts and later fields are None if hidden or missing."""

    topic_id: Annotated[str, Shown(key="topic")]
    title: Annotated[str, Shown(shown=~Place.PRINT)]
    excluded: Annotated[str, Shown(shown=Place.DATA)]
    judged: int | None = None
    relevant: int | None = None
    grades: tuple[int, ...] = ()
    """Number of documents by grade, in the order of the list's grades."""
    difficulty: Difficulty | None = None
    discrimination: Annotated[float | None, Shown(key="separates", shown=Place.DATA)] = None
    """The correlation over runs of their scores here with their mean score on all other topics."""
    description: Annotated[str, Shown(shown=Place.DATA)] = ""
    narrative: Annotated[str, Shown(shown=Place.DATA)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicList(TaskHead):
    """All topics of a task, in the requested order."""

    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """Measures of topic difficulty; empty while scores are hidden."""
    grades: tuple[int, ...]
    """The assigned grades, highest first."""
    grade_names: dict[int, str]
    runs: int
    """Number of runs that measure the topics."""
    field: str
    """These runs, as text."""
    topics: tuple[TopicRow, ...]
    sort: str

    @property
    def relevant_grades(self) -> tuple[tuple[int, int], ...]:
        """(index, grade) of the relevant grades, if separate columns say more than their sum."""
        relevant = [(at, grade) for at, grade in enumerate(self.grades) if grade >= self.level]
        return tuple(relevant) if 1 < len(relevant) <= MOST_GRADES else ()

    @property
    def hardest_first(self) -> str:
        """The sort that puts the hardest topics first."""
        return "-median" if self.measure.lower_is_better else "median"

    @property
    def easiest_first(self) -> str:
        """The sort that puts the easiest topics first."""
        return "median" if self.measure.lower_is_better else "-median"

    @property
    def separates(self) -> bool:
        """Whether there are enough runs to compute topic discrimination."""
        return self.runs >= FEWEST_RUNS


def topic_list(
    session: Session, viewer: Viewer, slug: str, measure: str | None = None, sort: str = ""
) -> TopicList:
    """All topics of a task, with counts and difficulty visible to the viewer.

    sort: a column name for ascending order, prefixed with a minus for descending; empty: task order. Raises
    NotFound, UnknownMeasure, and Invalid for a sort that is not a column.
    """
    task, access = policy.visible_task(session, viewer, slug)
    shown = shown_edition(session, task, access)
    field = scores_table.field(session, viewer, task, access, shown, measure)
    columns = Topic.topic_id, Topic.title, Topic.excluded, Topic.description, Topic.narrative
    rows = session.execute(select(*columns).where(Topic.task_id == task.id).order_by(Topic.position))
    listed = [
        TopicRow(
            row.topic_id,
            row.title,
            scored_topics.why_left_out(row.excluded, access),
            description=row.description,
            narrative=row.narrative,
        )
        for row in rows
    ]
    grades: tuple[int, ...] = ()
    if field is not None:
        judgments = rankings.compiled_judgments(session, field.source).judgments
        grades = tuple(np.unique(judgments.grades[judgments.named])[::-1].tolist())
        listed = _with_counts(listed, judgments, grades, task.level)
        listed = _with_scores(listed, field)
    return TopicList(
        of=task,
        measure=field.measure if field is not None else scores_table.promised(task),
        measures=field.measures if field is not None else (),
        basis=shown.basis,
        grades=grades,
        grade_names=grade_names(task),
        runs=int(field.compared.sum()) if field is not None else 0,
        field=field.words if field is not None else "",
        topics=_sorted(listed, sort, grades),
        sort=sort,
        access=access,
    )


def _with_counts(
    rows: Sequence[TopicRow], judgments: Judgments, grades: tuple[int, ...], level: int
) -> list[TopicRow]:
    """The rows with numbers of judged and relevant documents and by grade."""
    place = {topic: index for index, topic in enumerate(judgments.topics)}
    named = judgments.named
    at = np.searchsorted(np.array(grades[::-1]), judgments.grades[named])
    table = np.zeros((len(judgments), len(grades)), dtype=np.int64)
    np.add.at(table, (judgments.topic[named], len(grades) - 1 - at), 1)
    counts = table.tolist()
    none = [0] * len(grades)
    counted = []
    for row in rows:
        mine = counts[place[row.topic_id]] if row.topic_id in place else none
        pairs = list(zip(grades, mine, strict=True))
        counted.append(
            replace(
                row,
                judged=sum(count for grade, count in pairs if grade != UNJUDGED),
                relevant=sum(count for grade, count in pairs if grade >= level),
                grades=tuple(mine),
            )
        )
    return counted


def _with_scores(rows: Sequence[TopicRow], field: Field) -> list[TopicRow]:
    """The rows with score distributions; excluded topics have none."""
    scores = field.scores[field.compared]
    if not len(scores):
        return list(rows)
    runs = [run for run, is_compared in zip(field.runs, field.compared.tolist(), strict=True) if is_compared]
    better = field.sign * scores
    spread = (field.sign * np.quantile(better, (0.0, 0.25, 0.5, 0.75, 1.0), axis=0)).T.tolist()
    sd = scores.std(axis=0, ddof=1).tolist() if len(scores) > 1 else [0.0] * scores.shape[1]
    first = better.argmax(axis=0).tolist()
    ties = (better == better.max(axis=0)).sum(axis=0).tolist()
    apart: Sequence[float | None] = discrimination(scores).tolist()
    scored = []
    for row in rows:
        at = field.place.get(row.topic_id)
        if at is not None:
            leader = runs[first[at]]
            worst, lower, median, upper, best = spread[at]
            difficulty = Difficulty(
                worst=worst,
                lower=lower,
                median=median,
                upper=upper,
                best=best,
                sd=sd[at],
                best_run=leader.name,
                best_run_id=leader.run_id,
                best_runs=ties[at],
            )
            row = replace(row, difficulty=difficulty, discrimination=apart[at])
        scored.append(row)
    return scored


def of_difficulty(name: str) -> Callable[[TopicRow], Any]:
    """Accessor of a field of a topic's difficulty; None without one."""
    return lambda row: None if row.difficulty is None else getattr(row.difficulty, name)


_KEYS: dict[str, Callable[[TopicRow], Any]] = {
    "title": lambda row: row.title.casefold() or None,
    "judged": lambda row: row.judged,
    "relevant": lambda row: row.relevant,
    "separates": lambda row: row.discrimination,
    **{name: of_difficulty(name) for name in ("worst", "lower", "median", "upper", "best", "sd")},
}


def _sorted(rows: Sequence[TopicRow], sort: str, grades: tuple[int, ...]) -> tuple[TopicRow, ...]:
    """The rows in the requested order; missing values last, ties in task order."""
    name = sort.removeprefix("-")
    down = sort.startswith("-")
    if name in ("", "topic"):
        return tuple(reversed(rows)) if down else tuple(rows)
    key = _KEYS.get(name)
    if key is None:
        places = {f"grade{grade}": at for at, grade in enumerate(grades)}
        if name not in places:
            allowed = ", ".join(["topic", *_KEYS, *places])
            raise Invalid(
                f"Topics cannot be sorted by {name!r}; choose one of {allowed}, or prefix it with a minus."
            )
        at = places[name]
        return tuple(sorted(rows, key=lambda row: row.grades[at], reverse=down))
    valued = sorted((row for row in rows if key(row) is not None), key=key, reverse=down)
    return (*valued, *(row for row in rows if key(row) is None))


def list_facts(page: TopicList) -> dict[str, Any]:
    """The topics as plain values at full precision."""
    return {
        "task": page.slug,
        "revision": page.basis.revision if page.basis else None,
        "primary": page.measure.key,
        "measure": page.measure.key,
        "runs": page.field,
        "level": page.level,
        "topics": list_table(page).facts(),
    }


def list_table(page: TopicList) -> Table[TopicRow]:
    """Table of the topics; the page includes scores if available, and print what fits."""
    on_page = Place.PAGE if page.field else Place(0)
    relevant = f"judged at grade {page.level} or higher"
    return Table(
        f"{page.slug}-topics",
        _caption(page),
        columns_from(
            TopicRow,
            "topic_id title",
            _count("judged", "Judged", on_page),
            _count("relevant", "Relevant", on_page, relevant),
            *(_grade(page, at, on_page) for at in range(len(page.grades))),
            *_spread(page, on_page),
            "discrimination excluded description narrative",
            _separates(2, on_page),
            _separates(4, Place.PRINT),
        ),
        page.topics,
    )


LIST_FILES = Files(facts=list_facts, tables={"topics": list_table})


def _count(key: str, head: str, on_page: Place, title: str = "") -> Column[TopicRow]:
    return Column(
        key,
        lambda row: getattr(row, key),
        head,
        digits=0,
        title=title,
        shown=~Place.PAGE | on_page,
        group="sorted",
    )


def _grade(page: TopicList, at: int, on_page: Place) -> Column[TopicRow]:
    """Column of the documents of a grade, sortable if shown on the page."""
    grade = page.grades[at]
    is_apart = (at, grade) in page.relevant_grades
    return Column(
        f"grade {grade}",
        lambda row: row.grades[at],
        f"Grade {grade}",
        digits=0,
        title=page.grade_names.get(grade, ""),
        shown=Place.DATA | on_page if is_apart else Place.DATA,
        group="sorted",
    )


def _spread(page: TopicList, on_page: Place) -> list[Column[TopicRow]]:
    digits, readers = page.measure.digits, Place.PRINT | on_page
    return [
        _of("worst", "worst", "Worst", digits, Place.DATA | readers),
        _of("lower", "lower quartile", "", None, Place.DATA),
        _of("lower", "lower", "Lower", digits, readers, "a quarter of the runs score no better"),
        _of("median", "median", "Median", digits, Place.DATA | readers),
        _of("upper", "upper quartile", "", None, Place.DATA),
        _of("upper", "upper", "Upper", digits, readers, "a quarter of the runs score no worse"),
        _of("best", "best", "Best", digits, Place.DATA | readers),
        _of("best_run", "leader", "Best run", None, on_page),
        _of("sd", "sd", "SD", 4, ~Place.PAGE),
        _of("sd" if page.runs > 1 else "", "sd", "SD", digits, on_page, "standard deviation over runs"),
        _of("best_run", "best run", "", None, Place.DATA),
        _of("best_runs", "best runs", "", None, Place.DATA),
    ]


def _of(
    name: str, key: str, head: str, digits: int | None, shown: Place, title: str = ""
) -> Column[TopicRow]:
    return Column(
        key,
        of_difficulty(name) if name else lambda _: None,
        head,
        digits=digits,
        title=title,
        shown=shown,
        group="" if digits is None else "sorted",
    )


def _separates(digits: int, shown: Place) -> Column[TopicRow]:
    return Column(
        "separates",
        lambda row: row.discrimination,
        "Discrimination",
        digits=digits,
        title="item-rest correlation",
        shown=shown,
        group="sorted",
    )


def _caption(page: TopicList) -> str:
    if page.basis is None or not page.field:
        return f"{len(page.topics)} topics of {page.task}."
    return (
        f"{len(page.topics)} topics of {page.task}: documents judged, and {page.measure.key} of "
        f"{page.field} under {page.basis.qrels}. Quartiles are over runs; discrimination is "
        "the correlation of the runs' scores on a topic with their means over all others."
    )

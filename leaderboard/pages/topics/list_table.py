"""The topics of a task as plain values and as a table."""

from typing import Any

from leaderboard.pages.topics.lists import TopicList, TopicRow, of_difficulty
from leaderboard.tables.record import Column, Files, Place, Table, columns_from


def facts(page: TopicList) -> dict[str, Any]:
    """The topics as plain values at full precision."""
    return {
        "task": page.slug,
        "revision": page.basis.revision if page.basis else None,
        "primary": page.measure.key,
        "measure": page.measure.key,
        "runs": page.field,
        "level": page.level,
        "topics": table(page).facts(),
    }


def table(page: TopicList) -> Table[TopicRow]:
    """The topics; readers of the page get scores where there are some, and print what fits it."""
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
            "discrimination excluded",
            _separates(2, on_page),
            _separates(4, Place.PRINT),
        ),
        page.topics,
    )


FILES = Files(facts=facts, tables={"topics": table})


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
    """The documents of a grade, under the name that topics are sorted by where the page has the column."""
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
        _of("lower", "lower", "Lower", digits, readers, "a quarter of the runs is no better"),
        _of("median", "median", "Median", digits, Place.DATA | readers),
        _of("upper", "upper quartile", "", None, Place.DATA),
        _of("upper", "upper", "Upper", digits, readers, "a quarter of the runs is no worse"),
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
        "Separates",
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
        f"{page.field} under {page.basis.qrels}. Quartiles are over runs; separates is "
        "the correlation of the runs' scores on a topic with their means over all others."
    )

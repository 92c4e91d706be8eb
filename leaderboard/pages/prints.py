"""Tables as they are printed: fewer columns than the files of full precision, and a caption that says all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leaderboard.measures.catalogue.entries import Section
from leaderboard.pages.tasks.landing import LandingRow


@dataclass(frozen=True, slots=True)
class Printed:
    """A table to be printed; digits are the decimals of a column's numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str
    digits: Mapping[str, int] = field(default_factory=dict)


def of_tasks(rows: Sequence[LandingRow]) -> Printed:
    """The tasks, each with its leader."""
    body = []
    for row in rows:
        best = row.leader
        score = f"{best.value:.{best.digits}f}" if best else None
        leader = [best.run, best.measure, score] if best else [None] * 3
        body.append([row.task.name, row.task.visibility, row.task.topics, row.runs, row.revision, *leader])
    header = ["Task", "Shown", "Topics", "Runs", "Revision", "Leader", "Measure", "Score"]
    return Printed(header, body, "Shared tasks, each with the best run by its primary measure.")


def of_measures(sections: Sequence[Section]) -> Printed:
    """The list of measures."""
    body = [
        [each.name, each.title, each.direction, each.aggregate, each.version]
        for section in sections
        for each in section.entries
    ]
    caption = (
        "Measures: which direction is better, how topics are brought together, version of the definition."
    )
    return Printed(["Measure", "Title", "Better", "Over topics", "Version"], body, caption)

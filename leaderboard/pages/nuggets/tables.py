"""A topic's nuggets as files: each nugget with who holds it, and each label in a row of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from leaderboard.pages.nuggets.topic import LabelledRun, NuggetRow, NuggetsPage
from leaderboard.tables.record import Column, Files, Table, columns_from


@dataclass(frozen=True, slots=True)
class LabelRow:
    """What one run's answer has of one nugget."""

    nugget: NuggetRow
    run: LabelledRun

    @property
    def label(self) -> str:
        """The run's label of the nugget."""
        return self.run.labels[self.nugget.number - 1]


def facts(page: NuggetsPage) -> dict[str, Any]:
    """The page as plain values; a run's labels are in the order of the nuggets."""
    return {
        "task": page.slug,
        "topic": page.topic_id,
        "revision": page.basis.revision if page.basis else None,
        "nuggets_by": page.nuggets_by or None,
        "labels_by": page.labels_by or None,
        "measure": page.measure.key if page.measure else None,
        "nuggets": [
            {
                "text": row.text,
                "importance": row.importance,
                "held": row.held,
                "held_in_part": row.held_in_part,
                "known": row.known,
                "share": row.share,
            }
            for row in page.nuggets
        ],
        "runs": [
            {
                "run": run.name,
                "run_id": run.run_id,
                "team": run.team,
                "kind": run.kind,
                "rank": run.rank,
                "labels": list(run.labels),
            }
            for run in page.runs
        ],
    }


def nuggets(page: NuggetsPage) -> Table[NuggetRow]:
    """One row a nugget: how many runs hold it."""
    return Table(
        f"{page.slug}-{page.topic_id}-nuggets",
        f"Nuggets of topic {page.topic_id} of {page.task}, and the runs whose answers hold them.",
        columns_from(NuggetRow, "number text importance held held_in_part known share"),
        page.nuggets,
    )


def labels(page: NuggetsPage) -> Table[LabelRow]:
    """One row a nugget and run: the label."""
    return Table(
        f"{page.slug}-{page.topic_id}-labels",
        f"Labels of the nuggets of topic {page.topic_id} of {page.task}, one row a nugget and run.",
        columns_from(
            LabelRow,
            "nugget.number nugget.text nugget.importance run.rank run.name",
            Column("run_id", lambda row: row.run.run_id, "Number", digits=0),
            "label",
        ),
        tuple(_labels(page)),
    )


FILES = Files(facts=facts, tables={"nuggets": nuggets, "labels": labels})


def _labels(page: NuggetsPage) -> Iterator[LabelRow]:
    for nugget in page.nuggets:
        for run in page.runs:
            yield LabelRow(nugget, run)

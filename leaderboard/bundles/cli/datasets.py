"""`leaderboard import ir_datasets:ID`: a task of a dataset that ir_datasets knows."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.tasks.ops import datasets, roles
from leaderboard.tasks.ops.datasets import DatasetRequest, DatasetTask


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetAnswers:
    """Options of a dataset import, in addition to the id."""

    wanted: DatasetRequest
    organiser: str | None
    dry_run: bool


def bring_in(database: Database, answers: DatasetAnswers) -> None:
    """Read the dataset, say what is in it, and make the task."""
    dataset = answers.wanted
    with tempfile.TemporaryDirectory(prefix="dataset-") as folder:
        prepared = datasets.prepare(dataset, Path(folder), lambda what: click.echo(f"  {what}", err=True))
    click.echo("\n".join(_lines(dataset, prepared)))
    if answers.dry_run:
        click.echo("Dry run: nothing was stored.")
        return
    with database.write() as session:
        datasets.make(session, OPERATOR, prepared)
        if answers.organiser:
            roles.give(session, OPERATOR, dataset.slug, answers.organiser, "organiser")
        else:
            roles.adopt(session, OPERATOR)
    click.echo(f"Task {dataset.slug} is published.")


def _lines(request: DatasetRequest, prepared: DatasetTask) -> list[str]:
    task, qrels = prepared.task, prepared.task.qrels
    stored = f"{prepared.documents.count:,} documents" if prepared.documents else "no documents stored"
    return [
        f"{request.name} ({request.slug}), of {request.dataset}",
        f"Topics: {len(task.topics.topics):,}.",
        f"Judgments: {qrels.size:,} of {len(qrels.topics):,} topics." if qrels else "Judgments: none.",
        f"Collection: {prepared.collection}, {stored}.",
        f"Measures: {', '.join(task.measures)}; ranked by {task.primary}.",
    ]

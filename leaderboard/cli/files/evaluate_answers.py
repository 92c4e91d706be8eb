"""`leaderboard evaluate --kind answers`: scores of files of answers by files of judgments."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from leaderboard.trec.nuggets.scoring import (
    JudgmentFiles,
    Missing,
    as_json,
    read_judgments,
    score_answers,
    trec,
    tsv,
)


def scored_text(
    files: JudgmentFiles,
    runs: Sequence[Path],
    names: Sequence[str],
    missing: Missing,
    layout: str,
    per_topic: bool,
) -> Iterator[str]:
    """The scores of every run in a layout; notes on them are printed to standard error."""
    scored, notes = score_answers(read_judgments(files), runs, names, missing)
    for note in (*notes, *(note for run_scores in scored for note in run_scores.notes)):
        click.echo(f"warning: {note}", err=True)
    if layout == "json":
        return iter([as_json(scored, missing, per_topic=per_topic)])
    return (tsv if layout == "tsv" else trec)(scored, per_topic=per_topic)

"""`leaderboard reproduce`: how far a baseline and an advanced run came out again, without a site."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leaderboard.core.cli.kinds import DIALECT, EXISTING, LEVEL, MAPPING, tell_notes

if TYPE_CHECKING:
    from leaderboard.cli.files.reproductions import Asked, Reproduced, RunPair
    from leaderboard.stats.reproductions.levels import Thresholds

_LEVELS = click.Choice(["ktu", "nrmse", "dri", "er"])


@click.command()
@click.argument("qrels", type=EXISTING)
@click.option(
    "--original", metavar="BASELINE ADVANCED", nargs=2, type=EXISTING, required=True, help="Original runs."
)
@click.option(
    "--reproduced",
    metavar="BASELINE ADVANCED",
    nargs=2,
    type=EXISTING,
    required=True,
    help="Reproduced runs.",
)
@click.option(
    "--replicated", metavar="QRELS", type=EXISTING, help="Qrels of the other collection, for replications."
)
@click.option(
    "-m",
    "--measure",
    metavar="NAME",
    default="AP",
    show_default=True,
    help="Measure; see `leaderboard measures`.",
)
@click.option(
    "--threshold",
    "thresholds",
    metavar="NUMBER SAME CLOSE",
    nargs=3,
    type=(_LEVELS, float, float),
    multiple=True,
    help="Maximum distance of ktu or er from 1, of nrmse or dri from 0, for this verdict; repeatable.",
)
@click.option(
    "--margin",
    type=click.FloatRange(min=0, min_open=True),
    help="Equivalence margin of means, tested with two one-sided tests (TOST).",
)
@click.option(
    "--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True
)
@LEVEL
@DIALECT
@MAPPING
@click.option(
    "--format", "layout", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True
)
def reproduce(
    qrels: Path,
    original: tuple[Path, Path],
    reproduced: tuple[Path, Path],
    replicated: Path | None,
    measure: str,
    thresholds: tuple[tuple[str, float, float], ...],
    margin: float | None,
    alpha: float,
    level: int,
    dialect: str,
    mapping: tuple[str, ...],
    layout: str,
) -> None:
    """Compare a baseline and an advanced run with a reproduction of both, using the judgments in QRELS.

    Four levels, each with a verdict: the order of documents, scores by topic, the gain over the baseline, and
    a test of the means. A topic missing from a run scores as an empty ranking and is listed.
    """
    from leaderboard.cli.files.reproductions import Asked, as_facts, compare_files, level_table
    from leaderboard.tables.record import csv_text, json_text
    from leaderboard.trec.read import forms

    words = _thresholds(thresholds, margin, alpha)
    asked = Asked(measure, level, int(dialect), replicated, words, forms.asked(mapping))
    result = compare_files(qrels, original, reproduced, asked)
    tell_notes(result.notes)
    if layout == "json":
        text = json_text(as_facts(result, asked))
    elif layout == "csv":
        text = csv_text(level_table(result))
    else:
        text = "\n".join([*_in_words(result, asked), ""])
    click.echo(text.encode("utf-8", "surrogateescape"), nl=False)


def _thresholds(
    given: tuple[tuple[str, float, float], ...], margin: float | None, alpha: float
) -> "Thresholds":
    from leaderboard.stats.reproductions.levels import Threshold, Thresholds

    for name, same, close in given:
        if not 0 <= same <= close:
            raise click.BadParameter(
                f"{name}: `same` is stricter than `close`. Write the smaller value first."
            )
    changed = {name: Threshold(same, close) for name, same, close in given}
    return Thresholds(**changed, alpha=alpha, margin=margin)


def _in_words(result: "Reproduced", asked: "Asked") -> Iterator[str]:
    from leaderboard.cli.files.reproductions import level_table
    from leaderboard.stats.reproductions.numbers import threshold_lines
    from leaderboard.tables.markdown import table_lines

    topics = f"{result.topics:,} topics"
    if asked.replicated is not None:
        topics += f", again on {result.other_topics:,} others"
    yield f"{result.measure.key} on {topics}, trec_eval {asked.dialect}"
    yield ""
    yield from table_lines(level_table(result))
    yield ""
    yield from threshold_lines(asked.thresholds, same_topics=asked.replicated is None)
    yield "A large p does not prove equality; the interval shows how large the difference can be."
    for name, pair in (("baseline", result.baseline), ("advanced", result.advanced)):
        yield from _of_pair(name, pair)


def _of_pair(name: str, pair: "RunPair") -> Iterator[str]:
    yield ""
    yield f"{name}: {pair.original}, again {pair.reproduced}"
    if pair.only_original:
        yield f"  topics only in the original: {', '.join(pair.only_original)}"
    if pair.only_reproduced:
        yield f"  topics only in the reproduction: {', '.join(pair.only_reproduced)}"
    for row in pair.largest:
        yield f"  topic {row.topic}: {row.original:.4f}, again {row.reproduced:.4f}"
    for key, there, here in pair.metadata:
        yield f"  {key}: {there or '(nothing)'}, again {here or '(nothing)'}"

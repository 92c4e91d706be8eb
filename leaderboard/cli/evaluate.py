"""`leaderboard evaluate`: scores of run files without a site, as trec_eval gives them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from leaderboard.errors import Invalid, LeaderboardError

if TYPE_CHECKING:
    from leaderboard.measures.binding import BoundMeasure
    from leaderboard.trec.report import RunScores

Read = TypeVar("Read")

DEFAULT_MEASURES = (
    *("num_ret", "num_rel", "num_rel_ret", "map", "Rprec", "bpref", "recip_rank"),
    *(f"P_{cutoff}" for cutoff in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
    *("recall_100", "recall_1000", "ndcg", "ndcg_cut_10", "RR@10", "Judged@10"),
)
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("qrels", type=EXISTING)
@click.argument("runs", metavar="RUN...", type=EXISTING, nargs=-1, required=True)
@click.option(
    "-m", "--measure", "names", metavar="NAME", multiple=True, help="Such as nDCG@10 or map; repeatable."
)
@click.option("--per-topic", is_flag=True, help="Every topic's score too, not only the mean.")
@click.option(
    "--level", default=1, show_default=True, help="Lowest relevant grade, for measures that take rel."
)
@click.option(
    "--dialect", type=click.Choice(["9", "10"]), default="10", show_default=True, help="Of trec_eval."
)
@click.option(
    "--format", "layout", type=click.Choice(["trec", "tsv", "json"]), default="trec", show_default=True
)
def evaluate(
    qrels: Path,
    runs: tuple[Path, ...],
    names: tuple[str, ...],
    per_topic: bool,
    level: int,
    dialect: str,
    layout: str,
) -> None:
    """Score each RUN against QRELS.

    Means are over all judged topics: one a run misses counts as an empty ranking. Runs are named
    by their tag, or by their file where two have the same.
    """
    reports = _reports(qrels, runs, _measures(names, level), int(dialect))
    text = "".join(_text(reports, layout, int(dialect), level, per_topic))
    # Topic ids and tags go out as the bytes they came in as, UTF-8 or not.
    click.echo(text.encode("utf-8", "surrogateescape"), nl=False)


def _measures(names: Sequence[str], level: int) -> list["BoundMeasure"]:
    from leaderboard.measures.grammar import parse, with_level

    return list(dict.fromkeys(with_level(parse(name), level) for name in names or DEFAULT_MEASURES))


def _reports(
    qrels: Path, runs: Sequence[Path], measures: Sequence["BoundMeasure"], dialect: int
) -> list["RunScores"]:
    """The scores of every run; nothing is printed before all of them are there."""
    from leaderboard.trec.align import align, compile_judgments
    from leaderboard.trec.qrels import read_qrels
    from leaderboard.trec.report import RunScores
    from leaderboard.trec.runs import read_run

    compiled = compile_judgments(_read(partial(read_qrels, strict=False), qrels).judgments)
    if not compiled.judgments.topics:
        raise Invalid(f"{qrels} holds no judgments; give a qrels file with topic, 0, docno and grade.")
    scored = []
    for path in runs:
        run = _read(partial(read_run, strict=False), path)
        judged = align(run.rankings.values(), compiled, dialect=dialect)
        if not judged.retrieved.any():
            raise Invalid(f"{path} has no topic that {qrels} judges; check that both belong together.")
        scored.append((run.tag, path, {measure: measure.compute(judged) for measure in measures}))
    tags = [tag for tag, _, _ in scored]
    return [
        RunScores(tag if tags.count(tag) == 1 else str(path), compiled.judgments.topics, scores)
        for tag, path, scores in scored
    ]


def _read(reader: Callable[[Path], Read], path: Path) -> Read:
    """What the reader makes of the file; its errors say which file it was."""
    try:
        return reader(path)
    except LeaderboardError as error:
        problems = error.problems if isinstance(error, Invalid) else ()
        raise Invalid(f"{path}: {error.message}", problems) from error


def _text(
    reports: list["RunScores"], layout: str, dialect: int, level: int, per_topic: bool
) -> Iterator[str]:
    from leaderboard.trec.report import as_json, trec, tsv

    if layout == "json":
        return iter([as_json(reports, dialect=dialect, per_topic=per_topic)])
    if layout == "tsv":
        return tsv(reports, per_topic=per_topic)
    return trec(reports, level=level, per_topic=per_topic)

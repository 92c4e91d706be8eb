"""`leaderboard agreement`: judges compared with a reference, by boards or by labels, without a site."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leaderboard.cli.files.compare import CORRECTIONS, TESTS
from leaderboard.core.cli.kinds import EXISTING
from leaderboard.core.cli.site import UsualCommand
from leaderboard.errors import Invalid

if TYPE_CHECKING:
    from leaderboard.cli.files.judged_boards import JudgedBoards

ORDERS = ("ir_measures", "tot", "topic_first", "one_run", "ranked")
RANKED_BY = ("tau_b", "tau_ap_b", "rho", "rbo", "accuracy", "topics")
TABLES = ("judges", "runs", "topics", "teams", "families")
_GRADE = re.compile(r"-?[0-9]{1,9}")
BOARD = click.Path(exists=True, path_type=Path)
FORMAT = click.option(
    "--format", "layout", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True
)


@click.group(cls=UsualCommand)
def agreement() -> None:
    """Measure how well judges agree with a reference.

    `leaderboard agreement --reference FILE --judge FILE...` compares board files; `labels` compares labels of
    documents.
    """


@agreement.command()
@click.option(
    "--reference", type=BOARD, required=True, help="Board file with a value per run, topic and measure."
)
@click.option(
    "--judge", "judges", type=BOARD, multiple=True, required=True, help="Board file, or a folder of them."
)
@click.option("--reference-measure", default="", help="Measure of the reference, if it has several.")
@click.option(
    "-m", "--measure", "measures", multiple=True, help="Measure chosen in advance: one, or one per judge."
)
@click.option("--reference-order", type=click.Choice(ORDERS), help="Column format, if it cannot be detected.")
@click.option("--order", type=click.Choice(ORDERS), help="Column format of the judges.")
@click.option("--rank-by", type=click.Choice(RANKED_BY), default="tau_b", show_default=True)
@click.option(
    "--by-topic",
    type=click.Choice(["tau_b", "accuracy"]),
    default="tau_b",
    show_default=True,
    help="Agreement within a topic; use accuracy if many runs tie.",
)
@click.option(
    "--top", type=click.IntRange(min=2), default=None, help="Also compute τ_b of this number of top runs."
)
@click.option(
    "--test", type=click.Choice(TESTS), default="t", show_default=True, help="Test that decides pairs."
)
@click.option("--correction", type=click.Choice(CORRECTIONS), default="holm", show_default=True)
@click.option(
    "--as",
    "other",
    type=click.Choice(["autojudge"]),
    help="Align like autojudge-evaluate, to reproduce its numbers.",
)
@click.option(
    "--on-missing",
    type=click.Choice(["error", "warn", "skip", "default"]),
    help="With --as: treatment of missing runs [error].",
)
@click.option(
    "--recompute", is_flag=True, help="With --as: use means of the topics present instead of `all` lines."
)
@click.option("--facts", type=EXISTING, help="CSV: run,team,llm,reranker.")
@click.option("--judge-facts", type=EXISTING, help="CSV: judge,team,llm,reranker,saw_reference.")
@click.option("--machine-reference", is_flag=True, help="The reference was also made by a machine.")
@click.option("--table", type=click.Choice(TABLES), default="judges", show_default=True, help="For CSV.")
@FORMAT
def boards(layout: str, table: str, **options: Any) -> None:
    """Compare board files of judges with that of a reference.

    Several judges are ranked. If a file has several measures, only one named beforehand gives a rank. Columns
    are recognised by the topics.
    """
    from leaderboard.cli.files.judged_boards import as_facts
    from leaderboard.cli.files.judges_in_words import in_words

    judged = _hold(options)
    if layout == "json":
        text = _json(as_facts(judged))
    else:
        text = _csv(judged, table) if layout == "csv" else in_words(judged)
    click.echo(text.encode("utf-8", "surrogateescape"), nl=False)


@agreement.command()
@click.option("--reference", type=EXISTING, required=True, help="Reference qrels.")
@click.option(
    "--judge", type=EXISTING, required=True, help="Qrels with four columns, or six with confidence."
)
@click.option(
    "--union", is_flag=True, help="Use documents of either file, missing ones as 0, like autojudge-evaluate."
)
@click.option(
    "--level", "levels", multiple=True, metavar="G[:J]", help="Lowest relevant grade G, and J for the judge."
)
@click.option("--scale", multiple=True, metavar="LABEL=GRADE", help="Grade of each label of the judge.")
@FORMAT
def labels(
    reference: Path, judge: Path, union: bool, levels: tuple[str, ...], scale: tuple[str, ...], layout: str
) -> None:
    """Compare a judge's labels with the reference's on the documents that both judged."""
    from leaderboard.cli.files.judged_labels import as_facts, in_words
    from leaderboard.cli.files.judged_labels import table as table_of
    from leaderboard.judges.ops.labels.comparison import LabelPlan, hold_labels
    from leaderboard.tables.record import csv_lines
    from leaderboard.trec.boards.judge_labels import read_judge_labels

    plan = LabelPlan(
        union,
        tuple(_numbers(level if ":" in level else f"{level}:{level}", ":", "--level") for level in levels),
        dict(_numbers(pair, "=", "--scale") for pair in scale),
    )
    judged = hold_labels(judge.stem, read_judge_labels(reference), read_judge_labels(judge), plan)
    if layout == "json":
        text = _json(as_facts(judged))
    else:
        text = csv_lines(*table_of(judged)) if layout == "csv" else in_words(judged)
    click.echo(text.encode("utf-8", "surrogateescape"), nl=False)


def _hold(options: dict[str, Any]) -> "JudgedBoards":
    from leaderboard.cli.files.judged_boards import JudgeFiles, hold
    from leaderboard.scoring.ops.agreements import AgreementPlan
    from leaderboard.stats.pairs.methods import method

    if not options["other"] and (options["on_missing"] or options["recompute"]):
        raise Invalid("--on-missing and --recompute need --as autojudge.")
    files = JudgeFiles(
        reference=options["reference"],
        judges=options["judges"],
        reference_measure=options["reference_measure"],
        measures=options["measures"],
        reference_order=options["reference_order"] or "",
        order=options["order"] or "",
        facts=options["facts"],
        judge_facts=options["judge_facts"],
        is_machine=options["machine_reference"],
    )
    plan = AgreementPlan(
        method=method((options["test"], options["correction"])),
        by=options["by_topic"],
        top=options["top"] or 0,
        missing=(options["on_missing"] or "error") if options["other"] else "",
        recompute=options["recompute"],
    )
    return hold(files, plan, options["rank_by"])


def _csv(judged: "JudgedBoards", name: str) -> str:
    from leaderboard.cli.files.judge_tables import (
        groups_table,
        joined,
        judges_table,
        runs_table,
        topics_table,
    )
    from leaderboard.tables.record import csv_text

    if name == "judges":
        return csv_text(judges_table(judged.board, judged.circular))
    topics = judged.board.reference.topics
    groups = judged.teams if name == "teams" else judged.families
    tables = [
        runs_table(agreement)
        if name == "runs"
        else topics_table(agreement, topics)
        if name == "topics"
        else groups_table(agreement.judge, groups[at])
        for at, agreement in enumerate(judged.agreements)
    ]
    return csv_text(joined(tables))


def _numbers(text: str, between: str, option: str) -> tuple[int, int]:
    first, _, second = text.partition(between)
    if not (_GRADE.fullmatch(first) and _GRADE.fullmatch(second)):
        raise Invalid(f"{option} needs two whole numbers, such as 2{between}1; not {text!r}.")
    return int(first), int(second)


def _json(facts: dict[str, Any]) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

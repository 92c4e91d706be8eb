"""`leaderboard check --kind answers`: its options, and the check of a file of answers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from leaderboard.cli.files.kinds import pattern, problem_line
from leaderboard.trec.runs.reports import Report

Command = TypeVar("Command", bound=Callable[..., Any])

OF_ANSWERS = ("dialects", "limit", "unit", "over", "docno_pattern", "subset")


_OPTIONS = (
    click.option(
        "--dialect",
        "dialects",
        type=click.Choice(["rag24", "rag25", "rag26", "report", "longeval-rag"]),
        multiple=True,
        help="Answers: a dialect that is allowed; repeatable. [all, known by their keys]",
    ),
    click.option("--limit", type=click.IntRange(min=0), help="Answers: how long one may be. [the dialect's]"),
    click.option(
        "--unit",
        type=click.Choice(["words", "nfkc-words", "characters"]),
        help="Answers: how length is counted. [the dialect's]",
    ),
    click.option(
        "--over",
        type=click.Choice(["refuse", "cut", "warn"]),
        help="Answers: what becomes of one that is too long. [the dialect's]",
    ),
    click.option(
        "--docno-pattern",
        metavar="RE",
        callback=pattern,
        help="Answers: regular expression for whole references (rag24, rag25, longeval-rag).",
    ),
    click.option("--subset", is_flag=True, help="Answers: not all topics were asked for."),
)


def answer_options(command: Command) -> Command:
    """Give a command the options for answers."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def check_file(run: Path, topics: Path | None, options: Mapping[str, Any]) -> Report:
    """The report on a file of answers; raises Invalid where the topics cannot be read."""
    from leaderboard.trec.answers.check import AnswerRules, check_answers
    from leaderboard.trec.answers.topics import read_answer_topics

    known = read_answer_topics(topics) if topics else None
    return check_answers(run, AnswerRules(topics=known, **options))


def answers_text(name: str, report: Report) -> str:
    """The report in lines."""
    lines = [f"{name}: {report.verdict}"]
    if facts := report.facts:
        length = facts["length"]
        lines.append(
            f"  run {facts['run']}, {facts['dialect']}: answers {facts['answers']:,}, "
            f"length {length['min']:,} to {length['max']:,} {length['unit']}, segments {facts['segments']:,} "
            f"({facts['uncited']:,} without citations), citations {facts['citations']:,}"
        )
        if facts["cut"] or facts["empty"]:
            lines.append(f"  cut {facts['cut']:,}, empty {facts['empty']:,}")
    lines.extend(problem_line("problem", problem) for problem in report.problems)
    lines.extend(problem_line("warning", warning) for warning in report.warnings)
    return "\n".join(lines)

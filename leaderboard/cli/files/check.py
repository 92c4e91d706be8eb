"""`leaderboard check`: the upload checker without a site."""

import json
from collections.abc import Callable, KeysView, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from leaderboard.core.cli.kinds import (
    EXISTING,
    MAPPING,
    pattern,
    problem_line,
    require_options_of,
    tell_notes,
)
from leaderboard.errors import Invalid
from leaderboard.temporary import whole_file
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.read.forms import Asked, asked
from leaderboard.trec.runs.check import Report, Rules, read_and_check
from leaderboard.trec.runs.fixes import FIXES, Fixing, fixed
from leaderboard.trec.topics.topics import read_topics

Command = TypeVar("Command", bound=Callable[..., Any])

OF_ANSWERS = ("dialects", "limit", "unit", "over", "docno_pattern", "subset")


_OPTIONS = (
    click.option(
        "--dialect",
        "dialects",
        type=click.Choice(["rag24", "rag25", "rag26", "report", "longeval-rag"]),
        multiple=True,
        help="Answers: an allowed dialect; repeatable. [all, detected by their keys]",
    ),
    click.option("--limit", type=click.IntRange(min=0), help="Answers: maximum length. [the dialect's]"),
    click.option(
        "--unit",
        type=click.Choice(["words", "nfkc-words", "characters"]),
        help="Answers: unit of the length. [the dialect's]",
    ),
    click.option(
        "--over",
        type=click.Choice(["refuse", "cut", "warn"]),
        help="Answers: treatment of answers that are too long. [the dialect's]",
    ),
    click.option(
        "--docno-pattern",
        metavar="RE",
        callback=pattern,
        help="Answers: regular expression for whole references (rag24, rag25, longeval-rag).",
    ),
    click.option("--subset", is_flag=True, help="Answers: allow missing topics."),
)


def answer_options(command: Command) -> Command:
    """Give a command the options for answers."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def check_file(run: Path, topics: Path | None, options: Mapping[str, Any]) -> Report:
    """The report on a file of answers; raises Invalid where the topics cannot be read."""
    from leaderboard.trec.answers.check import AnswerRules, check_answers
    from leaderboard.trec.answers.record import read_answer_topics

    answer_topics = read_answer_topics(topics) if topics else None
    return check_answers(run, AnswerRules(topics=answer_topics, **options))


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


OF_RANKINGS = ("qrels", "depth", "tag_pattern", "trec_eval", "mapping", "out", "by_rank")


@click.command()
@click.argument("run", type=EXISTING)
@click.option(
    "--kind",
    type=click.Choice(["rankings", "answers"]),
    default="rankings",
    show_default=True,
    help="Content of the file; some options are for one kind only.",
)
@click.option("--qrels", type=EXISTING, help="Qrels, to report unjudged topics.")
@click.option("--topics", type=EXISTING, help="Topics of the task; other topics are errors.")
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Maximum documents per topic.",
)
@click.option(
    "--trec-eval",
    type=click.Choice(["9", "10"]),
    default="10",
    show_default=True,
    help="trec_eval version; with 9, ids may begin with #.",
)
@MAPPING
@click.option("--tag-pattern", metavar="RE", callback=pattern, help="Regular expression for the whole tag.")
@click.option(
    "--fix",
    "out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Apply fixes that keep the ranking, and write the fixed file here.",
)
@answer_options
@click.option("--by-rank", is_flag=True, help="With --fix: order by the rank column, not by score.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def check(
    context: click.Context,
    /,
    run: Path,
    kind: str,
    qrels: Path | None,
    topics: Path | None,
    depth: int,
    trec_eval: str,
    mapping: tuple[str, ...],
    tag_pattern: str | None,
    out: Path | None,
    by_rank: bool,
    form: str,
    **for_answers: Any,
) -> None:
    """Check a RUN file as the upload does: exit 0 if it would be accepted, 1 if not.

    The report of a rejected run goes to standard error. With --fix, the report is on the fixed file.
    With --kind answers RUN holds answers with citations, as docs/answers.md describes them.
    """
    require_options_of(context, OF_RANKINGS if kind == "answers" else OF_ANSWERS, kind)
    if kind == "answers":
        report = check_file(run, topics, for_answers)
        _tell(report, form, lambda: answers_text(run.name, report))
        return
    if out is not None and out.exists() and out.samefile(run):
        raise Invalid("The fixed file needs a different name; the original file is kept.")
    rules = Rules(
        topics=tuple(topic.topic_id for topic in read_topics(topics)) if topics else None,
        depth=depth,
        tag_pattern=tag_pattern,
        judged=_judged(qrels, asked(mapping, int(trec_eval))) if qrels else (),
        dialect=int(trec_eval),
    )
    _, report = read_and_check(run, rules)
    if out is not None:
        report = _fix(run, report, rules, out, by_rank)
    _tell(report, form, lambda: _text(run.name, report))


def _judged(path: Path, asked: Asked) -> KeysView[str]:
    """The judged topics; how the file was read goes to the error stream."""
    qrels = read_qrels(path, asked=asked)
    tell_notes(f"{path}: {note}" for note in qrels.notes)
    return qrels.judgments.keys()


def _tell(report: Report, form: str, text: Callable[[], str]) -> None:
    output = json.dumps(report.as_json(), indent=2) if form == "json" else text()
    click.echo(output, err=not report.accepted)
    if not report.accepted:
        raise SystemExit(1)


def _fix(run: Path, report: Report, rules: Rules, out: Path, by_rank: bool) -> Report:
    """Write the fixed file, print the changes, and return the report on the new file."""
    names = {"ranks"} if by_rank else set[str]()
    while True:
        fixing = Fixing(rules, names | {problem.fix for problem in report.problems if problem.fix})
        with whole_file(out, 0o666) as file:
            file.writelines(fixed(run, fixing))
        _, report = read_and_check(out, rules)
        # What cannot be read hides what else is wrong: another round may find more to fix.
        if {problem.fix for problem in report.problems} <= {"", *fixing.counts}:
            break
        names = set(fixing.counts)
    for name, lines in fixing.counts.items():
        click.echo(f"fixed: {FIXES[name].lower()}: {lines:,} lines", err=True)
    return report


def _text(name: str, report: Report) -> str:
    lines = [f"{name}: {report.verdict}"]
    if facts := report.facts:
        depth = facts["depth"]
        lines.append(
            f"  tag {facts['tag'] or '(none)'}, {facts['entries']:,} entries, {facts['topics']:,} topics, "
            f"{depth['min']:,} to {depth['max']:,} documents per topic"
        )
    lines.extend(problem_line("problem", problem) for problem in report.problems)
    lines.extend(problem_line("warning", warning) for warning in report.warnings)
    return "\n".join(lines)

"""The answers of a file, for whoever scores or shows them."""

from dataclasses import replace
from pathlib import Path

from leaderboard.errors import Invalid
from leaderboard.trec.answers.check import AnswerRules, check_answers
from leaderboard.trec.answers.record import Answer


def read_answers(path: Path, rules: AnswerRules | None = None) -> tuple[str, dict[str, Answer]]:
    """The run a file is of, and its answers by topic in the file's order, without the lines they came on.

    Nothing is cut or refused for its length unless the rules say so. Raises Invalid with the check's errors.
    """
    answers: dict[str, Answer] = {}

    def keep(answer: Answer) -> None:
        answers[answer.topic] = replace(answer, line="")

    report = check_answers(path, rules or AnswerRules(over="warn", subset=True), keep)
    if report.problems:
        raise Invalid("The answers cannot be read.", report.problems)
    return next(iter(answers.values())).run, answers

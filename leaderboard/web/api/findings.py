"""What a check found, as the API says it."""

from collections.abc import Iterable

from leaderboard.errors import Problem
from leaderboard.web.api.answers import Finding


def of_problems(problems: Iterable[Problem]) -> tuple[Finding, ...]:
    """Problems or warnings, without the names of fixes."""
    return tuple(
        Finding(
            line=problem.line,
            field=problem.field,
            value=problem.value,
            rule=problem.rule,
            remedy=problem.remedy,
            count=problem.count,
            examples=problem.examples,
        )
        for problem in problems
    )

"""Runs that may be judged by their like: their models are of a family that made the judgments."""

from collections.abc import Mapping
from typing import Any

from leaderboard.pages.boards.facts import of_row
from leaderboard.services.boards.board import Board
from leaderboard.services.nuggets.basis import AnswersBasis
from leaderboard.services.runs import facts as run_facts

STATED = ("llm", "reranker")
"""What a run states of the models it is made with."""


def runs(shown: Board) -> dict[int, str]:
    """Run id -> the families that the run shares with the judgments; runs that share none are not in it."""
    if shown.answers is None or not shown.answers.families:
        return {}
    stated = {row.run_id: of_row(row) for row in shown.rows}
    shared = {
        run_id: shown.answers.shared_with(*(facts[key].text for key in STATED if key in facts))
        for run_id, facts in stated.items()
    }
    return {run_id: ", ".join(sorted(names)) for run_id, names in shared.items() if names}


def of_run(answers: AnswersBasis | None, details: Mapping[str, Any]) -> str:
    """The same of one run by its stored metadata; empty where it shares none."""
    if answers is None or not answers.families:
        return ""
    stated = (run_facts.fact(details, key) for key in STATED)
    return ", ".join(sorted(answers.shared_with(*(fact.text for fact in stated if fact is not None))))

"""A self-hosted leaderboard for information-retrieval shared tasks, and the evaluation it rests on.

What Python programs use, such as `evaluate`, is imported once it is asked for: `docs/python.md`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaderboard.errors import Invalid, LeaderboardError
    from leaderboard.interface.comparing import Comparison, Comparisons, compare, compare_runs
    from leaderboard.interface.evaluating import evaluate
    from leaderboard.interface.inputs import Qrels, Run, read_qrels, read_run
    from leaderboard.interface.provider import register as use_in_ir_measures
    from leaderboard.interface.relevance import RelevanceEvaluator
    from leaderboard.interface.results import Scores, ScoresByRun
    from leaderboard.measures.selection import measures

__version__ = "1.0.0"
__all__ = [
    "Comparison", "Comparisons", "Invalid", "LeaderboardError", "Qrels", "RelevanceEvaluator", "Run",
    "Scores", "ScoresByRun", "compare", "compare_runs", "evaluate", "measures", "read_qrels", "read_run",
    "use_in_ir_measures",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A public name, imported now: commands and the site do without most of them."""
    match name:
        case "evaluate":
            from leaderboard.interface import evaluating

            return evaluating.evaluate
        case "Qrels" | "Run" | "read_qrels" | "read_run":
            from leaderboard.interface import inputs

            return getattr(inputs, name)
        case "Scores" | "ScoresByRun":
            from leaderboard.interface import results

            return getattr(results, name)
        case "RelevanceEvaluator":
            from leaderboard.interface import relevance

            return relevance.RelevanceEvaluator
        case "Comparison" | "Comparisons" | "compare" | "compare_runs":
            from leaderboard.interface import comparing

            return getattr(comparing, name)
        case "Invalid" | "LeaderboardError":
            from leaderboard import errors

            return getattr(errors, name)
        case "measures":
            from leaderboard import measures

            return measures
        case "use_in_ir_measures":
            from leaderboard.interface import provider

            return provider.register
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted({*globals(), *__all__})

"""The demo's third task: two simple judges of its answers, compared with the leaderboard of the second task.

Board files by the program demo/judge_boards.py; the reference is the board itself, taken once it is scored.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent

SLUG = "python-judges"
NAME = "Judges of the Python answers"
TEAM = "Judging programs"
PHASE = "main"
CLOSED = "The demo includes all its judges, and the reference is shown only after the close."
"""Reason why the task is closed."""


@dataclass(frozen=True)
class JudgeRun:
    """A judge's board file, and a one-sentence description."""

    path: Path
    description: str


def runs() -> dict[str, JudgeRun]:
    """The judges by name."""
    return {
        "word-overlap": JudgeRun(
            FOLDER / "word-overlap.txt",
            "Share of the topic's words that occur in the answer; favours long answers.",
        ),
        "tfidf-similarity": JudgeRun(
            FOLDER / "tfidf-similarity.txt",
            "Cosine similarity of the words of topic and answer, independent of answer length.",
        ),
    }


def description() -> str:
    """The task's description in Markdown."""
    return """\
Two programs that judge the answers of [Python documentation answers](/tasks/python-answers) from topic and
answer alone, compared with that task's leaderboard.

**Reference.** The leaderboard of that task by strict recall of vital nuggets, at the time the demo was
loaded. It rests on twelve topics and the judgments of a machine, a language-model assistant: agreement with
it is agreement with that machine.

**Judges.** `word-overlap` and `tfidf-similarity` know neither nuggets nor documents.
There are no human judgments.

This task demonstrates the site. It says nothing about judges in general.
"""

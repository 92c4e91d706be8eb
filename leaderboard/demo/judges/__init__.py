"""The demo's third task: two simple judges of its answers, held against the board of the second task.

Board files by the program demo/judge_boards.py; the reference is the board itself, taken once it is scored.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent

SLUG = "python-judges"
NAME = "Judges of the Python answers"
TEAM = "Judging programs"
PHASE = "main"
CLOSED = "The demo's judges are all there, and what the reference says is shown after the close."
"""Why the task takes no more boards."""


@dataclass(frozen=True)
class JudgeRun:
    """A judge's board file, and what it does in a sentence."""

    path: Path
    description: str


def runs() -> dict[str, JudgeRun]:
    """The judges by name."""
    return {
        "word-overlap": JudgeRun(
            FOLDER / "word-overlap.txt",
            "The share of the topic's words that an answer has; long answers have more.",
        ),
        "tfidf-similarity": JudgeRun(
            FOLDER / "tfidf-similarity.txt",
            "The cosine of the words of topic and answer, whatever the answer's length.",
        ),
    }


def description() -> str:
    """The task's description in Markdown."""
    return """\
Two programs that judge the answers of [Python documentation answers](/tasks/python-answers) from topic and
answer alone, held against that task's board.

**Reference.** The board of that task by the strict recall of vital nuggets, as it was when the demo was
loaded. It rests on twelve topics and the judgments of a machine, a language-model assistant: who agrees with
it agrees with that machine.

**Judges.** `word-overlap` and `tfidf-similarity` know neither nuggets nor documents. No person has judged.

This task shows what the site does. It says nothing about judges in general.
"""

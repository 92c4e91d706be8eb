"""What a new task may start as: kinds of shared task, each a handful of settings that can be changed."""

from dataclasses import dataclass

from leaderboard.errors import Invalid, Problem

LIVING = "living"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTemplate:
    """A kind of shared task; limits are of a team, None is none."""

    key: str
    title: str
    help: str
    visibility: str
    runs_per_day: int | None = None
    runs_in_all: int | None = None
    final_runs: int | None = None


TEMPLATES = {
    template.key: template
    for template in (
        TaskTemplate(
            key=LIVING,
            title="Living benchmark",
            help="Open for ever: every score is shown at once, and teams send as many runs as they like.",
            visibility="open",
        ),
        TaskTemplate(
            key="trec",
            title="TREC track",
            help="Sealed: no score until the close. Up to 5 runs a team, one marked as its primary run.",
            visibility="sealed",
            runs_in_all=5,
        ),
        TaskTemplate(
            key="hidden",
            title="Public and hidden topics",
            help="Blind: until the close, scores on half of the topics only. 5 runs a day and 30 in all "
            "a team, of which it chooses 2 that count at the end.",
            visibility="blind",
            runs_per_day=5,
            runs_in_all=30,
            final_runs=2,
        ),
    )
}


def find(key: str) -> TaskTemplate:
    """The template of that key; raises Invalid where there is none."""
    if key not in TEMPLATES:
        rule = f"must be one of {', '.join(TEMPLATES)}."
        problem = Problem(rule, "Choose one.", field="template", value=key[:40])
        raise Invalid("There is no such kind of task.", [problem])
    return TEMPLATES[key]


def limits_of(key: str, visibility: str) -> TaskTemplate:
    """The template whose limits a task has: its own, or the first that shows as much where there is none.

    Without limits the answers of a blind task would give its hidden half away.
    """
    if key and find(key).visibility == visibility:
        return find(key)
    return TEMPLATES["hidden" if visibility == "blind" else LIVING]

"""The operations by noun, in the order of the reference."""

from leaderboard.services.tasks import phases
from leaderboard.web.api import (
    account,
    actions,
    judging,
    partial_uploads,
    pictures,
    runs,
    suites,
    tasks,
    teams,
    uploads,
    webhooks,
)
from leaderboard.web.api.operations import Operation
from leaderboard.web.api.organise import (
    assessors,
    bundles,
    clicks,
    names,
    people,
    pools,
    references,
    revisions,
    side_by_side,
    topics,
)
from leaderboard.web.api.organise import tasks as own_tasks
from leaderboard.web.api.reads import answers, comparisons, judgments, reproductions, search
from leaderboard.web.api.reads import runs as run_reads
from leaderboard.web.api.reads import tasks as task_reads
from leaderboard.web.api.reads import topics as topic_reads

NOUNS: dict[str, tuple[Operation, ...]] = {
    "Tasks and boards": (*tasks.OPERATIONS, *task_reads.OPERATIONS, *search.OPERATIONS),
    "Topics and rankings": (*topic_reads.OPERATIONS, *answers.OPERATIONS),
    "Runs": (*runs.OPERATIONS, *run_reads.OPERATIONS, *uploads.OPERATIONS, *partial_uploads.OPERATIONS),
    "Suites": suites.OPERATIONS,
    "Comparisons": (*comparisons.OPERATIONS, *reproductions.OPERATIONS),
    "Judgments and pools": judgments.OPERATIONS,
    "Teams": teams.OPERATIONS,
    "Account and tokens": account.OPERATIONS,
    "Organising a task": (
        *own_tasks.OPERATIONS,
        *bundles.OPERATIONS,
        *pictures.OPERATIONS,
        *topics.OPERATIONS,
        *actions.operations(phases.ACTIONS),
    ),
    "People of a task": (*people.OPERATIONS, *names.OPERATIONS),
    "New judgments": (*revisions.OPERATIONS, *references.OPERATIONS, *pools.OPERATIONS, *clicks.OPERATIONS),
    "Looking after assessors": (*assessors.OPERATIONS, *side_by_side.OPERATIONS),
    "Judging, by a personal link": judging.OPERATIONS,
    "Webhooks": webhooks.OPERATIONS,
}

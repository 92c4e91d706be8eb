"""The operations by noun, in the order of the reference."""

from leaderboard.services.tasks import phases
from leaderboard.web.api import (
    account,
    actions,
    assessors,
    bundles,
    clicks,
    comparisons,
    judging,
    judgments,
    partial_uploads,
    people,
    pictures,
    pools,
    revisions,
    runs,
    suites,
    tasks,
    teams,
    topics,
    webhooks,
)
from leaderboard.web.api.operations import Operation

NOUNS: dict[str, tuple[Operation, ...]] = {
    "Tasks and boards": (*tasks.OPERATIONS, *tasks.READS, *tasks.SEARCHES),
    "Topics and rankings": (*topics.OPERATIONS, *topics.ANSWERS),
    "Runs": (*runs.OPERATIONS, *runs.READS, *runs.UPLOADS, *partial_uploads.OPERATIONS),
    "Suites": suites.OPERATIONS,
    "Comparisons": (*comparisons.OPERATIONS, *comparisons.REPRODUCTIONS),
    "Judgments and pools": judgments.OPERATIONS,
    "Teams": teams.OPERATIONS,
    "Account and tokens": account.OPERATIONS,
    "Organising a task": (
        *tasks.CHANGES,
        *bundles.OPERATIONS,
        *pictures.OPERATIONS,
        *topics.CHANGES,
        *actions.operations(phases.ACTIONS),
    ),
    "People of a task": (*people.OPERATIONS, *people.NAMING),
    "New judgments": (*revisions.OPERATIONS, *revisions.REFERENCES, *pools.OPERATIONS, *clicks.OPERATIONS),
    "Looking after assessors": (*assessors.OPERATIONS, *assessors.SIDE_BY_SIDE),
    "Judging, by a personal link": judging.OPERATIONS,
    "Webhooks": webhooks.OPERATIONS,
}

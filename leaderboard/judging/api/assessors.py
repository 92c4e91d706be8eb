"""Operations on the assessors of a pool: links, topics, guidelines, imported labels, decisions."""

from collections.abc import Iterable

from leaderboard.judging.ops import judging, side_by_side
from leaderboard.judging.ops.assessors import labels, log, queues
from leaderboard.judging.ops.assessors.labels import ImportedLabels
from leaderboard.judging.ops.judging import PersonalLink
from leaderboard.tasks.api.drafts import AssessorLink, AssessorLinks
from leaderboard.web.addresses import absolute
from leaderboard.web.api import actions

OPERATIONS = actions.operations(
    (*judging.ACTIONS, queues.ASSIGN, labels.LABELS, *labels.GUIDELINES, *log.DECISIONS),
    answers={
        "add_assessors": (AssessorLinks, lambda links, **_: linked_all(links)),
        "renew_link": (AssessorLink, lambda link, **_: linked(link)),
        "add_labels": (ImportedLabels, lambda done, **_: done),
    },
)
SIDE_BY_SIDE = actions.operations(
    side_by_side.ACTIONS,
    answers={"add_comparing_assessors": (AssessorLinks, lambda links, **_: linked_all(links))},
)


def linked_all(links: Iterable[PersonalLink]) -> AssessorLinks:
    """Assessors with their personal links, as the API returns them."""
    return AssessorLinks(assessors=tuple(map(linked, links)))


def linked(link: PersonalLink) -> AssessorLink:
    """An assessor with the personal link, as the API returns it."""
    return AssessorLink(
        assessor=link.assessor_id, name=link.name, link=absolute("judging.desk", token=link.token)
    )

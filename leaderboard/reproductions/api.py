"""Operations on runs that reproduce other runs."""

from leaderboard import fields
from leaderboard.reproductions import ops as reproductions
from leaderboard.reproductions.page import show, tables
from leaderboard.reproductions.page.show import ReproductionQuery
from leaderboard.web.api import actions
from leaderboard.web.api.operations import operation
from leaderboard.web.rules import COMPUTED
from leaderboard.web.session import reading, viewer

QUERY = fields.as_sent(ReproductionQuery)


@operation("GET", "/tasks/<slug>/reproductions", dict, query=QUERY, rule=COMPUTED)
def list_reproductions(slug: str, query: ReproductionQuery) -> dict[str, object]:
    """List the reproductions of a task

    One per run that reproduces another; each level has a verdict and the number that decides it.
    """
    return dict(tables.facts(show.reproductions_page(reading(), viewer(), slug, query.measure)))


@operation("GET", "/tasks/<slug>/reproductions/<id:run_id>", dict, query=QUERY, rule=COMPUTED)
def reproduction(slug: str, run_id: int, query: ReproductionQuery) -> dict[str, object]:
    """Get a reproduction, level by level

    As in `leaderboard reproduce`, with scores by topic, metadata differences, and every collection
    with a reproduction of the original.
    """
    return dict(tables.page_facts(show.reproduction_page(reading(), viewer(), slug, run_id, query.measure)))


OPERATIONS = (list_reproductions, reproduction, *actions.operations((show.COMPUTE, *reproductions.ACTIONS)))

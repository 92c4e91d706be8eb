"""Operations on comparisons of runs: two, or several under one correction."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from leaderboard import fields
from leaderboard.comparisons.page import many, many_tables, pair, pair_tables
from leaderboard.comparisons.page.many import Choice
from leaderboard.web.api import actions
from leaderboard.web.api.operations import operation
from leaderboard.web.rules import COMPUTED
from leaderboard.web.session import reading, viewer

DEFAULT_P = 0.9
MOST_MARGIN = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class PairQuery:
    """Two runs by their numbers; p: the persistence of the rank-biased overlap of their rankings.

    margin: by how much the first may be worse than the second, its baseline.
    """

    first: int
    second: int
    measure: str | None = None
    p: Annotated[float, Meta(gt=0, lt=1)] = DEFAULT_P
    margin: Annotated[float, Meta(ge=0, le=MOST_MARGIN)] | None = None


@operation("GET", "/tasks/<slug>/pair", dict, query=PairQuery, rule=COMPUTED)
def compare_pair(slug: str, query: PairQuery) -> dict[str, object]:
    """Compare two runs

    Six tests of their difference by topic, and the similarity of their rankings.
    """
    page = pair.pair_page(
        reading(),
        viewer(),
        slug,
        query.first,
        query.second,
        query.measure,
        topic=None,
        p=query.p,
        margin=query.margin,
    )
    return dict(pair_tables.FILES.facts(page))


@operation("GET", "/tasks/<slug>/comparison", dict, query=fields.as_sent(Choice), rule=COMPUTED)
def compare_runs(slug: str, query: Choice) -> dict[str, object]:
    """Compare several runs under one correction

    All pairs, or each run with a baseline. Slow results are null until requested by POST and computed.
    """
    return dict(many_tables.FILES.facts(many.many_comparison(reading(), viewer(), slug, query)))


OPERATIONS = (compare_pair, compare_runs, *actions.operations((many.COMPUTE,)))

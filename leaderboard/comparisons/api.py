"""Operations on comparisons of runs: two, or several under one correction."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from leaderboard.comparisons.page import many, many_tables, pair, pair_tables
from leaderboard.comparisons.page.many import Choice, ManyComparison
from leaderboard.scoring.web.waiting import have_computed
from leaderboard.tasks.api.tasks import ANY
from leaderboard.web.api.operations import Done, operation
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonQuery:
    """Runs by number; baseline: the run that the others are compared with. method: test+correction."""

    run: tuple[int, ...]
    measure: str | None = None
    method: str | None = None
    baseline: int | None = None
    edition: int | None = None


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


@operation("GET", "/tasks/<slug>/comparison", dict, query=ComparisonQuery, rule=COMPUTED)
def compare_runs(slug: str, query: ComparisonQuery) -> dict[str, object]:
    """Compare several runs under one correction

    All pairs, or each run with a baseline. Slow results are null until requested by POST and computed.
    """
    return dict(many_tables.FILES.facts(_page(slug, query)))


@operation("POST", "/tasks/<slug>/comparison", Done, query=ComparisonQuery, scopes=ANY, status=202)
def compute_comparison(slug: str, query: ComparisonQuery) -> Done:
    """Start a comparison of several runs

    An evaluator computes it; read the result by GET.
    """
    waiting = _page(slug, query).waiting
    have_computed(waiting)
    return Done(done=f"{len(waiting)} results requested")


OPERATIONS = (compare_pair, compare_runs, compute_comparison)


def _page(slug: str, query: ComparisonQuery) -> ManyComparison:
    choice = Choice(run_ids=query.run, method=query.method, baseline=query.baseline, edition=query.edition)
    return many.many_comparison(reading(), viewer(), slug, choice, query.measure)

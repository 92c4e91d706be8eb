"""Operations on comparisons of runs: two, or several under one correction."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from leaderboard.pages.comparisons import many, many_tables, pair, pair_tables
from leaderboard.pages.comparisons.many import Choice, ManyComparison
from leaderboard.web.api.operations import Done, operation
from leaderboard.web.api.reads.tasks import ANY, COMPUTED
from leaderboard.web.session import have_computed, reading, viewer

DEFAULT_P = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class PairQuery:
    """Two runs by their numbers; p: the persistence of the rank-biased overlap of their rankings."""

    first: int
    second: int
    measure: str | None = None
    p: Annotated[float, Meta(gt=0, lt=1)] = DEFAULT_P


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonQuery:
    """Runs by their numbers; baseline: the one that the others are compared with. method: test+correction."""

    run: tuple[int, ...]
    measure: str | None = None
    method: str | None = None
    baseline: int | None = None
    edition: int | None = None


@operation("GET", "/tasks/<slug>/pair", dict, query=PairQuery, rule=COMPUTED)
def compare_pair(slug: str, query: PairQuery) -> dict[str, object]:
    """Two runs compared

    Six tests of their difference, topic by topic, and how alike their rankings are.
    """
    page = pair.pair_page(
        reading(), viewer(), slug, query.first, query.second, query.measure, topic=None, p=query.p
    )
    return dict(pair_tables.FILES.facts(page))


@operation("GET", "/tasks/<slug>/comparison", dict, query=ComparisonQuery, rule=COMPUTED)
def compare_runs(slug: str, query: ComparisonQuery) -> dict[str, object]:
    """Several runs compared under one correction

    Every pair, or each with a baseline. What takes long is null until it is asked for by POST and computed.
    """
    return dict(many_tables.FILES.facts(_page(slug, query)))


@operation("POST", "/tasks/<slug>/comparison", Done, query=ComparisonQuery, scopes=ANY, status=202)
def compute_comparison(slug: str, query: ComparisonQuery) -> Done:
    """Have a comparison of several runs computed

    By an evaluator; then read it.
    """
    waiting = _page(slug, query).waiting
    have_computed(waiting)
    return Done(done=f"{len(waiting)} results asked for")


OPERATIONS = (compare_pair, compare_runs, compute_comparison)


def _page(slug: str, query: ComparisonQuery) -> ManyComparison:
    choice = Choice(run_ids=query.run, method=query.method, baseline=query.baseline, edition=query.edition)
    return many.many_comparison(reading(), viewer(), slug, choice, query.measure)

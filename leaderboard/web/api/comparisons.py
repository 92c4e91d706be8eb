"""Operations on comparisons of runs: two, or several under one correction."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from leaderboard.pages.comparisons import many, many_tables, pair, pair_tables
from leaderboard.pages.comparisons.many import Choice, ManyComparison
from leaderboard.pages.reproductions import show, tables
from leaderboard.services import reproductions
from leaderboard.services.reproductions import OriginalRuns
from leaderboard.web.api.operations import WRITE, Done, operation
from leaderboard.web.api.tasks import ANY, COMPUTED
from leaderboard.web.session import have_computed, reading, viewer, wake, writing

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionQuery:
    """By which measure; the board's first unless said otherwise."""

    measure: str | None = None


class ReproducesBody(OriginalRuns):
    """What a run reproduces, by numbers of runs: of its task, or of another one.

    original_baseline and baseline: what the original and this run are to be better than; both or neither.
    """


@operation("GET", "/tasks/<slug>/reproductions", dict, query=ReproductionQuery, rule=COMPUTED)
def list_reproductions(slug: str, query: ReproductionQuery) -> dict[str, object]:
    """The reproductions of a task

    One for each run that reproduces another, level by level: a word, and the number that decides it.
    """
    return dict(tables.facts(show.reproductions_page(reading(), viewer(), slug, query.measure)))


@operation("POST", "/tasks/<slug>/reproductions", Done, query=ReproductionQuery, scopes=ANY, status=202)
def compute_reproductions(slug: str, query: ReproductionQuery) -> Done:
    """Have the orders of documents of a task's reproductions compared

    Those that are still missing, by an evaluator; then read them.
    """
    waiting = show.reproductions_page(reading(), viewer(), slug, query.measure).waiting
    have_computed(waiting)
    return Done(done=f"{len(waiting)} results asked for")


@operation("GET", "/tasks/<slug>/reproductions/<id:run_id>", dict, query=ReproductionQuery, rule=COMPUTED)
def reproduction(slug: str, run_id: int, query: ReproductionQuery) -> dict[str, object]:
    """One reproduction, level by level

    As `leaderboard reproduce` has it, with scores by topic, what the metadata say differently, and every
    collection that the original was tried on.
    """
    return dict(tables.page_facts(show.reproduction_page(reading(), viewer(), slug, run_id, query.measure)))


@operation("PUT", "/runs/<id:run_id>/reproduces", Done, body=ReproducesBody, scopes=WRITE)
def say_what_a_run_reproduces(run_id: int, body: ReproducesBody) -> Done:
    """Say which run a run reproduces

    For its team and the organisers, in place of what was said before.
    """
    of = OriginalRuns(body.original, body.original_baseline, body.baseline)
    with writing() as session:
        reproductions.link(session, viewer(), run_id, of)
    wake()
    return Done(done=f"run {run_id} reproduces run {body.original}")


@operation("DELETE", "/runs/<id:run_id>/reproduces", Done, scopes=WRITE)
def take_back_what_a_run_reproduces(run_id: int) -> Done:
    """Take back which run a run reproduces"""
    with writing() as session:
        reproductions.unlink(session, viewer(), run_id)
    return Done(done=f"run {run_id} reproduces nothing")


REPRODUCTIONS = (
    list_reproductions,
    compute_reproductions,
    reproduction,
    say_what_a_run_reproduces,
    take_back_what_a_run_reproduces,
)

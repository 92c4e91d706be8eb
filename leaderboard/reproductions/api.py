"""Operations on runs that reproduce other runs."""

from leaderboard import fields
from leaderboard.reproductions import ops as reproductions
from leaderboard.reproductions.ops import OriginalRuns
from leaderboard.reproductions.page import show, tables
from leaderboard.reproductions.page.show import ReproductionQuery
from leaderboard.web.api import actions
from leaderboard.web.api.operations import WRITE, Done, operation
from leaderboard.web.rules import COMPUTED
from leaderboard.web.session import reading, viewer, wake, writing


class ReproducesBody(OriginalRuns):
    """The reproduced run, by run number: from the same task or another one.

    original_baseline and baseline: the baselines of the original and of this run; both or neither.
    """


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


@operation("PUT", "/runs/<id:run_id>/reproduces", Done, body=ReproducesBody, scopes=WRITE)
def say_what_a_run_reproduces(run_id: int, body: ReproducesBody) -> Done:
    """Set the run that a run reproduces

    For its team and the organisers; replaces the earlier link.
    """
    of = OriginalRuns(body.original, body.original_baseline, body.baseline)
    with writing() as session:
        reproductions.link(session, viewer(), run_id, of)
    wake()
    return Done(done=f"run {run_id} reproduces run {body.original}")


@operation("DELETE", "/runs/<id:run_id>/reproduces", Done, scopes=WRITE)
def take_back_what_a_run_reproduces(run_id: int) -> Done:
    """Remove the link to the reproduced run"""
    with writing() as session:
        reproductions.unlink(session, viewer(), run_id)
    return Done(done=f"run {run_id} reproduces no run")


OPERATIONS = (
    list_reproductions,
    *actions.operations((show.COMPUTE,)),
    reproduction,
    say_what_a_run_reproduces,
    take_back_what_a_run_reproduces,
)

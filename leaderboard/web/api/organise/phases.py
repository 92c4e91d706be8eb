"""Operations on the phases of an organiser's task."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from leaderboard.services.tasks import dates, phases
from leaderboard.services.tasks.phases import PhasePlan
from leaderboard.web.api import limits
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import operation
from leaderboard.web.api.organise.answers import Done
from leaderboard.web.api.organise.tasks import ORGANISE
from leaderboard.web.session import viewer, wake, writing

MOMENTS = ("opens_at", "closes_at", "reveal_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseBody:
    """A phase: when it takes which runs on which topics, and who sees their scores when.

    topics: all, half (drawn by `seed`) or list (those in `topic_list`, by spaces). visibility: open, blind or
    sealed, empty for the task's. at_close: open, or sealed until `reveal_at` or the reveal. zone: of
    dates that name none, and in which pages show them; a day alone opens with its beginning and closes with
    its end. Limits are of a team or an account; null is none.
    """

    name: Filled
    opens_at: str | None = None
    closes_at: str | None = None
    zone: str = "UTC"
    topics: str = phases.ALL
    topic_list: str = ""
    seed: str = ""
    visibility: str = ""
    at_close: str = "open"
    reveal_at: str | None = None
    kinds: tuple[str, ...] = ()
    ranked: bool = True
    runs_per_day: int | None = None
    runs_in_all: int | None = None
    account_runs_per_day: int | None = None
    account_runs_in_all: int | None = None
    largest_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseChange:
    """All of a phase as it is to be; reason: needed where a deadline is moved that participants know of."""

    phase: PhaseBody
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """By how many hours, and why."""

    hours: Annotated[int, limits.within(1, phases.MOST_HOURS)]
    reason: Filled


@operation("POST", "/tasks/<slug>/phases", Done, body=PhaseBody, scopes=ORGANISE, status=201)
def add_phase(slug: str, body: PhaseBody) -> Done:
    """Add a phase"""
    plan = _plan(body)
    return _changed(f"phase added, {_span(plan)}", phases.add, slug, plan)


@operation("PUT", "/tasks/<slug>/phases/<name>", Done, body=PhaseChange, scopes=ORGANISE)
def change_phase(slug: str, name: str, body: PhaseChange) -> Done:
    """Make a phase what is said

    What is left out is as in a new phase.
    """
    plan = _plan(body.phase)
    return _changed(f"phase changed, {_span(plan)}", phases.change, slug, name, plan, body.reason)


@operation("DELETE", "/tasks/<slug>/phases/<name>", Done, scopes=ORGANISE)
def remove_phase(slug: str, name: str) -> Done:
    """Take a phase away that has no runs"""
    return _changed("phase removed", phases.remove, slug, name)


@operation("POST", "/tasks/<slug>/phases/<name>/reveal", Done, scopes=ORGANISE)
def reveal_phase(slug: str, name: str) -> Done:
    """Show the scores of a closed phase"""
    return _changed("scores shown", phases.reveal, slug, name)


@operation("POST", "/tasks/<slug>/extend", Done, body=Extension, scopes=ORGANISE)
def extend_deadline(slug: str, body: Extension) -> Done:
    """Move the deadline by the hours of an outage"""
    return _changed("deadline moved", phases.extend, slug, body.hours, body.reason)


OPERATIONS = (add_phase, change_phase, remove_phase, reveal_phase, extend_deadline)


def _span(plan: PhasePlan) -> str:
    return dates.span(plan.opens_at, plan.closes_at, plan.zone)


def _plan(body: PhaseBody) -> PhasePlan:
    moments = {name: dates.read(getattr(body, name) or "", body.zone, name) for name in MOMENTS}
    return PhasePlan(**{**asdict(body), **moments})


def _changed(words: str, act: Callable[..., object], *given: Any) -> Done:
    asker = viewer()
    with writing() as session:
        act(session, asker, *given)
    wake()
    return Done(done=words)

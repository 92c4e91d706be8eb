"""A run as a card: what a badge, a frame or a search engine shows of it."""

from sqlalchemy.orm import Session

from leaderboard.boards.page.cards import NO_SCORES, CardPage, _range, rests_on
from leaderboard.core.policy import ANONYMOUS
from leaderboard.runs.page import run as runs
from leaderboard.runs.page.run import RunPage


def of_run(session: Session, run_id: int) -> CardPage:
    """A run; raises NotFound where a visitor may not know of it."""
    return of_run_page(runs.run_page(session, ANONYMOUS, run_id))


def of_run_page(page: RunPage) -> CardPage:
    """The run of a page that a visitor was given."""
    is_scored = page.headline is not None
    return CardPage(
        kind="run",
        name=page.name,
        task=page.task,
        slug=page.slug,
        address=str(page.id),
        facts=_of_run(page),
        basis=rests_on(page.basis) if is_scored else "",
    )


def _of_run(page: RunPage) -> tuple[str, ...]:
    if page.withdrawn_at is not None:
        return ("withdrawn",)
    best = page.headline
    if best is None:
        return (NO_SCORES,)
    score = f"{page.by} {best.shown(best.value)}"
    if best.rank is None:
        return (page.kind, score) if page.kind != "official" else (score,)
    return (f"rank {_range(page.place, best.rank)} of {best.ranked:,}", score)

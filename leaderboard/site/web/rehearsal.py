"""Pages that a web process renders before it accepts requests, so that no reader waits for them.

The first page of each kind costs up to three times as much as the next: statements are put into SQL, mappings
are set up, formulas are parsed. All of that is the same for every task of a site.
"""

import gc
import logging
import time

from flask import Flask
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException

from leaderboard.core import phase_rules
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Run, Task
from leaderboard.errors import LeaderboardError

log = logging.getLogger(__name__)

USUAL = ("/", "/api/v1/tasks", "/search?q=a")
"""Pages warmed up on every site."""


def rehearse(app: Flask, database: Database) -> None:
    """Make one page of each kind that many readers open first: nothing is counted, sent or kept as a page.

    Errors are logged and do not stop the start: a database that does not answer yet may do so soon.
    """
    begun = time.monotonic()
    try:
        with database.read() as session:
            paths = (*USUAL, *_of_a_task(session))
            # It is asked for around the view, before a page is kept.
            phase_rules.seconds_to_next_date(session)
    except SQLAlchemyError as error:
        log.warning("no page was warmed up: %s", error)
        return
    # A host that the site answers to: others are refused before there is a view.
    host = (app.config["TRUSTED_HOSTS"] or ["localhost"])[0].lstrip(".")
    for path in paths:
        try:
            with app.test_request_context(path, base_url=f"http://{host}"):
                # The view alone, without what counts requests and keeps pages around it.
                app.dispatch_request()
        except (SQLAlchemyError, LeaderboardError, HTTPException) as error:
            log.info("%s was not warmed up: %s", path, error)
    # Existing objects stay, so garbage collection no longer scans them.
    gc.collect()
    gc.freeze()
    log.info("warmed up %d pages in %.1f s", len(paths), time.monotonic() - begun)


def _of_a_task(session: Session) -> tuple[str, ...]:
    """The board of the task that was published last with scores, and the page of one of its teams."""
    task = session.execute(
        select(Task.id, Task.slug)
        .join(Edition, Edition.task_id == Task.id)
        .where(Task.published_at.is_not(None), Edition.state == "current")
        .order_by(Task.published_at.desc(), Task.id.desc())
        .limit(1)
    ).one_or_none()
    if task is None:
        return ()
    team = session.scalar(select(func.min(Run.team_id)).where(Run.task_id == task.id))
    return (f"/tasks/{task.slug}", *((f"/teams/{team}",) if team is not None else ()))

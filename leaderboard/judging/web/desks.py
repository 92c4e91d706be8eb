"""Shared by all judging pages: uncached pages for one assessor, and refused forms shown again."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from flask import Response, make_response, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.db.tables import Assessor, Task
from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.judging.ops.judging import PersonalLink
from leaderboard.judging.page.judging import links_table
from leaderboard.web.addresses import whole
from leaderboard.web.errors import status_of, wants_json

ID_DIGITS = 18
View = Callable[..., ResponseReturnValue]


def private(template: str, token: str, assessor: Assessor, task: Task, **facts: Any) -> Response:
    """Render an uncached page that only the assessor sees."""
    html = render_template(template, token=token, assessor_id=assessor.id, task=task.name, **facts)
    return unkept(Response(html, mimetype="text/html"))


def unkept(response: Response) -> Response:
    """The response, marked as not cacheable."""
    response.headers["Cache-Control"] = "no-store"
    return response


def or_again(
    page: Callable[..., str | Response],
    refused: type[LeaderboardError] | tuple[type[LeaderboardError], ...] = (Invalid, Conflict),
) -> Callable[[View], View]:
    """Make a form's view show a page again if it raises one of some errors.

    The page receives the address's placeholders and the error; without a page, the error is raised.
    """

    def with_page(view: View) -> View:
        @wraps(view)
        def either(**placeholders: Any) -> ResponseReturnValue:
            try:
                return view(**placeholders)
            except refused as error:
                if wants_json() or status_of(error) in (401, 403, 404):
                    raise
                try:
                    response = make_response(page(**placeholders, error=error))
                except LeaderboardError:
                    raise error from None
                response.status_code = status_of(error)
                return response

        return either

    return with_page


def ids(field: str) -> tuple[int, ...]:
    """The ids in a form's field; 0, which no row has, for a value that is not an id."""
    return tuple(whole(text, digits=ID_DIGITS) or 0 for text in request.form.getlist(field))


def shown_links(links: Sequence[PersonalLink], endpoint: str, slug: str, **words: str) -> str:
    """The only page that shows new assessors their links.

    endpoint: of the page with the form; words: its name, the assessor's action, and the next verb.
    """
    back, table = url_for(endpoint, slug=slug), links_table(links)
    return render_template("judging/assessors/links.html", back=back, table=table, **words)

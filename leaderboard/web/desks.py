"""What desks and forms of all judging share: pages for one assessor alone, and refused forms shown again."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import Response, make_response, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.db.tables import Assessor, Task
from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.pages.judging import links_table
from leaderboard.services import judging
from leaderboard.web.addresses import whole
from leaderboard.web.errors import status_of, wants_json
from leaderboard.web.session import settings, viewer, writing

ID_DIGITS = 18
View = Callable[..., ResponseReturnValue]


def private(template: str, token: str, assessor: Assessor, task: Task, **facts: Any) -> Response:
    """A page that only the assessor sees, and no cache keeps."""
    html = render_template(template, token=token, assessor_id=assessor.id, task=task.name, **facts)
    return unkept(Response(html, mimetype="text/html"))


def unkept(response: Response) -> Response:
    """The answer, which no cache keeps."""
    response.headers["Cache-Control"] = "no-store"
    return response


def or_again(
    page: Callable[..., str | Response],
    refused: type[LeaderboardError] | tuple[type[LeaderboardError], ...] = (Invalid, Conflict),
) -> Callable[[View], View]:
    """Let a form's view show a page again where it is refused by one of some errors.

    The page is made of the address's placeholders and the error; where there is none, the error stays one.
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
    """The ids of a form's field; 0, which nothing has, for what is not an id."""
    return tuple(whole(text, digits=ID_DIGITS) or 0 for text in request.form.getlist(field))


def add_assessors(slug: str, endpoint: str, **words: str) -> ResponseReturnValue:
    """Add the assessors of a form, one name a line; their links are on the page that answers, nowhere else.

    endpoint: of the page that the form is on; words: its name, what an assessor does, and begins with.
    """
    asker, names = viewer(), request.form.get("names", "").splitlines()
    with writing() as session:
        made = judging.add_link(session, asker, slug, names, days=settings().assessor_link_days)
    back, table = url_for(endpoint, slug=slug), links_table(made)
    return render_template("assessors/links.html", back=back, table=table, **words), 201

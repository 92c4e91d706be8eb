"""The one way to give a table as a file, and to let a browser keep a page it has."""

import hashlib
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec

from flask import Blueprint, Response, render_template, request

from leaderboard.errors import Invalid
from leaderboard.tables.latex import latex_text
from leaderboard.tables.markdown import markdown_text
from leaderboard.tables.record import Files, Page, Table, csv_text, json_text
from leaderboard.web import filters, session
from leaderboard.web import kept as kept_views
from leaderboard.web.kept import A_YEAR_S

PRINTED = ("tex", "md")
"""Forms that people read: some pages give their first rows only, or another table."""

Asked = ParamSpec("Asked")


def with_files(
    blueprint: Blueprint,
    path: str,
    template: str | Callable[[Page], str],
    files: Files[Page],
    *,
    endpoint: str = "",
    is_kept: bool = True,
    **variables: Callable[[Page], Any],
) -> Callable[[Callable[Asked, Page]], Callable[Asked, Page]]:
    """A decorator, put above the rule of a function that reads a page: as HTML at the path, and as its files.

    template: with `page` and, by name, what each of the variables makes of it; or what makes HTML of a page.
    endpoint: of the files; without it that is `export` for `show`, and `x_export` for any other x.
    is_kept: whether a browser may keep the page while its content is the same.
    """

    def register(read: Callable[Asked, Page]) -> Callable[Asked, Page]:
        @wraps(read)
        def shown(*args: Asked.args, **asked: Asked.kwargs) -> Response | str:
            content = read(*args, **asked)
            if isinstance(template, str):
                extra = {name: variable(content) for name, variable in variables.items()}
                html = render_template(template, page=content, **extra)
            else:
                html = template(content)
            return page(html) if is_kept else html

        @wraps(read)
        def exported(*args: Asked.args, **asked: Asked.kwargs) -> Response:
            form = str(asked.pop("form"))
            return export(form, files, read(*args, **asked))

        name = read.__name__
        blueprint.get(path, endpoint=name)(shown)
        of_files = endpoint or ("export" if name == "show" else f"{name}_export")
        blueprint.get(f"{path}.<form:form>", endpoint=of_files)(exported)
        return read

    return register


def export(form: str, files: Files[Page], page: Page, which: str | None = None) -> Response:
    """A page as a file: its facts as JSON, or one table (`which`, else ?table=)."""
    if form == "json" and not wants_records():
        return as_json(files.facts(page))
    return table_file(form, files.table(page, which or request.args.get("table")))


def wants_records() -> bool:
    """Whether JSON is to be the rows of one table, as `pandas.read_json` reads them; raises Invalid."""
    orient = request.args.get("orient", "")
    if orient not in ("", "records"):
        raise Invalid(f"orient must be records or left out, not {orient[:40]!r}.")
    return orient == "records"


def tables(files: Files[Page], page: Page) -> dict[str, Table[Any]]:
    """All tables of a page by name, for its template."""
    return {name: table(page) for name, table in files.tables.items()}


def table_file(form: str, table: Table[Any]) -> Response:
    """A table as CSV, LaTeX, Markdown, or as JSON a list of its rows."""
    if form == "json":
        return as_json(table.facts())
    if form == "csv":
        return as_file(csv_text(table), "text/csv", f"{table.name}.csv")
    if form == "md":
        return as_file(markdown_text(table), "text/markdown", f"{table.name}.md")
    return as_latex(latex_text(table), table.name)


def as_json(facts: Mapping[str, Any] | list[dict[str, Any]]) -> Response:
    """The facts as JSON at full double precision."""
    return _kept(Response(json_text(facts), mimetype="application/json"))


def as_latex(text: str, name: str) -> Response:
    """A LaTeX table, offered as a file of that name."""
    return as_file(text, "application/x-tex", f"{name}.tex")


def as_stored(body: bytes, mimetype: str) -> Response:
    """Stored bytes, to be checked against a digest."""
    return _kept(Response(body, mimetype=mimetype))


def as_followed(text: str | bytes, mimetype: str) -> Response:
    """A response that programs poll: a feed or a calendar."""
    return _kept(Response(text, mimetype=mimetype))


def as_named(body: bytes, mimetype: str, *, is_public: bool) -> Response:
    """Bytes under an address that is made from them: kept for ever, where everybody may have them."""
    response = _kept(Response(body, mimetype=mimetype))
    if is_public:
        response.cache_control.no_cache = None
        response.cache_control.max_age = A_YEAR_S
        response.cache_control.immutable = True
    return response


def as_bibtex(text: str, name: str) -> Response:
    """BibTeX entries, offered as a file of that name."""
    return as_file(text, "application/x-bibtex", f"{name}.bib")


def as_text(text: str, name: str) -> Response:
    """Plain text, offered as a file of that name."""
    return as_file(text, "text/plain", f"{name}.txt")


def page(html: str) -> Response:
    """A page the browser may keep while its content is the same; or its requested figure."""
    figure = request.args.get(filters.PARAMETER)
    if figure is not None:
        name = "-".join([*request.path.strip("/").split("/"), figure])
        return as_file(filters.drawing(html, figure), "image/svg+xml", f"{name}.svg")
    return _kept(Response(html, mimetype="text/html"))


def framed(html: str, policy: str) -> Response:
    """A page with a policy of content of its own."""
    response = Response(html, mimetype="text/html")
    response.headers["Content-Security-Policy"] = policy
    return _kept(response)


def as_file(content: str | bytes, mimetype: str, name: str) -> Response:
    """Content of a media type, offered as a file of that name."""
    response = Response(content, mimetype=mimetype)
    safe = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "-" for letter in name
    )
    response.headers["Content-Disposition"] = f'attachment; filename="{safe}"'
    return _kept(response)


def tag_of(body: bytes) -> str:
    """The entity tag of these very bytes."""
    return hashlib.sha256(body).hexdigest()[:32]


def _kept(response: Response) -> Response:
    """The response with a tag of its own bytes: it says nothing that the bytes do not."""
    if (kept := kept_views.offer(response)) is not None:
        return kept
    response.set_etag(tag_of(response.get_data()))
    response.cache_control.no_cache = True
    return session.applied(response)

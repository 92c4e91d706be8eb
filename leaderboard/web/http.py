"""What requests have to meet and how responses are made: hosts, origins, sizes, pages, files, headers."""

import hashlib
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import IO, Any, ParamSpec
from urllib.parse import urlsplit

from flask import Blueprint, Flask, Request, Response, g, render_template, request
from flask.templating import Environment as FlaskEnvironment
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from werkzeug.exceptions import BadRequest, RequestEntityTooLarge, SecurityError
from werkzeug.middleware.proxy_fix import ProxyFix

from leaderboard import temporary
from leaderboard.db.engine import SECRETS, Base
from leaderboard.errors import Forbidden, Invalid
from leaderboard.settings import Settings, is_loopback
from leaderboard.tables.latex import latex_text
from leaderboard.tables.markdown import markdown_text
from leaderboard.tables.record import Files, Page, Table, csv_text, json_text
from leaderboard.web import addresses, filters, kept, rules, session
from leaderboard.web import kept as kept_views
from leaderboard.web.kept import A_YEAR_S
from leaderboard.web.session import (
    OPENID,
    PENDING,
    cookie,
    in_api,
    incoming_folder,
    is_https,
    session_token,
    settings,
)

MAX_FORM_MEMORY = 500_000
MAX_FORM_PARTS = 50
MAX_FIELDS = 2000
"""Of a form without files; the longest of this site's own have some hundred."""
SUFFIX = re.compile(r"(\.[a-z0-9]{1,8}){1,2}$")
PORT = re.compile(r":\d*$")
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
POLICY = (
    "default-src 'none'; object-src 'none'; script-src 'self'; "
    f"style-src 'self' {kept.sources()}; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class SiteRequest(Request):
    """A request whose uploaded files go straight to the data folder, where there is room for them."""

    def _get_file_stream(
        self,
        total_content_length: int | None,
        content_type: str | None,
        filename: str | None = None,
        content_length: int | None = None,
    ) -> IO[bytes]:
        folder = incoming_folder()
        file = (folder / f"{len(g.incoming_files)}{_suffix(filename or '')}").open("w+b")
        g.incoming_files.append(file)
        return file


def register(app: Flask, settings: Settings) -> None:
    """Set limits, hosts and checks on an application; its rules are enforced between the checks."""
    app.request_class = SiteRequest
    addresses.register(app)
    app.config["MAX_FORM_MEMORY_SIZE"] = MAX_FORM_MEMORY
    app.config["MAX_FORM_PARTS"] = MAX_FORM_PARTS
    app.config["TRUSTED_HOSTS"] = trusted_hosts(settings)
    if settings.public_url:
        app.wsgi_app = behind_proxy(app.wsgi_app, settings)  # type: ignore[method-assign]
    app.after_request(add_headers)
    app.teardown_request(lambda _: _remove_incoming())
    temporary.sweep(temporary.folder(settings.data), temporary.STALE_AFTER_S)


def behind_proxy(application: Any, settings: Settings) -> Callable[..., Any]:
    """The WSGI application, which knows visitors by X-Forwarded headers that come from a trusted proxy.

    Raises Invalid where trusted_proxies names something other than an address or network.
    """
    through = ProxyFix(application, x_for=1, x_proto=1, x_host=1)
    trusted = [_network(text) for text in settings.trusted_proxies.split(",") if text.strip()]

    def answer(environ: Any, start_response: Any) -> Any:
        return (through if _is_in(environ.get("REMOTE_ADDR", ""), trusted) else application)(
            environ, start_response
        )

    return answer


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text.strip())
    except ValueError:
        name = "LEADERBOARD_TRUSTED_PROXIES"
        raise Invalid(
            f"{name} contains {text.strip()!r}; it must be a list of addresses and networks."
        ) from None


def _is_in(address: str, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    try:
        parsed = ip_address(address)
        # A socket for both kinds of addresses writes IPv4 ones as IPv6.
        plain = getattr(parsed, "ipv4_mapped", None) or parsed
        return any(plain in network for network in networks)
    except ValueError:
        # A proxy on a socket file has no address; only this machine can reach it.
        return True


def trusted_hosts(settings: Settings) -> list[str] | None:
    """The configured host names; None if not configured."""
    named = [host.strip() for host in settings.trusted_hosts.split(",") if host.strip()]
    if settings.public_url:
        named.append(urlsplit(settings.public_url).hostname or "")
    return named or None


def _suffix(name: str) -> str:
    """The ending of a sent file's name, by which readers recognise formats; nothing else of it is used."""
    match = SUFFIX.search(name.lower())
    return match[0] if match else ""


def _remove_incoming() -> None:
    folder = g.pop("incoming", None)
    if folder is not None:
        for file in g.pop("incoming_files"):
            file.close()
        shutil.rmtree(folder)


def refuse_foreign_host() -> None:
    """Raise SecurityError on loopback for a name that is not this machine's own, unless names are set.

    Another site could point its own name here, and read the site as if it were part of it.
    """
    here = settings()
    if here.trusted_hosts or here.public_url or not is_loopback(here.host):
        return
    if not is_loopback(PORT.sub("", request.headers.get("Host", "localhost")).strip("[]").lower()):
        raise SecurityError


def refuse_many_fields() -> None:
    """Raise RequestEntityTooLarge for a form of more fields than any here has: each costs time."""
    is_form = request.mimetype == "application/x-www-form-urlencoded"
    if (
        is_form
        and not in_api()
        and request.method not in SAFE_METHODS
        and request.get_data().count(b"&") >= MAX_FIELDS
    ):
        raise RequestEntityTooLarge


def refuse_cross_site() -> None:
    """Raise Forbidden for a changing request that another site may have made the browser send."""
    # The API accepts no cookies: a page elsewhere has nothing to send it with.
    if request.method in SAFE_METHODS or in_api():
        return
    fetch_site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if fetch_site is None:
        ours = origin == own_origin()
    else:
        # Only the host: behind a proxy that does not report it the scheme is unknown here.
        is_foreign = origin is not None and origin.partition("://")[2] != request.host
        ours = fetch_site == "same-origin" and not is_foreign
    if not ours:
        raise Forbidden(
            "This request was refused because it did not come from a page of this site. Open the page on "
            "this site and try again. Programs must send the site's address in the header `Origin`."
        )


def own_origin() -> str:
    """The site's own scheme, host and port, as a browser writes them in Origin."""
    return f"{'https' if is_https() else request.scheme}://{request.host}"


def refuse_unstorable() -> None:
    """Raise BadRequest for text no database can hold: NUL characters and lone surrogates.

    Call it after the rule let the viewer in: looking at the form reads the whole body.
    """
    if not all(map(is_storable, _texts())):
        raise BadRequest


def _texts() -> Iterable[str]:
    yield request.path
    yield from _pairs(request.args)
    # The API reads bodies itself, and accepts no forms.
    if request.method not in SAFE_METHODS and not in_api():
        yield from _pairs(request.form)
        for name, file in request.files.items(multi=True):
            yield from (name, file.filename or "")


def _pairs(values: Any) -> Iterable[str]:
    for name, value in values.items(multi=True):
        yield from (name, value)


def is_storable(text: str) -> bool:
    r"""Whether both databases can keep the text.

    >>> is_storable("é"), is_storable("a\x00"), is_storable("\ud800")
    (True, False, False)
    """
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def checks() -> tuple[Callable[[], None], ...]:
    """Checks before the route's rule is enforced, in this order."""
    return refuse_foreign_host, rules.limit_body, refuse_cross_site


def add_headers(response: Response) -> Response:
    """The response with the headers every one carries."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if is_https():
        response.headers["Strict-Transport-Security"] = "max-age=31536000; includeSubDomains"
    if request.endpoint != "static":
        response.vary.add("Cookie")
        # A public picture is also public for signed-in accounts.
        is_for_ever = response.cache_control.immutable and response.status_code < 400
        if (_is_personal() and not is_for_ever) or response.status_code >= 400:
            response.headers["Cache-Control"] = "no-store"
        response.headers.setdefault("Cache-Control", "no-cache")
    return response


def _is_personal() -> bool:
    """Whether the answer is for one person: to signed-in accounts, sign-in pages or personal addresses."""
    return bool(session_token() or cookie(PENDING) or cookie(OPENID) or "token" in (request.view_args or {}))


def local_path(target: str, otherwise: str = "/") -> str:
    r"""The target where it is a plain path on this site, else `otherwise`.

    >>> local_path("/tasks/a?b=c"), local_path("//evil.example/"), local_path("/\\evil.example"), local_path("http://x")
    ('/tasks/a?b=c', '/', '/', '/')
    """
    plain = target.startswith("/") and not target.startswith("//") and target.isprintable()
    return target if plain and "\\" not in target and " " not in target else otherwise


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


ADDRESSES = 2**12
"""That are kept: some one megabyte, which is what two large pages name."""
OUTSIDE = frozenset(("token", "_external", "_scheme"))
"""The values of an address that make it secret, or different for each host."""


class _Guarding(CodeGenerator):
    """Requests a secret's name through the guard; every other attribute is read as fast as Jinja does."""

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:
        if node.attr in SECRETS:
            self.visit(nodes.Getitem(node.node, nodes.Const(node.attr), node.ctx), frame)
        else:
            super().visit_Getattr(node, frame)


class _Templates(FlaskEnvironment):
    """Templates, which read of a row of the database what may be shown, never a secret that is next to it."""

    code_generator_class = _Guarding

    def getitem(self, obj: Any, argument: Any) -> Any:
        """As Jinja has it; raises PermissionError for a secret of a row."""
        if argument.__class__ is str and argument in SECRETS and isinstance(obj, Base):
            raise PermissionError(f"A template asks a row of {type(obj).__name__} for its {argument}.")
        return super().getitem(obj, argument)


class Application(Flask):
    """An application none of whose views is a coroutine: asking each time takes a fiftieth of a request.

    Nor does it build an address twice: a page of a large task has some thousand, most of them those of the
    page before.
    """

    jinja_environment = _Templates

    def __init__(self, *names: Any, **options: Any) -> None:
        super().__init__(*names, **options)
        self._address = lru_cache(ADDRESSES, typed=True)(super().url_for)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function itself."""
        return func

    def url_for(self, /, endpoint: str, **values: Any) -> str:
        """As Flask has it, with what goes along; what depends on the host is built again."""
        if along := addresses.added(endpoint, values):
            values = {**along, **values}
        if not request or request.script_root or endpoint[0] == "." or not OUTSIDE.isdisjoint(values):
            return super().url_for(endpoint, **values)
        try:
            return self._address(endpoint, **values)
        except TypeError:
            # A list among the values: it cannot be looked up.
            return super().url_for(endpoint, **values)

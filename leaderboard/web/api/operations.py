"""One record an operation: from it come routing, authorisation, reading, encoding and the document."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response

from leaderboard.core.policy import Scope
from leaderboard.errors import Invalid, NotFound
from leaderboard.web import http, session
from leaderboard.web.api import repeats, values
from leaderboard.web.rules import PUBLIC, SIGNED_IN, Body, Rule
from leaderboard.web.session import token

Act = Callable[..., Any]


SUBMIT = (Scope.SUBMIT,)
"""Scopes of what members of teams alone do."""
WRITE = (Scope.SUBMIT, Scope.ORGANISE)
"""Of what members of teams and organisers do."""
LOOK = (Scope.READ, Scope.SUBMIT)
"""Of what reading is enough for, but a runner does too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Short confirmation of a change; the object's own address has the details."""

    done: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAnswer:
    """A link that cannot be read again."""

    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer with another status or headers than its operation's."""

    answer: Any
    status: int
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Header:
    """A header of a request that means something to an operation, which reads it by itself."""

    name: str
    schema: dict[str, Any]
    words: str
    is_required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An API operation: one method at one address."""

    method: str
    path: str
    """The rule of its address below /api/v1, as routes are written."""
    name: str
    summary: str
    description: str
    rule: Rule
    scopes: tuple[Scope, ...]
    """Scopes, of which a token needs one; requests without a token need none."""
    answer: type
    """The dataclass of its JSON; dict for facts as the page's own JSON has them, bytes for a file."""
    query: type | None
    """The dataclass of its parameters, None for none."""
    body: type | None
    """The dataclass of its JSON body, None for none."""
    status: int
    headers: tuple[Header, ...]
    act: Act

    @property
    def only_computes(self) -> bool:
        """Whether it only has computed what GET of its address then answers, for the same parameters."""
        return (
            self.method == "POST"
            and self.query is not None
            and self.body is None
            and not self.rule.takes_files
        )

    @property
    def takes_file(self) -> bool:
        """Whether its body is a file as it is."""
        return self.rule.takes_files and not self.takes_piece

    @property
    def takes_piece(self) -> bool:
        """Whether its body is a piece of a file, which its function reads by itself."""
        return self.rule.body is Body.PIECE


def operation(
    method: str,
    path: str,
    answer: type,
    *,
    scopes: Sequence[Scope] = (Scope.READ,),
    rule: Rule | None = None,
    query: type | None = None,
    body: type | None = None,
    status: int = 200,
    headers: Sequence[Header] = (),
) -> Callable[[Act], Operation]:
    """A decorator that makes a function an operation; its docstring is its text in the reference.

    The function takes the placeholders of the path, and `query`, `body` and `file` where there are such, and
    returns an `answer`, what has the attributes of one, or a Reply. Without a rule reading is open to all
    and the rest to who has a token.
    """
    chosen = rule or Rule(PUBLIC if method == "GET" else SIGNED_IN)

    def declare(act: Act) -> Operation:
        summary, _, description = (act.__doc__ or "").partition("\n\n")
        return Operation(
            method=method,
            path=path,
            name=act.__name__,
            summary=summary,
            description=" ".join(description.split()),
            rule=chosen,
            scopes=tuple(scopes),
            answer=answer,
            query=query,
            body=body,
            status=status,
            headers=tuple(headers),
            act=act,
        )

    return declare


def add_to(blueprint: Blueprint, operations: Iterable[Operation]) -> None:
    """Give every operation its route."""
    table = list(operations)
    reads = {operation.path: operation for operation in table if operation.method == "GET"}
    for operation in table:
        # Two slashes would be redirected to one, and nothing under the API is ever redirected.
        options = {"methods": [operation.method], "merge_slashes": False, "strict_slashes": True}
        view = _view(operation, reads.get(operation.path))
        blueprint.add_url_rule(operation.path, operation.name, view, **options)  # type: ignore[arg-type]


def _view(operation: Operation, read: Operation | None) -> Callable[..., Response]:
    """The view of an operation; read: what GET of its address answers, whose entity tag conditions name."""

    def view(**placeholders: Any) -> Response:
        asking = token()
        if asking is not None and operation.scopes:
            asking.require_any(operation.scopes)
        given = placeholders | values.given(operation.query, operation.body, takes_file=operation.takes_file)
        if operation is read:
            return session.applied(_answered(operation, _found(operation, given)))

        def act() -> Response:
            session.set_condition(lambda: _tag(read, operation, placeholders, given))
            answer = _answered(
                operation, _found(operation, given) if operation.only_computes else operation.act(**given)
            )
            session.meet_condition()
            return answer

        # A run that is sent by PUT brings its key to its upload.
        return repeats.once(act, given.get("file")) if operation.method == "POST" else act()

    view.rule = operation.rule  # type: ignore[attr-defined]
    view.operation = operation  # type: ignore[attr-defined]
    # What goes on record of a page's view goes on record of the operation.
    if (recorded := getattr(operation.act, "recorded", None)) is not None:
        view.recorded = recorded  # type: ignore[attr-defined]
    return view


def _found(operation: Operation, given: Mapping[str, Any]) -> Any:
    """Answer of an operation that only reads or computes.

    Well-formed parameters that name nothing here are not found.
    """
    try:
        return operation.act(**given)
    except Invalid as error:
        raise NotFound(error.message, **error.facts) from error


def _tag(
    read: Operation | None, operation: Operation, placeholders: Mapping[str, Any], given: Mapping[str, Any]
) -> session.Tag:
    """The entity tag that GET of the address gives now; none where it is not found, or has none."""
    if read is None:
        return None, None
    asked = {"query": given["query"] if read.query is operation.query else read.query()} if read.query else {}
    try:
        response = _answered(read, read.act(**placeholders, **asked))
    except NotFound:
        return None, None
    response.close()
    return response.get_etag()


def _answered(operation: Operation, answer: Any) -> Response:
    if isinstance(answer, Response):
        return answer
    reply = answer if isinstance(answer, Reply) else Reply(answer=answer, status=operation.status, headers={})
    response = Response(status=reply.status, headers=reply.headers)
    if reply.status != 204:
        response.mimetype = "application/json"
        response.set_data(values.encoded(reply.answer, operation.answer))
    if operation.method == "GET":
        response.set_etag(http.tag_of(response.get_data()))
    return response


PIECE = "application/offset+octet-stream"
"""The type by which clients of tus name a piece."""
PIECE_OF_FILE = Rule(SIGNED_IN, Body.PIECE)
"""A piece of a file, at most as large as uploads may be."""


ORGANISE = (Scope.ORGANISE,)

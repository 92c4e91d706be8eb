"""Every operation asked with every kind of token, with and without a second factor where organisers need one.

What is right follows from an operation's declaration: its scopes, its rule, and whether it is below a task.
Operations are taken from the registry, so a new one is asked as well.
"""

from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from itertools import count
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from sqlalchemy import update

from leaderboard import reference
from leaderboard.accounts.ops import tokens
from leaderboard.accounts.ops.tokens import AGENT, GUARDED, PERSONAL, RUNNER, TokenRequest
from leaderboard.core.policy import Scope, viewer_of
from leaderboard.db.tables import ApiToken
from leaderboard.web.api.operations import Operation
from leaderboard.web.rules import PUBLIC
from tests.make import people
from tests.make.apps import application
from tests.make.worlds import RUN
from tests.web.api.conftest import Program, path_of
from tests.web.conftest import Site

ALL = tuple(Scope)
COMMIT = "0123abc"
HEADERS = {"Upload-Metadata": "team MQ==,name YQ=="}
"""Values of required headers that are no number."""
MAKE_TASKS = frozenset(("make_task", "import_task", "clone_task"))
"""Operations that a token for one task may not ask for."""
PLAIN = {"str": "x", "int": 1, "float": 0.5, "bool": True, "datetime": "2031-05-31T12:00:00Z"}


def least(kind: Any, name: str = "", known: dict[str, Any] | None = None) -> Any:
    """The least value of a type that is taken: of a dataclass only what has no default."""
    known = known or {}
    if name in known:
        return known[name]
    origin, inside = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        needed = [
            one.name for one in fields(kind) if (one.default, one.default_factory) == (MISSING, MISSING)
        ]
        return {name: least(hints[name], name, known) for name in needed}
    if origin is Annotated:
        return least(inside[0])
    if origin is Literal:
        return inside[0]
    if origin in (Union, UnionType):
        return None if NoneType in inside else least(inside[0])
    if origin is not None:
        return {} if len(inside) == 2 and inside[1] is not ... else [least(inside[0])]
    return PLAIN[kind.__name__]


@dataclass(frozen=True, kw_only=True)
class Asker:
    """A token of a kind, what it may be used for, and the task that it is for."""

    program: Program
    scopes: frozenset[Scope] = frozenset()
    in_force: bool = True
    bound: str = ""
    is_runner: bool = False
    token_id: int = 0


class Walk:
    """A site whose organisers need a second factor, which Olga has or has not."""

    def __init__(self, site: Site, *, has_factor: bool) -> None:
        self.site = replace(
            site, app=application(replace(site.settings, require_second_factor=True), site.database)
        )
        self.has_factor = has_factor
        if has_factor:
            people.second_factor(site.database, site.world.olga)
        with self.site.app.app_context():
            self.operations = reference.operations()
        self.names = (f"x{number}" for number in count())

    def visitor(self) -> Asker:
        """Who asks without a token."""
        return Asker(program=Program(self.site.app.test_client()))

    def token(self, name: str, *scopes: Scope, kind: str = PERSONAL, slug: str = "") -> Asker:
        """A new token of an account, as if it had been made while the account had its factor."""
        account_id = getattr(self.site.world, name.lower())
        wanted = TokenRequest(label="walk", scopes=scopes or ALL, kind=kind, slug=slug)
        with self.site.database.write() as session:
            owner = viewer_of(session, account_id, name, name == "Olga")
            made = tokens.make(session, owner, wanted, factor_needed=False)
        return Asker(
            program=Program(self.site.app.test_client(), made.secret),
            scopes=frozenset(scopes or ALL),
            bound=slug,
            is_runner=kind == RUNNER,
            token_id=made.id,
        )

    def ended(self, column: str) -> Asker:
        """A token of Olga that has expired, or was revoked."""
        made = self.token("Olga")
        with self.site.database.write() as session:
            ended = update(ApiToken).where(ApiToken.id == made.token_id)
            session.execute(ended.values({column: ApiToken.created_at}))
        return replace(made, in_force=False)

    def ask(self, asker: Asker, one: Operation) -> tuple[int, str]:
        """The status and the words of what the operation answers, asked with the least that it takes."""
        known = {"team": self.site.world.owls, "name": next(self.names), "second": 2}
        query = least(one.query, known=known) if one.query is not None else {}
        if asker.is_runner and one.name == "send_run":
            query["commit"] = COMMIT
        given: dict[str, Any] = {"query_string": query}
        if one.takes_file:
            given["data"] = RUN
        elif one.takes_piece:
            given["data"] = b"x"
        elif one.body is not None:
            given["json"] = least(one.body, known=known)
        given["headers"] = {
            header.name: HEADERS.get(header.name, "5") for header in one.headers if header.is_required
        }
        answer = asker.program.ask(one.method, path_of(one, self.site), **given)
        said = answer.json if "json" in answer.mimetype and isinstance(answer.json, dict) else {}
        if one.name == "revoke_token" and answer.status_code == 200:
            # It is to go on for the operations that follow.
            with self.site.database.write() as session:
                session.execute(update(ApiToken).where(ApiToken.id == asker.token_id).values(revoked_at=None))
        return answer.status_code, str(said.get("detail", ""))


def refused(one: Operation, asker: Asker) -> tuple[int, str] | None:
    """How an operation's declaration alone refuses a token; None where it does not."""
    is_visitor = asker.program.secret == ""
    if not asker.in_force or (is_visitor and one.rule.access is not PUBLIC):
        return 401, ""
    if not is_visitor and one.scopes and not asker.scopes & set(one.scopes):
        return 403, f"lacks the scope {one.scopes[0]}"
    if asker.bound not in ("", "robots") and _is_below_a_task(one):
        return 403, ""
    return None


def _is_below_a_task(one: Operation) -> bool:
    return one.path.startswith("/tasks/<slug>")


def _is_for_organisers(one: Operation) -> bool:
    """Whether an operation is for organisers alone, by its scopes."""
    return bool(one.scopes) and set(one.scopes) <= GUARDED


def _agent(walk: Walk, name: str) -> Asker:
    return walk.token(name, Scope.READ, Scope.SUBMIT, kind=AGENT)


def _runner(walk: Walk) -> Asker:
    return walk.token("Olga", Scope.READ, Scope.SUBMIT, kind=RUNNER, slug="robots")


def test_a_declaration_refuses_what_it_does_not_name(site: Site) -> None:
    """No token where one is needed, one not in force, without the scope, or for another task."""
    walk = Walk(site, has_factor=True)
    askers = {
        "visitor": walk.visitor(),
        "expired": walk.ended("expires_at"),
        "revoked": walk.ended("revoked_at"),
        **{scope.value: walk.token("Olga", scope) for scope in Scope},
        "runner": _runner(walk),
        "agent": _agent(walk, "Olga"),
        "of another task": walk.token("Olga", slug="draft"),
    }
    faults = []
    for one in walk.operations:
        for name, asker in askers.items():
            if (right := refused(one, asker)) is not None:
                status, said = walk.ask(asker, one)
                if status != right[0] or right[1] not in said:
                    faults.append((one.name, name, right, status, said))
    assert faults == []


def test_organisers_may_what_no_other_token_may(site: Site) -> None:
    """Of what is for organisers: theirs, also where it is for the task; a runner sends runs and no more."""
    walk = Walk(site, has_factor=True)
    others = {"plain": walk.token("Nina"), "member": walk.token("Anna"), "other": walk.token("Otto")}
    own = {"free": walk.token("Olga"), "for the task": walk.token("Olga", slug="robots")}
    faults = []
    for one in walk.operations:
        if _is_for_organisers(one) and _is_below_a_task(one):
            kept_out = {name: walk.ask(asker, one) for name, asker in others.items()}
            faults += [(one.name, name, said) for name, said in kept_out.items() if said[0] != 403]
            for name, asker in own.items():
                said = walk.ask(asker, one)
                is_kept_out = name == "for the task" and one.name in MAKE_TASKS
                if (said[0] in (401, 403)) != is_kept_out:
                    faults.append((one.name, name, said))
    assert faults == []


@pytest.mark.trial
def test_without_the_factor_an_organiser_is_a_plain_account(site: Site) -> None:
    """By every kind of token: no operation answers it otherwise than an account without any role."""
    walk = Walk(site, has_factor=False)
    askers = {
        "free": (walk.token("Olga"), walk.token("Nina")),
        "for the task": (walk.token("Olga", slug="robots"), walk.token("Nina", slug="robots")),
        "agent": (_agent(walk, "Olga"), _agent(walk, "Nina")),
        "runner": (_runner(walk), walk.token("Nina", Scope.READ, Scope.SUBMIT, slug="robots")),
    }
    faults = []
    for one in walk.operations:
        for name, (asker, plain) in askers.items():
            said, right = walk.ask(asker, one), walk.ask(plain, one)
            if asker.is_runner and one.name == "send_run":
                right = (403, "")
            if said[0] != right[0]:
                faults.append((one.name, name, right, said))
    assert faults == []


def test_a_runner_sends_with_the_factor_alone(site: Site) -> None:
    """It has the rights of who made it at that moment; what else changes something it is refused."""
    walk = Walk(site, has_factor=True)
    runner, plain = _runner(walk), walk.token("Nina", Scope.READ, Scope.SUBMIT, slug="robots")
    faults = []
    for one in walk.operations:
        if one.name == "send_run":
            assert walk.ask(runner, one)[0] == 201
        elif one.method != "GET" and refused(one, runner) is None:
            said, right = walk.ask(runner, one), walk.ask(plain, one)
            if said[0] != right[0]:
                faults.append((one.name, right, said))
    assert faults == []


def test_a_token_that_only_reads_changes_nothing(site: Site) -> None:
    """Whatever changes something asks for more than reading; what only checks or computes does not."""
    with site.app.app_context():
        operations = reference.operations()
    by_reading = {
        operation.name
        for operation in operations
        if operation.method != "GET" and Scope.READ in operation.scopes and not operation.only_computes
    }
    assert by_reading == {"check_run"}

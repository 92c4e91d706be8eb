"""API tokens: programs act for the owner, within scopes, for one task, one team or all.

A token never has more rights than its owner has at that moment, and it makes no tokens.

By the prefix and the checksum a scanner of published files tells one from chance, and one that was mistyped
or cut off is known without looking it up. The underscore lets a double click select all of it.
"""

import re
import secrets
import string
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated
from zlib import crc32

from sqlalchemy import bindparam, delete, func, or_, select, update
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import second_factors, sessions
from leaderboard.core import audit, throttles
from leaderboard.core.actions import Action, by_account
from leaderboard.core.policy import (
    Scope,
    Viewer,
    organises,
    require_account,
    require_operator,
    require_person,
    viewer_of,
    visible_task,
    without_organising,
)
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Account, ApiToken, DeviceRequest
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound, OverQuota, SecondFactorNeeded
from leaderboard.fields import Field

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_CHARACTERS = 30
"""Of 62 letters and digits: 178 random bits, so a fast digest of them is enough."""
CHECKSUM_CHARACTERS = 6
"""62**6 is more than 2**32."""
SHOWN_CHARACTERS = 8
LETTERS = {"personal": "p", "agent": "a", "runner": "r"}
FORM = re.compile("lb_[par][0-9A-Za-z]{36}")
"""Random characters and checksum."""


def made(kind: str) -> str:
    """A new secret of a token of that kind."""
    drawn = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARACTERS))
    body = f"lb_{LETTERS[kind]}{drawn}"
    return body + checksum(body)


def is_whole(secret: str) -> bool:
    """Whether the text has the form of a secret and its checksum is right."""
    body, end = secret[:-CHECKSUM_CHARACTERS], secret[-CHECKSUM_CHARACTERS:]
    return FORM.fullmatch(secret) is not None and checksum(body) == end


def prefix(secret: str) -> str:
    """The first characters, so that an owner can distinguish tokens; they do not help to guess the rest."""
    return secret[:SHOWN_CHARACTERS]


def checksum(body: str) -> str:
    """The CRC-32 of what comes before it, as six letters and digits.

    >>> checksum("lb_p000000000000000000000000000000")
    '2UE54C'
    """
    number, text = crc32(body.encode("ascii")), ""
    for _ in range(CHECKSUM_CHARACTERS):
        number, digit = divmod(number, len(ALPHABET))
        text = ALPHABET[digit] + text
    return text


PERSONAL, AGENT, RUNNER = "personal", "agent", "runner"
KINDS = {
    PERSONAL: "Program that acts on your behalf",
    AGENT: "Agent: a program that itself decides what to submit; its runs are marked as an agent's",
    RUNNER: "Runner: a machine that executes systems and submits their runs to the task chosen below",
}
DAYS = 90
MOST_DAYS = 366
MOST = 20
"""Tokens in force that an account may have."""
MADE_A_DAY = 40
LABEL_CHARACTERS = 80
STAMP_EVERY = timedelta(minutes=1)
"""Maximum age of the last-used time stamp before it is written again."""
IN_FORCE, EXPIRED, REVOKED = "in force", "expired", "revoked"


MEANINGS = {
    Scope.READ: "read all data that you can see",
    Scope.SUBMIT: "submit, select, describe and withdraw runs of your teams, and manage their webhooks",
    Scope.ORGANISE: "change the tasks that you organise, including pools, assessors and webhooks",
    Scope.JUDGE: "submit judgments in tasks whose assessors you coordinate",
}
GUARDED = frozenset((Scope.ORGANISE, Scope.JUDGE))
"""Scopes that need a second factor where organisers need one."""
_TAKES_PART = frozenset((Scope.READ, Scope.SUBMIT))
SCOPES_OF_KIND = {PERSONAL: frozenset(Scope), AGENT: _TAKES_PART, RUNNER: _TAKES_PART}
"""An agent never organises, so limits and reviews of agents hold for those of organisers too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """A request for a token; slug and team_id limit it to a task or team."""

    label: Annotated[
        str,
        Field(
            title="Label", help="Where the token is used, to recognise it later.", longest=LABEL_CHARACTERS
        ),
    ]
    scopes: Annotated[
        tuple[str, ...],
        Field(
            title="Scopes",
            choices={scope.value: f"{scope}: {meaning}" for scope, meaning in MEANINGS.items()},
            option="scope",
        ),
    ] = (Scope.READ, Scope.SUBMIT)
    kind: Annotated[str, Field(title="Used by", choices=KINDS)] = PERSONAL
    slug: Annotated[str, Field(title="Task", help="Limits the token to this task.", option="task")] = ""
    team_id: Annotated[
        int | None, Field(title="Team", help="Limits the token to this team.", option="team")
    ] = None
    days: Annotated[
        int,
        Field(
            title="Expires after",
            help=f"Days; default {DAYS}. 0 means it never expires.",
            least=0,
            most=MOST_DAYS,
        ),
    ] = DAYS


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was made just now; its secret can be read only now."""

    id: int
    secret: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class TokenViewer:
    """The viewer of a token request: the owner within the limits of the token, and its scopes."""

    viewer: Viewer
    token_id: int
    kind: str
    scopes: frozenset[Scope]
    task_id: int | None
    team_id: int | None
    stamp_due: bool
    """Whether `stamp` is to be called, in a writing session."""

    def require(self, scope: Scope) -> None:
        """Raise Forbidden where the token lacks the scope."""
        if scope not in self.scopes:
            has = ", ".join(sorted(self.scopes)) or "none"
            raise Forbidden(
                f"This token lacks the scope {scope}; it has {has}. Create a token with this scope."
            )

    def require_any(self, scopes: Collection[Scope]) -> None:
        """Raise Forbidden where the token has none of the scopes."""
        if not self.scopes & set(scopes):
            self.require(next(iter(scopes)))

    def require_free(self) -> None:
        """Raise Forbidden for a limited token and an action outside tasks, such as a new team."""
        if self.task_id is not None or self.team_id is not None:
            raise Forbidden("This token is limited to one task or team. Create a token without this limit.")


# Built once, because every API request starts with it.
_WITH_OWNER = (
    select(ApiToken, Account)
    .join(Account, Account.id == ApiToken.account_id)
    .where(ApiToken.token_sha256 == bindparam("digest"), Account.disabled_at.is_(None))
)


def token_viewer(session: Session, secret: str, *, ip: str = "", factor_needed: bool) -> TokenViewer | None:
    """The viewer of a token secret; None if the token is not valid (`why_refused` gives the reason).

    factor_needed: whether organisers of this site need a second factor: an owner who no longer has one is not
    an organiser here either.
    """
    if not is_whole(secret):
        return None
    # The digest is looked up, not compared, so timing reveals nothing about the secret.
    row = session.execute(_WITH_OWNER, {"digest": sessions.digest(secret)}).one_or_none()
    if row is None:
        return None
    token, account = row.ApiToken, row.Account
    at = now(session)
    if state(token, at) != IN_FORCE:
        return None
    owner = viewer_of(session, account.id, account.name, account.is_organiser, ip)
    if factor_needed and not second_factors.is_on(session, account.id):
        owner = without_organising(owner)
    scopes = frozenset(map(Scope, token.scopes))
    due = token.last_used_at is None or at - token.last_used_at >= STAMP_EVERY
    narrowed = _narrowed(owner, token, scopes)
    return TokenViewer(narrowed, token.id, token.kind, scopes, token.task_id, token.team_id, due)


def _narrowed(owner: Viewer, token: ApiToken, scopes: frozenset[Scope]) -> Viewer:
    """The owner without the rights that the token does not give; it never operates the site."""

    def within(tasks: frozenset[int]) -> frozenset[int]:
        return tasks if token.task_id is None else tasks & {token.task_id}

    runs_for = within(owner.organises) if token.kind == RUNNER else frozenset()

    may_organise = Scope.ORGANISE in scopes
    may_coordinate = bool(scopes & GUARDED)
    is_free = token.task_id is None and token.team_id is None
    return replace(
        owner,
        is_organiser=owner.is_organiser and may_organise and is_free,
        organises=within(owner.organises) if may_organise else frozenset(),
        coordinates=within(owner.coordinates | owner.organises) if may_coordinate else frozenset(),
        # With scope read only, a program sees the owner's tasks like the owner and cannot change them.
        reads=within(owner.reads | owner.organises) if Scope.READ in scopes else frozenset(),
        team_ids=owner.team_ids if token.team_id is None else owner.team_ids & {token.team_id},
        token_id=token.id,
        is_agent=token.kind == AGENT,
        only_task=token.task_id,
        executes=runs_for,
    )


def why_refused(session: Session, secret: str) -> str:
    """Why `token_viewer` gives None, as a sentence; the holder of a secret may learn its state."""
    if not is_whole(secret):
        return "This token is not valid: a character is wrong or missing. Copy all of it, starting at lb_."
    token = session.scalar(select(ApiToken).where(ApiToken.token_sha256 == sessions.digest(secret)))
    if token is None:
        return "This token is not known here; it may belong to another site. Create one at /account/tokens."
    if token.revoked_at is None and token.expires_at is not None and token.expires_at <= now(session):
        return f"This token expired on {token.expires_at:%Y-%m-%d}. Create a new one at /account/tokens."
    return "This token was revoked. Create a new one at /account/tokens."


def stamp(session: Session, token_id: int, viewer: Viewer) -> None:
    """Note that the token was used just now; its first use is logged."""
    used = update(ApiToken).where(ApiToken.id == token_id).values(last_used_at=now(session))
    first = session.scalars(used.where(ApiToken.last_used_at.is_(None)).returning(ApiToken.id)).all()
    if first:
        audit.record(session, viewer, "token.first_use", f"token:{token_id}")
    else:
        session.execute(used)


def state(token: ApiToken, at: datetime) -> str:
    """Whether a token is in force at a moment, expired or revoked."""
    if token.revoked_at is not None:
        return REVOKED
    return EXPIRED if token.expires_at is not None and token.expires_at <= at else IN_FORCE


def make(session: Session, viewer: Viewer, token_request: TokenRequest, *, factor_needed: bool) -> NewToken:
    """A new token of the viewer, who is signed in with a browser.

    factor_needed: whether organisers of this site need a second factor. Raises Invalid for a bad request,
    NotFound for a task or team that is not the viewer's, Forbidden for what the viewer may not give,
    SecondFactorNeeded where the scopes require one, OverQuota for too many tokens.
    """
    require_person(viewer)
    token = checked(session, viewer, token_request, factor_needed=factor_needed)
    return insert(session, viewer, token, token_request.days)


def make_for(
    session: Session, viewer: Viewer, account_id: int, token_request: TokenRequest, secret: str = ""
) -> NewToken:
    """A new token of any account, made at the command line; otherwise it acts as the account.

    secret: one that was made before (`token_secrets.made`). Raises Invalid where it is not whole.
    """
    require_operator(viewer)
    if secret and not (is_whole(secret) and secret[3] == LETTERS[token_request.kind]):
        raise Invalid("This is not a valid token. `leaderboard account token secret` prints one.")
    account = session.get_one(Account, account_id)
    if account.disabled_at is not None:
        raise Conflict(f"The account {account.name!r} is closed. Reopen it first.")
    owner = viewer_of(session, account.id, account.name, account.is_organiser)
    return insert(
        session,
        viewer,
        checked(session, owner, token_request, factor_needed=False),
        token_request.days,
        secret,
    )


def checked(session: Session, owner: Viewer, token_request: TokenRequest, *, factor_needed: bool) -> ApiToken:
    """The token that is asked for, where its owner may have it, for `insert`; raises as `make` does."""
    account_id = require_account(owner)
    # The kind determines the scopes of a runner.
    words = (
        token_request.scopes or SCOPES_OF_KIND[RUNNER]
        if token_request.kind == RUNNER
        else token_request.scopes
    )
    scopes = read_scopes(words, token_request.kind)
    is_guarded = bool(scopes & GUARDED) or token_request.kind == RUNNER
    if factor_needed and is_guarded and not second_factors.is_on(session, account_id):
        raise SecondFactorNeeded(
            "On this site, tokens to organise or judge and tokens for runners need two-factor "
            "authentication. Set it up first."
        )
    if token_request.team_id is not None and token_request.team_id not in owner.team_ids:
        raise NotFound("You are not in a team with this number.", team=token_request.team_id)
    task_id = visible_task(session, owner, token_request.slug)[0].id if token_request.slug else None
    if token_request.kind == RUNNER and (task_id is None or not organises(owner, task_id)):
        raise Forbidden("A runner token is for one task; only its organisers can create it.", field="slug")
    if not token_request.days and not may_be_endless(owner):
        raise Forbidden("Only organisers can have tokens without end. Enter a number of days.", field="days")
    if not 0 <= token_request.days <= MOST_DAYS:
        raise Invalid(f"A token must expire after 1 to {MOST_DAYS} days.")
    return ApiToken(
        account_id=account_id,
        label=read_label(token_request.label),
        kind=token_request.kind,
        scopes=[scope for scope in Scope if scope in scopes],
        task_id=task_id,
        team_id=token_request.team_id,
    )


def read_label(text: str) -> str:
    """The label in its stored form; raises Invalid for an empty or long one."""
    label = " ".join(text.split())
    if not label or len(label) > LABEL_CHARACTERS or not label.isprintable():
        raise Invalid(
            f"A token needs a label of 1 to {LABEL_CHARACTERS} printable characters. Describe where it is "
            "used.",
            field="label",
        )
    return label


def read_scopes(words: Collection[str], kind: str = PERSONAL) -> frozenset[Scope]:
    """The scopes of those names; raises Invalid for none or unknown ones, Forbidden for what a kind lacks."""
    if kind not in KINDS:
        raise Invalid(f"Unknown kind of token {kind[:40]!r}. Kinds are {', '.join(KINDS)}.")
    allowed = SCOPES_OF_KIND[kind]
    strangers = sorted(set(words) - {*allowed})
    if strangers or not words:
        wrong = f"not {strangers[0][:40]!r}" if strangers else "at least one"
        names = ", ".join(scope for scope in Scope if scope in allowed)
        refusal = Forbidden if strangers and strangers[0] in {*Scope} else Invalid
        raise refusal(f"Choose scopes from {names}: {wrong}.", field="scopes")
    return frozenset(map(Scope, words))


def may_be_endless(owner: Viewer) -> bool:
    """Whether the owner's tokens may be without an end: organisers' may."""
    return owner.is_organiser or bool(owner.organises)


def insert(session: Session, maker: Viewer, row: ApiToken, days: int, secret: str = "") -> NewToken:
    """Store a token that was checked, with a new secret if none is given; days: 0 for no end.

    Raises OverQuota where its owner has too many.
    """
    # Locked, so that two simultaneous requests cannot exceed the limit.
    lock_row(session, Account, row.account_id)
    at = now(session)
    _require_room(session, row.account_id, at)
    secret = secret or made(row.kind)
    row.prefix, row.token_sha256 = prefix(secret), sessions.digest(secret)
    row.created_at, row.created_by = at, maker.account_id
    row.expires_at = at + timedelta(days=days) if days else None
    session.add(row)
    session.flush()
    subject = {"account": row.account_id, "task": row.task_id, "team": row.team_id}
    audit.record(session, maker, "token.make", f"token:{row.id}", kind=row.kind, scopes=row.scopes, **subject)
    return NewToken(row.id, secret, row.expires_at)


def _require_room(session: Session, account_id: int, at: datetime) -> None:
    throttles.spend(
        session, f"tokens {account_id}", MADE_A_DAY, timedelta(days=1), "Too many tokens created today"
    )
    in_force = select(func.count(ApiToken.id)).where(
        ApiToken.account_id == account_id,
        ApiToken.revoked_at.is_(None),
        or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > at),
    )
    if (session.scalar(in_force) or 0) >= MOST:
        raise OverQuota(f"An account can have at most {MOST} tokens. Revoke one that you no longer need.")


def revoke(session: Session, viewer: Viewer, token_id: int) -> None:
    """End a token of the viewer's, or, for operators, any; a program may end the one it asks by.

    Raises NotFound for a token of others, Conflict where it has ended.
    """
    if viewer.token_id is not None and viewer.token_id != token_id:
        require_person(viewer)
    token = session.get(ApiToken, token_id, with_for_update=True, populate_existing=True)
    is_operator = viewer.is_operator or viewer.operates
    if token is None or not (is_operator or token.account_id == require_account(viewer)):
        raise NotFound(f"You have no token {token_id}.", token=token_id)
    if token.revoked_at is not None:
        raise Conflict("This token has already been revoked.")
    token.revoked_at = now(session)
    audit.record(session, viewer, "token.revoke", f"token:{token_id}", account=token.account_id)


def end_all(session: Session, account_id: int | None = None) -> None:
    """End every token of an account, or of all, and what would become one; the caller records why."""
    live = update(ApiToken).where(ApiToken.revoked_at.is_(None))
    coming = delete(DeviceRequest).where(DeviceRequest.state == "approved")
    if account_id is not None:
        live = live.where(ApiToken.account_id == account_id)
        coming = coming.where(DeviceRequest.account_id == account_id)
    session.execute(live.values(revoked_at=now(session)))
    session.execute(coming)


ACTIONS = (
    Action(
        name="make",
        summary="Create a token for an account and print its secret once",
        form="/account/tokens",
        may=by_account,
        record=TokenRequest,
        act=make,
        site=lambda settings: {"factor_needed": settings.require_second_factor},
    ),
    Action(
        name="revoke",
        summary="Revoke a token by its number (see `list`)",
        form="/account/tokens/<id:token_id>/revoke",
        page="tokens.index",
        may=by_account,
        act=revoke,
        done="revoked",
    ),
)

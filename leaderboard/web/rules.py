"""Who may open a route at all: every view declares it, and one without a declaration stops the start.

This is the outer door only; what a viewer may see or do inside is decided by services.policy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeVar

from flask import Flask, current_app, request

from leaderboard.errors import Forbidden, SignInNeeded
from leaderboard.services.pictures.kinds import LARGEST_BYTES
from leaderboard.services.policy import require_operator, require_second_factor
from leaderboard.settings import Settings
from leaderboard.web.session import viewer

VISITORS_BODY = 2**16
"""Bytes a request may have at an address that is open to everybody."""
SMALL_BODY = 2**20
"""Bytes a request without files may have."""

View = TypeVar("View", bound=Callable[..., Any])


class Access(Enum):
    """Who may come in."""

    PUBLIC = auto()
    SIGNED_IN = auto()
    ORGANISER = auto()
    OPERATOR = auto()


class Body(Enum):
    """How large a request's body may be."""

    SMALL = auto()
    UPLOAD = auto()
    FILES = auto()
    FOLDER = auto()
    """Files as large as FILES, and many of them."""
    CHECK = auto()
    PIECE = auto()
    """Of a file that is sent in pieces: what came of one that was cut off counts."""
    PICTURE = auto()

    def limit(self, settings: Settings) -> int:
        """The limit in bytes."""
        if self is Body.UPLOAD:
            return settings.upload_bytes + SMALL_BODY
        if self is Body.PIECE:
            return settings.upload_bytes
        if self is Body.CHECK:
            return settings.inline_bytes + VISITORS_BODY
        if self is Body.PICTURE:
            return LARGEST_BYTES + SMALL_BODY
        if self in (Body.FILES, Body.FOLDER):
            return settings.plain_bytes + SMALL_BODY
        return SMALL_BODY


PUBLIC, SIGNED_IN, ORGANISER, OPERATOR = Access.PUBLIC, Access.SIGNED_IN, Access.ORGANISER, Access.OPERATOR


@dataclass(frozen=True, slots=True)
class Rule:
    """What one view declares; is_computed: whether its answer takes so much work that visitors get few."""

    access: Access
    body: Body = Body.SMALL
    is_computed: bool = False

    @property
    def takes_files(self) -> bool:
        """Whether files may be sent there."""
        return self.body is not Body.SMALL

    def limit(self, settings: Settings) -> int:
        """The largest body in bytes."""
        if self.access is PUBLIC and self.body is not Body.CHECK:
            return VISITORS_BODY
        return self.body.limit(settings)


def rule(access: Access, body: Body = Body.SMALL, *, is_computed: bool = False) -> Callable[[View], View]:
    """A decorator, put under the route decorator, that declares a view's rule."""

    def declare(view: View) -> View:
        view.rule = Rule(access, body, is_computed)  # type: ignore[attr-defined]
        return view

    return declare


def rule_of(app: Flask, endpoint: str) -> Rule | None:
    """The rule of an endpoint's view, None where it declares none."""
    found = getattr(app.view_functions[endpoint], "rule", None)
    return found if isinstance(found, Rule) else None


def require_rules(app: Flask) -> None:
    """Raise RuntimeError naming every route whose view declares no rule."""
    bare = sorted(
        {
            f"{route.rule} ({route.endpoint})"
            for route in app.url_map.iter_rules()
            if not rule_of(app, route.endpoint)
        }
    )
    if bare:
        raise RuntimeError(f"These routes declare no rule; put @rule(...) on their views: {', '.join(bare)}")


def enforce() -> None:
    """Raise SignInNeeded or Forbidden where the route's rule keeps the viewer out."""
    if request.endpoint is None:
        return
    declared = rule_of(current_app, request.endpoint)
    if declared is None:
        raise Forbidden("This address is not open.")
    if declared.access is PUBLIC:
        return
    if viewer().account_id is None:
        raise SignInNeeded("Sign in first.")
    if declared.access is OPERATOR:
        require_operator(viewer())
    if declared.access is ORGANISER and not viewer().is_organiser:
        require_second_factor(viewer())
        raise Forbidden("Only organiser accounts may do this; ask the operator of this site.")

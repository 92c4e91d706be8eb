"""Conditional requests: entity tags compared with If-Match and If-None-Match, as RFC 9110, 13 requires."""

from collections.abc import Callable

from flask import Response, g, request

from leaderboard.errors import Changed

Tag = tuple[str, bool] | tuple[None, None]
"""An entity tag and whether it is weak; (None, None) where there is nothing, or nothing with a tag."""

READ_AGAIN = "Read the resource again and repeat the request with its new ETag."


def applied(response: Response) -> Response:
    """The answer to a GET or HEAD, without its body where the asker has it; raises Changed for If-Match."""
    if request.method in ("GET", "HEAD"):
        tag = response.get_etag()
        _require_match(tag)
        if "If-None-Match" in request.headers and _is_named(tag):
            response.status_code = 304
    return response


def is_pending() -> bool:
    """Whether the change that this request makes still depends on an entity tag."""
    return "condition" in g


def set_condition(tag: Callable[[], Tag]) -> None:
    """Make the change of this request depend on the tag its address has when the change is committed."""
    if "If-Match" in request.headers or "If-None-Match" in request.headers:
        g.condition = tag


def meet_condition() -> None:
    """Raise Changed unless the condition of this request holds; it is checked once."""
    tag = g.pop("condition", None)
    if tag is not None:
        _require(tag())


def _require(tag: Tag) -> None:
    _require_match(tag)
    if "If-None-Match" in request.headers and _is_named(tag):
        raise Changed(f"If-None-Match matches the current version. {READ_AGAIN}")


def _require_match(tag: Tag) -> None:
    """Raise Changed where If-Match is given and does not name the tag by the strong comparison."""
    if "If-Match" not in request.headers:
        return
    name, is_weak = tag
    if name is None:
        raise Changed("If-Match cannot be used here: this address has no entity tag. Leave it out.")
    if not request.if_match.star_tag and (is_weak or name not in request.if_match):
        given = request.headers["If-Match"][:80]
        raise Changed(f'If-Match is {given}, but the entity tag is now "{name}". {READ_AGAIN}')


def _is_named(tag: Tag) -> bool:
    """Whether If-None-Match names the tag by the weak comparison."""
    return tag[0] is not None and request.if_none_match.contains_weak(tag[0])

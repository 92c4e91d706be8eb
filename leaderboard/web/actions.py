"""The forms of declared actions: read, done, and shown again with what was typed where they are refused."""

from collections.abc import Callable, Iterable
from typing import Any

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.services.actions import Action
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import viewer, wake, writing

Again = Callable[..., str]
"""Makes the page with the form again, of its address's placeholders and the error."""


def add_to(blueprint: Blueprint, actions: Iterable[Action], again: Again) -> None:
    """Give every action the route of its form."""
    for action in actions:
        blueprint.add_url_rule(
            action.form, action.name, rule(SIGNED_IN)(_view(action, again)), methods=["POST"]
        )


def _view(action: Action, again: Again) -> Callable[..., ResponseReturnValue]:
    def view(**placeholders: Any) -> ResponseReturnValue:
        asker, form = viewer(), request.form
        named = {name: form.get(by, "") for name, by in action.named.items()}
        try:
            with writing() as session:
                action.do(
                    session, asker, placeholders | named, sent(action.record) if action.record else None
                )
        except (Invalid, Conflict) as error:
            if wants_json():
                raise
            return form_again(again(**placeholders, error=error), error)
        wake()
        return redirect(url_for(action.page, **placeholders), 303)

    view.__doc__ = f"{action.summary}."
    view.action = action  # type: ignore[attr-defined]
    return view


def sent(record: type) -> dict[str, Any]:
    """What the form says of a record: a box that is not ticked is not sent, and means no."""
    form = request.form
    said: dict[str, Any] = {}
    for each in fields.of(record):
        if each.kind == "record":
            said |= sent(each.type)
        elif each.kind == "tick":
            said[each.name] = each.name in form
        elif each.kind == "ticks":
            said[each.name] = form.getlist(each.name)
        elif each.name in form:
            said[each.name] = form[each.name]
    return said


def problems(error: LeaderboardError | None) -> dict[str, str]:
    """What is wrong with each field of a refused form, by its name."""
    found = getattr(error, "problems", ())
    return {problem.field: f"{problem.rule} {problem.remedy}".strip() for problem in found if problem.field}

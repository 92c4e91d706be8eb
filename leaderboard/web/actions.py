"""The forms of declared actions: read, done, and shown again with what was typed where they are refused."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from flask import Blueprint, current_app, redirect, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import Conflict, Invalid, LeaderboardError, OverQuota
from leaderboard.services.actions import Action
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.rules import SIGNED_IN, Access, rule
from leaderboard.web.security import local_path
from leaderboard.web.session import settings, viewer, wake, writing

Again = Callable[..., str]
"""Makes the page with the form again, of its address's placeholders and the error."""
Then = Callable[..., ResponseReturnValue]
"""What is answered when it is done, of what the action returned and the address's placeholders."""
NONE: Mapping[str, Callable[..., Any]] = MappingProxyType({})
REFUSALS = (Invalid, Conflict, OverQuota)


def add_to(
    blueprint: Blueprint,
    actions: Iterable[Action],
    again: Again | None = None,
    *,
    then: Mapping[str, Then] = NONE,
    before: Mapping[str, Callable[[], object]] = NONE,
    refusals: tuple[type[LeaderboardError], ...] = REFUSALS,
    who: Access = SIGNED_IN,
) -> None:
    """Give every action that has a form the route of it.

    Without `again` a refusal is a page of its own. then: action's name -> what is answered when it is done,
    where it is not the page with the form; before: what is required of the request first. refusals: the
    errors that stand above the form, which is shown again.
    """
    for action in actions:
        if action.form:
            name = action.name
            view = rule(who)(_view(action, again, then.get(name), before.get(name), refusals))
            blueprint.add_url_rule(action.form, action.name, view, methods=["POST"])


def _view(
    action: Action,
    again: Again | None,
    then: Then | None,
    before: Callable[[], object] | None,
    refusals: tuple[type[LeaderboardError], ...],
) -> Callable[..., ResponseReturnValue]:
    def view(**placeholders: Any) -> ResponseReturnValue:
        if before is not None:
            before()
        asker, form = viewer(), request.form
        named = {name: form.get(by, "") for name, by in action.named.items()}
        try:
            # What the address says besides is a field like those of the form.
            beside = {name: value for name, value in placeholders.items() if name not in action.placeholders}
            said = sent(action.record) | beside if action.record else None
            outcome = action.do(writing, asker, placeholders | named, said, settings())
        except refusals as error:
            if again is None or wants_json():
                raise
            return form_again(again(**placeholders, error=error), error)
        wake()
        if then is not None:
            return then(outcome.result, **placeholders)
        return redirect(local_path(form.get("next", ""), _address(action.page, placeholders)), 303)

    view.__doc__ = f"{action.summary}."
    view.action = action  # type: ignore[attr-defined]
    return view


def _address(page: str, placeholders: Mapping[str, Any]) -> str:
    """The address of a page, which may have fewer placeholders than the form."""
    takes = current_app.url_map.is_endpoint_expecting
    return url_for(page, **{key: value for key, value in placeholders.items() if takes(page, key)})


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


def form(
    record: type, error: LeaderboardError | None = None, shown: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What the macro `form_fields` takes for a record: as it was sent where it was refused, else as shown."""
    asked = fields.of(record)
    typed, found = shown or fields.empty(record), {}
    # A page may have several forms; only the one that was sent is shown as it was typed.
    action = getattr(current_app.view_functions.get(request.endpoint or ""), "action", None)
    if error is not None and action is not None and action.record is record:
        typed, found = sent(record), problems(error)
    return {"asked": asked, "typed": typed, "problems": found}


def problems(error: LeaderboardError | None) -> dict[str, str]:
    """What is wrong with each field of a refused form, by its name."""
    found = getattr(error, "problems", ())
    return {problem.field: f"{problem.rule} {problem.remedy}".strip() for problem in found if problem.field}

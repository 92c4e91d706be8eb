"""The forms of declared actions: read, done, and shown again with what was typed where they are refused."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from flask import Blueprint, current_app, redirect, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import MultiDict

from leaderboard import fields
from leaderboard.core.actions import Action, File, Received
from leaderboard.errors import Conflict, Invalid, LeaderboardError, OverQuota
from leaderboard.fields import Field
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.http import local_path
from leaderboard.web.marks import record_sent
from leaderboard.web.rules import PUBLIC, SIGNED_IN, Access, Body, form_key, received, rule
from leaderboard.web.session import SESSIONS, settings, viewer, wake

Again = Callable[..., str]
"""Makes the page with the form again, of its address's placeholders and the error."""
Then = Callable[..., ResponseReturnValue | None]
"""Maker of the response after an action, from what it returned and the address's placeholders; None: the
action's page."""
NONE: Mapping[str, Callable[..., Any]] = MappingProxyType({})
REFUSALS = (Invalid, Conflict, OverQuota)
View = TypeVar("View", bound=Callable[..., ResponseReturnValue])


def add_to(
    blueprint: Blueprint,
    actions: Iterable[Action],
    again: Again | None = None,
    *,
    then: Mapping[str, Then] = NONE,
    before: Mapping[str, Callable[..., ResponseReturnValue | None]] = NONE,
    reads: Mapping[str, Callable[..., Mapping[str, Any]]] = NONE,
    refusals: tuple[type[LeaderboardError], ...] = REFUSALS,
    who: Access = SIGNED_IN,
) -> None:
    """Give every action that has a form the route of it.

    Without `again` a refusal is a separate page. then: action's name -> the response when it is done, if not
    the page with the form; before: checks of the request, which may answer it; reads: the record's values in
    a form with fields of its own. refusals: the errors shown above the form, which is shown again.
    """
    for action in actions:
        if action.form:
            name = action.name
            body = Body[action.file.body] if action.file else Body.SMALL
            view = rule(PUBLIC if action.is_public else who, body)(
                _view(action, again, then.get(name), before.get(name), reads.get(name), refusals)
            )
            blueprint.add_url_rule(action.form, action.name, view, methods=["POST"])


def _view(
    action: Action,
    again: Again | None,
    then: Then | None,
    before: Callable[..., ResponseReturnValue | None] | None,
    reads: Callable[..., Mapping[str, Any]] | None,
    refusals: tuple[type[LeaderboardError], ...],
) -> Callable[..., ResponseReturnValue]:
    def view(**placeholders: Any) -> ResponseReturnValue:
        if before is not None and (answered := before(**placeholders)) is not None:
            return answered
        asker, form = viewer(), request.form
        named = {name: form.get(by, "") for name, by in action.named.items()}
        try:
            # Other values in the address are fields like those of the form.
            others = {name: value for name, value in placeholders.items() if name not in action.placeholders}
            values: Mapping[str, Any] = {}
            if reads is not None:
                values = reads(**placeholders)
            elif action.record:
                values = sent(action.record, request.args if action.is_query else None)
            outcome = action.do(
                *(SESSIONS, asker, placeholders | named, {**values, **others}, settings()),
                _files(action.file),
                form_key(),
            )
        except refusals as error:
            if action.record is not None:
                _name_as_sent(error, action.record)
            if again is None or wants_json():
                raise
            return form_again(again(**placeholders, error=error), error)
        wake()
        if then is not None and (answered := then(outcome.result, **placeholders)) is not None:
            return answered
        return redirect(local_path(form.get("next", ""), _address(action, placeholders)), 303)

    view.__doc__ = f"{action.summary}."
    view.action = action  # type: ignore[attr-defined]
    return takes(action.record)(view)


def _name_as_sent(error: LeaderboardError, record: type) -> None:
    """Make an error name fields as the form does."""
    sent_as = {each.name: each.sent_as for each in fields.of(record)}
    if isinstance(error, Invalid):
        error.problems = tuple(
            replace(problem, field=sent_as.get(problem.field, problem.field)) for problem in error.problems
        )


def _files(file: File | None) -> dict[str, Received]:
    names = (file.field, *file.others) if file else ()
    return {name: sent_file for name in names if (sent_file := received(name)) is not None}


def takes(record: type | None) -> Callable[[View], View]:
    """Say which record the form of a view is made from, so that `form` shows it again as submitted."""

    def of(view: View) -> View:
        view.record = record  # type: ignore[attr-defined]
        return view

    return of


def _address(action: Action, placeholders: Mapping[str, Any]) -> str:
    """The address of an action's page, which may have fewer placeholders than the form."""
    takes, page = current_app.url_map.is_endpoint_expecting, action.page
    address = url_for(page, **{key: value for key, value in placeholders.items() if takes(page, key)})
    # What a form says in its own address is the state of the page.
    state = request.full_path[len(request.path) :].rstrip("?")
    return address.partition("?")[0] + state if action.is_query else address


def sent(record: type, form: MultiDict[str, str] | None = None) -> dict[str, Any]:
    """Values of a record as a form sends them: a box that is not ticked is not sent, and means no."""
    form = request.form if form is None else form
    values: dict[str, Any] = {}
    for each in fields.of(record):
        if each.about.is_of_api:
            continue
        if each.kind == "record":
            values |= sent(each.type, form)
        elif each.kind == "keyed":
            values[each.name] = _keyed(each.about)
        elif each.kind == "tick":
            values[each.name] = each.name in form
        elif each.kind == "ticks":
            values[each.name] = form.getlist(each.name)
        elif each.kind == "rows" and each.about.rows == 1:
            # Each row has a field of its own, so there may be none.
            values[each.name] = "\n".join(form.getlist(each.name))
        elif each.sent_as in form:
            values[each.name] = form[each.sent_as]
    return values


def _keyed(about: Field) -> dict[str, str]:
    """Texts by key; of several boxes ticked under one key the values are the words of its text."""
    by_name = {
        name.removeprefix(about.prefix): values
        for name, values in request.form.lists()
        if name.startswith(about.prefix)
    }
    return {key: " ".join(by_name[key]) for key in fields.keys(about) or by_name if key in by_name}


def form(
    record: type, error: LeaderboardError | None = None, shown: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Arguments of the macro `form_fields` for a record: as sent where it was refused, else as shown."""
    asked = fields.of(record)
    typed = shown or fields.empty(record)
    # A page may have several forms; only the one that was sent is shown as it was typed.
    if error is not None and record_sent() is record:
        # What a reading guessed is shown in its field, to be confirmed.
        guessed = {each.name: error.facts[each.name] for each in asked if each.name in error.facts}
        carried = {each.name: typed[each.name] for each in asked if each.about.is_carried and shown}
        typed = {**typed, **sent(record), **carried, **guessed}
    return {"asked": asked, "typed": typed}


def form_of(endpoint: str, error: LeaderboardError | None = None) -> dict[str, Any]:
    """The same for the record of the form at an endpoint, for a part of another feature's page."""
    view: Any = current_app.view_functions[endpoint]
    return form(view.record, error)

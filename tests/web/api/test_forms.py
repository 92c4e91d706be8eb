"""What a person does by a form, a program does by an operation: each form has one, or a reason why not."""

from typing import Any

from leaderboard import reference
from tests.web.conftest import Site

PERSON = "it is how a person proves who they are"
OPERATOR = "no token operates the site; the operator has the command line"
DESK = "people make these labels one by one; a program sends a file of its own as a revision"
PAGE = "it only has computed what the page then shows"
DONE_BY = {"tokens.revoke": "revoke_token", "imports.look": "import_task"}
"""Form -> the operation that does the same, where they are not one action."""
NOT_DONE = {
    **dict.fromkeys(("accounts", "second_factor", "openid", "device_logins", "mail", "invitations"), PERSON),
    **dict.fromkeys(("site_accounts", "site", "webhooks.stop"), OPERATOR),
    "members.link": "a link that lets into an account is made by a person",
    "tokens.make": "a token that made tokens could outlive its own end",
    "batches": "a program sends its files one by one, each with an answer of its own",
    **dict.fromkeys(("boards.standing", "intervals.ask", "pool_audits.ask"), PAGE),
    "revisions.ranks": PAGE,
    **dict.fromkeys(("labelling", "labelling_decisions", "labelling_desk"), DESK),
}
"""Form, or blueprint of forms -> why no program does it."""


def _is_operation(view: Any) -> bool:
    """Whether one action is declared to be the form and an operation."""
    return bool(getattr(view, "action", None) and view.action.path)


def test_every_form_has_its_operation_or_a_reason(site: Site) -> None:
    """And no entry of the two lists is out of date."""
    with site.app.app_context():
        operations = {one.name for one in reference.operations()}
    forms = {
        route.endpoint
        for route in site.app.url_map.iter_rules()
        if "POST" in (route.methods or ())
        and not route.rule.startswith("/api/")
        and not _is_operation(site.app.view_functions[route.endpoint])
    }
    assert set(DONE_BY) <= forms
    assert set(DONE_BY.values()) <= operations
    reasons = {form: NOT_DONE.get(form) or NOT_DONE.get(form.partition(".")[0]) for form in forms}
    assert {form for form in forms - set(DONE_BY) if not reasons[form]} == set()
    used = {*forms, *(form.partition(".")[0] for form in forms)}
    assert set(NOT_DONE) <= used

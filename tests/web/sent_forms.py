"""Forms of the site as the walk through two worlds sends them: endpoint -> addresses' ends with fields."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

from tests.make.people import PASSWORD

Form = Mapping[str, Any]

RUN = b"".join(
    b"%d Q0 d%02d 1 %d tag\n" % (topic, 13 - rank, 99 - rank) for topic in range(1, 11) for rank in range(12)
)
TOPICS = b"1\tfirst topic\n2\tsecond topic\n"
RUN_NAMES = ("other-a", "other-b", "extra", "other", "own", "masked", "new", "Team 2-1")
"""Names of hidden runs, of runs that are shown, and one that is free."""
WHY = {"why": "A mistake."}
COMPARED = (
    "?run=1&run=2",
    "?run=3&run=4",
    "?run=4&run=7",
    "?run=5&run=6&method=randomisation%2Bholm&measure=RR",
)


def run_form(name: str, team: int = 1) -> Form:
    """A run under a name, of a team."""
    return {"team": team, "name": name, "kind": "official", "file": (RUN, "run.txt")}


def _listed(run: str) -> Form:
    """A run filed for a team by a list, as only organisers may."""
    rows = f"run,team,kind\n{run},Owls,baseline\n"
    return {"team": "list", "list": rows, "file": (RUN, f"{run}.txt")}


def task_form(slug: str, **more: str) -> Form:
    """A new task."""
    return {"slug": slug, "name": "A task", "topics": (TOPICS, "topics.tsv"), **more}


MEMBERS = "blind blind\nsealed sealed\ndraft draft\nopen open\n"


def _suite_run(team: int, name: str) -> Form:
    return {"team": team, "name": name, "file": (_archive(), "both.zip")}


def _archive() -> bytes:
    """An archive with a run of two members of the suite."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as packed:
        for slug in ("blind", "sealed"):
            packed.writestr(zipfile.ZipInfo(f"{slug}/run.txt"), RUN)
    return body.getvalue()


FORMS: dict[str, Sequence[tuple[str, Form]]] = {
    "uploads.send_run": [
        ("", {}),
        *(("", run_form(name)) for name in RUN_NAMES),
        *(("", run_form("new", team)) for team in (2, 3, 4)),
        *(("", _listed(run)) for run in ("other-a", "other-b", "new")),
    ],
    "uploads.fix_upload": [("", {"fixes": name}) for name in ("topics", "nothing")],
    "uploads.review_upload": [("", {"accept": "on"}), ("", {"why": "No."})],
    "checks.check_run": [
        ("", {}),
        ("", {"file": (RUN, "run.txt")}),
        ("", {"file": (b"99 Q0 a 1 1 t\n", "run.txt")}),
    ],
    "uploads.withdraw_run": [("", WHY)],
    "run_facts.describe_run": [("", {"type": "manual"})],
    "reproduction_links.say_what_a_run_reproduces": [
        ("", {}),
        *(("", {"original": str(run_id)}) for run_id in (*range(1, 13), 99)),
    ],
    "organise.make_task": [
        *(("", task_form(slug)) for slug in ("draft", "sealed", "nothing")),
        *(("", task_form("mine", collection=name)) for name in ("draft", "blind", "nothing")),
    ],
    "settings.settle_task": [
        *(("", {"slug": slug}) for slug in ("draft", "sealed", "nothing")),
        ("", {"name": "Another", "reason": "Why not"}),
        ("", {"preview": "description", "description": "*new*"}),
    ],
    "pictures.put_picture": [("", {}), ("", {"alt": "A robot"})],
    "settings.clone_task": [("", {"slug": slug, "name": "A clone"}) for slug in ("draft", "sealed", "mine")],
    "people.invite_to_task": [("", {"role": "reader", "note": "Have a look."})],
    "people.give_role": [("", {"account": name, "role": "reader"}) for name in ("Zed", "Nobody")],
    "many_comparisons.compute_comparison": [(query, {}) for query in COMPARED],
    "boards.standing": [("", {}), ("?measure=AP", {}), ("?edition=2", {})],
    "intervals.ask": [("", {}), ("?measure=AP", {})],
    "news.announce": [
        ("", {"title": "News", "recipients": kind, "teams": str(team), "step": step, "counted": "1"})
        for kind, team in (("everybody", 1), ("without_run", 1), ("teams", 2), ("teams", 4))
        for step in ("preview", "send")
    ],
    "accounts.sign_in_now": [("", {"name": name, "password": "wrong"}) for name in ("Ann", "Zed", "Nobody")],
    "accounts.sign_up_now": [("", {"name": name, "password": PASSWORD}) for name in ("Ann", "Somebody")],
    # Refused for their label, after task and team were looked up: secrets are random.
    "tokens.make": [
        ("", {"label": "", "scopes": "read", "slug": slug, "team_id": team})
        for slug in ("draft", "sealed", "nothing")
        for team in ("", "2", "4")
    ],
    "teams.make_team": [("", {"name": name}) for name in ("owls", "Some team", "Team 2")],
    "teams.describe_team": [
        ("", {"affiliation": "Nest", "home_page": "https://example.org"}),
        *(("", {"name": name}) for name in ("Owls", "Free name")),
    ],
    "webhooks.make_team_webhook": [("", {"address": "https://hooks.example/", "events": "run.scored"})],
    "webhooks.make_task_webhook": [("", {"address": "https://hooks.example/", "events": "job.failed"})],
    "entries.enter_task": [
        ("", {"team_id": str(team), "code": "guess", "agreed": "1"}) for team in (1, 2, 3)
    ],
    "entries.decide_entry": [("", {"accept": "on"}), ("", {"why": "No."})],
    "suites.make_suite": [("", {"slug": "new", "title": "New", "members": MEMBERS})],
    "suites.change_suite": [("", {"title": "New", "members": MEMBERS})],
    "suite_sending.send_suite_run": [
        ("", {}),
        *(("", _suite_run(team, name)) for team in (1, 2) for name in ("new", "own")),
        ("", {**_suite_run(1, "new"), "check": "1"}),
    ],
    "suite_sending.put_suite_run_together": [
        ("", {"team_id": 1, "name": "new", "runs": f"blind={run} sealed={run}"}) for run in range(1, 8)
    ],
    "suite_sending.fill_in_suite_run": [("", {"runs": f"blind={run} open={run}"}) for run in range(1, 8)],
    "side_by_side.ask_people": [
        ("", {"run": "1", "others": str(other), "assessors": "1"}) for other in (2, 4, 7)
    ],
    "naming.give_pseudonyms": [("", {"until": "close", "is_sure": ""})],
    "groups.declare_group": [("", {"name": "students", "teams": "1"})],
    "pools.make_pool": [("", {"method": "depth", "depth": "5", "run": str(run)}) for run in (1, 4, 7)],
}
"""Endpoint -> the queries and forms it is sent, others an empty one; a file is its content and name."""

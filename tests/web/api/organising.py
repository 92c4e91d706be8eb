"""What the walks ask operations with, but those of test_two_worlds.py."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

from leaderboard.features import FEATURES
from leaderboard.judging.api import pools
from leaderboard.qrels.api import revisions, topics
from leaderboard.tasks.api import people, tasks
from leaderboard.web.api import actions
from tests.web.sent_forms import RUN, TOPICS

LEAVES = ("judges", "bundles")
"""Features that come out whose operations are those of organisers."""
ORGANISED = frozenset(
    one.name
    for operations in (
        *(tasks.CHANGES, topics.CHANGES, people.OPERATIONS, people.NAMING, pools.OPERATIONS, pools.CLICKS),
        *(revisions.OPERATIONS, pools.ASSESSORS, pools.SIDE_BY_SIDE),
        *(added for one in FEATURES if one.name in LEAVES for added in one.operations().values()),
    )
    for one in operations
    if one.act.__module__ != actions.__name__
)
"""Operations of who organises a task or coordinates its assessors; actions are tested as these."""
QRELS = b"1 0 d01 1\n2 0 d02 1\n"
LATER = "2100-01-01T00:00:00Z"
WORDS = {"title": "Words"}
PHASE = {"name": "late", "opens_at": LATER, "kinds": ["official"]}


def _json(*bodies: Mapping[str, Any], query: str = "") -> list[tuple[str, dict[str, Any]]]:
    return [(query, {"json": body}) for body in bodies]


def _zip(files: Mapping[str, bytes]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return body.getvalue()


SUITE_RUN = _zip({"blind/run.txt": RUN, "sealed/run.txt": RUN})
MEMBER_RUNS = [[{"member": slug, "run": run} for slug in ("blind", "sealed")] for run in range(1, 5)]
SUITE = {"title": "Both", "members": [{"name": slug, "task": slug} for slug in ("blind", "sealed", "draft")]}

ASKED: dict[str, Sequence[tuple[str, dict[str, Any]]]] = {
    "show_suite": [
        (query, {}) for query in ("", "?by=borda&members=like-these", "?lag=none", "?baseline=own")
    ],
    "make_suite": _json(SUITE),
    "change_suite": _json(SUITE),
    "send_suite_run": [(f"?team={team}", {"data": SUITE_RUN}) for team in (1, 2)],
    "put_suite_run_together": _json(*({"team": 1, "name": "new", "runs": runs} for runs in MEMBER_RUNS)),
    "fill_in_suite_run": _json(*({"runs": runs} for runs in MEMBER_RUNS)),
    "runs": [
        *((query, {}) for query in ("", "?measure=AP&phase=main", "?columns=NumRel", "?edition=2&limit=1")),
        *((query, {}) for query in ("?search=other", "?team=Owls", "?bounds=true&ranges=true", "?own=true")),
        ("?group=students", {}),
    ],
    "topics": [(query, {}) for query in ("", "?measure=AP&limit=1")],
    "topic_scores": [(query, {}) for query in ("", "?measure=AP")],
    "run_by_topic": [(query, {}) for query in ("", "?measure=AP&limit=1")],
    "show_ranking": [(query, {}) for query in ("", "?titles=true&limit=1")],
    "mean_intervals": [(query, {}) for query in ("", "?measure=AP")],
    "compute_statistics": [(query, {}) for query in ("", "?measure=AP")],
    "show_revision": [(query, {}) for query in ("", "?measure=AP")],
    "revision_file": [(query, {}) for query in ("", "?part=distractors", "?part=left_out")],
    "compare_pair": [(f"?first={one}&second={two}", {}) for one in range(1, 8) for two in range(one + 1, 9)],
    "compare_runs": [
        *((f"?run={one}&run={two}", {}) for one in range(1, 8) for two in range(one + 1, 9)),
        ("?run=1&run=2&baseline=1&measure=AP", {}),
    ],
    "compute_comparison": [(f"?run={one}&run={two}", {}) for one, two in ((1, 2), (3, 4), (4, 7), (5, 6))],
    "make_task": [
        ("?name=A+task", {"data": TOPICS}),
        *((f"?name=A+task&collection={name}", {"data": TOPICS}) for name in ("draft", "blind", "nothing")),
    ],
    "import_task": [
        *(
            (f"?make={makes}", {"data": _zip({"topics.tsv": TOPICS, "qrels.txt": QRELS})})
            for makes in (False, True)
        ),
        ("", {"data": b"no archive"}),
    ],
    "add_collection": [("", {"data": b'{"_id": "a", "text": "b"}\n'})],
    "settle_task": [
        *_json(*({"settings": {"slug": slug}} for slug in ("draft", "sealed", "nothing"))),
        *_json({"settings": {"name": "Another"}, "reason": "Why not"}),
    ],
    "put_picture": [("?alt=A+flag", {"data": b"GIF89a"})],
    "date_task": _json({"closes_at": LATER, "reason": "Why not"}),
    "clone_task": _json(*({"slug": slug, "name": "A clone"} for slug in ("draft", "sealed", "mine"))),
    "try_topics": [("", {"data": TOPICS}), ("?fields=title=", {"data": TOPICS})],
    "replace_topics": [("", {"data": TOPICS})],
    "add_topic": _json({"topic": "78", **WORDS}),
    "correct_topic": _json(WORDS),
    "exclude_topic": _json({"reason": "Vague."}),
    "score_topics": _json({"topics": "judged"}),
    "add_phase": _json(PHASE),
    "change_phase": _json({"phase": PHASE}),
    "extend_deadline": _json({"hours": 1, "reason": "An outage."}),
    "give_role": _json(*({"account": name, "role": "reader"} for name in ("Zed", "Nobody"))),
    "invite_to_task": _json({"role": "reader"}),
    "decide_entry": _json({"accept": True}, {"accept": False, "why": "No."}),
    "announce": _json(
        *(
            {"title": "News", "recipients": kind, "teams": [team], "preview": is_preview}
            for kind, team in (("everybody", 1), ("without_run", 1), ("teams", 2), ("teams", 4))
            for is_preview in (True, False)
        )
    ),
    "give_pseudonyms": _json({"is_sure": True}),
    "draw_pseudonyms": _json({"is_sure": True}),
    "declare_group": _json({"name": "students", "teams": [1]}, {"name": "systems", "runs": [2, 4]}),
    "draft_revision": [("?note=New", {"data": QRELS}), ("?holds=distractors&note=New", {"data": b"1 d01\n"})],
    "draft_residual": _json({"earlier": [1], "note": "Round 2."}),
    "publish_revision": _json({}),
    "make_pool": _json({"runs": "chosen", "chosen": [1]}, {"runs": "chosen", "chosen": [4]}, {}),
    "import_pool": [("", {"data": b"1 d01\n"})],
    "change_pool": _json({"state": "open"}, {"state": "closed"}),
    "settle_pool": _json({"note": "Settled."}),
    "add_assessors": _json({"names": ["Ada"]}),
    "assign": _json({"assessors": [1]}),
    "add_labels": [("?name=Ada", {"data": QRELS})],
    "write_guidelines": _json({"text": "Read."}),
    "name_grades": _json({"grades": [{"grade": 0, "name": "no"}, {"grade": 1, "name": "yes"}]}),
    "add_example": _json({"topic": "1", "text": "Words", "grade": 1}),
    "decide": _json({"topic": "1", "docno": "d01", "grade": 1, "key": "k"}),
    "import_log": [("?file_name=clicks.csv", {"data": RUN})],
    "publish_clicks": _json({"note": "Clicks."}),
    "ask_people": _json(*({"run": 1, "others": [other], "assessors": [1]} for other in (2, 4, 7))),
    "add_comparing_assessors": _json({"names": ["Ada"]}),
    "end_comparison": _json({"first": 1, "second": 2}),
    "make_team": _json(*({"name": name} for name in ("owls", "Some team", "Team 2"))),
    "describe_team": _json({"country": "AT"}, *({"name": name} for name in ("Owls", "Free name"))),
    "invite_to_team": _json({}),
    "enter_task": _json(*({"team": team, "code": "guess", "agreed": 1} for team in (1, 2, 3))),
    "make_review_link": _json({}),
    "judge": _json({"key": "k", "docno": "d01", "grade": 1}),
    "answer_comparison": _json({"key": "k", "verdict": "left", "left": 1, "right": 1}),
}
"""Operation -> queries with the rest of a request."""

"""Who may open which address: what each kind of viewer is answered at every route."""

from tests.web.matrix_of_kinds import OTHER_KINDS

VIEWERS = (None, "Nina", "Carl", "Berta", "Otto", "Olga")
"""A visitor, an account, another team's member, a member, another task's organiser, the organiser."""

OPEN = (200,) * 6
ACCOUNT = (401,) + (200,) * 5
SENDER = (401, 404, 404, 200, 404, 200)
CREATOR = (401, 403, 403, 403, 200, 200)
ORGANISER = (401, 403, 403, 403, 403, 200)
OPERATOR = (401,) + (403,) * 5
"""None of them is one; the pages themselves are tested with one in tests/site/web."""

READING = (
    *("", ".json", ".csv", ".tex", "/about", "/topics", "/topics.json", "/topics.csv"),
    *("/topics.tex", "/topics/1", "/topics/1.json", "/topics/1.csv", "/topics/1.tex"),
    *("/methods.txt", "/methods.tex", "/methods.bib"),
    *("/heatmap", "/heatmap.json", "/heatmap.csv", "/heatmap.tex"),
    *("/curves", "/curves.json", "/curves.csv", "/curves.tex"),
    *("/reproductions", "/reproductions.json", "/reproductions.csv", "/reproductions.tex"),
    *("/measures", "/measures.json", "/measures.csv", "/measures.tex"),
    *("/intervals", "/intervals.json", "/intervals.csv", "/intervals.tex"),
    *("/efficiency", "/efficiency.json", "/efficiency.csv", "/efficiency.tex"),
    *("/history", "/history.json", "/history.csv", "/history.tex"),
    *("/news", "/news.json", "/news.csv", "/news.tex"),
    *("/phases", "/phases.json", "/phases.csv", "/phases.tex", "/dates.ics", "/feed.atom"),
    *("/revisions", "/revisions.json", "/revisions.csv", "/revisions.tex"),
    *("/revisions/1", "/revisions/1.json", "/revisions/1.csv", "/revisions/1.tex", "/revisions/1/qrels.txt"),
)
RUN_READING = (
    *("", ".json", ".csv", ".tex", "/file", "/origin", "/origin.json", "/origin.csv", "/origin.tex"),
    *("/topics/1", "/topics/1.json", "/topics/1.csv", "/topics/1.tex"),
)
"""What anybody may read of an open task, and only its organisers of a draft."""

SIDE_BY_SIDE = ("", ".json", ".csv", ".tex", "/answers.json", "/answers.csv", "/answers.tex")
FILES = (".json", ".csv", ".tex")
LABELS = (
    *("/agreement", "/agreement.json", "/agreement.csv", "/agreement.tex", "/assessments.csv"),
    *("/assessments.jsonl", "/adjudication", "/adjudication.json", "/adjudication.csv"),
    *("/adjudication.tex", "/publish", "/publish.json", "/publish.csv", "/publish.tex", "/settled.qrels"),
)

POOLS = (
    *("", ".json", ".csv", ".tex", "/new", "/new.json", "/new.csv", "/new.tex"),
    *("/1", "/1.json", "/1.csv", "/1.tex", "/1/documents.txt", "/1/documents.csv", "/1/documents.jsonl"),
    *("/1/topics/1", "/1/topics/1.json", "/1/topics/1.csv", "/1/topics/1.tex"),
)

SIGNED = (".json", "/signature.json")
OUTWARD = ("citation.json", "eval.yaml", "croissant.json")
CITED, NAMED = ("citation.cff", "citation.bib"), "eval-results.yaml?dataset=owner/name&task=t"
NAMING = ("pseudonyms", "pseudonyms.json", "pseudonyms.csv", "pseudonyms.tex", "groups")
ASSESSORS = (*("/assessors", "/assessors.json", "/assessors.csv", "/assessors.tex"), "/guidelines")

MATRIX: dict[tuple[str, str], tuple[int, ...]] = {
    ("GET", "/healthz"): OPEN,
    ("GET", "/metrics"): OPEN,
    **{("GET", f"/api{rest}"): OPEN for rest in ("", "/problems/closed", "/v1/openapi.json")},
    ("GET", "/"): OPEN,
    **{("GET", f"/help{rest}"): OPEN for rest in ("", "/parts")},
    **{("GET", f"/tasks/robots{rest}"): OPEN for rest in READING},
    **{("GET", f"/tasks/robots/reveal{rest}"): (404,) * 6 for rest in ("", *FILES)},
    **{
        ("GET", f"/{file}"): OPEN
        for file in ("tasks.json", "tasks.csv", "tasks.tex", "dates.ics", "feed.atom")
    },
    **{("GET", f"/search{rest}"): OPEN for rest in ("", "?q=run", *FILES)},
    **{("GET", f"/snapshots/{{snapshot}}{rest}"): OPEN for rest in ("", ".json", ".csv", ".tex", ".bib")},
    ("GET", "/snapshots/{snapshot}/signature.json"): OPEN,
    **{("GET", f"/tasks/robots/editions/1{rest}"): OPEN for rest in SIGNED},
    ("GET", "/.well-known/leaderboard-keys.json"): OPEN,
    ("POST", "/tasks/robots/snapshots"): (401,) + (303,) * 5,
    **{
        ("GET", f"/tasks/robots/documents{suffix}?docno=d1{topic}"): OPEN
        for suffix in ("", ".json", ".csv", ".tex")
        for topic in ("", "&topic=2")
    },
    **{("GET", f"/runs/{{run}}{rest}"): OPEN for rest in RUN_READING},
    **{
        ("GET", path): OPEN
        for path in ("/tasks.md", "/tasks/robots.md", "/runs/{run}.md", "/tasks/robots/topics/1.md")
    },
    ("GET", "/tasks/robots/compare.md"): (422,) * 6,
    **{("GET", f"/runs/{{run}}/{file}"): (404,) * 6 for file in ("results.json", NAMED)},
    **OTHER_KINDS,
    ("GET", "/runs/{run}/eval-results.yaml"): (422,) * 6,
    ("GET", "/runs/{run}/ir-metadata.yaml"): OPEN,
    ("GET", "/tasks/robots/embed"): OPEN,
    **{("GET", f"/tasks/draft/{piece}"): (404,) * 6 for piece in ("badge.svg", "embed")},
    **{("GET", f"/{of}/badge.svg"): OPEN for of in ("runs/{run}", "tasks/robots")},
    ("GET", "/runs/{run}.trec_eval"): (404,) * 6,
    **{
        ("GET", f"/runs/{{run}}/{page}{suffix}"): (404,) * 6
        for page in ("explained", "topics", "curves", "ties", "measures")
        for suffix in ("", *FILES)
    },
    **{("GET", f"/measures{rest}"): OPEN for rest in ("", ".json", ".csv", ".tex", "/AP", "/AP.json")},
    ("GET", "/sign-in"): OPEN,
    ("POST", "/sign-in"): (422,) * 6,
    ("GET", "/sign-in/{link}"): OPEN,
    ("POST", "/sign-in/nonsense"): (404,) * 6,
    ("GET", "/sign-up"): OPEN,
    ("POST", "/sign-up"): (422,) * 6,
    ("POST", "/sign-out"): (303,) * 6,
    ("GET", "/account"): ACCOUNT,
    **{("GET", f"/my{rest}"): ACCOUNT for rest in ("", *FILES)},
    ("POST", "/account/password"): (401,) + (422,) * 5,
    ("POST", "/account/sessions/999999"): (401,) + (404,) * 5,
    ("POST", "/account/sessions/end"): (401,) + (303,) * 5,
    ("GET", "/account/tokens"): ACCOUNT,
    ("POST", "/account/tokens"): (401,) + (422,) * 5,
    ("POST", "/account/tokens/999999/revoke"): (401,) + (404,) * 5,
    ("GET", "/device"): ACCOUNT,
    **{("POST", f"/device{rest}"): (401,) + (404,) * 5 for rest in ("", "/answer")},
    **{(method, "/second-factor"): (401,) * 6 for method in ("GET", "POST")},
    ("GET", "/account/second-factor"): ACCOUNT,
    ("POST", "/account/second-factor"): (401,) + (303,) * 5,
    **{("GET", f"/sign-in/with/nothing{rest}"): (404,) * 6 for rest in ("", "/back")},
    **{(method, "/sign-in/new"): (401,) * 6 for method in ("GET", "POST")},
    ("POST", "/account/identities/nothing"): (401,) + (404,) * 5,
    ("POST", "/account/identities/nothing/remove"): (401,) + (404,) * 5,
    ("GET", "/account/export.json"): ACCOUNT,
    ("POST", "/account/delete"): (401,) + (422,) * 5,
    **{
        ("POST", f"/account/second-factor/{act}"): (401,) + (422,) * 5
        for act in ("confirm", "recovery-codes", "remove")
    },
    **{("POST", f"/account/address{rest}"): (401,) + (404,) * 5 for rest in ("", "/remove")},
    **{(method, "/lost-password"): (404,) * 6 for method in ("GET", "POST")},
    **{(method, "/confirm-mail/nonsense"): (404,) * 6 for method in ("GET", "POST")},
    ("GET", "/site"): OPERATOR,
    **{
        ("GET", f"/site/{page}{rest}"): OPERATOR
        for page in ("queue", "storage", "mail", "audit")
        for rest in ("", *FILES)
    },
    ("GET", "/site/webhooks"): OPERATOR,
    ("POST", "/site/webhooks/9/stop"): OPERATOR,
    ("POST", "/site/queue/{job}"): OPERATOR,
    ("POST", "/site/mail"): OPERATOR,
    ("GET", "/teams"): ACCOUNT,
    ("POST", "/teams"): (401,) + (422,) * 5,
    ("GET", "/teams/{owls}"): OPEN,
    ("GET", "/teams/{bears}"): (401, 404, 200, 404, 404, 404),
    ("GET", "/teams/{owls}/feed.atom"): OPEN,
    ("POST", "/teams/{owls}/details"): (401, 404, 404, 303, 404, 404),
    ("POST", "/teams/{owls}/filed/robots"): (401,) + (404,) * 5,
    ("POST", "/teams/{owls}/members/{anna}/captain"): (401, 404, 404, 403, 404, 404),
    ("POST", "/teams/{owls}/invitations"): (401, 404, 404, 201, 404, 404),
    ("POST", "/invitations/{invited}/revoke"): (401, 404, 404, 303, 404, 404),
    ("GET", "/teams/{owls}/webhooks"): (401, 404, 404, 200, 404, 404),
    ("POST", "/teams/{owls}/webhooks"): (401, 404, 404, 422, 404, 404),
    ("GET", "/tasks/robots/webhooks"): ORGANISER,
    ("POST", "/tasks/robots/webhooks"): (401, 403, 403, 403, 403, 422),
    ("GET", "/webhooks/999999"): (401,) + (404,) * 5,
    **{
        ("POST", f"/webhooks/999999{act}"): (401,) + (404,) * 5
        for act in ("", "/test", "/secret", "/delete", "/deliveries/nothing")
    },
    ("POST", "/teams/{owls}/leave"): (401, 404, 404, 303, 404, 404),
    ("POST", "/teams/{owls}/members/{anna}/remove"): (401, 404, 404, 403, 404, 404),
    ("GET", "/join/{invitation}"): OPEN,
    ("POST", "/join/{invitation}"): (422, 303, 404, 404, 404, 404),
    **{("GET", f"/site/accounts{rest}"): OPERATOR for rest in ("", *FILES)},
    ("GET", "/site/accounts/{nina}/tokens"): OPERATOR,
    ("POST", "/site/accounts/invitations"): OPERATOR,
    **{
        ("POST", f"/site/accounts/{{nina}}/{act}"): OPERATOR
        for act in ("link", "close", "reopen", "sign-out", "organiser")
    },
    ("GET", "/tasks/robots/submit"): ACCOUNT,
    ("POST", "/tasks/robots/submit"): (401,) + (422,) * 5,
    ("GET", "/tasks/robots/enter"): OPEN,
    ("POST", "/tasks/robots/enter"): (401,) + (422,) * 5,
    **{("GET", f"/tasks/robots/entries{rest}"): ORGANISER for rest in ("", *FILES)},
    ("POST", "/tasks/robots/entries/{owls}"): (401, 403, 403, 403, 403, 422),
    ("GET", "/uploads/{accepted}"): SENDER,
    ("GET", "/uploads/{accepted}.json"): SENDER,
    ("GET", "/uploads/{accepted}/file"): SENDER,
    ("POST", "/uploads/{rejected}/fix"): (401, 404, 404, 422, 404, 422),
    ("POST", "/uploads/{accepted}/review"): (401, 404, 404, 403, 404, 409),
    ("GET", "/tasks/robots/check"): OPEN,
    ("GET", "/tasks/robots/revisions/1/quepid.csv"): OPEN,
    ("GET", "/tasks/robots/revisions/1/opensearch.json"): OPEN,
    ("POST", "/tasks/robots/check"): (422,) * 6,
    ("GET", "/tasks/draft/check"): (404, 404, 404, 404, 404, 200),
    ("GET", "/tasks/robots/sample-run"): OPEN,
    ("GET", "/tasks/draft/sample-run"): (404, 404, 404, 404, 404, 409),
    **{("GET", f"/batches/9{suffix}"): (401,) + (404,) * 5 for suffix in ("", ".json", ".csv", ".tex")},
    **{("POST", f"/batches/9/{act}"): (401,) + (404,) * 5 for act in ("send", "drop")},
    **{("GET", f"/tasks/robots/reproductions/{{run}}{rest}"): (404,) * 6 for rest in ("", *FILES)},
    ("POST", "/tasks/robots/reproductions"): (401,) + (303,) * 5,
    ("GET", "/runs/{run}/reproduces"): (401, 403, 403, 200, 403, 200),
    ("POST", "/runs/{run}/reproduces"): (401, 403, 403, 422, 403, 422),
    ("POST", "/runs/{run}/reproduces/delete"): (401, 403, 403, 409, 403, 409),
    ("GET", "/runs/{run}/facts"): (401, 403, 403, 200, 403, 200),
    ("POST", "/runs/{run}/facts"): (401, 403, 403, 200, 403, 200),
    ("POST", "/runs/{run}/withdraw"): (401, 403, 403, 422, 403, 422),
    ("POST", "/runs/{run}/restore"): (401, 403, 403, 409, 403, 409),
    ("POST", "/runs/{run}/mark"): (401, 403, 403, 303, 403, 403),
    ("POST", "/runs/{run}/unmark"): (401, 403, 403, 303, 403, 403),
    ("POST", "/tasks/robots/standing"): (401,) + (303,) * 5,
    ("POST", "/tasks/robots/intervals"): (401,) + (303,) * 5,
    ("GET", "/tasks/robots/compare"): OPEN,
    ("GET", "/tasks/robots/compare.json"): (404,) * 6,
    ("GET", "/tasks/robots/compare.csv"): (404,) * 6,
    ("GET", "/tasks/robots/compare.tex"): (422,) * 6,
    ("POST", "/tasks/robots/comparisons"): (401,) + (422,) * 5,
    ("GET", "/tasks/new"): CREATOR,
    ("POST", "/tasks/new"): (401, 403, 403, 403, 422, 422),
    ("GET", "/tasks/robots/organise"): ORGANISER,
    **{("GET", f"/tasks/robots/activity{rest}"): ORGANISER for rest in ("", *FILES)},
    ("GET", "/tasks/robots/announce"): ORGANISER,
    ("POST", "/tasks/robots/announce"): (401, 403, 403, 403, 403, 422),
    **{("GET", f"/tasks/robots/members{rest}"): ORGANISER for rest in ("", *FILES)},
    ("POST", "/tasks/robots/members/{berta}/link"): (401, 403, 403, 403, 403, 201),
    **{("GET", f"/tasks/robots/{page}"): ORGANISER for page in NAMING},
    ("POST", "/tasks/robots/pseudonyms"): (401, 403, 403, 403, 403, 409),
    ("POST", "/tasks/robots/pseudonyms/draw"): (401, 403, 403, 403, 403, 409),
    ("POST", "/tasks/robots/pseudonyms/take-back"): (401, 403, 403, 403, 403, 409),
    ("GET", "/tasks/robots/own-names"): ACCOUNT,
    ("POST", "/tasks/robots/own-names/{owls}/show"): (401, 403, 403, 409, 403, 403),
    ("POST", "/tasks/robots/own-names/{owls}/links"): (401, 403, 403, 409, 403, 403),
    ("POST", "/tasks/robots/own-names/{owls}/links/9/end"): (401, 403, 403, 404, 403, 403),
    ("GET", "/review/nonsense"): (404,) * 6,
    ("POST", "/tasks/robots/groups"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/groups/9/remove"): (401, 403, 403, 403, 403, 404),
    **{("GET", f"/tasks/robots/side-by-side{rest}"): ORGANISER for rest in SIDE_BY_SIDE},
    ("POST", "/tasks/robots/side-by-side"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/side-by-side/assessors"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/side-by-side/end"): (401, 403, 403, 403, 403, 422),
    **{("GET", f"/tasks/robots/compare/side-by-side{rest}"): (404,) * 6 for rest in FILES},
    **{("GET", f"/judge/{{judge}}{rest}"): OPEN for rest in ("", "/1", "/1/1", "/1/1/documents")},
    ("POST", "/judge/{judge}/1/1"): (422,) * 6,
    ("POST", "/judge/{judge}/1/1/undo"): (303,) * 6,
    ("GET", "/judge/nonsense/side-by-side"): (404,) * 6,
    ("GET", "/judge/nonsense/side-by-side/nothing"): (404,) * 6,
    ("POST", "/judge/nonsense/side-by-side/nothing"): (404,) * 6,
    ("GET", "/judge/nonsense/side-by-side/nothing/left/1"): (404,) * 6,
    ("POST", "/tasks/robots/organise/publish"): (401, 403, 403, 403, 403, 303),
    ("POST", "/tasks/robots/discard"): (401, 403, 403, 403, 403, 409),
    ("POST", "/tasks/robots/organise/exclusions"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/organise/topics/judged"): (401, 403, 403, 403, 403, 303),
    ("POST", "/tasks/robots/organise/topics/all"): (401, 403, 403, 403, 403, 303),
    ("POST", "/tasks/robots/organise/dates"): (401, 403, 403, 403, 403, 303),
    **{("POST", f"/tasks/robots/phases{act}"): (401, 403, 403, 403, 403, 422) for act in ("", "/extend")},
    **{
        ("POST", f"/tasks/robots/phases/{act}"): (401, 403, 403, 403, 403, 404)
        for act in ("remove", "reveal")
    },
    ("POST", "/tasks/robots/phases/change"): (401, 403, 403, 403, 403, 422),
    **{
        ("GET", f"/tasks/robots{rest}"): ORGANISER
        for rest in ("/settings", "/settings/measures", "/settings/topics/1", "/people", "/discard")
    },
    ("POST", "/tasks/robots/settings/description"): (401, 403, 403, 403, 403, 303),
    ("POST", "/tasks/robots/settings/nothing"): (401, 403, 403, 403, 403, 404),
    ("POST", "/tasks/robots/settings/topics"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/settings/topics/new"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/settings/topics/1"): (401, 403, 403, 403, 403, 422),
    ("GET", "/tasks/robots/pictures/{logo}"): OPEN,
    ("GET", "/tasks/robots/pictures/0000"): (404,) * 6,
    ("POST", "/tasks/robots/settings/pictures/logo"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/settings/pictures/nothing"): (401, 403, 403, 403, 403, 404),
    ("POST", "/tasks/robots/settings/pictures/picture/remove"): (401, 403, 403, 403, 403, 404),
    ("POST", "/tasks/robots/people"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/people/invitations"): (401, 403, 403, 403, 403, 201),
    ("POST", "/tasks/robots/people/{olga}/remove"): (401, 403, 403, 403, 403, 409),
    ("POST", "/tasks/robots/clone"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/archive"): (401, 403, 403, 403, 403, 303),
    ("POST", "/tasks/robots/unarchive"): (401, 403, 403, 403, 403, 303),
    ("POST", "/tasks/robots/unpublish"): (401, 403, 403, 403, 403, 409),
    ("GET", "/tasks/robots/revisions/lines/1/1.txt"): OPEN,
    ("POST", "/tasks/robots/reference"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/reference/file"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/revisions"): (401, 403, 403, 403, 403, 422),
    ("GET", "/tasks/robots/revisions/drafts/nonsense"): (401, 403, 403, 403, 403, 404),
    ("GET", "/tasks/robots/revisions/drafts/nonsense.json"): (401, 403, 403, 403, 403, 404),
    ("POST", "/tasks/robots/revisions/drafts/nonsense"): (401, 403, 403, 403, 403, 404),
    ("POST", "/tasks/robots/revisions/drafts/nonsense/discard"): (401, 403, 403, 403, 403, 404),
    ("POST", "/tasks/robots/revisions/drafts/nonsense/ranks"): (401, 403, 403, 403, 403, 404),
    ("POST", "/tasks/robots/organise/jobs/{job}"): (401, 403, 403, 403, 403, 303),
    **{("GET", f"/tasks/robots/pools{rest}"): ORGANISER for rest in POOLS},
    **{("GET", f"/tasks/robots/pools/1{rest}"): ORGANISER for rest in LABELS},
    **{("GET", f"/tasks/robots/pools/1{rest}"): ORGANISER for rest in ASSESSORS},
    ("POST", "/tasks/robots/pools/1/assessors"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/pools/1/assessors/{assessor}/link"): (401, 403, 403, 403, 403, 201),
    ("POST", "/tasks/robots/pools/1/assessors/{assessor}/prolong"): (401, 403, 403, 403, 403, 303),
    ("POST", "/tasks/robots/pools/1/assessors/{assessor}/revoke"): (401, 403, 403, 403, 403, 303),
    ("POST", "/tasks/robots/pools/1/assignments"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/pools/1/labels"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/pools/1/guidelines"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/pools/1/grades"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/pools/1/examples"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/pools/1/examples/1/remove"): (401, 403, 403, 403, 403, 404),
    ("GET", "/tasks/robots/pools/1/adjudication/document"): (401, 403, 403, 403, 403, 404),
    ("POST", "/tasks/robots/pools/1/adjudication/document"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/pools/1/adjudication/undo"): (401, 403, 403, 403, 403, 404),
    ("POST", "/tasks/robots/pools/1/publish"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/pools"): (401, 403, 403, 403, 403, 303),
    ("POST", "/tasks/robots/pools/import"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/pools/1/state"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/pools/1/discard"): (401, 403, 403, 403, 403, 409),
    **{("GET", f"/tasks/robots/combined{rest}"): (404,) * 5 + (200,) for rest in ("", *FILES)},
    ("POST", "/tasks/robots/combined"): (401, 403, 403, 403, 403, 409),
    **{("GET", f"/tasks/robots/{file}"): OPEN for file in (*CITED, *OUTWARD, "task.zip")},
    ("GET", "/tasks/robots/export.zip"): ORGANISER,
    ("GET", "/tasks/import"): CREATOR,
    ("POST", "/tasks/import"): (401, 403, 403, 403, 422, 422),
    ("POST", "/tasks/import/make"): (401, 403, 403, 403, 404, 404),
    ("POST", "/tasks/robots/pools/1/shown"): (401, 403, 403, 403, 403, 404),
    **{("GET", f"/tasks/robots/pools/audit{rest}"): OPEN for rest in ("", ".json", ".csv", ".tex")},
    ("POST", "/tasks/robots/pools/audit"): (401,) + (303,) * 5,
    **{("GET", f"/tasks/robots/clicks{rest}"): ORGANISER for rest in ("", *FILES, ".txt")},
    ("POST", "/tasks/robots/clicks"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/clicks/publish"): (401, 403, 403, 403, 403, 422),
    ("POST", "/tasks/robots/clicks/1/delete"): (401, 403, 403, 403, 403, 404),
}
DRAFTS = {
    **{("GET", f"/tasks/draft/editions/1{rest}"): (404,) * 6 for rest in SIGNED},
    **{("GET", f"/tasks/draft{rest}"): (404, 404, 404, 404, 404, 200) for rest in READING},
    ("GET", "/tasks/draft/submit"): (401, 404, 404, 404, 404, 200),
    ("POST", "/tasks/draft/submit"): (401, 404, 404, 404, 404, 422),
    ("GET", "/tasks/draft/members"): (401, 404, 404, 404, 404, 200),
    ("POST", "/tasks/draft/members/{berta}/link"): (401,) + (404,) * 5,
    ("GET", "/tasks/draft/enter"): (404, 404, 404, 404, 404, 200),
    ("POST", "/tasks/draft/enter"): (401,) + (422,) * 5,
    **{("GET", f"/tasks/draft/entries{rest}"): (401, 404, 404, 404, 404, 200) for rest in ("", *FILES)},
    ("POST", "/tasks/draft/entries/{owls}"): (401,) + (404,) * 5,
    ("POST", "/tasks/draft/organise/topics/judged"): (401, 404, 404, 404, 404, 303),
    ("GET", "/tasks/draft/organise"): (401, 404, 404, 404, 404, 200),
    ("GET", "/tasks/draft/activity"): (401, 404, 404, 404, 404, 200),
    ("GET", "/tasks/draft/announce"): (401, 404, 404, 404, 404, 200),
    ("POST", "/tasks/draft/announce"): (401, 404, 404, 404, 404, 422),
    **{("GET", f"/tasks/draft/{page}"): (401, 404, 404, 404, 404, 200) for page in NAMING},
    ("GET", "/tasks/draft/own-names"): (401, 404, 404, 404, 404, 200),
    ("POST", "/tasks/draft/own-names/{owls}/show"): (401, 404, 404, 404, 404, 403),
    ("POST", "/tasks/draft/groups"): (401, 404, 404, 404, 404, 422),
    ("POST", "/tasks/draft/pseudonyms"): (401, 404, 404, 404, 404, 303),
    **{("GET", f"/tasks/draft/side-by-side{rest}"): (401, 404, 404, 404, 404, 200) for rest in SIDE_BY_SIDE},
    ("POST", "/tasks/draft/side-by-side"): (401, 404, 404, 404, 404, 422),
    ("POST", "/tasks/draft/side-by-side/assessors"): (401, 404, 404, 404, 404, 422),
    ("POST", "/tasks/draft/side-by-side/end"): (401, 404, 404, 404, 404, 422),
    **{("GET", f"/tasks/draft/compare/side-by-side{rest}"): (404,) * 6 for rest in FILES},
    ("POST", "/tasks/draft/organise/publish"): (401, 404, 404, 404, 404, 303),
    ("POST", "/tasks/draft/discard"): (401, 404, 404, 404, 404, 303),
    ("POST", "/tasks/draft/organise/exclusions"): (401, 404, 404, 404, 404, 422),
    ("POST", "/tasks/draft/organise/dates"): (401, 404, 404, 404, 404, 303),
    ("POST", "/tasks/draft/phases"): (401, 404, 404, 404, 404, 422),
    ("POST", "/tasks/draft/snapshots"): (401, 404, 404, 404, 404, 409),
    ("POST", "/tasks/draft/standing"): (401, 404, 404, 404, 404, 303),
    ("POST", "/tasks/draft/intervals"): (401, 404, 404, 404, 404, 303),
    ("GET", "/tasks/draft/compare"): (404, 404, 404, 404, 404, 200),
    ("GET", "/tasks/draft/compare.json"): (404,) * 6,
    ("GET", "/tasks/draft/compare.csv"): (404,) * 6,
    ("GET", "/tasks/draft/compare.tex"): (404,) * 6,
    ("POST", "/tasks/draft/comparisons"): (401,) + (404,) * 5,
    **{
        ("GET", f"/tasks/draft{rest}"): (401, 404, 404, 404, 404, 200)
        for rest in ("/settings", "/settings/measures", "/settings/topics/1", "/people", "/discard")
    },
    ("POST", "/tasks/draft/settings/description"): (401, 404, 404, 404, 404, 303),
    ("GET", "/tasks/draft/pictures/{logo}"): (404, 404, 404, 404, 404, 200),
    ("POST", "/tasks/draft/settings/pictures/logo"): (401, 404, 404, 404, 404, 422),
    ("POST", "/tasks/draft/people/{olga}/remove"): (401, 404, 404, 404, 404, 409),
    ("POST", "/tasks/draft/clone"): (401, 404, 404, 404, 404, 422),
    ("POST", "/tasks/draft/archive"): (401, 404, 404, 404, 404, 409),
    ("POST", "/tasks/draft/unpublish"): (401, 404, 404, 404, 404, 303),
    ("POST", "/tasks/draft/revisions"): (401, 404, 404, 404, 404, 422),
    ("GET", "/tasks/draft/revisions/drafts/nonsense"): (401,) + (404,) * 5,
    ("GET", "/tasks/draft/revisions/lines/1/1.txt"): (404,) * 6,
    ("POST", "/tasks/draft/organise/jobs/{job}"): (401, 404, 404, 404, 404, 404),
    **{
        ("GET", f"/tasks/draft/clicks{rest}"): (401, 404, 404, 404, 404, 200)
        for rest in ("", ".json", ".csv", ".txt")
    },
    **{
        ("GET", f"/tasks/draft/pools{rest}"): (401, 404, 404, 404, 404, 200)
        for rest in ("", ".json", ".csv", ".tex", "/new")
    },
    ("GET", "/tasks/draft/pools/1"): (401,) + (404,) * 5,
    **{("GET", f"/tasks/draft/pools/1{rest}"): (401,) + (404,) * 5 for rest in LABELS},
    **{("GET", f"/tasks/draft/pools/1{rest}"): (401,) + (404,) * 5 for rest in ASSESSORS},
    ("POST", "/tasks/draft/pools/1/assessors"): (401,) + (404,) * 5,
    ("POST", "/tasks/draft/pools/1/assignments"): (401,) + (404,) * 5,
    ("POST", "/tasks/draft/pools/1/labels"): (401,) + (404,) * 5,
    ("POST", "/tasks/draft/pools/1/publish"): (401,) + (404,) * 5,
    ("POST", "/tasks/draft/pools"): (401, 404, 404, 404, 404, 409),
    ("POST", "/tasks/draft/pools/import"): (401, 404, 404, 404, 404, 422),
    ("GET", "/tasks/draft/combined"): (404, 404, 404, 404, 404, 200),
    ("POST", "/tasks/draft/combined"): (401, 404, 404, 404, 404, 409),
    **{("GET", f"/tasks/draft/{file}"): (404, 404, 404, 404, 404, 200) for file in CITED},
    ("GET", "/tasks/draft/task.zip"): (404,) * 6,
    ("GET", "/tasks/draft/export.zip"): (401, 404, 404, 404, 404, 200),
    ("GET", "/tasks/draft/pools/audit"): (404, 404, 404, 404, 404, 200),
    ("POST", "/tasks/draft/pools/audit"): (401, 404, 404, 404, 404, 303),
    ("POST", "/tasks/draft/clicks"): (401, 404, 404, 404, 404, 422),
    ("POST", "/tasks/draft/clicks/publish"): (401, 404, 404, 404, 404, 422),
    ("POST", "/tasks/draft/clicks/1/delete"): (401, 404, 404, 404, 404, 404),
}
"""What belongs to a draft does not exist for anyone but its organisers."""

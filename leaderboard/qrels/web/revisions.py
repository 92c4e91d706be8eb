"""Revisions of judgments: preview, publishing and pages."""

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.errors import LeaderboardError
from leaderboard.qrels.ops import revisions, sending
from leaderboard.qrels.ops.revisions import Revision
from leaderboard.qrels.ops.sending import Judgments
from leaderboard.qrels.page.revisions import lists, rank_changes, revision
from leaderboard.qrels.page.revisions.lists import RevisionList
from leaderboard.qrels.page.revisions.rank_changes import ChangedJudgments, Preview, RankChanges
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.scoring.ops.statistics.requests import computing
from leaderboard.web import actions, http
from leaderboard.web.charts import Ranks, SlopeChart, slope_chart
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import hands_out_judgments, reading, viewer

blueprint = Blueprint("revisions", __name__)

TOPICS_AT_FIRST = 200
RUNS_AT_FIRST = 200
SLOPES = 60
"""Maximum number of runs in the chart of a revision: those that moved most."""


def list_page(slug: str, error: LeaderboardError | None = None) -> str:
    """All revisions of a task's judgments, with the form for a new one."""
    return _list_html(index(slug), error)


def _list_html(page: RevisionList, error: LeaderboardError | None = None) -> str:
    return render_template(
        "qrels/revisions/index.html",
        page=page,
        table=lists.table(page),
        lines=[(line, lists.line_table(page, line)) for line in page.lines],
        error=error,
        sent=request.form,
        form=actions.form(Judgments, error, {**fields.empty(Judgments), "line": ""}),
    )


@http.with_files(blueprint, "/tasks/<slug>/revisions", _list_html, lists.FILES)
@rule(PUBLIC, carries="board")
def index(slug: str) -> RevisionList:
    """All revisions of a task's judgments, with the upload form for its organisers."""
    return lists.revision_list(reading(), viewer(), slug)


@blueprint.get("/tasks/<slug>/revisions/<id:number>")
@rule(PUBLIC, carries="board")
def show(slug: str, number: int) -> ResponseReturnValue:
    """One revision: its changes, and the rank of every run before and after."""
    page = _page(slug, number)
    html = render_template(
        "qrels/revisions/show.html", page=page, measure=request.args.get("measure"), **_of_changes(page)
    )
    return http.page(html)


@blueprint.get("/tasks/<slug>/revisions/<id:number>.<form:form>")
@rule(PUBLIC)
def export(slug: str, number: int, form: str) -> ResponseReturnValue:
    """The revision as a file: the runs before and after, or the topics with `of=topics`."""
    which = "topics" if request.args.get("of") == "topics" else None
    return http.export(form, revision.FILES, _page(slug, number), which)


def _page(slug: str, number: int) -> revision.RevisionPage:
    return revision.revision_page(reading(), viewer(), slug, number, request.args.get("measure"))


def _of_changes(page: ChangedJudgments) -> dict[str, Any]:
    """Template values for changed judgments: the first topics and runs, or all on request."""
    is_cut = "all" not in request.args
    return {
        "tables": {name: table(page) for name, table in rank_changes.CHANGED_TABLES.items()},
        "runs": page.ranks.rows[: RUNS_AT_FIRST if is_cut else None] if page.ranks else (),
        "topics": page.changes.changed_topics[: TOPICS_AT_FIRST if is_cut else None],
        "slopes": slopes_of(page.ranks) if page.ranks else None,
    }


def slopes_of(ranks: RankChanges) -> SlopeChart | None:
    """Chart of the ranked runs, or those that moved most."""
    ranked = [row for row in ranks.rows if row.old_rank is not None and row.new_rank is not None]
    chosen = sorted(ranked, key=lambda row: -abs(row.moved))[:SLOPES]
    if len(chosen) < 2:
        return None
    drawn = sorted(chosen, key=lambda row: (row.new_rank or 0, row.run.name))
    return slope_chart(
        [
            Ranks(
                row.run.name,
                row.old_rank or 0,
                row.new_rank or 0,
                url_for("runs.show", run_id=row.run.run_id),
            )
            for row in drawn
        ]
    )


@blueprint.get("/tasks/<slug>/revisions/<id:number>/<part>.txt")
@hands_out_judgments
@rule(PUBLIC)
def part(slug: str, number: int, part: str) -> ResponseReturnValue:
    """The qrels of a revision, or another part, in an accepted input format."""
    text = revision.of_revision(reading(), viewer(), slug, number, part)
    return http.as_text(text, f"{slug}-{number}-{part}")


@blueprint.get("/tasks/<slug>/revisions/<id:number>/quepid.csv", defaults={"part": "quepid"})
@blueprint.get("/tasks/<slug>/revisions/<id:number>/opensearch.json", defaults={"part": "opensearch"})
@hands_out_judgments
@rule(PUBLIC)
def judgment_list(slug: str, number: int, part: str) -> ResponseReturnValue:
    """The qrels of a revision as search teams exchange them."""
    text = revision.of_revision(reading(), viewer(), slug, number, part)
    ending, mimetype = ("csv", "text/csv") if part == "quepid" else ("json", "application/json")
    return http.as_file(text, mimetype, f"{slug}-{number}-{part}.{ending}")


@blueprint.get("/tasks/<slug>/revisions/lines/<id:line_id>/<id:number>.txt")
@hands_out_judgments
@rule(PUBLIC)
def line(slug: str, line_id: int, number: int) -> ResponseReturnValue:
    """A revision of a separate judgment series."""
    text = revision.of_line(reading(), viewer(), slug, line_id, number)
    return http.as_text(text, f"{slug}-line-{line_id}-{number}")


def _draft_html(page: Preview, error: LeaderboardError | None = None) -> str:
    return render_template("qrels/revisions/draft.html", page=page, error=error, **_of_changes(page))


@http.with_files(
    blueprint,
    "/tasks/<slug>/revisions/drafts/<token>",
    _draft_html,
    rank_changes.PREVIEW_FILES,
    is_kept=False,
)
@rule(SIGNED_IN)
def draft(slug: str, token: str) -> Preview:
    """The preview of a draft."""
    return rank_changes.preview(reading(), viewer(), slug, token)


RANKS = computing(
    "ranks",
    lambda *of_draft: list(filter(None, [rank_changes.preview(*of_draft).waiting])),
    "/tasks/<slug>/revisions/drafts/<token>/ranks",
    "revisions.draft",
)


def _made(new_revision: Revision, slug: str, **_: str) -> ResponseReturnValue:
    if new_revision.line != MAIN:
        return redirect(url_for("revisions.index", slug=slug, _anchor="lines"), 303)
    return redirect(url_for("revisions.show", slug=slug, number=new_revision.number), 303)


def to_draft(token: str, slug: str) -> ResponseReturnValue:
    """The preview of a new draft."""
    return redirect(url_for("revisions.draft", slug=slug, token=token), 303)


actions.add_to(
    blueprint, (sending.SEND,), list_page, then={"draft_revision": to_draft}, refusals=(LeaderboardError,)
)
actions.add_to(
    blueprint,
    (RANKS, *revisions.ACTIONS),
    lambda slug, token, error=None: _draft_html(draft(slug, token), error),
    then={"publish_revision": _made},
)

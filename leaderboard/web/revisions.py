"""Revisions of judgments: looked at before they are published, and read ever after."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.pages.revisions import files as revision_files
from leaderboard.pages.revisions import judgment_changes, lists, previews, rank_changes, revision
from leaderboard.pages.revisions.rank_changes import RankChanges
from leaderboard.services import policy
from leaderboard.services.qrels import files as qrels
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.revisions import drafts
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.requests import Waiting
from leaderboard.trec.qrels.distractors import read_distractors
from leaderboard.web import responses
from leaderboard.web.charts import Ranks, SlopeChart, slope_chart
from leaderboard.web.errors import status_of, wants_json
from leaderboard.web.files import received
from leaderboard.web.rules import PUBLIC, SIGNED_IN, Body, rule
from leaderboard.web.session import finish_reading, reading, viewer, wake, writing

blueprint = Blueprint("revisions", __name__)

TOPICS_AT_FIRST = 200
RUNS_AT_FIRST = 200
SLOPES = 60
"""Runs in the chart of a revision with more: those that moved most."""


@blueprint.get("/tasks/<slug>/revisions")
@rule(PUBLIC)
def index(slug: str) -> ResponseReturnValue:
    """All revisions of a task's judgments, and for its organisers the form of a new one."""
    return responses.page(_list_page(slug))


def _list_page(slug: str, error: LeaderboardError | None = None) -> str:
    page = lists.revision_list(reading(), viewer(), slug)
    return render_template("revisions/index.html", page=page, error=error, sent=request.form)


@blueprint.get("/tasks/<slug>/revisions.json")
@rule(PUBLIC)
def index_json(slug: str) -> ResponseReturnValue:
    """The revisions as JSON."""
    return responses.as_json(lists.list_json(_list(slug)))


@blueprint.get("/tasks/<slug>/revisions.csv")
@rule(PUBLIC)
def index_csv(slug: str) -> ResponseReturnValue:
    """The revisions as CSV."""
    return responses.as_csv(lists.list_table(_list(slug)), f"{slug}-revisions")


@blueprint.get("/tasks/<slug>/revisions.tex")
@rule(PUBLIC)
def index_tex(slug: str) -> ResponseReturnValue:
    """The revisions as LaTeX."""
    page = _list(slug)
    caption = f"Revisions of the judgments of {page.task}, newest first."
    return responses.as_latex_table(lists.list_table(page), f"{slug}-revisions", caption=caption)


def _list(slug: str) -> lists.RevisionList:
    return lists.revision_list(reading(), viewer(), slug)


@blueprint.get("/tasks/<slug>/revisions/<id:number>")
@rule(PUBLIC)
def show(slug: str, number: int) -> ResponseReturnValue:
    """One revision: what it changed, and the rank of every run before and after."""
    page = _page(slug, number)
    whole = "all" in request.args
    html = render_template(
        "revisions/show.html",
        page=page,
        runs=page.ranks.rows[: None if whole else RUNS_AT_FIRST] if page.ranks else (),
        topics=page.changes.changed_topics[: None if whole else TOPICS_AT_FIRST],
        slopes=_slopes(page.ranks) if page.ranks else None,
        measure=request.args.get("measure"),
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/revisions/<id:number>.json")
@rule(PUBLIC)
def show_json(slug: str, number: int) -> ResponseReturnValue:
    """The revision as JSON."""
    return responses.as_json(revision.as_json(_page(slug, number)))


@blueprint.get("/tasks/<slug>/revisions/<id:number>.csv")
@rule(PUBLIC)
def show_csv(slug: str, number: int) -> ResponseReturnValue:
    """The runs before and after as CSV, or the topics with `of=topics`."""
    page = _page(slug, number)
    name = f"{slug}-revision-{number}"
    if request.args.get("of") == "topics":
        return responses.as_csv(judgment_changes.table(page.changes), f"{name}-topics")
    return responses.as_csv(rank_changes.table(page.ranks) if page.ranks else ([], []), name)


@blueprint.get("/tasks/<slug>/revisions/<id:number>.tex")
@rule(PUBLIC)
def show_tex(slug: str, number: int) -> ResponseReturnValue:
    """The runs before and after as LaTeX."""
    page = _page(slug, number)
    by = f" by {page.ranks.measure.key}" if page.ranks else ""
    caption = f"Ranks of the runs of {page.task}{by} before and under qrels revision {number}."
    table = rank_changes.short_table(page.ranks) if page.ranks else ([], [])
    return responses.as_latex_table(table, f"{slug}-revision-{number}", caption=caption)


def _page(slug: str, number: int) -> revision.RevisionPage:
    return revision.revision_page(reading(), viewer(), slug, number, request.args.get("measure"))


def _slopes(ranks: RankChanges) -> SlopeChart | None:
    """The ranked runs, of many those that moved most."""
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
@rule(PUBLIC)
def part(slug: str, number: int, part: str) -> ResponseReturnValue:
    """The qrels of a revision, or what stands beside them, in the form they are read in."""
    text = revision_files.of_revision(reading(), viewer(), slug, number, part)
    return responses.as_text(text, f"{slug}-{number}-{part}")


@blueprint.get("/tasks/<slug>/revisions/lines/<id:line_id>/<id:number>.txt")
@rule(PUBLIC)
def line(slug: str, line_id: int, number: int) -> ResponseReturnValue:
    """A revision of another line of judgments."""
    text = revision_files.of_line(reading(), viewer(), slug, line_id, number)
    return responses.as_text(text, f"{slug}-line-{line_id}-{number}")


@blueprint.post("/tasks/<slug>/revisions")
@rule(SIGNED_IN, Body.FILES)
def send(slug: str) -> ResponseReturnValue:
    """Keep judgments as a draft, and show what they would change."""
    asker = viewer()
    policy.own_task(reading(), asker, slug)
    finish_reading()
    try:
        token = _keep(slug)
    except LeaderboardError as error:
        if wants_json():
            raise
        return _list_page(slug, error), status_of(error)
    return redirect(url_for("revisions.draft", slug=slug, token=token), 303)


def _keep(slug: str) -> str:
    form, asker = request.form, viewer()
    file, listed = received("qrels"), received("distractors")
    if file is None and listed is None and not form.get("no_distractors"):
        raise Invalid("Choose a file of judgments, or a list of distractors.")
    kind = "preference" if form.get("holds") == "preference" else "graded"
    prepared = qrels.prepare(file.path, file.name, kind) if file is not None else None
    distractors = None
    if listed is not None:
        distractors = read_distractors(listed.path)
    elif form.get("no_distractors"):
        distractors = frozenset()
    origin = form.get("origin") or None
    if origin not in (None, "human", "machine"):
        raise Invalid("Judgments are of people or of a machine.")
    with writing() as session:
        return drafts.keep(
            *(session, asker, slug, prepared, form.get("note", "")),
            origin=origin,
            origin_name=form.get("origin_name", "").strip(),
            distractors=distractors,
            line=form.get("line", "").strip() or MAIN,
        )


@blueprint.get("/tasks/<slug>/revisions/drafts/<token>")
@rule(SIGNED_IN)
def draft(slug: str, token: str) -> ResponseReturnValue:
    """What a draft would change."""
    return _draft_page(slug, token)


def _draft_page(slug: str, token: str, error: LeaderboardError | None = None) -> str:
    page = previews.preview(reading(), viewer(), slug, token)
    ranks = page.ranks if isinstance(page.ranks, RankChanges) else None
    whole = "all" in request.args
    return render_template(
        "revisions/draft.html",
        page=page,
        error=error,
        ranks=ranks,
        waiting=page.ranks if isinstance(page.ranks, Waiting) else None,
        runs=ranks.rows[: None if whole else RUNS_AT_FIRST] if ranks else (),
        topics=page.changes.changed_topics[: None if whole else TOPICS_AT_FIRST],
        slopes=_slopes(ranks) if ranks else None,
    )


@blueprint.get("/tasks/<slug>/revisions/drafts/<token>.json")
@rule(SIGNED_IN)
def draft_json(slug: str, token: str) -> ResponseReturnValue:
    """What a draft would change, as JSON."""
    return responses.as_json(previews.as_json(previews.preview(reading(), viewer(), slug, token)))


@blueprint.post("/tasks/<slug>/revisions/drafts/<token>")
@rule(SIGNED_IN)
def publish(slug: str, token: str) -> ResponseReturnValue:
    """Make a revision of a draft, and have every run scored under it."""
    asker, base = viewer(), request.form.get("base", "")
    try:
        with writing() as session:
            made = drafts.publish(
                *(session, asker, slug, token),
                base=int(base) if base.isascii() and base.isdigit() else None,
            )
    except Invalid as error:
        if wants_json():
            raise
        return _draft_page(slug, token, error), status_of(error)
    wake()
    if made.line != MAIN:
        return redirect(url_for("revisions.index", slug=slug, _anchor="lines"), 303)
    return redirect(url_for("revisions.show", slug=slug, number=made.number), 303)


@blueprint.post("/tasks/<slug>/revisions/drafts/<token>/discard")
@rule(SIGNED_IN)
def discard(slug: str, token: str) -> ResponseReturnValue:
    """Give a draft up."""
    asker = viewer()
    with writing() as session:
        drafts.discard(session, asker, slug, token)
    return redirect(url_for("revisions.index", slug=slug), 303)


@blueprint.post("/tasks/<slug>/revisions/drafts/<token>/ranks")
@rule(SIGNED_IN)
def ranks(slug: str, token: str) -> ResponseReturnValue:
    """Have the runs scored under a draft by an evaluator."""
    found = previews.preview(reading(), viewer(), slug, token).ranks
    if isinstance(found, Waiting):
        with writing() as session:
            requests.ask(session, found.request)
        wake()
    return redirect(url_for("revisions.draft", slug=slug, token=token), 303)

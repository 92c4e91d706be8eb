"""A task's pools for its organisers: the list, a new one with its preview, and each one topic by topic."""

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.pages.pools import offers
from leaderboard.pooling.methods import METHODS
from leaderboard.services.pools import files, pools, previews
from leaderboard.services.pools.plans import WHICH
from leaderboard.services.pools.pools import PoolPage
from leaderboard.services.pools.previews import Preview
from leaderboard.web import responses
from leaderboard.web.charts import BarChart, bar_chart
from leaderboard.web.errors import status_of, wants_json
from leaderboard.web.files import number as number_of
from leaderboard.web.files import received
from leaderboard.web.pools import forms
from leaderboard.web.rules import SIGNED_IN, Body, rule
from leaderboard.web.session import finish_reading, reading, viewer, writing

blueprint = Blueprint("pools", __name__)

MIMETYPES = {"nist": "text/plain", "csv": "text/csv", "jsonl": "application/jsonl"}
SUFFIXES = {"nist": "txt", "csv": "csv", "jsonl": "jsonl"}
ROWS_AT_FIRST = 50
DOCUMENTS_AT_FIRST = 200
PREVIEW_TABLES = ("topics", "runs", "teams")


@blueprint.get("/tasks/<slug>/pools")
@rule(SIGNED_IN)
def index(slug: str) -> ResponseReturnValue:
    """All pools of a task, and a form that takes one from a file."""
    return _index_page(slug)


def _index_page(slug: str, error: LeaderboardError | None = None) -> Response:
    found = pools.index(reading(), viewer(), slug)
    return responses.page(render_template("pools/index.html", page=found, error=error, sent=request.form))


@blueprint.get("/tasks/<slug>/pools.json")
@rule(SIGNED_IN)
def index_json(slug: str) -> ResponseReturnValue:
    """All pools as JSON."""
    return responses.as_json(files.list_facts(pools.index(reading(), viewer(), slug)))


@blueprint.get("/tasks/<slug>/pools.csv")
@rule(SIGNED_IN)
def index_csv(slug: str) -> ResponseReturnValue:
    """All pools as CSV."""
    return responses.as_csv(files.list_table(pools.index(reading(), viewer(), slug)), f"{slug}-pools")


@blueprint.get("/tasks/<slug>/pools.tex")
@rule(SIGNED_IN)
def index_tex(slug: str) -> ResponseReturnValue:
    """All pools as LaTeX."""
    found = pools.index(reading(), viewer(), slug)
    return responses.as_latex_table(
        files.list_table(found),
        f"{slug}-pools",
        caption=f"{found.task}: pools.",
        digits={"hours_left": 1},
    )


@blueprint.get("/tasks/<slug>/pools/new")
@rule(SIGNED_IN)
def new(slug: str) -> ResponseReturnValue:
    """The form of a new pool and, once it is asked for, what the pool would be."""
    return _new_page(slug)


def _new_page(slug: str, error: LeaderboardError | None = None) -> Response:
    values = request.values
    offer = offers.offer(reading(), viewer(), slug)
    preview = None
    if error is None and values.get("step") == "preview":
        try:
            preview = previews.preview(reading(), viewer(), slug, forms.plan(values))
        except (Conflict, Invalid) as wrong:
            error = wrong
    html = render_template(
        "pools/new.html",
        page=offer,
        preview=preview,
        form=forms.method_form(values),
        methods=METHODS,
        which=WHICH,
        values=values,
        args=forms.state(values),
        error=error,
        chart=_bars(preview) if preview else None,
        rows_at_first=ROWS_AT_FIRST,
    )
    if error is None:
        return responses.page(html)
    return Response(html, status_of(error), mimetype="text/html")


@blueprint.get("/tasks/<slug>/pools/new.json")
@rule(SIGNED_IN)
def new_json(slug: str) -> ResponseReturnValue:
    """The preview of a pool as JSON."""
    return responses.as_json(previews.as_json(_preview(slug)))


@blueprint.get("/tasks/<slug>/pools/new.csv")
@rule(SIGNED_IN)
def new_csv(slug: str) -> ResponseReturnValue:
    """A table of a pool's preview as CSV: of its topics, runs or teams."""
    which = _table()
    return responses.as_csv(previews.table(_preview(slug), which), f"{slug}-pool-{which}")


@blueprint.get("/tasks/<slug>/pools/new.tex")
@rule(SIGNED_IN)
def new_tex(slug: str) -> ResponseReturnValue:
    """A table of a pool's preview as LaTeX."""
    which, found = _table(), _preview(slug)
    caption = f"{found.task}: {found.method.title} of {len(found.runs)} runs, by {which}."
    return responses.as_latex_table(previews.table(found, which), f"{slug}-pool-{which}", caption=caption)


def _preview(slug: str) -> Preview:
    return previews.preview(reading(), viewer(), slug, forms.plan(request.values))


def _table() -> str:
    which = request.args.get("table", PREVIEW_TABLES[0])
    if which not in PREVIEW_TABLES:
        raise Invalid(f"There is no table {which[:40]!r}; choose {', '.join(PREVIEW_TABLES)}.")
    return which


@blueprint.post("/tasks/<slug>/pools")
@rule(SIGNED_IN)
def create(slug: str) -> ResponseReturnValue:
    """Make the pool that was previewed, as a draft."""
    asker = viewer()
    try:
        made = _preview(slug)
        with writing() as session:
            number = pools.add(session, asker, made, request.form.get("note", ""))
    except LeaderboardError as error:
        if wants_json() or status_of(error) not in (409, 422):
            raise
        return _new_page(slug, error)
    return redirect(url_for("pools.show", slug=slug, number=number), 303)


@blueprint.post("/tasks/<slug>/pools/import")
@rule(SIGNED_IN, Body.UPLOAD)
def bring_in(slug: str) -> ResponseReturnValue:
    """Make a pool of a file in NIST's form, CSV or JSON lines, as a draft."""
    asker = viewer()
    pools.own_task(reading(), asker, slug)
    finish_reading()
    try:
        number = _bring_in(slug)
    except LeaderboardError as error:
        if wants_json():
            raise
        return _index_page(slug, error), status_of(error)
    return redirect(url_for("pools.show", slug=slug, number=number), 303)


def _bring_in(slug: str) -> int:
    asker, file = viewer(), received("pool")
    if file is None:
        raise Invalid("Choose a pool file.")
    seconds, note = number_of("seconds", 30) or 0, request.form.get("note", "")
    found = files.read(file.path)
    with writing() as session:
        return files.bring_in(session, asker, slug, found, file.name, note=note, seconds=seconds)


@blueprint.get("/tasks/<slug>/pools/<id:number>")
@rule(SIGNED_IN)
def show(slug: str, number: int) -> ResponseReturnValue:
    """One pool, topic by topic."""
    found = pools.page(reading(), viewer(), slug, number)
    links = [
        url_for("pools.topic", slug=slug, number=number, topic_id=each.topic_id) for each in found.topics
    ]
    html = render_template(
        "pools/show.html", page=found, chart=_progress(found) if found.pool.judged else None, links=links
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/pools/<id:number>.json")
@rule(SIGNED_IN)
def show_json(slug: str, number: int) -> ResponseReturnValue:
    """One pool as JSON."""
    return responses.as_json(files.page_facts(pools.page(reading(), viewer(), slug, number)))


@blueprint.get("/tasks/<slug>/pools/<id:number>.csv")
@rule(SIGNED_IN)
def show_csv(slug: str, number: int) -> ResponseReturnValue:
    """A pool's topics as CSV."""
    found = pools.page(reading(), viewer(), slug, number)
    return responses.as_csv(files.page_table(found), f"{slug}-pool-{number}")


@blueprint.get("/tasks/<slug>/pools/<id:number>.tex")
@rule(SIGNED_IN)
def show_tex(slug: str, number: int) -> ResponseReturnValue:
    """A pool's topics as LaTeX."""
    found = pools.page(reading(), viewer(), slug, number)
    caption = f"{found.task}: pool {number}, {found.pool.method}, by topic."
    return responses.as_latex_table(files.page_table(found), f"{slug}-pool-{number}", caption=caption)


@blueprint.get("/tasks/<slug>/pools/<id:number>/documents.<any(txt, csv, jsonl):suffix>")
@rule(SIGNED_IN)
def documents(slug: str, number: int, suffix: str) -> ResponseReturnValue:
    """All documents of a pool as a file: NIST's form, CSV or JSON lines."""
    form = next(form for form, each in SUFFIXES.items() if each == suffix)
    text = "".join(files.exported(reading(), viewer(), slug, number, form))
    return responses.as_file(text, MIMETYPES[form], f"{slug}-pool-{number}.{suffix}")


@blueprint.get("/tasks/<slug>/pools/<id:number>/topics/<topic_id>")
@rule(SIGNED_IN)
def topic(slug: str, number: int, topic_id: str) -> ResponseReturnValue:
    """A topic's documents in a pool, in judging order."""
    found = pools.topic_page(reading(), viewer(), slug, number, topic_id)
    shown = found.documents if "all" in request.args else found.documents[:DOCUMENTS_AT_FIRST]
    return responses.page(render_template("pools/topic.html", page=found, documents=shown))


@blueprint.get("/tasks/<slug>/pools/<id:number>/topics/<topic_id>.json")
@rule(SIGNED_IN)
def topic_json(slug: str, number: int, topic_id: str) -> ResponseReturnValue:
    """A topic's documents in a pool as JSON."""
    return responses.as_json(files.topic_facts(pools.topic_page(reading(), viewer(), slug, number, topic_id)))


@blueprint.get("/tasks/<slug>/pools/<id:number>/topics/<topic_id>.csv")
@rule(SIGNED_IN)
def topic_csv(slug: str, number: int, topic_id: str) -> ResponseReturnValue:
    """A topic's documents in a pool as CSV."""
    found = pools.topic_page(reading(), viewer(), slug, number, topic_id)
    return responses.as_csv(files.topic_table(found), f"{slug}-pool-{number}-{topic_id}")


@blueprint.get("/tasks/<slug>/pools/<id:number>/topics/<topic_id>.tex")
@rule(SIGNED_IN)
def topic_tex(slug: str, number: int, topic_id: str) -> ResponseReturnValue:
    """A topic's documents in a pool as LaTeX."""
    found = pools.topic_page(reading(), viewer(), slug, number, topic_id)
    caption = f"{found.task}: pool {number}, topic {topic_id}, in the order documents were chosen."
    name = f"{slug}-pool-{number}-{topic_id}"
    return responses.as_latex_table(files.topic_table(found), name, caption=caption)


@blueprint.post("/tasks/<slug>/pools/<id:number>/state")
@rule(SIGNED_IN)
def change(slug: str, number: int) -> ResponseReturnValue:
    """Open a pool to assessors, or close it."""
    asker, state = viewer(), request.form.get("state", "")
    with writing() as session:
        pools.change(session, asker, slug, number, state)
    return redirect(url_for("pools.show", slug=slug, number=number), 303)


@blueprint.post("/tasks/<slug>/pools/<id:number>/discard")
@rule(SIGNED_IN)
def discard(slug: str, number: int) -> ResponseReturnValue:
    """Delete a draft."""
    asker = viewer()
    with writing() as session:
        pools.discard(session, asker, slug, number)
    return redirect(url_for("pools.index", slug=slug), 303)


def _bars(found: Preview) -> BarChart:
    labels = [f"{each.topic_id}: {each.documents} documents" for each in found.topics]
    return bar_chart([float(each.documents) for each in found.topics], labels)


def _progress(found: PoolPage) -> BarChart:
    """The share of each topic that is judged."""
    shares = [each.judged / each.documents if each.documents else 1.0 for each in found.topics]
    labels = [f"{each.topic_id}: {each.judged} of {each.documents} judged" for each in found.topics]
    return bar_chart([min(share, 1.0) for share in shares], labels)

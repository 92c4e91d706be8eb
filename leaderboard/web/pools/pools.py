"""A task's pools for its organisers: the list, a new one with its preview, and each one topic by topic."""

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Conflict, Invalid, LeaderboardError
from leaderboard.pages.pools import pools as new_pools
from leaderboard.pages.pools import pools as pages
from leaderboard.pages.pools.pools import PoolPage, TopicPage
from leaderboard.services import kinds, policy
from leaderboard.services.pools import pools, previews
from leaderboard.services.pools.previews import WHICH, Preview
from leaderboard.web import actions, responses
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


@blueprint.get("/tasks/<slug>/pools")
@rule(SIGNED_IN)
def index(slug: str) -> ResponseReturnValue:
    """All pools of a task, and a form that takes one from a file."""
    return _index_page(slug)


def _index_page(slug: str, error: LeaderboardError | None = None) -> Response:
    page = pages.index(reading(), viewer(), slug)
    html = render_template(
        "pools/index.html", page=page, table=pages.list_table(page), error=error, sent=request.form
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/pools.<form:form>")
@rule(SIGNED_IN)
def index_export(slug: str, form: str) -> ResponseReturnValue:
    """All pools as a file."""
    return responses.export(form, pages.LIST_FILES, pages.index(reading(), viewer(), slug))


@blueprint.get("/tasks/<slug>/pools/new")
@rule(SIGNED_IN)
def new(slug: str) -> ResponseReturnValue:
    """The form of a new pool and, once it is asked for, what the pool would be."""
    return _new_page(slug)


def _new_page(slug: str, error: LeaderboardError | None = None) -> Response:
    values = request.values
    offer = new_pools.offer(reading(), viewer(), slug)
    preview = None
    if error is None and values.get("step") == "preview":
        try:
            preview = previews.preview(reading(), viewer(), slug, forms.plan(values, offer.of.kind))
        except (Conflict, Invalid) as wrong:
            error = wrong
    html = render_template(
        "pools/new.html",
        page=offer,
        preview=preview,
        tables={name: table(preview) for name, table in new_pools.NEW_POOL_FILES.tables.items()}
        if preview
        else {},
        form=forms.method_form(values, offer.of.kind),
        methods=kinds.of(offer.of.kind).pool_methods,
        which=WHICH,
        values=values,
        args=forms.state(values, offer.of.kind),
        error=error,
        chart=_bars(preview) if preview else None,
        rows_at_first=ROWS_AT_FIRST,
    )
    if error is None:
        return responses.page(html)
    return Response(html, status_of(error), mimetype="text/html")


@blueprint.get("/tasks/<slug>/pools/new.<form:form>")
@rule(SIGNED_IN)
def new_export(slug: str, form: str) -> ResponseReturnValue:
    """The preview of a pool as a file: of its topics, runs or teams."""
    return responses.export(form, new_pools.NEW_POOL_FILES, _preview(slug))


def _preview(slug: str) -> Preview:
    task = policy.own_task(reading(), viewer(), slug, policy.knows)
    return previews.preview(reading(), viewer(), slug, forms.plan(request.values, task.kind))


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
    policy.own_task(reading(), viewer(), slug, policy.coordinates)
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
    pool = pools.read_pool_file(file.path)
    with writing() as session:
        return pools.bring_in(session, asker, slug, pool, file.name, note=note, seconds=seconds)


def _show_html(page: PoolPage) -> str:
    slug, number = page.slug, page.pool.number
    return render_template(
        "pools/show.html",
        page=page,
        table=pages.table(page),
        chart=_progress(page) if page.pool.judged else None,
        links=[
            url_for("pools.topic", slug=slug, number=number, topic_id=topic.topic_id) for topic in page.topics
        ],
    )


@responses.with_files(blueprint, "/tasks/<slug>/pools/<id:number>", _show_html, pages.FILES)
@rule(SIGNED_IN)
def show(slug: str, number: int) -> PoolPage:
    """One pool, topic by topic."""
    return pages.page(reading(), viewer(), slug, number)


@blueprint.get("/tasks/<slug>/pools/<id:number>/documents.<any(txt, csv, jsonl):suffix>")
@rule(SIGNED_IN)
def documents(slug: str, number: int, suffix: str) -> ResponseReturnValue:
    """All documents of a pool as a file: NIST's form, CSV or JSON lines."""
    form = next(form for form, ending in SUFFIXES.items() if ending == suffix)
    text = "".join(pools.exported(reading(), viewer(), slug, number, form))
    return responses.as_file(text, MIMETYPES[form], f"{slug}-pool-{number}.{suffix}")


def _topic_html(page: TopicPage) -> str:
    rows = page.documents if "all" in request.args else page.documents[:DOCUMENTS_AT_FIRST]
    return render_template("pools/topic.html", page=page, table=pages.documents_table(page), documents=rows)


@responses.with_files(
    blueprint, "/tasks/<slug>/pools/<id:number>/topics/<topic:topic_id>", _topic_html, pages.TOPIC_FILES
)
@rule(SIGNED_IN)
def topic(slug: str, number: int, topic_id: str) -> TopicPage:
    """A topic's documents in a pool, in judging order."""
    return pages.topic_page(reading(), viewer(), slug, number, topic_id)


actions.add_to(blueprint, pools.ACTIONS)


def _bars(preview: Preview) -> BarChart:
    labels = [f"{topic.topic_id}: {topic.documents} documents" for topic in preview.topics]
    return bar_chart([float(topic.documents) for topic in preview.topics], labels)


def _progress(page: PoolPage) -> BarChart:
    """The share of each topic that is judged."""
    shares = [topic.judged / topic.documents if topic.documents else 1.0 for topic in page.topics]
    labels = [f"{topic.topic_id}: {topic.judged} of {topic.documents} judged" for topic in page.topics]
    return bar_chart([min(share, 1.0) for share in shares], labels)

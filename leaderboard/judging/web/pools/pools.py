"""Organisers' pages of a task's pools: the list, a new pool with its preview, and each pool by topic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import MultiDict

from leaderboard import fields
from leaderboard.core import kinds, policy
from leaderboard.errors import Conflict, Invalid, LeaderboardError, Problem
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.pools import PoolFileQuery
from leaderboard.judging.ops.pools.previews import WHICH, PoolPlan, Preview
from leaderboard.judging.page.pools import pools as new_pools
from leaderboard.judging.page.pools.pools import PoolList, PoolPage, TopicPage
from leaderboard.pooling.methods import DEFAULT, METHODS, Method
from leaderboard.pooling.parameters import LARGEST, Parameter
from leaderboard.web import actions, http
from leaderboard.web.charts import BarChart, bar_chart
from leaderboard.web.errors import form_again
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, viewer

STAGED = "staged"
THEN = "then"
Values = MultiDict[str, str]


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter of a method in the form; its name in the address is `method.parameter`."""

    name: str
    label: str
    hint: str
    value: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MethodForm:
    """The chosen method, its second stage if it is staged, and their fields."""

    method: Method
    then: Method | None
    fields: tuple[Field, ...]
    then_fields: tuple[Field, ...]
    seconds: tuple[Method, ...]
    """The methods available as a second stage."""


def method_form(values: Values, task_kind: str) -> MethodForm:
    """The fields of the method that the values choose, or of the default."""
    kind = kinds.of(task_kind)
    usual = kind.pool_methods[str(kind.usual_pool["name"])]
    chosen = kind.pool_methods.get(values.get("method", ""), usual)
    after = tuple(method for method in METHODS.values() if method.name not in (STAGED, "depth", "priority"))
    then = next((method for method in after if method.name == values.get(THEN)), METHODS["rrf"])
    return MethodForm(
        method=chosen,
        then=then if chosen.staged else None,
        fields=_fields(chosen, values),
        then_fields=_fields(then, values, without="budget") if chosen.staged else (),
        seconds=after,
    )


def asked(values: Values, task_kind: str) -> dict[str, Any]:
    """The values of a plan's fields in the form; raises Invalid for a method that is not offered."""
    return {
        **values.to_dict(),
        **_stages(values, task_kind),
        "chosen": values.getlist("run"),
        "primary_first": values.get("primary") == "first",
        "reuse": values.get("reuse") != "no",
    }


def state_of_form(values: Values, task_kind: str) -> dict[str, list[str]]:
    """The values that describe a plan, for links and hidden fields."""
    names = {"method", THEN, "runs", "run", "primary", "cap", "reuse", "seed", "seconds", "overlap"}
    form = method_form(values, task_kind)
    names |= {field.name for field in (*form.fields, *form.then_fields)}
    return {name: [text for text in values.getlist(name) if text] for name in values if name in names}


def _stages(values: Values, task_kind: str) -> dict[str, Mapping[str, str] | None]:
    if "method" not in values:
        return {"method": None, THEN: None}
    offered = kinds.of(task_kind).pool_methods
    if values["method"] not in offered:
        problem = Problem(
            "is not a pooling method for this task.", field="method", value=values["method"][:40]
        )
        raise Invalid(f"Choose one of {', '.join(offered)}.", [problem])
    form = method_form(values, task_kind)
    return {
        "method": {"name": form.method.name, **_given(form.method, form.fields)},
        THEN: {"name": form.then.name, **_given(form.then, form.then_fields)} if form.then else None,
    }


def _given(method: Method, fields: Sequence[Field]) -> Mapping[str, str]:
    return {field.name.removeprefix(f"{method.name}."): field.value for field in fields if field.value}


def _fields(method: Method, values: Values, without: str = "") -> tuple[Field, ...]:
    return tuple(
        Field(
            name=f"{method.name}.{parameter.name}",
            label=parameter.title.capitalize(),
            hint=f"{parameter.text.capitalize()}: {_rule(parameter)}.",
            value=values.get(f"{method.name}.{parameter.name}", _default(method, parameter)),
            choices=parameter.choices,
        )
        for parameter in method.parameters
        if parameter.name != without
    )


def _rule(parameter: Parameter) -> str:
    """The allowed values of a field, without an upper limit that is out of reach."""
    if parameter.kind in ("integer", "number") and parameter.high >= LARGEST:
        return f"a {'whole ' if parameter.kind == 'integer' else ''}number of at least {parameter.low:g}"
    return parameter.rule


def _default(method: Method, parameter: Parameter) -> str:
    """The initial value of a field; includes a budget, although optional, because judging is costly."""
    if method.name == DEFAULT["name"] or parameter.name == "budget":
        return str(DEFAULT.get(parameter.name, ""))
    value = parameter.default
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(":".join(f"{part:g}" for part in pair) for pair in value if isinstance(pair, tuple))
    return f"{value:g}" if isinstance(value, float) else str(value)


blueprint = Blueprint("pools", __name__)

MIMETYPES = {"nist": "text/plain", "csv": "text/csv", "jsonl": "application/jsonl"}
SUFFIXES = {"nist": "txt", "csv": "csv", "jsonl": "jsonl"}
ROWS_AT_FIRST = 50
DOCUMENTS_AT_FIRST = 200


def _index_html(page: PoolList, error: LeaderboardError | None = None) -> str:
    return render_template(
        "judging/pools/index.html",
        page=page,
        table=new_pools.list_table(page),
        error=error,
        about=actions.form(PoolFileQuery, error),
    )


@http.with_files(blueprint, "/tasks/<slug>/pools", _index_html, new_pools.LIST_FILES)
@rule(SIGNED_IN)
def index(slug: str) -> PoolList:
    """All pools of a task, and a form to import one."""
    return new_pools.index(reading(), viewer(), slug)


@blueprint.get("/tasks/<slug>/pools/new")
@rule(SIGNED_IN)
def new(slug: str) -> ResponseReturnValue:
    """The form of a new pool and, on request, its preview."""
    try:
        preview = _preview(slug) if request.args.get("step") == "preview" else None
        return http.page(_new_page(slug, preview=preview))
    except (Conflict, Invalid) as error:
        return form_again(_new_page(slug, error), error)


def _new_page(slug: str, error: LeaderboardError | None = None, preview: Preview | None = None) -> str:
    values, usual = request.values, {**fields.empty(PoolPlan), "overlap": 0.1}
    offer = new_pools.offer(reading(), viewer(), slug)
    return render_template(
        "judging/pools/new.html",
        page=offer,
        preview=preview,
        tables={name: table(preview) for name, table in new_pools.NEW_POOL_FILES.tables.items()}
        if preview
        else {},
        form=method_form(values, offer.of.kind),
        methods=kinds.of(offer.of.kind).pool_methods,
        which=WHICH,
        values=values,
        plan=actions.form(PoolPlan, shown={**usual, **values.to_dict()}),
        args=state_of_form(values, offer.of.kind),
        error=error,
        chart=_bars(preview) if preview else None,
        rows_at_first=ROWS_AT_FIRST,
    )


@blueprint.get("/tasks/<slug>/pools/new.<form:form>")
@rule(SIGNED_IN)
def new_export(slug: str, form: str) -> ResponseReturnValue:
    """The preview of a pool as a file, by topic, run or team."""
    return http.export(form, new_pools.NEW_POOL_FILES, _preview(slug))


def _preview(slug: str) -> Preview:
    return previews.preview(reading(), viewer(), slug, fields.read(PoolPlan, _asked(slug)))


def _asked(slug: str) -> dict[str, Any]:
    return asked(request.values, policy.own_task(reading(), viewer(), slug, policy.knows).kind)


def _show_html(page: PoolPage) -> str:
    slug, number = page.slug, page.pool.number
    return render_template(
        "judging/pools/show.html",
        page=page,
        table=new_pools.table(page),
        chart=_progress(page) if page.pool.judged else None,
        links=[
            url_for("pools.topic", slug=slug, number=number, topic_id=topic.topic_id) for topic in page.topics
        ],
    )


@http.with_files(blueprint, "/tasks/<slug>/pools/<id:number>", _show_html, new_pools.FILES)
@rule(SIGNED_IN)
def show(slug: str, number: int) -> PoolPage:
    """One pool, topic by topic."""
    return new_pools.page(reading(), viewer(), slug, number)


@blueprint.get("/tasks/<slug>/pools/<id:number>/documents.<any(txt, csv, jsonl):suffix>")
@rule(SIGNED_IN)
def documents(slug: str, number: int, suffix: str) -> ResponseReturnValue:
    """All documents of a pool as a file: NIST format, CSV or JSON lines."""
    form = next(form for form, ending in SUFFIXES.items() if ending == suffix)
    text = "".join(pools.exported(reading(), viewer(), slug, number, form))
    return http.as_file(text, MIMETYPES[form], f"{slug}-pool-{number}.{suffix}")


def _topic_html(page: TopicPage) -> str:
    rows = page.documents if "all" in request.args else page.documents[:DOCUMENTS_AT_FIRST]
    return render_template(
        "judging/pools/topic.html", page=page, table=new_pools.documents_table(page), documents=rows
    )


@http.with_files(
    blueprint, "/tasks/<slug>/pools/<id:number>/topics/<topic:topic_id>", _topic_html, new_pools.TOPIC_FILES
)
@rule(SIGNED_IN)
def topic(slug: str, number: int, topic_id: str) -> TopicPage:
    """A topic's documents in a pool, in judging order."""
    return new_pools.topic_page(reading(), viewer(), slug, number, topic_id)


actions.add_to(
    blueprint,
    (pools.MAKE,),
    _new_page,
    reads={"make_pool": _asked},
    then={"make_pool": lambda pool, slug: redirect(url_for("pools.show", slug=slug, number=pool[0]), 303)},
)
actions.add_to(
    blueprint,
    (pools.IMPORT, *pools.ACTIONS),
    lambda slug, error, **_: _index_html(index(slug), error),
    then={"import_pool": lambda pool, slug: redirect(url_for("pools.show", slug=slug, number=pool[0]), 303)},
    refusals=(Invalid,),
)


def _bars(preview: Preview) -> BarChart:
    labels = [f"{topic.topic_id}: {topic.documents} documents" for topic in preview.topics]
    return bar_chart([float(topic.documents) for topic in preview.topics], labels)


def _progress(page: PoolPage) -> BarChart:
    """The share of each topic that is judged."""
    shares = [topic.judged / topic.documents if topic.documents else 1.0 for topic in page.topics]
    labels = [f"{topic.topic_id}: {topic.judged} of {topic.documents} judged" for topic in page.topics]
    return bar_chart([min(share, 1.0) for share in shares], labels)

"""A run's results and metadata in forms that others read."""

from flask import Blueprint, Response, request, url_for

from leaderboard.runs.page import outward
from leaderboard.runs.page.head import seen_run
from leaderboard.runs.page.outward import HubTask, RunAddresses
from leaderboard.tables.yaml import yaml_text
from leaderboard.web import http
from leaderboard.web.http import own_origin
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("run_outward", __name__)


@blueprint.get("/runs/<id:run_id>/results.json")
@rule(PUBLIC)
def results(run_id: int) -> Response:
    """The run's scores in the format of Every Eval Ever."""
    return http.as_json(outward.results(reading(), viewer(), run_id, _addresses(run_id)))


@blueprint.get("/runs/<id:run_id>/eval-results.yaml")
@rule(PUBLIC)
def hub_results(run_id: int) -> Response:
    """The run's score for a benchmark of Hugging Face's hub, which the address names."""
    asked = request.args
    on = HubTask(asked.get("dataset", "").strip(), asked.get("task", "").strip())
    measure = asked.get("measure") or None
    entries = outward.hub_results(reading(), viewer(), run_id, _addresses(run_id), on, measure)
    return http.as_file(yaml_text(entries), "application/yaml", f"run-{run_id}.yaml")


@blueprint.get("/runs/<id:run_id>/ir-metadata.yaml")
@rule(PUBLIC)
def metadata(run_id: int) -> Response:
    """The run's ir_metadata."""
    text = yaml_text(outward.metadata(reading(), viewer(), run_id, _addresses(run_id)))
    return http.as_file(text, "application/yaml", f"run-{run_id}-ir-metadata.yaml")


def _addresses(run_id: int) -> RunAddresses:
    """The addresses of the run and its task; judgments only if the viewer can download them."""
    seen = seen_run(reading(), viewer(), run_id)
    here, slug, basis = own_origin(), seen.task.slug, seen.basis
    has_qrels = basis is not None and seen.access.details
    qrels = url_for("revisions.part", slug=slug, number=basis.revision, part="qrels") if basis else ""
    return RunAddresses(
        run=here + url_for("runs.show", run_id=run_id),
        board=here + url_for("boards.board", slug=slug),
        topics=here + url_for("topics.index", slug=slug),
        qrels=here + qrels if has_qrels else "",
    )

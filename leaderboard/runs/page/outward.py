"""A run's results in external formats: Every Eval Ever JSON, model hub YAML, ir_metadata.

Every Eval Ever is a schema of results (https://github.com/evaleval/every_eval_ever, version 0.3.0).
ir_metadata describes runs (Breuer, Keller and Schaer, ir_metadata: An Extensible Metadata Schema for IR
Experiments, SIGIR 2022; https://www.ir-metadata.org, version 0.1). The hub's form is that of .eval_results/
(https://huggingface.co/docs/hub/eval-results). All say what the run's page says.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from leaderboard import __version__
from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.errors import Invalid, NotFound
from leaderboard.measures.naming import parse
from leaderboard.runs.page.run import MeasureValue, RunPage, run_page
from leaderboard.scoring.ops.evaluations.shown import Basis, rests_on
from leaderboard.scoring.ops.statistics.standings import ALPHA
from leaderboard.stats.pairs.methods import method

SCHEMA_VERSION = "0.3.0"
METADATA_VERSION = 0.1
DATASET = re.compile(r"(?:[\w.-]{1,96}/)?[\w.-]{1,96}", re.ASCII)
HUB_TASK = re.compile(r"[\w.:/-]{1,96}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RunAddresses:
    """The addresses of a run's page, its task's board and files; empty if unknown."""

    run: str = ""
    board: str = ""
    topics: str = ""
    qrels: str = ""
    """The qrels revision of its scores; only for readers allowed to download it."""


@dataclass(frozen=True, slots=True)
class HubTask:
    """Board of a hub that a score is for: its data set there, and the task's id in that set's eval.yaml."""

    dataset: str
    task: str

    def __post_init__(self) -> None:
        """Raises Invalid where one is missing, or could not be a name of the hub's."""
        if not DATASET.fullmatch(self.dataset):
            raise Invalid(
                f"dataset={self.dataset[:100]!r} is not a hub data set id such as owner/name. Give the id "
                "of the data set with the benchmark."
            )
        if not HUB_TASK.fullmatch(self.task):
            raise Invalid(
                f"task={self.task[:100]!r} is not a task id of the benchmark. Give an id listed in the data "
                "set's eval.yaml."
            )


def results(session: Session, viewer: Viewer, run_id: int, at: RunAddresses) -> dict[str, Any]:
    """The run's scores by the board's measures in the format of Every Eval Ever.

    Raises NotFound where the viewer may not know of the run, or it has no score to show.
    """
    page, basis = _scored(session, viewer, run_id)
    task, _ = policy.visible_task(session, viewer, page.slug)
    shown_from = basis.shown_from or basis.revision_at
    # When the board began to show these scores: a moment of now would make each answer another one.
    stamp = str(int(shown_from.timestamp()))
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{page.slug}/{page.team}/{page.name}/{stamp}",
        "evaluation_timestamp": shown_from.isoformat(timespec="seconds"),
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": page.task,
            "source_type": "evaluation_run",
            "source_organization_name": task.organisers or f"Organisers of {page.task}",
            **({"source_organization_url": at.board} if at.board else {}),
            "evaluator_relationship": "third_party",
            "additional_details": _texts(
                {"judgments": basis.origin, "judged_by": basis.origin_name, "page": at.run}
            ),
        },
        "eval_library": {
            "name": "leaderboard",
            "version": __version__,
            "additional_details": {"as_trec_eval": str(basis.dialect)} if basis.dialect else {},
        },
        "model_info": {
            "name": page.name,
            "id": f"{page.team}/{page.name}",
            "developer": page.team,
            # Required, and unknown for runs.
            "additional_details": _texts({fact.key: fact.text for fact in page.facts})
            | {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [
            _result(page, basis, row, at) for row in page.measures if row.value is not None
        ],
    }


def _scored(
    session: Session, viewer: Viewer, run_id: int, measure: str | None = None
) -> tuple[RunPage, Basis]:
    page = run_page(session, viewer, run_id, measure)
    if page.basis is None or not page.is_scored:
        raise NotFound(f"Run {run_id} has no visible scores. {page.access.why}".strip(), run=run_id)
    return page, page.basis


def hub_results(
    session: Session, viewer: Viewer, run_id: int, at: RunAddresses, on: HubTask, measure: str | None = None
) -> list[dict[str, Any]]:
    """The run's score by one measure, by default the board's first, in the hub's format.

    A hub benchmark has one value per model. Raises NotFound where the viewer may not know of the run, or
    it has no score by that measure to show, and UnknownMeasure where the board does not have the measure.
    """
    page, basis = _scored(session, viewer, run_id, measure)
    row = next(row for row in page.measures if row.column.key == page.by)
    if row.value is None:
        raise NotFound(f"Run {run_id} has no visible score by {page.by}.", run=run_id)
    better = "; lower is better" if row.column.lower_is_better else ""
    rests = rests_on(basis.revision, basis.topics, basis.dialect, basis.left_out)
    by = f"; judged by a machine ({basis.origin_name})" if basis.origin == "machine" else ""
    return [
        {
            "dataset": {"id": on.dataset, "task_id": on.task},
            "value": row.value,
            "date": f"{basis.shown_from or basis.revision_at:%Y-%m-%d}",
            **({"source": {"url": at.run, "name": f"{page.name} on {page.task}"}} if at.run else {}),
            "notes": f"{page.by}{better}; {rests}{by}",
        }
    ]


def _result(page: RunPage, basis: Basis, row: MeasureValue, at: RunAddresses) -> dict[str, Any]:
    column = row.column
    source: dict[str, Any] = {
        "dataset_name": page.task,
        "source_type": "url" if at.board else "other",
        "additional_details": {
            "edition": str(basis.edition),
            "qrels_revision": str(basis.revision),
            "topics": str(basis.topics),
        },
    }
    return {
        "evaluation_name": f"{page.slug}: {column.key}",
        "source_data": source | ({"url": [at.board]} if at.board else {}),
        "metric_config": {
            "evaluation_description": column.title,
            "metric_name": column.key,
            "lower_is_better": column.lower_is_better,
            **_range(row),
            "additional_details": {"measure": column.key, "definition_version": str(column.version)},
        },
        "score_details": {
            "score": row.value,
            "details": _texts({"rank": row.rank, "ranked_runs": row.ranked if row.rank else None}),
            "uncertainty": {"num_samples": basis.topics, **_interval(page, row)},
        },
    }


def _range(row: MeasureValue) -> dict[str, Any]:
    """Of means of scores that have finite bounds; a continuous score has to name both."""
    low, high = parse(row.column.key).measure.range
    if row.column.aggregate != "mean" or not math.isfinite(low) or not math.isfinite(high):
        return {}
    return {"score_type": "continuous", "min_score": low, "max_score": high}


def _interval(page: RunPage, row: MeasureValue) -> dict[str, Any]:
    if page.interval is None or row.column.key != page.by:
        return {}
    low, high = page.interval
    level = {"confidence_level": 1 - ALPHA, "method": "t interval over topics"}
    return {"confidence_interval": {"lower": low, "upper": high, **level}}


def metadata(session: Session, viewer: Viewer, run_id: int, at: RunAddresses) -> dict[str, Any]:
    """The run's ir_metadata: the header of its file where the viewer may read it, and the site's facts.

    The file's values take precedence; the site adds what is missing. Raises NotFound where the viewer may not
    know of the run.
    """
    page = run_page(session, viewer, run_id)
    task, _ = policy.visible_task(session, viewer, page.slug)
    collection = {"name": page.task, "source": at.board, "topics": at.topics, "qrels": at.qrels}
    evaluation: dict[str, Any] = {}
    if page.is_scored:
        evaluation["reported measures"] = [row.column.key for row in page.measures]
    if page.place is not None and page.headline is not None and page.headline.ranked > 1:
        by = method(task.comparison)
        name = by.test.title if by.test else by.correction.title
        evaluation["significance test"] = [{"name": name, "correction method": by.correction.title}]
    facts = {
        "schema-version": METADATA_VERSION,
        "tag": page.name,
        "actor": {"team": page.team},
        "research goal": {"evaluation": evaluation},
        "data": {"test collection": {key: value for key, value in collection.items() if value}},
    }
    return _joined(facts, page.header)


def _joined(facts: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    """Both mappings as one; where both have a value other than a mapping, the second's."""
    joined = dict(facts)
    for key, value in stated.items():
        here = joined.get(key)
        is_both = isinstance(here, Mapping) and isinstance(value, Mapping)
        joined[key] = _joined(here, value) if is_both else value  # type: ignore[arg-type]
    return {key: value for key, value in joined.items() if value not in ({}, [])}


def _texts(facts: Mapping[str, object]) -> dict[str, str]:
    """The known values as text: the schema allows no other type there."""
    return {key: str(value) for key, value in facts.items() if value not in (None, "")}

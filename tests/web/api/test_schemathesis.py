"""The document held against the application by schemathesis: requests it makes up, every check it has."""

from typing import Any

import pytest
import schemathesis
from schemathesis.config import (
    CoveragePhaseConfig,
    PhasesConfig,
    ProjectConfig,
    ProjectsConfig,
    SchemathesisConfig,
)
from schemathesis.engine import events, from_schema

from tests.make.servers import HOST, served
from tests.web.api.conftest import Programs
from tests.web.conftest import Site

pytestmark = pytest.mark.trial
SEED = 20260101
EXAMPLES = 1
"""Of each operation and phase: what a rule of the document refuses is tried rule by rule."""
DOCUMENT = "/api/v1/openapi.json"
ALL = "Olga"
"""Whom every rule of the document is tried on, one by one: an organiser, whom no operation refuses by itself.

Bodies are read alike whoever sends them, and methods are known to routes alone. So the others, whom most
operations refuse before or after that, try all operations at random.
"""


def _phases(name: str | None) -> dict[str, Any]:
    """What of the document is tried on somebody."""
    # A route knows its methods whatever is sent: one that it does not know stands for all.
    coverage = CoveragePhaseConfig(enabled=name == ALL, unexpected_methods={"patch"})
    return {"phases": PhasesConfig(coverage=coverage)}


def _config(secret: str, **given: Any) -> SchemathesisConfig:
    """What schemathesis is to do: as it comes for visitors, so that anybody's own trial finds nothing."""
    config = SchemathesisConfig(seed=SEED)
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    project = ProjectConfig(parent=config, headers=headers, continue_on_failure=True, **given)
    if secret:
        # Whoever has a token changes things, and rules of tasks and files are more than a document can say.
        project.checks.positive_data_acceptance.expected_statuses += ["400", "422"]
        # What no other version of tus may do is 412.
        project.checks.negative_data_rejection.expected_statuses.append("412")
    project.generation.update(max_examples=EXAMPLES, deterministic=True, database="none")
    config.projects = ProjectsConfig(default=project)
    return config


def _run(schema: Any) -> tuple[list[str], set[str]]:
    """What schemathesis finds, with the request that shows it; the operations that did something."""
    faults, answered = [], set()
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            checks = (check for case in event.recorder.checks.values() for check in case)
            for info in (check.failure_info for check in checks if check.failure_info is not None):
                faults.append(f"{info.failure.title}: {info.failure.message[:300]}\n{info.code_sample[:400]}")
            answers = (call.response for call in event.recorder.interactions.values())
            if any(answer is not None and answer.status_code < 300 for answer in answers):
                answered.add(str(event.label))
        if isinstance(event, events.NonFatalError | events.FatalError):
            faults.append(str(getattr(event, "value", None) or getattr(event, "exception", event)))
    return faults, answered


@pytest.mark.parametrize("name", [None, "Berta", ALL])
def test_the_application_is_what_its_document_says(site: Site, program: Programs, name: str | None) -> None:
    """For who has no token, a member of a team, and an organiser with every scope."""
    world = site.world
    secret = program(name, "read", "submit", "organise", "judge").secret if name else ""
    objects = {"path.slug": "robots", "path.run_id": world.run, "path.upload_id": world.accepted}
    objects |= {"path.team_id": world.owls, "path.webhook_id": 1}
    config = _config(secret, parameters=objects if name else {}, **_phases(name))
    # The site's own server: what it refuses by headers alone is held against the document too.
    with served(site.app, site.settings) as running:
        schema = schemathesis.openapi.from_url(f"http://{HOST}:{running.port}{DOCUMENT}", config=config)
        faults, answered = _run(schema.exclude(operation_id="revoke_token") if name else schema)
    assert faults == [], "\n\n".join(faults)
    assert len(answered) >= (10 if name else 2), sorted(answered)

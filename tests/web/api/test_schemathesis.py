"""The document held against the application by schemathesis: requests it makes up, every check it has."""

from collections.abc import Iterator

import pytest
import schemathesis
from schemathesis.config import ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.engine import events, from_schema

from tests.make.servers import HOST, served
from tests.web.api.conftest import Programs
from tests.web.conftest import Site

pytestmark = pytest.mark.trial
SEED = 20260101
EXAMPLES = 25
"""Of each operation and phase."""


def _faults(address: str, secret: str) -> Iterator[str]:
    """What schemathesis finds, with the request that shows it."""
    config = SchemathesisConfig(seed=SEED)
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    project = ProjectConfig(parent=config, headers=headers, continue_on_failure=True)
    # What only a rule of the site can say, such as which measures or files there are, is 422 as the rest is.
    project.checks.positive_data_acceptance.expected_statuses.append("422")
    project.generation.update(max_examples=EXAMPLES, deterministic=True, database="none")
    config.projects = ProjectsConfig(default=project)
    schema = schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json", config=config)
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            checks = (check for case in event.recorder.checks.values() for check in case)
            for info in (check.failure_info for check in checks if check.failure_info is not None):
                yield f"{info.failure.title}: {info.failure.message[:300]}\n{info.code_sample[:400]}"
        if isinstance(event, events.NonFatalError | events.FatalError):
            yield str(getattr(event, "value", None) or event.exception)


@pytest.mark.parametrize("name", [None, "Berta", "Olga"])
def test_the_application_is_what_its_document_says(site: Site, program: Programs, name: str | None) -> None:
    """For who has no token, a member of a team, and an organiser with every scope."""
    secret = program(name, "read", "submit", "organise", "judge").secret if name else ""
    # The site's own server: what it refuses by headers alone is held against the document too.
    with served(site.app, site.settings) as running:
        faults = list(_faults(f"http://{HOST}:{running.port}", secret))
    assert faults == [], "\n\n".join(faults)

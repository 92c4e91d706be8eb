"""The filled site of the web tests."""

from tests.web.conftest import site as site
from tests.web.conftest import world_file as world_file

import pytest
from tests.web.api import test_two_worlds as m
from tests.web.api.test_two_worlds import filled, worlds
from leaderboard.web.api import suites
@pytest.mark.parametrize("only",[o.name for o in suites.OPERATIONS])
@pytest.mark.parametrize("name",[None,"Ann","Stranger"])
def test_x(worlds,name,only):
    if name in m.PROGRAMS:
        assert list(m._differences(worlds,name,only))==[]

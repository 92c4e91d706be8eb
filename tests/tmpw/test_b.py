import pytest
from tests.web import test_two_worlds_posts as m
from tests.web.test_two_worlds_posts import filled, worlds
ENDS=["suite_settings.create","suite_settings.change","suite_settings.withdraw","suite_settings.restore","suite_sending.send","suite_sending.put_together","suite_sending.fill_in","suite_sending.withdraw","suite_sending.restore"]
@pytest.mark.parametrize("only",ENDS)
@pytest.mark.parametrize("name",[None,"Ann","Stranger"])
def test_x(worlds,name,only):
    assert list(m._differences(worlds,name,only,in_json=True))==[]

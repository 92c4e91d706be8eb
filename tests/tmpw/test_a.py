import pytest
from tests.web import test_two_worlds as m
from tests.web.test_two_worlds import filled, worlds
real = m._walk
def _walk(app, objects=m.walks.VALUES):
    return [(p,(*s,"?by=borda","?members=like-these&baseline=own","?run=own","?member=open")) for p, s in real(app, objects) if "suites" in p or p in ("/","/tasks/open/about","/tasks/blind/about") or p.startswith("/runs/")]
m._walk=_walk
@pytest.mark.parametrize("name",[None,"Ann","Stranger","Olga"])
def test_x(worlds,name):
    assert list(m._differences(worlds,name,other_ways=name=="Ann"))==[]
def test_seen(worlds):
    t=worlds[0].browser("Ann").get("/suites/both").text
    import re
    open('/tmp/me/ann.html','w').write(t)

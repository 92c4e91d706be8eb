"""Who may open which address of answers, nuggets, labels, judges, suites; rankings have few of them."""

from itertools import product

from tests.web.matrix_of_suites import SUITES

SUFFIXES = ("", ".json", ".csv", ".tex")
JUDGED = ("", "/{run}", "/{run}/topics/1", "/{run}/labels", "/{run}/labels/1")
LABELLING = (
    *("", ".json", ".csv", ".tex", "/1", "/1.json", "/1.csv", "/1.tex", "/1/made.jsonl"),
    *("/1/adjudication", "/1/nuggets/1"),
)
"""tests/judging/web/labelling asks for them where there is a round."""
MADE = ("", "/assessors")
CHANGED = ("/1/state", "/1/publish", "/1/adjudication", "/1/nuggets/1")

OTHER_KINDS: dict[tuple[str, str], tuple[int, ...]] = {
    **SUITES,
    **{("GET", f"/runs/{{run}}/answers/1{suffix}"): (404,) * 6 for suffix in SUFFIXES},
    **{("GET", f"/tasks/robots/topics/1/nuggets{suffix}"): (404,) * 6 for suffix in SUFFIXES},
    **{("GET", f"/tasks/robots/lines/1{suffix}"): (404,) * 6 for suffix in SUFFIXES},
    **{("GET", f"/tasks/robots/judges{of}{suffix}"): (404,) * 6 for of, suffix in product(JUDGED, SUFFIXES)},
    **{("GET", f"/tasks/robots/labelling{rest}"): (401, 403, 403, 403, 403, 404) for rest in LABELLING},
    **{("GET", f"/tasks/draft/labelling{rest}"): (401,) + (404,) * 5 for rest in LABELLING},
    **{("POST", f"/tasks/robots/labelling{rest}"): (401, 403, 403, 403, 403, 409) for rest in MADE},
    **{("POST", f"/tasks/robots/labelling{rest}"): (401, 403, 403, 403, 403, 404) for rest in CHANGED},
    **{("POST", f"/tasks/draft/labelling{rest}"): (401, 404, 404, 404, 404, 409) for rest in MADE},
    **{("POST", f"/tasks/draft/labelling{rest}"): (401,) + (404,) * 5 for rest in CHANGED},
    **{("GET", f"/judge/{{judge}}/labels{rest}"): (404,) * 6 for rest in ("/1", "/1/1")},
    **{("POST", f"/judge/{{judge}}/labels/1/1{rest}"): (404,) * 6 for rest in ("", "/undo")},
}

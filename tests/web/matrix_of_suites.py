"""Who may open which address of suites: `both` has a task of each organiser, and a run of Owls."""

SUFFIXES = ("", ".json", ".csv", ".tex")
OPEN, ACCOUNT, NOBODY = (200,) * 6, (401,) + (200,) * 5, (401,) + (403,) * 5
"""NOBODY: who organises one of the tasks does not change the suite."""
TEAM = (401, 404, 404, 303, 404, 404)

SUITES: dict[tuple[str, str], tuple[int, ...]] = {
    **{("GET", f"/suites{suffix}"): OPEN for suffix in SUFFIXES},
    **{("GET", f"/suites/both{suffix}"): OPEN for suffix in (*SUFFIXES, "/changes", "/pairs")},
    **{("GET", f"/suites/both/runs/1{suffix}"): OPEN for suffix in SUFFIXES},
    ("GET", "/suites/both/submit"): ACCOUNT,
    ("GET", "/suites/new"): (401, 403, 403, 403, 200, 200),
    ("GET", "/suites/both/settings"): NOBODY,
    ("POST", "/suites"): (401, 403, 403, 403, 422, 422),
    **{("POST", f"/suites/both/{what}"): NOBODY for what in ("settings", "withdraw", "restore")},
    **{("POST", f"/suites/both/{what}"): (401,) + (422,) * 5 for what in ("submit", "runs")},
    ("POST", "/suites/both/runs/1/parts"): (401, 404, 404, 422, 404, 404),
    **{("POST", f"/suites/both/runs/1/{what}"): TEAM for what in ("withdraw", "restore")},
}

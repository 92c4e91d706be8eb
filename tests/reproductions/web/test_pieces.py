"""What a run reproduces that is sent in pieces."""

from leaderboard.db.tables import Reproduction
from tests.make.worlds import RUN
from tests.runs.api import test_partial_uploads as pieces
from tests.web.api.conftest import Programs
from tests.web.conftest import Site


def test_pieces_say_what_their_run_reproduces(site: Site, program: Programs) -> None:
    """With the first request; what cannot be is refused before a byte comes."""
    berta = program("Berta")
    for said in ({"reproduces": 999}, {"baseline": site.world.run}, {"reproduces": "own"}):
        assert pieces._begin(berta, len(RUN), **said).status_code == 422, said
    where = pieces._begun(berta, len(RUN), reproduces=site.world.run)
    last = pieces._send(berta, where, 0, RUN)
    upload = berta.ask("GET", last.headers["Location"].removeprefix("/api/v1")).json
    with site.database.read() as session:
        said = session.get_one(Reproduction, upload["run_id"])
        assert (said.original_id, said.baseline_id) == (site.world.run, None)

"""An organiser's road: a draft, a look at it, published, revised."""

import io
import zipfile
from typing import Any

import pytest
from sqlalchemy import func, select

from leaderboard.db.tables import Job, Phase, Run, Task, Topic
from tests.make import build, pages
from tests.make.worlds import QRELS, RUN, TOPICS
from tests.web.conftest import Site

NEW = "/tasks/new"


def _draft(site: Site, **more: Any) -> dict[str, Any]:
    fields = pages.form(site.browser("Olga").get(NEW), NEW)
    files = {"topics": _file(TOPICS, "topics.tsv"), "qrels": _file(QRELS, "qrels.txt")}
    return {**fields, **files, "name": "New Robots (2026)", "description": "**Bold** <b>no</b>", **more}


def _file(text: str, name: str) -> tuple[io.BytesIO, str]:
    return io.BytesIO(text.encode()), name


def test_a_draft_shows_what_was_found(site: Site) -> None:
    """The draft's page shows counts, grades, mismatched topics, the proposed measures and the description."""
    client = site.browser("Olga")
    made = client.post(NEW, data=_draft(site))
    assert made.headers["Location"] == "/tasks/new-robots-2026/organise"
    page = client.get(made.headers["Location"])
    text = pages.main(page)
    assert "Draft of New Robots (2026)" in text
    assert "5 in revision 1, judged by people" in text
    assert "nDCG@10, AP, RR@10, R@1000, Judged@10; ranked by nDCG@10" in text
    assert pages.table(page, "Judgments by grade") == [
        ["0", "2", "40.0%"],
        ["1", "2", "40.0%"],
        ["2", "1", "20.0%"],
    ]
    assert "Judged ids not among the topics: 1" in text
    assert "Topics without any relevant document: 1" in text
    assert "<strong>Bold</strong> &lt;b&gt;no&lt;/b&gt;" in page.text


def test_a_draft_is_unknown_until_it_is_published(site: Site) -> None:
    """Nobody else finds a draft; its button publishes it for everybody."""
    organiser, other = site.browser("Olga"), site.browser("Berta")
    address = organiser.post(NEW, data=_draft(site)).headers["Location"]
    submit = address.replace("organise", "submit")
    assert other.get(submit).status_code == 404
    pages.form(organiser.get(address), f"{address}/publish")
    assert organiser.post(f"{address}/publish").status_code == 303
    assert other.get(submit).status_code == 200
    assert "Published" in pages.main(organiser.get(address))


def test_a_discarded_draft_is_gone(site: Site) -> None:
    """A page asks before the draft is deleted; a published task is not discarded."""
    client = site.browser("Olga")
    address = client.post(NEW, data=_draft(site)).headers["Location"]
    discard = address.replace("organise", "discard")
    assert pages.parsed(client.get(address)).find("a", href=discard) is not None
    asked = client.get(discard)
    assert "This cannot be undone" in pages.main(asked)
    pages.form(asked, discard)
    assert client.get(address).status_code == 200
    assert client.post(discard).status_code == 303
    assert client.get(address).status_code == 404
    assert client.post("/tasks/robots/discard").status_code == 409


def test_a_sealed_draft_without_an_end_is_published_knowingly(site: Site) -> None:
    """The page warns above the button, until there is a closing date."""
    client, warning = site.browser("Olga"), "its scores would stay hidden forever"
    address = client.post(NEW, data=_draft(site, visibility="sealed")).headers["Location"]
    assert warning in pages.main(client.get(address))
    dates = f"{address}/dates"
    fields = pages.form(client.get(address), dates)
    assert client.post(dates, data={**fields, "closes_at": "2041-01-31"}).status_code == 303
    assert warning not in pages.main(client.get(address))


def test_judgments_may_come_later(site: Site) -> None:
    """A task without qrels is made with the binary proposal and says that runs will wait."""
    client = site.browser("Olga")
    made = client.post(NEW, data=_draft(site, qrels=(io.BytesIO(b""), "")))
    text = pages.main(client.get(made.headers["Location"]))
    assert "none yet: runs wait" in text
    assert "ranked by AP" in text


def test_documents_make_a_collection(site: Site) -> None:
    """A documents file makes a collection with its text, which the next task can choose."""
    client = site.browser("Olga")
    documents = (
        '{"_id": "d1", "title": "One", "text": "first"}\n{"_id": "d2", "title": "", "text": "second"}\n'
    )
    made = client.post(NEW, data=_draft(site, documents=_file(documents, "corpus.jsonl")))
    assert "2 documents, 2 with their text" in pages.main(client.get(made.headers["Location"]))
    choices = pages.parsed(client.get(NEW)).select("[name=collection] option")
    assert "new-robots-2026" in [option["value"] for option in choices]


def test_chosen_measures_are_taken(site: Site) -> None:
    """Measures typed in, with parameters, become the task's, ranked by the primary one."""
    client = site.browser("Olga")
    chosen = {"measures": "AP P@5  SetF(beta=2.0)", "primary": "P@5"}
    made = client.post(NEW, data=_draft(site, **chosen))
    assert made.status_code == 303
    with site.database.read() as session:
        task = session.scalars(select(Task).where(Task.slug == "new-robots-2026")).one()
    assert task.primary_measure == "P@5"
    assert task.measures[:2] == ["AP", "P@5"]
    assert len(task.measures) == 3


def test_links_and_agreement_are_given_with_the_task(site: Site) -> None:
    """The first agreement is version 1, which teams agree to; without one there is no version."""
    client = site.browser("Olga")
    given = {"links": "Call https://example.org/call\r\n", "agreement": "Be\r\nfair."}
    for name, chosen, expected in (
        ("With", given, ([{"title": "Call", "address": "https://example.org/call"}], "Be\nfair.", 1)),
        ("Without", {}, ([], "", 0)),
    ):
        assert client.post(NEW, data=_draft(site, name=name, **chosen)).status_code == 303
        with site.database.read() as session:
            task = session.scalars(select(Task).where(Task.name == name)).one()
        assert (task.links, task.agreement, task.agreement_version) == expected


def test_a_kind_of_task_presets_what_is_shown_limits_and_runs_that_count(site: Site) -> None:
    """One choice at the top; what is set below wins."""
    client = site.browser("Olga")
    wanted = {
        "living": ("open", None, None, None),
        "trec": ("sealed", None, 5, None),
        "hidden": ("blind", 5, 30, 2),
        "hidden as sealed": ("sealed", None, None, 2),
    }
    for name, expected in wanted.items():
        kind, _, shown = name.partition(" as ")
        made = client.post(NEW, data=_draft(site, name=name, template=kind, visibility=shown))
        slug = made.headers["Location"].split("/")[2]
        with site.database.read() as session:
            task, phase = session.execute(
                select(Task, Phase).join(Phase, Phase.task_id == Task.id).where(Task.slug == slug)
            ).one()
            found = task.visibility, phase.runs_per_day, phase.runs_in_all, task.final_runs
        assert found == expected, name


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"template": "none"}, 422, "kind of task"),
        ({"topics": (io.BytesIO(b""), "")}, 422, "Choose a topics file"),
        ({"name": ""}, 422, "name"),
        ({"slug": "Not a slug"}, 422, "slug"),
        ({"slug": "robots"}, 409, "already"),
        ({"depth": "0"}, 422, "depth"),
        ({"depth": "many"}, 422, "whole number"),
        ({"measures": "nDGC@10"}, 422, "nDGC"),
        ({"primary": "Judged@10"}, 422, "primary"),
        ({"visibility": "hidden"}, 422, "visibility"),
        ({"collection": "unheard of"}, 404, "collection"),
        ({"qrels": (io.BytesIO(b"1 0 d1\n"), "q.txt")}, 422, "qrels"),
        ({"description": "x" * 100_001}, 422, "at most"),
        ({"links": "Call javascript:alert(1)"}, 422, "https://"),
    ],
)
def test_the_form_comes_back_with_what_is_wrong(
    site: Site, change: dict[str, Any], status: int, sentence: str
) -> None:
    """A refused form makes no task, says why, and keeps what was typed."""
    client = site.browser("Olga")
    response = client.post(NEW, data=_draft(site, **{"origin_name": "kept", **change}))
    assert response.status_code == status
    assert sentence in pages.main(response)
    assert pages.form(response, NEW)["origin_name"] == "kept"
    with site.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Task)) == 3


def test_a_wrong_line_of_qrels_is_named(site: Site) -> None:
    """A qrels file with a bad line is refused with the line's number in the table of problems."""
    bad = QRELS + "1 0 d7 high\n"
    response = site.browser("Olga").post(NEW, data=_draft(site, qrels=_file(bad, "qrels.txt")))
    assert response.status_code == 422
    assert pages.table(response, "What to fix")[0][:3] == ["6", "grade", "high"]


def test_uploads_and_runs_are_listed(site: Site) -> None:
    """The organiser sees every upload, rejected ones with their number of problems, and every run."""
    page = site.browser("Olga").get("/tasks/robots/organise")
    uploads = pages.table(page, "Uploads")
    assert [(row[1], row[2], row[5]) for row in uploads] == [
        ("second", "Owls", "rejected"),
        ("first", "Owls", "accepted"),
    ]
    assert int(uploads[0][6]) > 0
    [run] = pages.table(page, "Runs")
    assert run[:3] == ["first", "Owls", "official"]
    assert run[3].startswith("failed: It broke.")


def test_failed_work_is_started_again(site: Site) -> None:
    """A failed job is shown with its message, and its button queues it anew."""
    client = site.browser("Olga")
    address = "/tasks/robots/organise"
    [row] = pages.table(client.get(address), "Failed jobs")
    assert (row[1], row[3]) == ("first", "It broke.")
    again = f"{address}/jobs/{site.world.job}"
    pages.form(client.get(address), again)
    assert client.post(again).status_code == 303
    with site.database.read() as session:
        assert session.get_one(Job, site.world.job).state == "queued"
    assert client.post(again).status_code == 404


def test_another_tasks_job_is_not_ours(site: Site) -> None:
    """An organiser cannot start the failed work of another organiser's task."""
    assert site.browser("Otto").post(f"/tasks/other/organise/jobs/{site.world.job}").status_code == 404


def test_a_topic_is_left_out_with_a_reason(site: Site) -> None:
    """In a draft a topic without relevant documents is left out of the means, and taken back."""
    client = site.browser("Olga")
    address = client.post(NEW, data=_draft(site)).headers["Location"]
    fields = pages.form(client.get(address), f"{address}/exclusions")
    assert fields["topic"] == "3"
    client.post(f"{address}/exclusions", data=fields)
    assert "Excluded from the means 3 No relevant document is known." in pages.main(client.get(address))
    client.post(f"{address}/exclusions", data={"topic": "3", "reason": ""})
    assert "Left out" not in pages.main(client.get(address))


def test_dates_that_moved_meanwhile_are_not_overwritten_unseen(site: Site) -> None:
    """The second of two is told, sees what was typed, and saves it by the next press."""
    organiser, address = site.browser("Olga"), "/tasks/robots/organise"
    fields = pages.form(organiser.get(address), f"{address}/dates")
    for closes, status in (("2031-01-31T12:00", 303), ("2032-01-31T12:00", 409)):
        said = {"closes_at": closes, "reason": "More time"}
        answer = organiser.post(f"{address}/dates", data={**fields, **said})
        assert answer.status_code == status
    assert "You changed the dates at 20" in pages.main(answer)
    again = pages.form(answer, f"{address}/dates")
    assert (again["closes_at"], again["reason"]) == ("2032-01-31T12:00", "More time")
    assert organiser.post(f"{address}/dates", data=again).status_code == 303
    assert pages.form(organiser.get(address), f"{address}/dates")["closes_at"] == "2032-01-31T12:00"


def test_a_task_closes_at_its_date(site: Site) -> None:
    """Dates set on the organise page are shown, hold for the teams, and bad ones are refused in words."""
    organiser = site.browser("Olga")
    address = "/tasks/robots/organise"
    assert organiser.post(f"{address}/dates", data={"closes_at": "soon"}).status_code == 422
    assert (
        organiser.post(f"{address}/dates", data={"opens_at": "", "closes_at": "2020-01-31T12:00"}).status_code
        == 303
    )
    assert 'value="2020-01-31T12:00"' in organiser.get(address).get_data(as_text=True)
    assert "closed at 2020-01-31 12:00 UTC" in site.browser("Berta").get("/tasks/robots/submit").get_data(
        as_text=True
    )
    assert "until" in site.browser().get("/tasks/robots/about").get_data(as_text=True)


def test_how_topics_are_read_is_shown_before_they_are_stored(site: Site) -> None:
    """A guess is shown with fields that can be corrected; sent again as shown, or corrected, it is stored."""
    client = site.browser("Olga")
    lines = "1\ten\tone\n2\ten\ttwo\n"
    asked = client.post(NEW, data=_draft(site, topics=_file(lines, "topics.tsv")))
    assert asked.status_code == 422
    assert "Nothing is stored yet: check how the 2 topics would be read." in pages.main(asked)
    assert "id=column1, title=column2, description=column3" in pages.main(asked)
    with site.database.read() as session:
        assert session.scalar(select(Task.id).where(Task.slug == "new-robots-2026")) is None
    fields = pages.form(asked, NEW)
    assert fields["fields"] == "id=column1, title=column2, description=column3"
    corrected = {**fields, "fields": "id=column1, title=column3"}
    made = client.post(NEW, data={**corrected, "topics": _file(lines, "topics.tsv")})
    assert made.status_code == 303, pages.main(made)
    with site.database.read() as session:
        found = select(Topic.title).join(Task, Task.id == Topic.task_id).where(Task.slug == "new-robots-2026")
        assert session.scalars(found.order_by(Topic.position)).all() == ["one", "two"]


def test_a_zip_with_a_folder_named_as_a_team_gives_no_link(site: Site) -> None:
    """The organiser files a run for Bears, whose members stay unlisted; a link for one is refused."""
    olga, packed = site.browser("Olga"), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("Bears/filed.run", RUN)
    fields = {"team": "folder", "file": (io.BytesIO(packed.getvalue()), "runs.zip")}
    assert olga.post("/tasks/robots/submit", data=fields).status_code == 303
    build.drain(site.database)
    with site.database.read() as session:
        assert session.scalars(select(Run.filed).where(Run.team_id == site.world.bears)).all() == [True]
    shown = olga.get("/tasks/robots/members")
    assert "Berta" in shown.text
    assert "Carl" not in shown.text
    assert olga.post(f"/tasks/robots/members/{site.world.carl}/link").status_code == 404
    assert olga.post(f"/tasks/robots/members/{site.world.berta}/link").status_code == 201

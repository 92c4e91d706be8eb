"""The files of the demo's answers are what its programs make, and agree with what is said of them."""

import json
from pathlib import Path

import pytest

from demo import (
    answer_files,
    answer_labels,
    assemble_answers,
    judge_boards,
    make_answers,
    runfile,
    second_labels,
)
from demo.answering import Weights, weights
from demo.sentences import sentences
from demo.texts import Document, documents
from leaderboard import demo
from leaderboard.demo import answers, judges
from leaderboard.trec.answers.check import AnswerRules, check_answers
from leaderboard.trec.answers.record import read_answer_topics

pytestmark = pytest.mark.trial

Answers = dict[str, dict[str, list[tuple[str, tuple[str, ...]]]]]


@pytest.fixture(scope="module")
def shipped() -> Answers:
    """Run -> topic -> segments with what they cite."""
    return answer_files.read_all()


@pytest.fixture(scope="module")
def collection() -> dict[str, Document]:
    """The documents by docno."""
    return {document.docno: document for document in documents()}


@pytest.fixture(scope="module")
def weighted() -> Weights:
    """The weights of all terms."""
    return weights(documents())


def test_runs_are_what_the_programs_make(shipped: Answers, weighted: Weights) -> None:
    """Every run is there, each with the segments and citations that its system gives again."""
    made = {
        system.name: make_answers.extracted(system, answer, weighted)
        for system, answer in make_answers.systems()
    }
    system, written = make_answers.written()
    assert shipped == made | {system.name: written}
    assert shipped.keys() == set(answers.RUNS) == answers.runs().keys()


def test_a_run_is_named_after_the_ranking_it_is_made_from(
    shipped: Answers, collection: dict[str, Document]
) -> None:
    """What stands before the dot is a ranking that ships, and all that is cited is among its first ten."""
    for name, by_topic in shipped.items():
        ranking, _, method = name.partition(".")
        assert ranking in demo.RUNS
        assert method
        rankings = runfile.read(demo.runs()[ranking])
        for topic, segments in by_topic.items():
            first = {docno for docno, _ in rankings[topic][: make_answers.DEPTH]}
            assert {docno for _, cited in segments for docno in cited} <= first & collection.keys()


def test_systems_differ(shipped: Answers) -> None:
    """No two runs have most of their segments with the same citations in common."""
    cells = {
        run: {(topic, *segment) for topic, segments in by_topic.items() for segment in segments}
        for run, by_topic in shipped.items()
    }
    names = sorted(cells)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            shared = len(cells[one] & cells[other])
            assert shared < 0.8 * max(len(cells[one]), len(cells[other])), (one, other)


def test_topics_are_twelve_of_the_first_task() -> None:
    """Every run answers all of them, and nothing else."""
    known = read_answer_topics(answers.TOPICS)
    assert tuple(known) == answer_files.CHOSEN
    first = make_answers.asked()
    assert all(known[number].texts == (topic.title, topic.description) for number, topic in first.items())


@pytest.mark.parametrize("name", answers.RUNS)
def test_a_file_has_nothing_to_be_said_against(name: str) -> None:
    """The check of the site finds neither errors nor warnings, and all topics are answered."""
    rules = AnswerRules(topics=read_answer_topics(answers.TOPICS), dialects=(answers.DIALECT,))
    report = check_answers(answers.runs()[name], rules, lambda _: None)
    assert (report.problems, report.warnings) == ((), ())
    assert report.facts["run"] == name
    assert report.facts["answers"] == len(answer_files.CHOSEN)


def test_judgments_are_what_the_labels_give(tmp_path: Path) -> None:
    """Assembling the kept labels again gives the shipped files and counts."""
    facts = assemble_answers.assemble(tmp_path)
    assert facts == answers.about()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {path.name for path in answers.FOLDER.glob("*.json*")} - {answers.TOPICS.name}
    for name in names:
        assert (tmp_path / name).read_bytes() == (answers.FOLDER / name).read_bytes(), name


def test_boards_are_what_the_judges_say(tmp_path: Path) -> None:
    """Judging the shipped answers again gives the shipped boards."""
    assert judge_boards.JUDGES.keys() == judges.runs().keys()
    for path in judge_boards.write(tmp_path):
        assert path.read_bytes() == judges.runs()[path.stem].path.read_bytes()


def test_every_topic_has_vital_nuggets_and_others() -> None:
    """Five to seven nuggets a topic, two or three of them vital, no text twice."""
    for topic, given in answer_labels.nuggets().items():
        vital = [one for one in given if one["importance"] == "vital"]
        assert topic in answer_files.CHOSEN
        assert 5 <= len(given) <= 7
        assert 2 <= len(vital) <= 3
        assert len({one["text"] for one in given}) == len(given)


def test_only_what_stands_in_a_document_is_copied(collection: dict[str, Document]) -> None:
    """A pair needs no judge where the text is the document's, and one where a word differs."""
    docno = "library.copy"
    text = sentences(collection[docno])[0].text
    given = {"one": {"PY026": [(text, (docno,)), (f"{text} Or so.", (docno,))]}}
    assert answer_labels.copied(given) == {("PY026", answer_labels.key_of(text), docno): 2}


def test_an_unlabelled_segment_is_refused(shipped: Answers) -> None:
    """A segment that nobody labelled is named."""
    more = shipped | {"new": {"PY009": [("Nobody has read this.", ())]}}
    key = answer_labels.key_of("Nobody has read this.")
    with pytest.raises(SystemExit, match=f"PY009 {key} has no label"):
        answer_labels.complete(more)


def test_labels_outside_the_scale_are_refused(tmp_path: Path) -> None:
    """File, line and value of a label that makes no sense."""
    path = tmp_path / "segments.tsv"
    path.write_text("PY009\ta\t1,2p\nPY009\tb\t99\n")
    with pytest.raises(SystemExit, match="line 2: '99' names no nugget of PY009"):
        answer_labels.read_held(path)
    path.write_text("PY009\ta\tlibrary.copy\t3\n")
    with pytest.raises(SystemExit, match="line 1: the label '3'"):
        answer_labels.read_support(path)


def test_an_answer_holds_what_its_best_segment_holds() -> None:
    """Of a nugget held in part by one segment and whole by another the answer holds all."""
    given = {"one": {"PY009": [("a", ()), ("b", ())]}}
    held = {
        ("PY009", answer_labels.key_of("a")): {1: answer_labels.IN_PART},
        ("PY009", answer_labels.key_of("b")): {1: answer_labels.HELD, 2: answer_labels.IN_PART},
    }
    assert assemble_answers.assigned(given, held)["one", "PY009"] == [2, 1, 0, 0, 0, 0]


def test_the_second_machine_counts_words(shipped: Answers) -> None:
    """It gives full support to what is copied, and labels half of the topics."""
    labels = second_labels.support(shipped)
    assert {labels[pair] for pair in answer_labels.copied(shipped)} == {2}
    assert set(labels.values()) == {0, 1, 2}
    topics = {topic for _, topic in second_labels.assignments(shipped)}
    assert topics == set(answers.about()["second_topics"])
    assert len(topics) == len(answer_files.CHOSEN) // 2


def test_descriptions_say_who_judged() -> None:
    """They name the machines, the agreement, the licence and that nobody judged."""
    text, facts = answers.description(), answers.about()
    for said in (
        answers.JUDGE,
        answers.COUNTER[1:],
        "There are no human judgments",
        "PSF licence",
        "too small",
    ):
        assert said in text
    assert f"{facts['assignment_agreement']['kappa']:.2f}" in text
    assert f"{facts['support_agreement']['kappa']:.2f}" in text
    assert "machine" in judges.description()
    assert "There are no human judgments" in judges.description()


def test_a_sentence_is_prose() -> None:
    """Code, remarks on versions and words too few are left out; an abbreviation ends no sentence."""
    text = (
        ">>> import this now and then again.\nNew in version 3.4: Something that is long enough.\n"
        "Too short.\n"
        "This is a sentence of prose, e.g. One with an abbreviation. And this is the second one of them."
    )
    found = sentences(Document("d", "", text))
    assert [(one.place, one.text) for one in found] == [
        (0, "This is a sentence of prose, e.g. One with an abbreviation."),
        (1, "And this is the second one of them."),
    ]


def test_figures_are_read_from_the_file() -> None:
    """The counts are those of the judgments that ship."""
    facts = answers.about()
    lines = [json.loads(line) for line in (answers.FOLDER / "assignments.jsonl").read_text().splitlines()]
    assert facts["assignments"] == sum(len(line["nuggets"]) for line in lines)
    assert facts["runs"] == len({line["run_id"] for line in lines}) == len(answers.RUNS)
    assert facts["copied_pairs"] < facts["pairs"]


def test_the_readme_has_the_agreement_that_is_computed() -> None:
    """The table of how far two machines agree is what the program prints."""
    text = (Path(answer_files.__file__).parent / "README.md").read_text("utf-8")
    rows = {
        "assignments": answers.about()["assignment_agreement"],
        "support, what is not copied": answers.about()["support_agreement"],
    }
    for name, found in rows.items():
        figures = " | ".join(f"{found[key]:.4f}" for key in ("same", "kappa", "kappa_linear"))
        assert f"| {name} | {found['labels']} | {figures} |" in text

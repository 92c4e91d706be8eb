"""Lines as Auto-ARGUE writes them."""

from typing import Any

from tests.make.answers import Line


def judgment(kind: str, document: str = "", **response: object) -> dict[str, Any]:
    """One inner judgment, of a document where there is one."""
    made: dict[str, Any] = {"judgment_type_id": kind, "response": response}
    return {**made, "provenance": {"doc_id": document}} if document else made


def attested(document: str, yes: bool = True) -> dict[str, Any]:
    """Whether a document bears the sentence out."""
    return judgment("SENTENCE_ATTESTED", document, is_attested=yes)


def relevant(document: str, yes: bool = True) -> dict[str, Any]:
    """Whether a document supports some nugget."""
    return judgment("CITED_DOCUMENT_RELEVANCE", document, is_relevant=yes)


def answers(question: str, *given: str) -> dict[str, Any]:
    """Answers to a question that the sentence gives."""
    matched = [{"question_text": question, "matched_answer": list(given), "importance": "vital"}]
    return judgment("SENTENCE_ANSWERS_QUESTION", "d4", matched_nuggets=matched)


def sentence(text: str, documents: str, *judgments: dict[str, Any]) -> dict[str, Any]:
    """A sentence that cites the documents, blanks between them."""
    cited = [{"doc_id": docno, "text": "..."} for docno in documents.split()]
    return {"segment_type": "sentence", "text": text, "citations": cited, "judgments": list(judgments)}


def argued(topic: str, *sentences: dict[str, Any], run: str = "one") -> Line:
    """A line of judgments."""
    facts = {"team_id": "team", "run_id": run, "topic_id": topic}
    report = {"metadata": facts, "responses": [], "references": []}
    return {"report": report, "judgments": list(sentences)}

"""An answer as a line of the dialect `report`, which every dialect's segments and citations fit into."""

import json
from typing import Any

from leaderboard.trec.answers.record import Answer, Segment


def as_report(answer: Answer, team: str) -> str:
    """The answer as one line, without its end; reading it gives the same segments, citations and references.

    Citations are a map where all of a segment's have a confidence, a list where one has none.
    """
    facts = {"team_id": team, "run_id": answer.run, "topic_id": answer.topic}
    responses = [{"text": segment.text, "citations": _citations(segment)} for segment in answer.segments]
    record = {"metadata": facts, "responses": responses, "references": list(answer.references)}
    return json.dumps(record, ensure_ascii=False)


def _citations(segment: Segment) -> Any:
    confidences = {citation.docno: citation.confidence for citation in segment.citations}
    return list(confidences) if None in confidences.values() or not confidences else confidences

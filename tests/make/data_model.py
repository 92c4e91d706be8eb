"""Writes docs/data-model.md from the models: python -m tests.make.data_model."""

import inspect
from collections import defaultdict
from pathlib import Path

from leaderboard.db import tables
from leaderboard.db.engine import Base

PATH = Path(__file__).resolve().parents[2] / "docs" / "data-model.md"
HEAD = """# Data model

This page is for developers who write a migration or a query. An arrow leads from a table to the one
that it refers to. Made from the models by `python -m tests.make.data_model`; a test compares both.
"""


def made() -> str:
    """A diagram for each file of models, with every reference between tables."""
    files: dict[str, list[type[Base]]] = defaultdict(list)
    for model in tables.__dict__.values():
        if inspect.isclass(model) and issubclass(model, Base) and hasattr(model, "__table__"):
            files[model.__module__.rsplit(".", 1)[1]].append(model)
    parts = [HEAD]
    for name, models in sorted(files.items()):
        parts.append(f"## leaderboard/db/{name}.py\n\n```mermaid\nerDiagram")
        for model in sorted(models, key=lambda one: one.__tablename__):
            table = Base.metadata.tables[model.__tablename__]
            keys = [column.name for column in table.columns if column.primary_key]
            parts.append(f"  {table.name} {{\n" + "\n".join(f"    key {key}" for key in keys) + "\n  }")
            targets = sorted({key.target_fullname.split(".")[0] for key in table.foreign_keys})
            parts += [f'  {table.name} }}o--|| {target} : ""' for target in targets]
        parts.append("```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PATH.write_text(made(), encoding="utf-8")

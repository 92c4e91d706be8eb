"""Two rankings compared by assessors: pairs, questions, answers."""

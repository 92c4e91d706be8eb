"""The pages of assessing: what assessors see, how far they are, how they agree."""

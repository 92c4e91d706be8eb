"""The pages of side-by-side comparisons, for organisers and assessors."""

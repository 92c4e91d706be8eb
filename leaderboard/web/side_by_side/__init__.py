"""Addresses of side-by-side comparisons, for organisers and for assessors."""

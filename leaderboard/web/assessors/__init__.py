"""Addresses of assessing, for organisers and for assessors."""

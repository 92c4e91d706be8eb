"""Shared parts of API operations: declaration, parsing, responses, limits and errors."""

"""The API's operations for runs."""

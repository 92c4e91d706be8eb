"""The API's operations for tasks."""

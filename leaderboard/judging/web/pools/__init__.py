"""Routes for pools."""

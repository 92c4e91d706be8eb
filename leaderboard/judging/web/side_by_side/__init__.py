"""Routes for side-by-side comparisons."""

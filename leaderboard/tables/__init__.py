"""Tables as files: JSON, CSV and LaTeX."""

"""Tables as files: JSON, CSV, LaTeX and Markdown."""

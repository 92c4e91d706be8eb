"""How a version is released: `python -m release VERSION`, with the checklist of CONTRIBUTING.md."""

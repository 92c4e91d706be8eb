"""Scripts that make the demo task from Debian's python3.11-doc; not part of the wheel."""

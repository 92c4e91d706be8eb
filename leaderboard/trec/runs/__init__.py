"""Run files: read, checked, fingerprinted, packed."""

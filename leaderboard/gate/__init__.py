"""A gate for builds: new runs against a baseline and a margin, without a site or with one's baseline."""

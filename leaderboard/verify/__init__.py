"""What a site, mirror, bundle or snapshot says, recomputed from its public files by a reader."""

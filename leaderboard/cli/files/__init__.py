"""Commands on files, without a site."""

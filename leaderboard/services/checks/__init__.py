"""Whether everything that is stored is what was written: each kind of data has its check."""

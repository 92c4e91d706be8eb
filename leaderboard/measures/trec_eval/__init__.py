"""What trec_eval alone has: its names, families and own forms of measures."""

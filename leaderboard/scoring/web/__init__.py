"""Routes of measures, and results that pages wait for."""

"""The catalogue of measures, in a terminal and as pages of the documentation."""

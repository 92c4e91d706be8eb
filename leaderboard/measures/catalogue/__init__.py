"""The catalogue of measures: families, names, definitions and worked examples."""

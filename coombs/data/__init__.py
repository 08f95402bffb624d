"""Items and answers: tables, names, comparisons, files; the only place that validates data."""

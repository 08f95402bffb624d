"""What to learn: scikit-learn estimators whose rows are comparisons."""

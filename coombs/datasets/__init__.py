"""Applicants to graduate schools: read from a file, or drawn with a known truth, as the paper's."""

from coombs.datasets.applicants import (
    COLUMNS,
    FEATURES,
    LIMITS,
    Admissions,
    Candidates,
    read_admissions,
    read_gradcafe,
)
from coombs.datasets.committee import EIGENVALUES, IDEAL, SCALES, make_admissions

__all__ = [
    "COLUMNS",
    "EIGENVALUES",
    "FEATURES",
    "IDEAL",
    "LIMITS",
    "SCALES",
    "Admissions",
    "Candidates",
    "make_admissions",
    "read_admissions",
    "read_gradcafe",
]

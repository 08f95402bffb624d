"""The documentation site: `make docs` builds it, offline, with warnings as errors."""

import re
import shutil
import warnings
from importlib.metadata import version as version_of
from pathlib import Path

from pygments.lexers.special import TextLexer

project = "coombs"
author = "the authors of coombs"
version = release = version_of("coombs")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "README.md",
    "paper",
    "sg_execution_times.rst",
    "gallery/*.ipynb",
    "gallery/*.py",
    "gallery/*.zip",
]
html_theme = "furo"
html_title = "coombs"

# Headings of Markdown pages are link targets, as they are in a viewer of the repository.
myst_heading_anchors = 4

autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": "str,BaseEstimator"}
autodoc_typehints = "signature"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "min_reported_time": 3600,
    "show_signature": False,
    "remove_config_comments": True,
}

warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")


def _plain(app, what, name, obj, options, lines):
    """Docstrings are plain text: |x| is a norm, and metric_ no link."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((".. ", ">>>", ":")) and "``" not in line:
            line = re.sub(r"(?<!\\)\|", r"\\|", line)
            lines[i] = re.sub(r"(?<=\w)_(?=[\s,.;:)*]|$)", r"\\_", line)


def _is_foreign(app, what, name, obj, skip, options):
    """Members that scikit-learn or Python's own types bring along are documented there."""
    module = getattr(obj, "__module__", None) or getattr(getattr(obj, "fget", None), "__module__", None)
    return True if module is not None and not module.startswith("coombs") else None


def _with_benchmarks(app, config):
    """The tables and plots of `benchmarks/` are pages, too."""
    here = Path(__file__).parent
    (here / "benchmarks").mkdir(exist_ok=True)
    for one in (here.parent / "benchmarks").glob("*.[mp][dn]*"):
        shutil.copy(one, here / "benchmarks")


def _inside(app, name, source):
    """Links that leave the folder in the repository stay inside of the site."""
    text = source[0].replace("](../benchmarks/", "](benchmarks/")
    text = re.sub(r"\]\(\.\./README\.md[^)]*\)", "](index.md)", text)
    if name.startswith("benchmarks/"):
        text = text.replace("](../docs/", "](../")
        # A table that was written by a script has no heading of its own.
        text = text if text.startswith("# ") else f"# {Path(name).name.replace('_', ' ')}\n\n{text}"
    source[0] = text


def setup(app):
    """Connect the above, and show CSV as text."""
    app.connect("config-inited", _with_benchmarks)
    app.connect("source-read", _inside)
    app.connect("autodoc-process-docstring", _plain, priority=900)
    app.connect("autodoc-skip-member", _is_foreign)
    app.add_lexer("csv", TextLexer)

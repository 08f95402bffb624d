"""`coombs demo`: a simulated person and the shipped catalogue."""

from __future__ import annotations

import time

import click

from coombs.cli import output
from coombs.cli.model_files import check_output_paths
from coombs.cli.options import FILE, command, positive, seed_option
from coombs.cli.serve import HOST, PORT, open_page

REPORT = "coombs-demo.html"


@command("demo", "learn what a simulated person wants", "coombs demo --questions 60 --report demo.html")
@click.option("--serve", "in_browser", is_flag=True, help="answer yourself, in a browser; nothing is kept")
@click.option("--questions", metavar="N", type=positive, default=60, help="how many (default: 60)")
@seed_option
@click.option("--report", metavar="FILE", type=FILE, default=REPORT, help=f"HTML report (default: {REPORT})")
def demo(in_browser: bool, questions: int, seed: int, report: str) -> None:
    """A simulated person who looks for a flat answers questions about the 64 flats that come with coombs;
    what was learned is printed and compared with the truth.
    """
    from coombs import demo

    if in_browser:
        with demo.catalogue_file() as path:
            settings = {"host": HOST, "port": PORT, "open_browser": True}
            given = {"features": None, "wishes": (), "shared_prior": None, "name": "flats"}
            open_page(path, storage="memory:", token=None, **given, **settings)
        return
    check_output_paths(report)
    begin = time.perf_counter()
    study = demo.interview(questions, seed)
    result, page = demo.told(study, time.perf_counter() - begin)
    output.page(page)
    pictures = " with pictures" if result.has_pattern else ""
    try:
        print(f"\nReport{pictures}: {result.report(report, title='Flats')}")
    except ImportError as error:
        print(f"\nNo report: {error}")

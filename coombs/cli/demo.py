"""`coombs demo`: a simulated person and the shipped catalogue."""

from __future__ import annotations

import argparse
import time

from coombs.cli import saved, serve, show
from coombs.cli.parser import Commands, add_command, positive, whole

REPORT = "coombs-demo.html"


def add(commands: Commands) -> None:
    """The command and its options."""
    demo = add_command(
        commands,
        "demo",
        run,
        "coombs demo --questions 40 --report demo.html",
        help="learn what a simulated person wants",
        description="A simulated person who looks for a flat answers questions about the 64 flats that come "
        "with coombs; what was learned is printed, and held against the truth.",
    )
    demo.add_argument("--serve", action="store_true", help="answer yourself, in a browser; nothing is kept")
    demo.add_argument("--questions", metavar="N", type=positive, default=40, help="how many (default: 40)")
    demo.add_argument("--seed", metavar="N", type=whole, default=0, help="of all chance (default: 0)")
    demo.add_argument("--report", metavar="FILE", default=REPORT, help=f"the HTML page (default: {REPORT})")


def run(options: argparse.Namespace) -> None:
    """Interview, tell, report; or serve the catalogue."""
    from coombs import demo

    if options.serve:
        with demo.catalogue_file() as path:
            settings = {"host": "127.0.0.1", "port": 8000, "token": None, "open_browser": True}
            serve.open_page(path, storage="memory:", name="flats", **settings)
        return
    saved.check_folder(options.report)
    begin = time.perf_counter()
    study = demo.interview(options.questions, options.seed)
    result, page = demo.told(study, time.perf_counter() - begin)
    show.page(page)
    pictures = " with pictures" if result.has_pattern else ""
    try:
        print(f"\nReport{pictures}: {result.report(options.report, title='Flats')}")
    except ImportError as error:
        print(f"\nNo report: {error}")

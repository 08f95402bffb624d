"""Numbers for Prometheus: requests and their times, answers, the learning queue, of all processes."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histogram of times, in seconds."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Methods by their name; anything else that is sent is OTHER, so that nobody makes series without end."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of Prometheus's text format."""


class Series(NamedTuple):
    """A number that is not about requests."""

    name: str
    kind: str
    """As Prometheus calls it: counter or gauge."""
    help: str


SERIES = (
    Series("coombs_answers_stored_total", "counter", "Answers that were stored."),
    Series("coombs_learning_queue_length", "gauge", "People whose answers wait to be learned from."),
    Series("coombs_learning_restarts_total", "counter", "Times that processes which learn were replaced."),
    Series("coombs_web_restarts_total", "counter", "Times that a process of the web server was replaced."),
    Series("coombs_database_errors_total", "counter", "Statements that the database did not carry out."),
)
GAUGES = frozenset(one.name for one in SERIES if one.kind == "gauge")


class Metrics:
    """Counts of one process; where several serve, each leaves its own in a folder for the others.

    Labels are methods, templates of routes and statuses: nothing of an address, a name or a token.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.note("GET", "/a/{token}", 200, 0.02)
    >>> 'coombs_requests_total{method="GET",route="/a/{token}",status="200"} 1' in metrics.text()
    True
    """

    def __init__(self, folder: Path | None = None, process: str = "0") -> None:
        self._path = None if folder is None else folder / f"{process}.json"
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[tuple[str, str], list[float]] = {}
        self._sources: dict[str, Callable[[], float]] = {}
        self._before: dict[str, float] = {}
        if self._path is not None:
            # A process that takes the place of another counts on, as counters never fall.
            self._add(_read(self._path))
            self._before = {name: n for name, n in self._before.items() if name not in GAUGES}

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request that was answered."""
        key = method if method in METHODS else "OTHER", route
        self._requests[*key, status] += 1
        counts = self._seconds.setdefault(key, [0.0] * (len(BUCKETS) + 2))
        counts[bisect_left(BUCKETS, seconds)] += 1
        counts[-1] += seconds

    def watch(self, name: str, source: Callable[[], float]) -> None:
        """Ask a function for a number whenever numbers are wanted."""
        self._sources[name] = source

    def publish(self) -> None:
        """Leave the counts where the other processes find them."""
        if self._path is None:
            return
        new = self._path.with_suffix(f".{os.getpid()}")
        # The folder goes when the server ends.
        with suppress(OSError):
            new.write_text(json.dumps(self._plain()))
            new.replace(self._path)

    def text(self) -> str:
        """All processes' numbers, in Prometheus's text format."""
        self.publish()
        total = Metrics()
        total._add(self._plain())
        others = () if self._path is None else sorted(self._path.parent.glob("*.json"))
        for path in others:
            if path != self._path:
                total._add(_read(path))
        return "\n".join(total._lines()) + "\n"

    def _plain(self) -> dict[str, Any]:
        """The counts as JSON has them."""
        now = {name: source() for name, source in self._sources.items()}
        numbers = {name: self._before.get(name, 0) + now.get(name, 0) for name in {*self._before, *now}}
        return {
            "requests": [[*key, n] for key, n in self._requests.items()],
            "seconds": [[*key, counts] for key, counts in self._seconds.items()],
            "numbers": numbers,
        }

    def _add(self, plain: Mapping[str, Any]) -> None:
        """Count what another process counted."""
        for method, route, status, n in plain.get("requests", ()):
            self._requests[method, route, status] += n
        for method, route, counts in plain.get("seconds", ()):
            own = self._seconds.setdefault((method, route), [0.0] * (len(BUCKETS) + 2))
            own[:] = [one + other for one, other in zip(own, counts, strict=True)]
        for name, n in plain.get("numbers", {}).items():
            self._before[name] = self._before.get(name, 0) + n

    def _lines(self) -> Iterable[str]:
        yield from _head("coombs_requests_total", "counter", "Requests, by route and status.")
        for (method, route, status), n in sorted(self._requests.items()):
            yield f'coombs_requests_total{{method="{method}",route="{route}",status="{status}"}} {n}'
        yield from _head("coombs_request_seconds", "histogram", "Seconds until a request was answered.")
        for (method, route), (*counts, seconds) in sorted(self._seconds.items()):
            labels, total = f'method="{method}",route="{route}"', 0.0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                total += count
                yield f'coombs_request_seconds_bucket{{{labels},le="{bound}"}} {total:.0f}'
            yield f"coombs_request_seconds_sum{{{labels}}} {seconds:.6f}"
            yield f"coombs_request_seconds_count{{{labels}}} {total:.0f}"
        for one in SERIES:
            yield from _head(*one)
            yield f"{one.name} {self._before.get(one.name, 0):.0f}"


def _head(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"


def _read(path: Path) -> dict[str, Any]:
    """What a process left; nothing where it left none."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found

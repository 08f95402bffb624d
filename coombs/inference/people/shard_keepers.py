"""Where shards are kept between passes: in files on this machine, or in the memory of a cluster's workers."""

from __future__ import annotations

import pickle  # nosec B403
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coombs.inference.people.shards import Shard

LOOK = 5.0
"""Seconds after which it is looked whether a cluster still has workers,"""
PATIENCE = 60.0
"""and for which it may have none: a worker that was killed is started again."""


class ClusterLostError(RuntimeError):
    """The cluster is gone in the middle of a fit: one sentence says so, and what was kept.

    Examples
    --------
    >>> str(ClusterLostError("The cluster is gone."))
    'The cluster is gone.'
    """


class ShardKeeper(Protocol):
    """Shards in their order; functions go to them, and only results come back."""

    def load(self, read: Callable[..., Shard], parts: Sequence[Any], *shared: Any) -> None:
        """Make a shard of each part with read(part, its number, *shared)."""

    def look(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Results of function(shard, *shared), or function(shard, one of `each`, *shared), in their order."""

    def change(self, function: Callable[..., tuple[Shard, Any]], *shared: Any) -> list[Any]:
        """Put function(shard, *shared)[0] in the place of each shard; the other results, in their order."""

    def close(self) -> None:
        """Let go of the shards."""


class ShardsOnDisk:
    """In files of a temporary folder, of which as many are in memory at once as there are jobs."""

    def __init__(self, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        self.folder = TemporaryDirectory(prefix="coombs-shards-")
        self.files: list[Path] = []

    def load(self, read: Callable[..., Shard], parts: Sequence[Any], *shared: Any) -> None:
        """Make a shard of each part."""
        self.files = [Path(self.folder.name) / f"{k}.pickle" for k in range(len(parts))]
        rows = zip(self.files, parts, range(len(parts)), strict=True)
        self._run([(_loaded, file, read, part, k, *shared) for file, part, k in rows])

    def look(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Results, in the order of the shards."""
        own: Sequence[Any] = [()] * len(self.files) if each is None else [(one,) for one in each]
        rows = zip(self.files, own, strict=True)
        return self._run([(_looked, file, function, *one, *shared) for file, one in rows])

    def change(self, function: Callable[..., tuple[Shard, Any]], *shared: Any) -> list[Any]:
        """Put others in the place of the shards."""
        return self._run([(_changed, file, function, *shared) for file in self.files])

    def close(self) -> None:
        """Remove the files."""
        self.folder.cleanup()

    def _run(self, calls: list[tuple[Any, ...]]) -> list[Any]:
        """By joblib, so that `parallel_config` is obeyed: with n_jobs=None the number of jobs is its."""
        from joblib import Parallel, delayed

        return list(Parallel(n_jobs=self.n_jobs)(delayed(call[0])(*call[1:]) for call in calls))


def _loaded(file: Path, read: Callable[..., Shard], *args: Any) -> None:
    _write(file, read(*args))


def _looked(file: Path, function: Callable[..., Any], *args: Any) -> Any:
    return function(_read(file), *args)


def _changed(file: Path, function: Callable[..., tuple[Shard, Any]], *args: Any) -> Any:
    shard, result = function(_read(file), *args)
    _write(file, shard)
    return result


def _read(file: Path) -> Shard:
    # Only what _write wrote, in a temporary folder that nobody else can write to.
    shard: Shard = pickle.loads(file.read_bytes())  # nosec B301
    return shard


def _write(file: Path, shard: Shard) -> None:
    with file.open("wb") as stream:
        pickle.dump(shard, stream, protocol=5)


class ShardsOnCluster:
    """In the memory of a Dask cluster's workers.

    Each shard is a future made of the one before it. Dask remembers how: what a lost worker had is computed
    again from the answers and the populations of all passes so far, to the same bits, as nothing is random.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.shards: list[Any] = []

    def load(self, read: Callable[..., Shard], parts: Sequence[Any], *shared: Any) -> None:
        """Make a shard of each part, where the part is."""
        with _Watch(self.client) as watch:
            # Tasks, not scattered data: those could not be computed again.
            sent = [self.client.submit(_same, one, pure=False) for one in shared]
            self.shards = [
                self.client.submit(_first, read, part, k, *sent, pure=False) for k, part in enumerate(parts)
            ]
            watch.wait(self.shards)

    def look(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Results, in the order of the shards."""
        with _Watch(self.client) as watch:
            sent = [self.client.submit(_same, one, pure=False) for one in shared]
            own: Sequence[Any] = [()] * len(self.shards) if each is None else [(one,) for one in each]
            rows = zip(self.shards, own, strict=True)
            found = [
                self.client.submit(_seen, shard, function, *one, *sent, pure=False) for shard, one in rows
            ]
            return watch.results(found)

    def change(self, function: Callable[..., tuple[Shard, Any]], *shared: Any) -> list[Any]:
        """Put others in the place of the shards; the ones before are let go."""
        with _Watch(self.client) as watch:
            shards = [
                self.client.submit(_next, shard, function, *shared, pure=False) for shard in self.shards
            ]
            results = watch.results([self.client.submit(_result, shard, pure=False) for shard in shards])
            self.shards = shards
            return results

    def close(self) -> None:
        """Let the workers forget the shards."""
        self.shards = []


# A shard on a worker is kept with the result of the pass that made it.
def _same(value: Any) -> Any:
    return value


def _first(read: Callable[..., Shard], *args: Any) -> tuple[Shard, Any]:
    return read(*args), None


def _next(pair: tuple[Shard, Any], function: Callable[..., Any], *args: Any) -> Any:
    return function(pair[0], *args)


def _seen(pair: tuple[Shard, Any], function: Callable[..., Any], *args: Any) -> Any:
    return function(pair[0], *args)


def _result(pair: tuple[Shard, Any]) -> Any:
    return pair[1]


class _Watch:
    """Waits for futures, and says in a sentence that the cluster is gone where it is."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if error is not None and not isinstance(error, ClusterLostError) and _is_loss(error):
            raise _lost(str(error)) from error

    def results(self, futures: list[Any]) -> list[Any]:
        self.wait(futures)
        found: list[Any] = self.client.gather(futures)
        return found

    def wait(self, futures: list[Any]) -> None:
        """Until all are there; an error of any is raised."""
        from distributed import wait

        alone_since: float | None = None
        while True:
            try:
                wait(futures, timeout=LOOK)  # type: ignore[no-untyped-call]
                break
            except TimeoutError:
                if self.client.scheduler_info(n_workers=-1)["workers"]:
                    alone_since = None
                elif alone_since is None:
                    alone_since = time.monotonic()
                elif time.monotonic() - alone_since > PATIENCE:
                    raise _lost("it has had no workers for a minute") from None
        for future in futures:
            if future.status != "finished":
                future.result()


def _lost(reason: str) -> ClusterLostError:
    return ClusterLostError(f"The cluster is gone ({reason.splitlines()[0] if reason else 'no answer'})")


def _is_loss(error: BaseException) -> bool:
    """Whether an error is the cluster's, not that of what was computed."""
    from concurrent.futures import CancelledError

    is_theirs = type(error).__module__.partition(".")[0] == "distributed"
    return is_theirs or isinstance(error, CancelledError | TimeoutError | ConnectionError)


def default_client() -> Any:
    """The client that was made last in this process, if there is one; dask is not imported for that."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].default_client()
    except ValueError:
        return None

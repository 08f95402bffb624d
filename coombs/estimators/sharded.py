"""`Population` of people who are not all in one memory: shards in files or on a cluster's workers.

What needs all data at once (which kinds, how many groups, the first population) is learned from a sample of
people, here; the passes over all go to where the people are.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coombs.blas import serial
from coombs.data import checking, naming, shard_files
from coombs.data.catalogue import item_table
from coombs.data.comparisons import Comparisons, InputError
from coombs.data.files import replacing
from coombs.data.scaling import Scaler, check_alike, check_largest
from coombs.estimators.population_people import PopulationPeople
from coombs.inference.people.average_of_kinds import PeopleAverage
from coombs.inference.people.population_fit import (
    PopulationFit,
    PopulationStatus,
    View,
    no_sites,
    pass_over,
    passes,
)
from coombs.inference.people.shard_keepers import (
    ClusterLostError,
    ShardKeeper,
    ShardsOnCluster,
    ShardsOnDisk,
    default_client,
)
from coombs.inference.people.shards import Shard, added_up, shard_members, shard_pass, some_answers
from coombs.inference.people.tastes import NEW_PASSES, Tastes

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from coombs.data.shard_files import NameHashes
    from coombs.data.tables import ItemTable
    from coombs.estimators.population import Population
    from coombs.inference.people.coordinates import Coordinates
    from coombs.inference.people.people_answers import PeopleAnswers
    from coombs.inference.people.population_prior import PopulationPrior, Sums

MOST_SAMPLED = 20_000
"""People, at most, who are learned from in one memory."""
LAST_PASSES = 2
"""Passes over everybody's answers before results are written, in which only the sites change."""


def is_sharded(source: Any, *options: Any) -> bool:
    """Whether these are answers in parts: a dask DataFrame or a folder's path; only they have options."""
    if shard_files.is_dask_frame(source) or shard_files.is_folder(source):
        return True
    if any(option is not None for option in options):
        raise InputError("client, out and start are for answers in parts: a folder or a dask DataFrame.")
    return False


def fit_sharded(
    population: Population,
    source: Any,
    beside: tuple[Any, ...] = (),
    client: Any = None,
    out: Any = None,
    start: Population | None = None,
) -> None:
    """Fit a population to answers in parts; see `Population.fit`. Nothing may be given beside them."""
    if any(one is not None for one in beside):
        raise InputError(
            "Answers in parts have columns for y, weights and users, and nothing else is known of people; "
            "leave these arguments out."
        )
    if population.items is None:
        raise InputError("Answers in parts are about items of the estimator; give it items=....")
    table = checking.two_items(item_table(population.items))
    scaler = Scaler.of(table.matrix, True, drop_constant=True, levels=table.levels)
    check_start(start, table)
    folder = None if out is None else shard_files.folder_for(out, source)
    keeper = keeper_for(client, population.n_jobs)
    try:
        crowd = ShardedPeople.of(keeper, source, table, scaler)
        data = crowd.sample(table)
        check_largest(data)
        check_alike(data, scaler)
        with warnings.catch_warnings():
            # Names that are alike were looked for among all people.
            warnings.simplefilter("ignore", UserWarning)
            answers = population._take_in(data, scaler, False)
        answers = answers._replace(covariates=population._told_of(None), total=crowd.n_answers)
        sharded = ShardedPasses(crowd, answers)
        average = population._learn(answers, sharded) if start is None else sharded.again(start._average)
        population._store(average)
        population.n_people_ = crowd.n_people
        if crowd.n_people == 1:
            population._fit_alone(data)
        if sharded.lost is None and folder is not None:
            sharded.write(population, folder)
        if sharded.lost is not None:
            raise ClusterLostError(f"{sharded.lost}; {sharded.kept(average)}") from sharded.lost
    finally:
        keeper.close()


def check_start(start: Any, table: ItemTable) -> None:
    """Refuse a population that cannot be gone on from."""
    if start is None:
        return
    if not hasattr(start, "_average"):
        raise InputError("start is not a fitted Population; give one that was fitted, or leave it out.")
    if not np.array_equal(start.item_table_.matrix, table.matrix):
        raise InputError("start was fitted to other items; give one that was fitted to the same.")
    if any(part.fit.prior.slopes is not None for part in start._average.parts):
        raise InputError("start was fitted with people=, which parts do not have; give one without.")


def keeper_for(client: Any, n_jobs: int | None) -> ShardKeeper:
    """Where shards are kept: by the workers of a client, given or there already, or in files here."""
    if client is not None and not (hasattr(client, "submit") and hasattr(client, "scheduler_info")):
        raise InputError(f"client is a {type(client).__name__}; it must be a distributed.Client.")
    client = default_client() if client is None else client
    return ShardsOnDisk(n_jobs) if client is None else ShardsOnCluster(client)


class ShardedPeople(NamedTuple):
    """Everybody, in shards: what stands for their names in each, and how many answers there are."""

    keeper: ShardKeeper
    hashes: list[NameHashes]
    n_answers: int

    @classmethod
    def of(cls, keeper: ShardKeeper, source: Any, table: ItemTable, scaler: Scaler) -> ShardedPeople:
        """Read all parts; people of a dask DataFrame who are in several are brought together."""
        crowd = cls._read(keeper, source, table, scaler)
        twice = crowd.in_two()
        if twice is not None and shard_files.is_dask_frame(source):
            user = next(name for name in source.columns if str(name).strip().lower() == "user")
            crowd = cls._read(keeper, source.shuffle(on=user, shuffle_method="tasks"), table, scaler)
        elif twice is not None:
            name, first, second = twice
            files = shard_files.parquet_files(source)
            raise InputError(
                f"The answers of {name!r} are in {files[first]} and in {files[second]}; all answers of "
                "a person must be in one file (dask.dataframe.read_parquet(folder) brings them together)."
            )
        if not crowd.n_answers:
            raise InputError("There are no answers in any part; at least one is needed.")
        crowd.warn_of_alike()
        return crowd

    @classmethod
    def _read(cls, keeper: ShardKeeper, source: Any, table: ItemTable, scaler: Scaler) -> ShardedPeople:
        items = scaler.forward(table.matrix)
        if shard_files.is_folder(source):
            keeper.load(shard_of_file, shard_files.parquet_files(source), table, items)
        elif isinstance(keeper, ShardsOnCluster):
            keeper.load(shard_of_frame, keeper.client.compute(source.to_delayed()), table, items)
        else:
            parts = [source.partitions[k] for k in range(source.npartitions)]
            keeper.load(shard_of_partition, parts, table, items)
        found = keeper.look(shard_summary)
        return cls(keeper, [hashes for hashes, _ in found], sum(count for _, count in found))

    @property
    def n_people(self) -> int:
        """How many there are."""
        return sum(len(one.exact) for one in self.hashes)

    def in_two(self) -> tuple[str, int, int] | None:
        """Somebody who is in two shards, and which; None if nobody is."""
        numbers = shard_files.repeated([one.exact for one in self.hashes])
        if not len(numbers):
            return None
        seen: dict[str, int] = {}
        for k, names in enumerate(self.keeper.look(names_with, numbers)):
            for name in names:
                if name in seen:
                    return name, seen[name], k
                seen[name] = k
        return None

    def warn_of_alike(self) -> None:
        """Say which names differ only by case or spaces."""
        numbers = shard_files.repeated([one.folded for one in self.hashes])
        if len(numbers):
            found = self.keeper.look(partial(names_with, folded=True), numbers[: shard_files.SHOWN + 1])
            shard_files.warn_of_alike([name for names in found for name in names])

    def sample(self, table: ItemTable) -> Comparisons:
        """Answers of some people, by what stands for their names: the same in whichever shards they are."""
        numbers = np.concatenate([one.exact for one in self.hashes])
        last = np.partition(numbers, min(MOST_SAMPLED, len(numbers)) - 1)[min(MOST_SAMPLED, len(numbers)) - 1]
        chosen = [one.exact <= last for one in self.hashes]
        found = self.keeper.look(some_answers, each=chosen)
        starts = np.cumsum([0, *(len(one.names) for one in found)])
        people = np.concatenate([one.people + begin for one, begin in zip(found, starts, strict=False)])
        winners, losers, weights = (np.concatenate([one[k] for one in found]) for k in range(3))
        place = np.argsort(np.argsort(numbers[np.concatenate(chosen)], kind="stable"))
        order = np.lexsort((weights, losers, winners, place[people]))
        users = np.empty(starts[-1], dtype=object)
        users[:] = [naming.plain(name) for one in found for name in one.names]
        pairs = np.column_stack([winners, losers])[order].astype(np.intp)
        signs = np.ones(len(pairs), dtype=np.int8)
        return Comparisons.at_positions(table, pairs, signs, weights[order], users[people[order]])


def shard_of_file(file: str, _: int, table: ItemTable, items: NDArray[np.float64]) -> Shard:
    """The shard in a Parquet file."""
    return Shard.of(shard_files.read_part(file, table), items)


def shard_of_frame(frame: Any, number: int, table: ItemTable, items: NDArray[np.float64]) -> Shard:
    """The shard in a pandas frame."""
    return Shard.of(shard_files.part_answers(frame, table, f"partition {number}"), items)


def shard_of_partition(part: Any, number: int, table: ItemTable, items: NDArray[np.float64]) -> Shard:
    """The shard in a partition of a dask DataFrame, computed here."""
    return shard_of_frame(part.compute(scheduler="synchronous"), number, table, items)


def shard_summary(shard: Shard) -> tuple[NameHashes, int]:
    """What stands for the names of its people, and how many answers they gave."""
    return shard_files.name_hashes(shard.names), int(shard.counts.sum())


def names_with(shard: Shard, numbers: NDArray[np.uint64], folded: bool = False) -> list[str]:
    """Names of people for which one of these numbers stands."""
    return shard_files.with_hash(shard.names, numbers, folded)


class ShardedPasses:
    """Takes a fit to the sample on to everybody: each kind in turn.

    `lost` is the error if the cluster went away; what was learned until then is kept.
    """

    def __init__(self, crowd: ShardedPeople, answers: PeopleAnswers) -> None:
        self.crowd, self.answers = crowd, answers
        self.kinds: list[Coordinates] = []
        self.lost: ClusterLostError | None = None
        self.done = 0

    def __call__(self, coordinates: Coordinates, fit: PopulationFit) -> PopulationFit:
        """The fit with what all people say; of the people in it, those of the sample."""
        number, last = len(self.kinds), (fit.prior, fit.sums)
        self.kinds.append(coordinates)

        def everybody(prior: PopulationPrior, before: int) -> Sums:
            """One pass over all shards."""
            nonlocal last
            found = self.crowd.keeper.change(shard_pass, number, coordinates, prior, before)
            last, self.done = (prior, added_up(found)), self.done + 1
            return last[1]

        status, n_iter = PopulationStatus.CLUSTER_LOST, fit.n_iter
        if self.lost is None:
            try:
                ended = passes(fit.prior, everybody, self.crowd.n_people)
                status, n_iter = ended.status, ended.n_iter
            except ClusterLostError as error:
                self.lost = error
        return self._of_sample(
            replace(fit, prior=last[0], sums=last[1], status=status, n_iter=n_iter), coordinates
        )

    def _of_sample(self, fit: PopulationFit, coordinates: Coordinates) -> PopulationFit:
        """With everybody's taste in the sample, given the population."""
        phi = Shard(np.zeros(0), np.zeros(0, dtype=np.intp), (), self.answers.items).phi(coordinates)
        view, prior = View.of(fit.prior, phi), fit.prior
        with serial(0):
            found = [
                pass_over(block, no_sites(block, prior), prior, view, NEW_PASSES) for block in fit.blocks
            ]
        return replace(
            fit, sites=tuple(one.sites for one in found), members=tuple(one.members for one in found)
        )

    def again(self, average: PeopleAverage) -> PeopleAverage:
        """From the populations of another fit to the same items."""
        blocks = self.answers.blocks()
        parts = [
            Tastes(part.coordinates, self(part.coordinates, replace(part.fit, blocks=blocks)))
            for part in average.parts
        ]
        return PeopleAverage(tuple(parts), average.weights, average.trial)

    def write(self, population: Population, folder: Path) -> None:
        """A row a person, a file a shard."""
        parts = population._average.parts
        numbers = [next(k for k, one in enumerate(self.kinds) if one is part.coordinates) for part in parts]
        files = [str(folder / f"people-{k:05d}.parquet") for k in range(len(self.crowd.hashes))]
        try:
            self.crowd.keeper.look(write_people, ShardPeople.like(population), numbers, each=files)
        except ClusterLostError as error:
            self.lost = error

    def kept(self, average: PeopleAverage) -> str:
        """What a user can do now."""
        whole = all(part.fit.status != PopulationStatus.CLUSTER_LOST for part in average.parts)
        done = "all passes, while results were written" if whole else f"{self.done} passes over all people"
        return (
            f"that was after {done}; what was learned is kept in this Population, "
            "and fit(..., start=this one) goes on from it."
        )


class ShardPeople(PopulationPeople):
    """The people of one shard, for whom the same is computed as for those of a whole population."""

    @classmethod
    def like(cls, population: Population) -> ShardPeople:
        """Without any people, small enough to be sent."""
        new = cls()
        new.item_table_, new._scaler, new._data = (
            population.item_table_,
            population._scaler,
            population._data[:1],
        )
        average = population._average
        parts = (
            replace(part, fit=replace(part.fit, blocks=(), sites=(), members=())) for part in average.parts
        )
        new._average = replace(average, parts=tuple(parts))
        return new

    def with_people(self, shard: Shard, numbers: list[int]) -> ShardPeople:
        """With those of a shard."""
        new = type(self)()
        new.item_table_, new._scaler, new._data = self.item_table_, self._scaler, self._data
        new.people_, new.n_answers_ = shard.names, shard.counts
        parts = []
        for number, part in zip(numbers, self._average.parts, strict=True):
            found = shard_members(shard, number, part.coordinates, part.fit.prior, LAST_PASSES)
            fit = replace(part.fit, blocks=shard.blocks, sites=found[0], members=found[1])
            parts.append(replace(part, fit=fit))
        new._average = replace(self._average, parts=tuple(parts))
        return new


def write_people(shard: Shard, file: str, people: ShardPeople, numbers: list[int]) -> None:
    """Write the rows of `to_frame` of a shard's people, whole or not at all."""
    if not shard.blocks:
        return
    frame = people.with_people(shard, numbers).to_frame()
    for name in ("user", "best"):
        if len({type(cell) for cell in frame[name].tolist()}) > 1:
            # A column of a Parquet file has one type.
            frame[name] = [naming.text(cell) for cell in frame[name]]
    with replacing(file) as part, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame.to_parquet(part, index=False)

"""`Population` of people in parts: files, dask DataFrames, and a cluster's workers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

from coombs import ClusterLostError, InputError, Population
from coombs.estimators import population as module
from coombs.estimators import sharded
from coombs.inference.people.shard_keepers import ShardsOnCluster

pytest.importorskip("pyarrow")

ITEMS = np.random.default_rng(7).standard_normal((20, 2))
ROOT = Path(__file__).resolve().parents[2]


def answers(n_people: int = 40, each: int = 6, seed: int = 0) -> pd.DataFrame:
    """A row an answer: user, winner, loser."""
    rng = np.random.default_rng(seed)
    users = np.repeat(np.arange(n_people), each)
    weights = rng.normal([2.0, -1.0], 0.7, (n_people, 2))[users]
    pairs = rng.permuted(np.tile(np.arange(20), (len(users), 1)), axis=1)[:, :2]
    away = ((ITEMS[pairs[:, 0]] - ITEMS[pairs[:, 1]]) * weights).sum(axis=1)
    pairs = np.where((rng.logistic(size=len(users)) < away)[:, None], pairs, pairs[:, ::-1])
    return pd.DataFrame(
        {"user": [f"p{k}" for k in users], "winner": pairs[:, 0], "loser": pairs[:, 1], "number": users}
    )


def written(frame: pd.DataFrame, folder: Path, count: int) -> Path:
    """The same as files, a person's answers in one."""
    folder.mkdir()
    for k in range(count):
        frame[frame["number"] % count == k].drop(columns="number").to_parquet(folder / f"{k}.parquet")
    return folder


def learned(population: Population) -> np.ndarray:
    """All numbers of what people share."""
    priors = [part.fit.prior for part in population._average.parts]
    return np.concatenate([np.append(prior.vector(), [prior.lapse, prior.coin]) for prior in priors])


@pytest.fixture
def few_sampled(monkeypatch):
    """A sample much smaller than all, so that there are several passes over everybody."""
    monkeypatch.setattr(sharded, "MOST_SAMPLED", 25)


@pytest.mark.usefixtures("few_sampled")
def test_how_people_are_divided_and_the_order_of_rows_do_not_matter(tmp_path):
    frame = answers()
    one, other = written(frame, tmp_path / "2", 2), written(frame[::-1], tmp_path / "3", 3)
    first = Population(ITEMS, metric="none").fit(one, out=tmp_path / "out")
    second = Population(ITEMS, metric="none").fit(str(other), out=tmp_path / "more")
    assert first.n_iter_ == second.n_iter_ > 1 and first.n_people_ == 40 and len(first.people_) == 25
    np.testing.assert_allclose(learned(first), learned(second), atol=1e-10)
    rows = [
        pd.read_parquet(tmp_path / name).sort_values("user", ignore_index=True) for name in ("out", "more")
    ]
    assert len(rows[0]) == 40 and len(list((tmp_path / "out").iterdir())) == 2
    pd.testing.assert_frame_equal(*rows, rtol=1e-9, atol=1e-10)


def test_what_is_written_is_what_the_same_people_have_in_one_memory(tmp_path):
    """Near, not the same: in one memory, how much so few people differ is averaged over."""
    frame = answers()
    sharded_one = Population(ITEMS, metric="none").fit(
        written(frame, tmp_path / "in", 3), out=tmp_path / "out"
    )
    rows = pd.read_parquet(tmp_path / "out").set_index("user")
    own = sharded_one.to_frame().set_index("user")
    whole = Population(ITEMS, metric="none").fit(frame[["winner", "loser"]], users=frame["user"])
    there = whole.to_frame().set_index("user")
    assert rows.columns.tolist() == own.columns.tolist() == there.columns.tolist()
    numbers = ["weight: 0", "weight: 1", "consistency", "coin"]
    np.testing.assert_allclose(rows.loc[own.index, numbers], own[numbers], atol=1e-3)
    np.testing.assert_allclose(rows.loc[there.index, numbers], there[numbers], atol=0.4)
    assert rows.loc[own.index, "answers"].tolist() == own["answers"].tolist() == [6] * 40


def test_answers_may_be_left_right_winner_with_ties_skips_and_weights(tmp_path):
    frame = answers(12)
    frame["weight"] = 1.0 + (np.arange(len(frame)) % 2)
    turned = np.arange(len(frame)) % 3 == 0
    named = frame.rename(columns={"winner": "left", "loser": "right"})
    named.loc[turned, ["left", "right"]] = frame.loc[turned, ["loser", "winner"]].to_numpy()
    named["winner"] = np.where(turned, "right", "left")
    tie = {"user": "p3", "left": 1, "right": 2, "winner": "tie", "weight": 2.0, "number": 3}
    skip = tie | {"winner": "skip", "user": "p4", "number": 4}
    named = pd.concat([named, pd.DataFrame([tie, skip])])
    halves = pd.DataFrame(
        [{"user": "p3", "winner": a, "loser": b, "weight": 1.0, "number": 3} for a, b in ((1, 2), (2, 1))]
    )
    frame = pd.concat([frame, halves])
    fits = [
        Population(ITEMS, metric="none").fit(written(one, tmp_path / str(k), 2))
        for k, one in enumerate((frame, named))
    ]
    np.testing.assert_allclose(*map(learned, fits), atol=1e-10)


@pytest.mark.slow
@pytest.mark.usefixtures("few_sampled")
def test_a_dask_frame_is_brought_together_by_person_without_a_cluster(tmp_path):
    frames = pytest.importorskip("dask.dataframe")
    frame = answers()
    mixed = frame.drop(columns="number").sample(frac=1.0, random_state=0)
    here = Population(ITEMS, metric="none").fit(frames.from_pandas(mixed, npartitions=2, sort=False))
    there = Population(ITEMS, metric="none").fit(written(frame, tmp_path / "in", 2))
    np.testing.assert_allclose(learned(here), learned(there), atol=1e-10)


@pytest.mark.usefixtures("few_sampled")
def test_jobs_change_nothing_and_joblibs_are_obeyed(tmp_path, monkeypatch):
    frame, jobs = answers(), []
    folder = written(frame, tmp_path / "in", 3)
    plain = Population(ITEMS, metric="none").fit(folder)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        np.testing.assert_array_equal(learned(Population(ITEMS, metric="none").fit(folder)), learned(plain))
    learn = module.learn_people
    monkeypatch.setattr(module, "learn_people", lambda *args: (jobs.append(args[3]), learn(*args))[1])
    pairs, users = frame[["winner", "loser"]], frame["user"]
    fits = []
    for count in (1, 2):
        with joblib.parallel_config(n_jobs=count):
            fits.append(Population(ITEMS, metric="none").fit(pairs, users=users))
    assert jobs == [1, 2]
    np.testing.assert_array_equal(*map(learned, fits))


@pytest.mark.usefixtures("few_sampled")
def test_a_fit_goes_on_from_another(tmp_path):
    folder = written(answers(), tmp_path / "in", 2)
    first = Population(ITEMS, metric="none").fit(folder)
    again = Population(ITEMS, metric="none").fit(folder, start=first)
    assert again.n_iter_ < first.n_iter_ and again.log_loss_ == first.log_loss_
    assert np.abs(learned(again) - learned(first)).max() < 0.2
    with pytest.raises(InputError, match="start was fitted to other items"):
        Population(ITEMS[:-1], metric="none").fit(folder, start=first)
    with pytest.raises(InputError, match="start is not a fitted Population"):
        Population(ITEMS, metric="none").fit(folder, start=Population(ITEMS))


def test_groups_and_kinds_are_those_of_the_sample(tmp_path):
    folder = written(answers(), tmp_path / "in", 2)
    population = Population(ITEMS, metric="none", groups=2).fit(folder, out=tmp_path / "out")
    assert population.n_groups_ == 2
    assert set(pd.read_parquet(tmp_path / "out")["group"]) <= {1, 2}
    assert population.explain() is not None and len(population.consensus()) == 20


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.assign(user=[None, *f["user"][1:]]), r"user of row 0 of .*1\.parquet is blank"),
        (lambda f: f.assign(user=["  ", *f["user"][1:]]), r"user of row 0 of .*1\.parquet is blank"),
        (lambda f: f.drop(columns="user"), r"1\.parquet has the columns .*; needed are user"),
        (
            lambda f: f.drop(columns="loser"),
            r"1\.parquet has the columns user, .*; needed are user and winner",
        ),
        (lambda f: f.assign(winner=99), r"Position 99 in row 0 of .*1\.parquet is no item"),
        (lambda f: f.assign(loser=f["winner"]), r"In row 0 of .*1\.parquet item .* with itself"),
        (lambda f: f.assign(weight=-1.0), r"Weight of row 0 of .*1\.parquet is -1"),
        (lambda f: f.assign(user="p0"), r"answers of 'p0' are in .*0\.parquet and in .*1\.parquet"),
    ],
)
def test_bad_parts_get_a_sentence(tmp_path, change, sentence):
    folder = written(answers(8, 3), tmp_path / "in", 2)
    change(pd.read_parquet(folder / "1.parquet")).to_parquet(folder / "1.parquet")
    with pytest.raises(InputError, match=sentence):
        Population(ITEMS, metric="none").fit(folder)


def test_a_broken_file_is_named_and_so_is_what_cannot_be_meant(tmp_path):
    frame = answers(8, 3)
    folder = written(frame, tmp_path / "in", 2)
    new = Population(ITEMS, metric="none")
    for out, sentence in ((folder, "has Parquet files already"), (folder / "new", "inside of the folder")):
        with pytest.raises(InputError, match=sentence):
            new.fit(folder, out=out)
    with pytest.raises(InputError, match="leave these arguments out"):
        new.fit(folder, users=["ann"])
    with pytest.raises(InputError, match="client, out and start are for answers in parts"):
        new.fit(frame[["winner", "loser"]], users=frame["user"], out=tmp_path / "out")
    with pytest.raises(InputError, match=r"There is no folder .*elsewhere"):
        new.fit(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="give it items"):
        Population().fit(folder)
    with pytest.raises(InputError, match=r"0\.parquet is a file; give a folder"):
        new.fit(folder / "0.parquet")
    with pytest.raises(InputError, match=r"client is a str; it must be a distributed\.Client"):
        new.fit(folder, client="here")
    whole = pd.read_parquet(folder / "1.parquet")
    for column in ("user", "winner", "loser"):
        whole.drop(columns=column).to_parquet(folder / "1.parquet")
        with pytest.raises(InputError, match=r"1\.parquet has the columns .*; needed are user and winner"):
            new.fit(folder)
    whole.to_parquet(folder / "1.parquet")
    (folder / "0.parquet").write_bytes((folder / "0.parquet").read_bytes()[:200])
    with pytest.raises(InputError, match=r"0\.parquet cannot be read"):
        new.fit(folder)
    for file in folder.iterdir():
        file.unlink()
    with pytest.raises(InputError, match="no Parquet files"):
        new.fit(folder)


def test_names_in_two_files_that_differ_by_case_are_warned_of(tmp_path):
    folder = written(answers(8, 3), tmp_path / "in", 2)
    frame = pd.read_parquet(folder / "1.parquet")
    frame["user"] = frame["user"].replace("p1", "P 0").replace("p3", " P0")
    frame.to_parquet(folder / "1.parquet")
    with pytest.warns(UserWarning, match="' P0' and 'p0'; they are taken for different people"):
        Population(ITEMS, metric="none").fit(folder)


def test_a_file_without_answers_is_no_hindrance(tmp_path):
    folder = written(answers(8, 3), tmp_path / "in", 2)
    pd.read_parquet(folder / "1.parquet")[:0].to_parquet(folder / "2.parquet")
    population = Population(ITEMS, metric="none").fit(folder, out=tmp_path / "out")
    assert population.n_people_ == 8 and len(pd.read_parquet(tmp_path / "out")) == 8


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as here, distributed.Client(here) as client:
        yield client


@pytest.mark.slow
@pytest.mark.usefixtures("few_sampled")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.long
def test_workers_and_a_killed_one_change_nothing(tmp_path, cluster, monkeypatch):
    """Two processes, one of which is killed before the second pass, against none."""
    folder = written(answers(), tmp_path / "in", 4)
    here = Population(ITEMS, metric="none").fit(folder, client=cluster, out=tmp_path / "out")
    change, passes = ShardsOnCluster.change, []

    def killing(self, *args):
        passes.append(args)
        if len(passes) == 2:
            os.kill(min(cluster.run(os.getpid).values()), signal.SIGKILL)
        return change(self, *args)

    monkeypatch.setattr(ShardsOnCluster, "change", killing)
    killed = Population(ITEMS, metric="none").fit(folder, client=cluster, out=tmp_path / "killed")
    assert len(passes) == here.n_iter_ > 2
    np.testing.assert_allclose(learned(killed), learned(here), rtol=0, atol=1e-10)
    pd.testing.assert_frame_equal(
        *(pd.read_parquet(tmp_path / name) for name in ("out", "killed")), atol=1e-10
    )
    monkeypatch.setattr(sharded, "default_client", lambda: None)
    alone = Population(ITEMS, metric="none").fit(folder)
    np.testing.assert_allclose(learned(alone), learned(here), rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.usefixtures("few_sampled")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.long
def test_a_cluster_that_is_gone_leaves_what_was_learned(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    folder, change, passes = written(answers(), tmp_path / "in", 2), ShardsOnCluster.change, []
    here = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    client = distributed.Client(here)

    def closing(self, *args):
        passes.append(args)
        if len(passes) == 3:
            here.close()
        return change(self, *args)

    monkeypatch.setattr(ShardsOnCluster, "change", closing)
    population = Population(ITEMS, metric="none")
    with pytest.raises(ClusterLostError, match=r"cluster is gone .* after 2 passes over all people"):
        population.fit(folder, client=client)
    client.close()
    assert population.status_ == "cluster_lost" and population.rank().shape == (20,)
    whole = Population(ITEMS, metric="none").fit(folder, start=population)
    assert whole.status_ == "converged"


@pytest.mark.slow
@pytest.mark.long
def test_the_example_with_two_workers_runs(tmp_path):
    """As it is in docs/many-people.md, in processes of its own."""
    pytest.importorskip("distributed")
    page = (ROOT / "docs" / "many-people.md").read_text()
    (script,) = re.findall(r"^```python two_workers.py\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "two_workers.py").write_text(script)
    command = [sys.executable, "two_workers.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "400 people" in done.stdout and len(list((tmp_path / "people").iterdir())) == 4

"""Hierarchical logit models by others: NUTS (numpyro), Metropolis within Gibbs (as bayesm), xlogit.

All take (K, A, D) differences of features, the chosen less the other, of K people with A answers each.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit

if TYPE_CHECKING:
    from benchmarks.many_people_simulated import Array

KEPT = 250
"""Draws over which predictions are averaged."""


class PeerFit(NamedTuple):
    """CPU seconds, draws of the mean (S, D), the covariance (S, D, D) and everybody's weights (S, K, D)."""

    seconds: float
    means: Array
    covariances: Array
    weights: Array
    note: str

    def log_loss(self, held: Array) -> float:
        """Of answers (K, A, D) not learned from, by the mean over draws."""
        some = self.weights[np.linspace(0, len(self.weights) - 1, KEPT).astype(int)]
        p = np.mean([expit(np.einsum("kad,kd->ka", held, one)) for one in some], axis=0)
        return float(-np.log(p).mean())


def by_nuts(design: Array, warmup: int = 500, draws: int = 500) -> PeerFit:
    """numpyro's NUTS, non-centred: mean ~ N(0, 3), scales ~ half-normal(2), correlations ~ LKJ(1)."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.diagnostics import summary
    from numpyro.infer import MCMC, NUTS

    def model(x: Any) -> None:
        k, _, d = x.shape
        mean = numpyro.sample("mean", dist.Normal(0, 3).expand([d]).to_event(1))
        scale = numpyro.sample("scale", dist.HalfNormal(2).expand([d]).to_event(1))
        lower = numpyro.sample("lower", dist.LKJCholesky(d, 1.0))
        z = numpyro.sample("z", dist.Normal(0, 1).expand([k, d]).to_event(2))
        weights = mean + z @ (scale[:, None] * lower).T
        numpyro.factor("answers", jax.nn.log_sigmoid(jnp.einsum("kad,kd->ka", x, weights)).sum())

    start = time.process_time()
    sampler = MCMC(
        NUTS(model),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=2,
        chain_method="sequential",
        progress_bar=False,
    )
    sampler.run(jax.random.PRNGKey(0), jnp.asarray(design, dtype=jnp.float32))
    found = {name: np.asarray(value, dtype=float) for name, value in sampler.get_samples().items()}
    seconds = time.process_time() - start
    by_chain = sampler.get_samples(group_by_chain=True)
    told = summary({name: np.asarray(by_chain[name]) for name in ("mean", "scale")})
    worst = max(float(one["r_hat"].max()) for one in told.values())
    roots = found["scale"][:, :, None] * found["lower"]
    weights = found["mean"][:, None] + found["z"] @ roots.transpose(0, 2, 1)
    note = f"2 chains of {warmup} + {draws}, worst R-hat {worst:.3f}"
    return PeerFit(seconds, found["mean"], roots @ roots.transpose(0, 2, 1), weights, note)


def by_metropolis(design: Array, n_draws: int = 6_000, seed: int = 0) -> PeerFit:
    """Everybody by a step of Metropolis, mean and covariance by Gibbs, as bayesm's rhierMnlRwMixture.

    Steps are scaled by everybody's curvature, covariance ~ inverse Wishart(D + 3, (D + 3) I) as there.
    """
    from scipy.stats import invwishart

    rng = np.random.default_rng(seed)
    start = time.process_time()
    k, _, d = design.shape
    degrees, length = d + 3, 2.4 / np.sqrt(d)
    weights, mean, covariance = np.zeros((k, d)), np.zeros(d), np.eye(d)
    information = np.einsum("kad,kae->kde", design, design) * 0.15
    log_likelihood = log_expit(np.einsum("kad,kd->ka", design, weights)).sum(axis=1)
    kept: list[tuple[Array, Array, Array]] = []
    taken = 0.0
    for count in range(n_draws):
        inverse = np.linalg.inv(covariance)
        if count % 50 == 0:
            roots = np.linalg.cholesky(np.linalg.inv(information + inverse))
        new = weights + length * np.matmul(roots, rng.standard_normal((k, d, 1)))[:, :, 0]
        likelihood = log_expit(np.einsum("kad,kd->ka", design, new)).sum(axis=1)
        old_away, new_away = weights - mean, new - mean
        prior = np.einsum("kd,de,ke->k", old_away, inverse, old_away)
        prior -= np.einsum("kd,de,ke->k", new_away, inverse, new_away)
        accepted = np.log(rng.random(k)) < likelihood - log_likelihood + prior / 2
        weights = np.where(accepted[:, None], new, weights)
        log_likelihood = np.where(accepted, likelihood, log_likelihood)
        taken += accepted.mean() / n_draws
        away = weights - weights.mean(axis=0)
        covariance = np.atleast_2d(
            invwishart.rvs(degrees + k, degrees * np.eye(d) + away.T @ away, random_state=rng)
        )
        mean = rng.multivariate_normal(weights.mean(axis=0), covariance / k)
        if count >= n_draws // 2 and count % 10 == 0:
            kept.append((mean, covariance, weights))
    seconds = time.process_time() - start
    parts = [np.array(part) for part in zip(*kept, strict=True)]
    return PeerFit(seconds, *parts, f"{n_draws} draws, {taken:.0%} of the steps taken")


def by_xlogit(design: Array, n_draws: int = 200) -> PeerFit:
    """xlogit's simulated maximum likelihood, which has no correlations; weights by importance afterwards."""
    import contextlib
    import io

    from xlogit import MixedLogit

    k, a, d = design.shape
    names = [f"x{j}" for j in range(d)]
    # Two things to choose from: the differences, and nothing.
    rows = np.stack([design, np.zeros_like(design)], axis=2).reshape(-1, d)
    start = time.process_time()
    model = MixedLogit()
    with contextlib.redirect_stdout(io.StringIO()):
        model.fit(
            X=rows,
            y=np.tile([1, 0], k * a),
            varnames=names,
            ids=np.repeat(np.arange(k * a), 2),
            panels=np.repeat(np.arange(k), 2 * a),
            alts=np.tile([0, 1], k * a),
            randvars=dict.fromkeys(names, "n"),
            n_draws=n_draws,
            batch_size=50,
            skip_std_errs=True,
        )
    seconds = time.process_time() - start
    place = {str(name): i for i, name in enumerate(model.coeff_names)}
    mean = np.array([model.coeff_[place[name]] for name in names])
    scale = np.abs([model.coeff_[place[f"sd.{name}"]] for name in names])
    rng = np.random.default_rng(0)
    pool = mean + scale * rng.standard_normal((20_000, d))
    weights = np.empty((KEPT, k, d))
    for person in range(k):
        logs = log_expit(design[person] @ pool.T).sum(axis=0)
        mass = np.exp(logs - logs.max())
        weights[:, person] = pool[rng.choice(len(pool), KEPT, p=mass / mass.sum())]
    covariance = np.diag(scale**2)
    return PeerFit(seconds, mean[None], covariance[None], weights, f"{n_draws} Halton draws, no correlations")

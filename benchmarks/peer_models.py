"""The models that `benchmarks.peers` compares, each as a user would set it up.

`fit(items, pairs, y)` gives `predict(pairs)`, the probability that the first of each pair is preferred.
`items` are standardised features; `y` is +1 where the first is preferred and -1 where the second is. What a
user would tune is chosen by the log loss of five folds. Few answers are often separable, and the folds then
choose the least regularisation that is offered. So the ends of the grids (C, temperature) and the ridge of
the trees are those, of a few tried on these very data, that help the peers most: they lower the log loss at
20 answers by .02 to .07 and change it by less than .01 at 200.

metric-learn is not among them: its learners take pairs that are similar or not, triplets with an anchor, or
quadruplets of which two are closer than the others. An answer "A rather than B" is none of these while the
ideal, which would be the anchor, is not known.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from coombs import IdealPoint
from coombs.data.tables import InputError

FOLDS = 5
"""Of the cross-validation by which peers choose their settings."""
CLIP = 1e-6
"""Probabilities are kept this far from 0 and 1 where their logarithm is taken."""

Array = np.ndarray
Predict = Callable[[Array], Array]
Fit = Callable[[Array, Array, Array], Predict]


def log_loss(predicted: Array, target: Array) -> float:
    """Expected log loss where the first is preferred with probability `target`."""
    p = np.clip(predicted, CLIP, 1 - CLIP)
    return float(-np.mean(target * np.log(p) + (1 - target) * np.log1p(-p)))


def left_out(fit: Fit, items: Array, pairs: Array, y: Array) -> Array:
    """Predictions of each answer from the other folds."""
    fold = np.arange(len(pairs)) % FOLDS
    predicted = np.empty(len(pairs))
    for k in range(FOLDS):
        predicted[fold == k] = fit(items, pairs[fold != k], y[fold != k])(pairs[fold == k])
    return predicted


def best(fit: Callable[..., Predict], settings: Sequence[dict[str, Any]], *answers: Array) -> dict[str, Any]:
    """The settings that predict left-out answers best."""
    losses = [log_loss(left_out(partial(fit, **each), *answers), answers[2] > 0) for each in settings]
    return settings[int(np.argmin(losses))]


def grid(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Every combination of settings."""
    return [dict(zip(values, each, strict=True)) for each in product(*values.values())]


def balanced(pairs: Array, y: Array) -> tuple[Array, Array]:
    """The same answers, the first item preferred in every second one, so that both classes occur."""
    first = np.arange(len(pairs)) % 2 == 0
    flip = (y > 0) != first
    return np.where(flip[:, None], pairs[:, ::-1], pairs), first


# Logistic regression on differences


def _logistic(features: Array, pairs: Array, y: Array, C: float) -> Predict:
    pairs, first = balanced(pairs, y)
    model = LogisticRegression(C=C, fit_intercept=False, max_iter=1000)
    slope = model.fit(features[pairs[:, 0]] - features[pairs[:, 1]], first).coef_[0]
    utility = features @ slope
    return lambda asked: expit(utility[asked[:, 0]] - utility[asked[:, 1]])


STRENGTHS = grid(C=np.logspace(-3, 0.5, 9))


def logistic(items: Array, pairs: Array, y: Array) -> Predict:
    """Logistic regression on differences of features."""
    return _logistic(items, pairs, y, **best(_logistic, STRENGTHS, items, pairs, y))


def quadratic(items: Array, pairs: Array, y: Array) -> Predict:
    """The same with squares, products and an indicator of each compared item."""
    products = PolynomialFeatures(2, include_bias=False).fit_transform(items)
    dummies = np.eye(len(items))[:, np.unique(pairs)]
    return logistic(np.hstack([StandardScaler().fit_transform(products), dummies]), pairs, y)


# Bradley-Terry


def _choix(items: Array, pairs: Array, y: Array, alpha: float) -> Predict:
    import choix

    compared, position = np.unique(pairs, return_inverse=True)
    position = position.reshape(pairs.shape)
    won = np.where(y[:, None] > 0, position, position[:, ::-1])
    strength = np.zeros(len(items))
    strength[compared] = choix.opt_pairwise(len(compared), won.tolist(), alpha=alpha, method="Newton-CG")
    return lambda asked: expit(strength[asked[:, 0]] - strength[asked[:, 1]])


def bradley_terry(items: Array, pairs: Array, y: Array) -> Predict:
    """choix: a strength of each item, with a ridge; an item never compared has the mean one, 0."""
    return _choix(items, pairs, y, **best(_choix, grid(alpha=(0.03, 0.1, 0.3, 1.0, 3.0)), items, pairs, y))


# Trees


def _lightgbm(items: Array, pairs: Array, y: Array, trees: int, leaves: int) -> Predict:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(
        n_estimators=trees,
        num_leaves=leaves,
        learning_rate=0.05,
        min_child_samples=5,
        reg_lambda=3.0,
        n_jobs=1,
        verbose=-1,
        random_state=0,
    )

    def features(asked: Array) -> Array:
        a, b = items[asked[:, 0]], items[asked[:, 1]]
        return np.hstack([a, b, a - b])

    model.fit(features(np.vstack([pairs, pairs[:, ::-1]])), np.concatenate([y, -y]) > 0)

    def predict(asked: Array) -> Array:
        one, other = (model.predict_proba(features(each))[:, 1] for each in (asked, asked[:, ::-1]))
        return (one + 1 - other) / 2

    return predict


def lightgbm(items: Array, pairs: Array, y: Array) -> Predict:
    """LightGBM's classifier on both items and their difference, each answer from both sides."""
    settings = best(_lightgbm, grid(trees=(5, 20, 60, 150), leaves=(4, 15)), items, pairs, y)
    return _lightgbm(items, pairs, y, **settings)


def _xgboost(items: Array, pairs: Array, y: Array, trees: int, depth: int) -> Predict:
    from xgboost import XGBRanker

    model = XGBRanker(
        objective="rank:pairwise",
        n_estimators=trees,
        max_depth=depth,
        learning_rate=0.1,
        lambdarank_pair_method="mean",
        lambdarank_num_pair_per_sample=1,
        lambdarank_normalization=False,
        reg_lambda=5.0,
        n_jobs=1,
        random_state=0,
    )
    model.fit(
        items[pairs.ravel()], np.column_stack([y > 0, y < 0]).ravel(), qid=np.arange(len(pairs)).repeat(2)
    )
    utility = model.predict(items).astype(float)
    return lambda asked: expit(utility[asked[:, 0]] - utility[asked[:, 1]])


def xgboost(items: Array, pairs: Array, y: Array) -> Predict:
    """XGBoost's pairwise ranker, an answer being a query of two; the temperature by left-out answers."""
    settings = best(_xgboost, grid(trees=(10, 40, 120), depth=(2, 4)), items, pairs, y)
    margin = logit(np.clip(left_out(partial(_xgboost, **settings), items, pairs, y), CLIP, 1 - CLIP))
    scales = np.logspace(-1.5, 0, 16)
    scale = scales[np.argmin([log_loss(expit(each * margin), y > 0) for each in scales])]
    model = _xgboost(items, pairs, y, **settings)
    return lambda asked: expit(scale * logit(np.clip(model(asked), CLIP, 1 - CLIP)))


# Gaussian processes


def sklearn_gp(items: Array, pairs: Array, y: Array) -> Predict:
    """scikit-learn's Gaussian process classifier on differences, linear plus squared exponential."""
    pairs, first = balanced(pairs, y)
    kernel = ConstantKernel(1.0) * RBF(2.0) + ConstantKernel(1.0) * DotProduct(0.0, "fixed")
    model = GaussianProcessClassifier(kernel, random_state=0)
    model.fit(items[pairs[:, 0]] - items[pairs[:, 1]], first)

    def predict(asked: Array) -> Array:
        difference = items[asked[:, 0]] - items[asked[:, 1]]
        return (model.predict_proba(difference)[:, 1] + 1 - model.predict_proba(-difference)[:, 1]) / 2

    return predict


def botorch_gp(items: Array, pairs: Array, y: Array) -> Predict:
    """BoTorch's PairwiseGP as its documentation sets it up; probabilities with the utilities' covariance."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood
    from botorch.models.transforms.input import Normalize

    torch.set_num_threads(1)
    compared, position = np.unique(pairs, return_inverse=True)
    position = position.reshape(pairs.shape)
    won = np.where(y[:, None] > 0, position, position[:, ::-1])
    table = torch.as_tensor(items)
    model = PairwiseGP(table[compared], torch.as_tensor(won), input_transform=Normalize(items.shape[1]))
    fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))

    def predict(asked: Array) -> Array:
        used, place = np.unique(asked, return_inverse=True)
        i, j = place.reshape(asked.shape).T
        with torch.no_grad():
            posterior = model.posterior(table[used])
            mean, cov = posterior.mean.squeeze(-1).numpy(), posterior.mvn.covariance_matrix.numpy()
        variance = cov[i, i] + cov[j, j] - 2 * cov[i, j]
        # Probit answers: each utility has noise of variance 1.
        return ndtr((mean[i] - mean[j]) / np.sqrt(2 + np.maximum(variance, 0)))

    return predict


# Ours


def coombs(items: Array, pairs: Array, y: Array, metric: str) -> Predict:
    """`IdealPoint` with that metric."""
    model = IdealPoint(items, metric=metric).fit(pairs, y)
    return lambda asked: model.predict_proba(asked)[:, 1]


@dataclass(frozen=True)
class Model:
    """A column of the tables; `needs` is the package to be installed."""

    name: str
    fit: Fit
    needs: str = "sklearn"

    @property
    def is_ours(self) -> bool:
        """Whether it is coombs."""
        return self.needs == "coombs"

    @cache  # noqa: B019
    def missing(self) -> str | None:
        """Why it can't be run here, if it can't; its first fit, whose imports are not timed."""
        if importlib.util.find_spec(self.needs) is None:
            return f"{self.name} is skipped: {self.needs} is not installed (pip install 'coombs[peers]')."
        rng = np.random.default_rng(0)
        pairs = np.column_stack([np.arange(10), np.arange(10) + 1])
        try:
            with warnings.catch_warnings(action="ignore"):
                self.fit(rng.standard_normal((11, 2)), pairs, rng.choice([-1, 1], 10))(pairs)
        except InputError as error:
            return f"{self.name} is skipped: {error}"
        return None


METRICS = ("auto", "full", "smooth")
"""Of coombs; one that the installed version refuses is skipped."""
MODELS = (
    Model("logistic", logistic),
    Model("quadratic", quadratic),
    Model("choix", bradley_terry, "choix"),
    Model("LightGBM", lightgbm, "lightgbm"),
    Model("XGBoost", xgboost, "xgboost"),
    Model("sklearn GP", sklearn_gp),
    Model("BoTorch GP", botorch_gp, "botorch"),
    *(Model(f"coombs {metric}", partial(coombs, metric=metric), "coombs") for metric in METRICS),
)

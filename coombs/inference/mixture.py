"""An average of kinds of preference: their weights, and how well it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from coombs.inference.averaging import average, by_evidence, predicted_by_evidence, stack
from coombs.inference.infer import Inference, extend
from coombs.inference.left_out import LeftOut
from coombs.inference.smooth import NEVER, Smooth
from coombs.programs.program import Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coombs.data.answers import Answers
    from coombs.data.graph import Vector

LARGE_WEIGHT = 0.1
"""A kind with more of the average decides how the fit ended."""
MAY_COUNT = 2e-3
"""A kind with more of it, by a first look, is worth more draws."""
NEGLIGIBLE = 0.01
"""A kind with less of the average is left out of it."""


@dataclass(frozen=True)
class Mixture:
    """Kinds of preference, averaged by their evidence, or by how well each predicts; or a single one."""

    parts: tuple[Inference | Smooth, ...]

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """How well each kind predicts answers from the others."""
        return tuple(part.leave_out() for part in self.parts)

    @property
    def answers(self) -> Answers:
        """What was learned from."""
        return self.parts[0].answers

    @cached_property
    def _probabilities(self) -> Vector | None:
        """Of the kinds and, last, of a coin, by the evidence; None where there is none."""
        evidence = np.array([part.log_evidence for part in self.parts])
        if len(evidence) == 1 or not np.isfinite(evidence).all():
            return None
        return by_evidence(evidence, self.answers.log_chance)

    @cached_property
    def _among(self) -> NDArray[np.bool_]:
        """Which kinds can be averaged with others: what they predict is known."""
        never = np.array([part.log_evidence for part in self.parts]) <= NEVER
        result: NDArray[np.bool_] = ~never | never.all()
        return result

    @property
    def _left_out_among(self) -> tuple[LeftOut, ...]:
        """`left_out` of those."""
        return tuple(one for one, counts in zip(self.left_out, self._among, strict=True) if counts)

    @cached_property
    def weights(self) -> Vector:
        """Of the kinds, adding up to 1."""
        if len(self.parts) == 1:
            return np.ones(1)
        if self._probabilities is not None:
            kinds = self._probabilities[:-1]
        else:
            kinds = np.zeros(len(self.parts))
            kinds[self._among] = stack(self._left_out_among)
        kinds = np.where(kinds < NEGLIGIBLE * kinds.sum(), 0.0, kinds)
        return kinds / kinds.sum() if kinds.sum() > 0 else np.full(len(kinds), 1 / len(kinds))

    @cached_property
    def coin(self) -> float:
        """The probability, in an average, that all was answered at random."""
        return 0.0 if self._probabilities is None else float(self._probabilities[-1])

    @cached_property
    def predicted(self) -> LeftOut:
        """How well the average predicts answers from the others."""
        if len(self.parts) == 1:
            return self.left_out[0]
        if self._probabilities is None:
            return average(self._left_out_among)
        return predicted_by_evidence(self._left_out_among, self._probabilities[np.append(self._among, True)])

    @property
    def quadratic(self) -> tuple[Inference, ...]:
        """The kinds that have a metric and v, which describe what the others may only predict."""
        return tuple(part for part in self.parts if not isinstance(part, Smooth))

    @property
    def described(self) -> Mixture:
        """Those kinds alone, weighted alike relative to each other; itself if there is nothing else."""
        return self._only(np.array([not isinstance(part, Smooth) for part in self.parts]), coin=0.0)

    @property
    def counted(self) -> Mixture:
        """The kinds that are not left out."""
        return self._only(self.weights > 0, self.coin)

    def _only(self, chosen: NDArray[np.bool_], coin: float) -> Mixture:
        if chosen.all() or not chosen.any():
            return self
        result = Mixture(tuple(part for part, is_chosen in zip(self.parts, chosen, strict=True) if is_chosen))
        weights = self.weights[chosen]
        if not weights.sum() > 0:
            # All of them are negligible: as they are beside each other.
            evidence = np.array([part.log_evidence for part in result.parts])
            weights = softmax(evidence) if np.isfinite(evidence).all() else np.ones(len(weights))
        # Cached properties of a frozen record.
        vars(result).update(weights=weights / weights.sum(), coin=coin)
        if "left_out" in vars(self):
            vars(result)["left_out"] = tuple(np.array(self.left_out, dtype=object)[chosen])
        return result

    def extended(self, rng: np.random.Generator) -> Mixture:
        """With more draws of the kinds that may count, and weights by what those say."""
        shares = self.weights if self._probabilities is None else self._probabilities[:-1]
        parts = tuple(
            part if isinstance(part, Smooth) or share < MAY_COUNT else extend(part, rng)
            for part, share in zip(self.parts, shares, strict=True)
        )
        is_new = any(new is not old for new, old in zip(parts, self.parts, strict=True))
        return Mixture(parts) if is_new else self

    @property
    def has_effects(self) -> bool:
        """Whether items have effects of their own."""
        return any(part.has_effects for part in self.parts)

    @property
    def main(self) -> Inference | Smooth:
        """The kind with the largest weight."""
        return self.parts[int(self.weights.argmax())]

    @property
    def rhat(self) -> float:
        """The worst of the kinds that matter."""
        return max(part.rhat for part in self._large)

    @property
    def status(self) -> Status:
        """How the fit ended, for the kinds that matter."""
        statuses = [part.status for part in self._large]
        return next((status for status in statuses if status is not Status.CONVERGED), Status.CONVERGED)

    @property
    def _is_large(self) -> NDArray[np.bool_]:
        """Whether each kind matters; the largest does in any case."""
        return self.weights >= min(LARGE_WEIGHT, float(self.weights.max()))

    @property
    def _large(self) -> list[Inference | Smooth]:
        return [part for part, is_large in zip(self.parts, self._is_large, strict=True) if is_large]

"""Where randomness comes in: a seed, a generator or nothing, as `random_state`."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from coombs.data.tables import InputError

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def generator(random_state: Any, salt: int = 0) -> np.random.Generator:
    """The generator that a seed stands for; another one for each salt."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    try:
        if random_state is None or not salt:
            return np.random.default_rng(random_state)
        return np.random.default_rng([salt, int(random_state)])
    except (TypeError, ValueError) as error:
        raise InputError(
            f"random_state is {random_state!r}; it must be a seed, a generator or None."
        ) from error

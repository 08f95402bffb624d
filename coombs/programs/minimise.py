"""Solve a program by the interior point, or by Clarabel where that does not converge, or raise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from coombs.blas import serial
from coombs.programs import interior, shared_interior
from coombs.programs.program import ConvergenceError, Status

if TYPE_CHECKING:
    from coombs.programs.program import Program, Solution
    from coombs.programs.shared_metric import SharedProgram, SharedSolution

SOLVERS = ("auto", "interior_point", "clarabel", "cvxpy")
ALMOST = 1e-5
"""A certified gap up to this is called almost optimal; beyond, there is no answer."""


def minimise(program: Program, solver: str = "auto", tol: float = 1e-8, max_iter: int = 300) -> Solution:
    """The optimum, whose status says by which road; ConvergenceError where no road gets near it."""
    tries = []
    if solver != "clarabel":
        tries.append(_by_interior_point(program, tol, max_iter))
    if solver == "clarabel" or (solver != "interior_point" and tries[0].status is not Status.OPTIMAL):
        # Imported here because most fits never need it.
        from coombs.programs import conic

        tries.append(conic.solve(program, tol))
    best = min(tries, key=lambda one: one.gap if math.isfinite(one.gap) else math.inf)
    if best.status in (Status.OPTIMAL, Status.OPTIMAL_BY_CLARABEL):
        return best
    if best.gap <= ALMOST:
        return replace(best, status=Status.ALMOST_OPTIMAL)
    sentence = "; ".join(f"{who} {_ending(one)}" for who, one in zip(_names(solver), tries, strict=False))
    raise ConvergenceError(f"No optimum: {sentence}. Larger gammas or standardize=True may help.")


def _by_interior_point(program: Program, tol: float, max_iter: int) -> Solution:
    with serial(program.graph.n_items):
        return interior.solve(program, tol, max_iter)


def _names(solver: str) -> tuple[str, ...]:
    return ("Clarabel",) if solver == "clarabel" else ("the interior-point method", "Clarabel")


def _ending(solution: Solution) -> str:
    steps = f"after {solution.n_iter} iterations"
    return f"ended as {solution.status} {steps} with a relative gap of {solution.gap:.1e}"


def minimise_shared(program: SharedProgram, tol: float = 1e-8, max_iter: int = 100) -> SharedSolution:
    """The optimum of one metric for many people; ConvergenceError where the gap stays large."""
    found = shared_interior.solve(program, tol, max_iter)
    if found.status is Status.OPTIMAL:
        return found
    if found.gap <= ALMOST:
        return replace(found, status=Status.ALMOST_OPTIMAL)
    raise ConvergenceError(
        f"No optimum: the interior-point method ended as {found.status} after {found.n_iter} iterations with "
        f"a relative gap of {found.gap:.1e}. A smaller radius may help; without one, a logistic loss has no "
        "minimum if the answers of somebody can all be explained."
    )

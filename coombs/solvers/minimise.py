"""Solve a program by the interior point, or by Clarabel where that does not converge, or raise."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from threadpoolctl import ThreadpoolController

from coombs.solvers import interior
from coombs.solvers.program import ConvergenceError, Status

if TYPE_CHECKING:
    from coombs.solvers.program import Program, Solution

SOLVERS = ("auto", "interior_point", "clarabel", "cvxpy")
SERIAL_ITEMS = 600
"""Up to this many items the matrices are so small that threads of BLAS only get in each other's way."""


def minimise(program: Program, solver: str = "auto", tol: float = 1e-8, max_iter: int = 100) -> Solution:
    """The optimum, whose status says by which road; ConvergenceError where there is none."""
    if solver == "clarabel":
        return _by_clarabel(program, tol, None)
    if program.graph.n_items <= SERIAL_ITEMS:
        with _blas().limit(limits=1, user_api="blas"):
            solution = interior.solve(program, tol, max_iter)
    else:
        solution = interior.solve(program, tol, max_iter)
    if solution.status is Status.OPTIMAL:
        return solution
    if solver == "interior_point":
        raise ConvergenceError(_sentence("The interior-point method", solution))
    return _by_clarabel(program, tol, solution)


def _by_clarabel(program: Program, tol: float, before: Solution | None) -> Solution:
    """Clarabel's optimum, or an error that says how near both came."""
    from coombs.solvers import conic

    solution = conic.solve(program, tol)
    if solution.status is Status.OPTIMAL_BY_CLARABEL:
        return solution
    first = "" if before is None else _sentence("The interior-point method", before) + " "
    raise ConvergenceError(first + _sentence("Clarabel", solution))


def _sentence(who: str, solution: Solution) -> str:
    return (
        f"{who} ended as {solution.status} after {solution.n_iter} iterations with a relative gap of "
        f"{solution.gap:.1e}; larger regularisation (gamma) or scaled features (standardize=True) help."
    )


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()

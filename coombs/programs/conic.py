"""The same program handed to Clarabel through its own interface, for when ours does not converge.

Unknowns (y, d, rho, then the loss's and the residual's epigraphs); sparse in the answers, so memory
stays O(P + n m).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import clarabel
import numpy as np
from scipy.sparse import block_array, coo_array, csc_array, csr_array, diags_array, eye_array

from coombs.programs.cone import smat, svec
from coombs.programs.losses import LOSSES
from coombs.programs.program import Solution, Status

if TYPE_CHECKING:
    from coombs.data.graph import ComparisonGraph, Matrix, Vector
    from coombs.programs.program import Program


def solve(program: Program, tol: float = 1e-8, max_iter: int = 200) -> Solution:
    """Minimise the program with Clarabel; the status goes by our own certificate, not by its word."""
    form = _ConicForm(program)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iter
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tol
    found = clarabel.DefaultSolver(form.quadratic, form.linear, *form.constraints(), settings).solve()
    y, rho, multipliers = form.read(np.array(found.x), np.array(found.z))
    gap = program.relative_gap(y, rho, multipliers)
    status = Status.OPTIMAL_BY_CLARABEL if gap <= tol else Status.STALLED
    return Solution(y, program.distances(y, rho), status, program.value(y, rho), gap, found.iterations)


class _ConicForm:
    """minimise x'Px/2 + q'x with b - Ax in a product of cones."""

    def __init__(self, program: Program) -> None:
        self.program = program
        n, p, loss = program.graph.n_items, program.graph.n_answers, program.loss.name
        sizes = {"y": len(program.penalty), "d": n, "rho": n * program.residual, "loss": p}
        sizes |= {"residual": p * bool(program.gamma1), "exp": 2 * p * (loss == "logistic")}
        stops = np.cumsum([0, *sizes.values()])
        self._at = {name: slice(*stops[i : i + 2]) for i, name in enumerate(sizes)}
        self._sizes, self._rows = sizes, list[csr_array]()
        self._rhs, self._cones = list["Vector"](), list[Any]()
        curvature, self.linear = np.zeros(stops[-1]), np.zeros(stops[-1])
        curvature[self._at["y"]], self.linear[self._at["y"]] = 2 * program.penalty, program.linear
        curvature[self._at["d"]] = 2 * program.gamma3
        if loss not in LOSSES:
            raise NotImplementedError(f"The loss {loss!r} has no form in Clarabel's cones.")
        if loss == "squared_hinge":
            curvature[self._at["loss"]] = 2 * program.weights
        else:
            self.linear[self._at["loss"]] = program.weights
        self.linear[self._at["residual"]] = program.gamma1 * program.weights[: sizes["residual"]]
        self.quadratic = csc_array(diags_array(curvature))

    def constraints(self) -> tuple[csc_array, Vector, list[Any]]:
        """A, b and the cones."""
        program = self.program
        q, identity = incidence(program.graph), eye_array(program.graph.n_answers)
        n = eye_array(program.graph.n_items)
        rho = {"rho": n} if program.residual else {}
        self._add(clarabel.ZeroConeT, program.offset, d=n, y=csr_array(-program.features), **rho)
        if program.residual and program.normals.shape[1]:
            nothing = np.zeros(program.normals.shape[1])
            self._add(clarabel.ZeroConeT, nothing, rho=csr_array(program.normals.T))
        if program.loss.name == "logistic":
            self._add_logistic(q, identity)
        else:
            ones = np.ones(program.graph.n_answers)
            self._hinge_row = self._add(clarabel.NonnegativeConeT, -ones, loss=-identity, d=-q)
            self._add(clarabel.NonnegativeConeT, 0 * ones, loss=-identity)
        if program.gamma1:
            nothing = np.zeros(program.graph.n_answers)
            self._residual_row = self._add(clarabel.NonnegativeConeT, nothing, residual=-identity, rho=q)
            self._add(clarabel.NonnegativeConeT, nothing, residual=-identity, rho=-q)
        if program.nonnegative:
            self._add(clarabel.NonnegativeConeT, np.zeros(program.graph.n_items), d=-n)
        if program.order:
            pick = csr_array(-eye_array(program.n_psd, self._sizes["y"]))
            self._add(lambda _: clarabel.PSDTriangleConeT(program.order), np.zeros(program.n_psd), y=pick)
        return csc_array(block_array([[row] for row in self._rows])), np.concatenate(self._rhs), self._cones

    def _add(self, cone: Any, rhs: Vector, **blocks: Any) -> int:
        """Append rows rhs - sum(blocks) in a cone; returns where they start."""
        start = sum(len(part) for part in self._rhs)
        row = [blocks.get(name, csr_array((len(rhs), size))) for name, size in self._sizes.items()]
        self._rows.append(csr_array(block_array([row])))
        self._rhs.append(rhs)
        self._cones.append(cone(len(rhs)))
        return start

    def _add_logistic(self, q: csr_array, identity: Any) -> None:
        """s >= log(1 + exp(-e)) as exp(-s) <= u, exp(-e - s) <= v, u + v <= 1."""
        p = self.program.graph.n_answers
        ones, place = np.ones(p), np.arange(p)
        both = csr_array(block_array([[identity, identity]]))
        self._add(clarabel.NonnegativeConeT, ones, exp=both)
        for k, margins in enumerate((None, q)):
            # Each cone's three rows are (exponent, 1, bound): only the first and last hold unknowns.
            first = csr_array((ones, (3 * place, place)), shape=(3 * p, p))
            bound = csr_array((-ones, (3 * place + 2, p * k + place)), shape=(3 * p, 2 * p))
            blocks = {"loss": first, "exp": bound} | ({} if margins is None else {"d": first @ margins})
            # The second cone's first rows hold the margins: their prices are minus the multipliers.
            self._margin_row = self._add(lambda _: None, np.tile([0.0, 1.0, 0.0], p), **blocks)
            self._cones.pop()
            self._cones.extend(clarabel.ExponentialConeT() for _ in range(p))

    def read(self, x: Vector, z: Vector) -> tuple[Vector, Vector, Matrix]:
        """(y, rho) made exactly feasible, and multipliers (a, b) put into their boxes."""
        program, p, weights = self.program, self.program.graph.n_answers, self.program.weights
        y = x[self._at["y"]].copy()
        values, vectors = np.linalg.eigh(smat(y[: program.n_psd], program.order))
        y[: program.n_psd] = svec((vectors * np.maximum(values, 0.0)) @ vectors.T)
        rho = x[self._at["rho"]].copy() if program.residual else np.zeros(program.graph.n_items)
        if program.nonnegative:
            rho += np.minimum(program.distances(y, rho), 0.0)
        if program.loss.name == "logistic":
            a = np.clip(-z[self._margin_row : self._margin_row + 3 * p : 3], 0.0, weights)
        else:
            ceiling = weights if program.loss.name == "hinge" else np.inf
            a = np.clip(z[self._hinge_row : self._hinge_row + p], 0.0, ceiling)
        b = np.zeros(p)
        if program.gamma1:
            sides = z[self._residual_row : self._residual_row + 2 * p]
            b = np.clip(sides[:p] - sides[p:], -program.gamma1 * weights, program.gamma1 * weights)
        return y, rho, np.stack([a, b])


def incidence(graph: ComparisonGraph) -> csr_array:
    """Q itself."""
    p = graph.n_answers
    rows = np.concatenate([np.arange(p), np.arange(p)])
    columns = np.concatenate([graph.losers, graph.winners])
    entries = np.concatenate([np.ones(p), -np.ones(p)])
    return csr_array(coo_array((entries, (rows, columns)), shape=(p, graph.n_items)))

"""The convex programs of the papers (`formulate`, `shared_metric`), their losses (`losses`), the solvers."""

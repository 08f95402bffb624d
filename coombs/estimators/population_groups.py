"""What a fitted population tells of its people together: groups, who is alike, who is unlike; a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from coombs.estimators.population import Population
    from coombs.insights.people_records import PeopleGroup, UnlikePerson


class PopulationGroups:
    """Groups of people, and people beside each other."""

    @property
    def groups_(self) -> tuple[PeopleGroup, ...]:
        """The groups with their members: size, share, what each wants on average, its best items.

        What a group wants is said where it holds with a probability of .99 of the group's mean, and nothing
        where the answers have no pattern.

        Returns
        -------
        tuple of PeopleGroup, one for each group

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> [(one.number, one.people, one.share) for one in population.groups_]
        [(1, 2, 1.0)]
        """
        # Imported here because it takes this class.
        from coombs.insights.people_groups import groups_of

        check_is_fitted(self, "people_")
        return groups_of(cast("Population", self))

    def alike(self, user: Any, n: int = 5) -> Any:
        """Return the people whose rankings agree most with somebody's.

        Parameters
        ----------
        user : one of `people_`
        n : how many people, at most; those without answers are left out

        Returns
        -------
        pandas.DataFrame with the columns user, agreement (share of pairs of items, of up to 400, that both
            rank alike by what is known of them), answers and group, the most alike first

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.alike(1)[["user", "agreement"]].values.tolist()
        [[2.0, 1.0]]
        """
        from coombs.insights.people_groups import alike

        check_is_fitted(self, "people_")
        return alike(cast("Population", self), user, n)

    def unlike(self) -> tuple[UnlikePerson, ...]:
        """Return the people whose answers are unlikely of anybody in the population, and no tosses of a coin.

        Somebody is named where at most 1 in 100 people drawn from the population would answer the same
        questions as unlikely, with five answers or more: so about 1 in 100 ordinary people is.

        Returns
        -------
        tuple of UnlikePerson, the least likely first; empty without a pattern, and of choices, rankings and
            ratings, whose pairs are not independent

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> population.unlike()
        ()
        """
        from coombs.insights.people_groups import unlike_anybody

        check_is_fitted(self, "people_")
        return unlike_anybody(cast("Population", self))

    def report(self, path: str | os.PathLike[str] | None = None, *, title: str | None = None) -> Path | str:
        """Write what people share and where they differ as one HTML file with pictures (extra `plots`).

        Parameters
        ----------
        path : of the file, whose folder must exist; None for the text itself
        title : of the page

        Returns
        -------
        The path of the file, or the HTML text

        Examples
        --------
        >>> from coombs import Population
        >>> population = Population([[0.0], [1.0], [2.0]], metric="none").fit([[1, 0], [2, 1]], users=[1, 2])
        >>> "<h1>No pattern found yet: Tea</h1>" in population.report(title="Tea")
        True
        """
        from coombs.render.people_html import people_report

        check_is_fitted(self, "people_")
        return people_report(cast("Population", self), path, title=title)

"""`coombs explain`: a saved model in words."""

from __future__ import annotations

from coombs.cli import show
from coombs.cli.model_files import read_model, read_population
from coombs.cli.options import argument, command, json_option, user_option


@command("explain", "say in words what a saved model holds", "coombs explain taste.json")
@argument("model", "JSON file")
@user_option
@json_option
def explain(model: str, user: str | None, as_json: bool) -> None:
    """Say what matters, where the ideal is and what is worth what: as `coombs fit` said it when it wrote
    the model, or as far as the numbers of another model hold it. Of many people (`coombs people --save`), say
    what they share, or what one of them wants.
    """
    if (population := read_population(model, user)) is not None:
        found = population.explain() if user is None else population.person(user).explain()
        if as_json:
            show.as_json(found.to_dict())
        else:
            print(found)
        return
    saved = read_model(model)
    told = saved.explain()
    if as_json:
        show.as_json(told.to_dict() | {"n_people": saved.n_people})
    else:
        from coombs.render.sentences import sections

        show.together(saved)
        show.page(sections(told))

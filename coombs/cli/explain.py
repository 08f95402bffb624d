"""`coombs explain`: a saved model in words."""

from __future__ import annotations

from coombs.cli import show
from coombs.cli.model_files import read_model
from coombs.cli.options import argument, command, json_option


@command("explain", "say in words what a saved model holds", "coombs explain taste.json")
@argument("model", "JSON file")
@json_option
def explain(model: str, as_json: bool) -> None:
    """Say what matters, where the ideal is and what is worth what: as `coombs fit` said it when it wrote
    the model, or as far as the numbers of another model hold it.
    """
    saved = read_model(model)
    told = saved.explain()
    if as_json:
        show.as_json(told.to_dict() | {"n_people": saved.n_people})
    else:
        from coombs.render.sentences import sections

        show.together(saved)
        show.page(sections(told))

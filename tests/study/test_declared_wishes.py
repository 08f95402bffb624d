"""Studies with declared wishes: limits leave items out, directions are obeyed, and both are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coombs import InputError, create_study, load_study
from coombs.study import Study


@pytest.fixture
def flats() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"rent": rng.uniform(500, 2000, 20).round(), "size": rng.uniform(20, 100, 20).round()},
        index=[f"flat {i}" for i in range(20)],
    )
    frame.loc["flat 3", "size"] = np.nan
    return frame


def made(flats: pd.DataFrame) -> Study:
    return create_study(flats, storage="memory:", wishes=["rent: less", "rent <= 1500"])


def test_items_outside_the_limits_are_not_asked_about(flats: pd.DataFrame) -> None:
    study = made(flats)
    kept = flats.index[flats["rent"] <= 1500].tolist()
    assert study.catalogue.labels == kept
    assert "outside the limits" in study.catalogue.notes[-1]
    for _ in range(6):
        question = study.ask()
        assert question is not None
        assert {question.left, question.right} <= set(kept)
        study.tell(question, "left")


def test_wishes_are_kept_and_the_same_study_is_found_again(flats: pd.DataFrame) -> None:
    study = made(flats)
    again = load_study("study", storage=study.storage)
    assert again.settings.wishes == ("rent: less", "rent <= 1500")
    assert again.catalogue.table.matrix.tolist() == study.catalogue.table.matrix.tolist()
    same = create_study(flats, storage=study.storage)
    assert same.settings.wishes == again.settings.wishes
    assert (
        create_study(flats, storage=study.storage, wishes=["rent <= 1500", "rent: less"]).n_items
        == study.n_items
    )
    for other in (["rent <= 1000"], ["rent: more"]):
        with pytest.raises(
            InputError, match="was made with the wishes 'rent: less', 'rent <= 1500', which stay"
        ):
            create_study(flats, storage=study.storage, wishes=other)


@pytest.mark.slow
def test_the_online_model_and_the_result_obey(flats: pd.DataFrame) -> None:
    study = made(flats)
    table = study.catalogue.table.matrix
    by_rent = np.argsort(table[:, 0])
    dearest, cheapest = (study.catalogue.labels[by_rent[k]] for k in (-1, 0))
    # Somebody who says the opposite of what they declared.
    for _ in range(4):
        study.tell((dearest, cheapest))
    respondent = study.respondent()
    respondent.ask()
    directions = study.directions
    assert directions is not None and respondent._snapshot is not None
    belief = respondent._snapshot.belief
    meaning = belief._about(np.arange(2)).scores(belief.draws)
    assert (directions.gains(meaning.metric, meaning.linear).min(axis=1) > -0.7).mean() > 0.9
    told = study.result().explain()
    assert told.wishes[0].text == "Less rent is never worse."


def test_wishes_about_what_is_not_there_get_a_sentence(flats: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="begins with no feature"):
        create_study(flats, storage="memory:", wishes=["price: less"])
    with pytest.raises(InputError, match="begins with no feature"):
        create_study(["tea", "coffee"], storage="memory:", wishes=["price: less"])
    with pytest.raises(InputError, match="loosen"):
        create_study(flats, storage="memory:", wishes=["rent <= 1"])


def test_importing_answers_about_items_outside_the_limits_says_what_happened(tmp_path: Path) -> None:
    flats = pd.DataFrame({"rent": [650.0, 900.0, 720.0, 1200.0]}, index=list("abcd"))
    study = create_study(flats, storage="memory:", wishes=["rent <= 1000"])
    (tmp_path / "answers.csv").write_text("winner,loser\na,d\n")
    with pytest.raises(InputError, match=r"'d'.*outside the limits of the study \(rent <= 1000\)"):
        study.import_answers(tmp_path / "answers.csv")

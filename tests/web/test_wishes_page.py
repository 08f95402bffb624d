"""What is certain before the first question of one's own study: one card, which can be skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from fastapi.testclient import TestClient

from coombs import InputError, create_study, load_study, web
from coombs.study import Study
from coombs.study.declared_wishes import declare_wishes, may_declare

FLATS = "flat,rent,size,balcony\n" + "".join(
    f"Flat {k},{600 + 137 * k % 900},{30 + 7 * k % 60},{('no', 'yes')[k % 2]}\n" for k in range(9)
)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    file = tmp_path / "flats.csv"
    file.write_text(FLATS)
    return create_study(file, "flats", storage=f"sqlite:///{tmp_path / 'web.db'}", metric="none")


@pytest.fixture
def client(study: Study) -> Iterator[TestClient]:
    known: Any = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 5)}
    with TestClient(web.create_app(study.storage), follow_redirects=False, **known) as made:
        made.headers["Origin"] = "http://127.0.0.1"
        yield made


def test_limits_and_directions_hold_from_the_first_question(
    client: TestClient, study: Study, tmp_path: Path
) -> None:
    home = f"/a/{study.respondent().record.token}"
    page = client.get(f"{home}?wishes=ask").text
    assert "What is certain already?" in page and 'name="question"' not in page and page.count("<h1") == 1
    wrong = {"direction": ["", "", ""], "at_least": ["", "", ""], "at_most": ["cheap", "", ""]}
    refused = client.post(f"{home}/wishes", data=wrong)
    assert (
        refused.status_code == 422 and "must be a number" in refused.text and 'value="cheap"' in refused.text
    )
    form = {"direction": ["less", "", "yes"], "at_least": ["", "", ""], "at_most": ["1100", "", ""]}
    assert client.post(f"{home}/wishes", data=form).headers["location"].endswith(home)
    known = load_study("flats", storage=study.storage)
    assert known.settings.wishes == ("rent: less", "rent <= 1100", "balcony = yes")
    kept = {one.name for one in known.items()}
    assert kept == {
        name
        for name, rent, _, has in (line.split(",") for line in FLATS.splitlines()[1:])
        if int(rent) <= 1100 and has == "yes"
    }
    assert 'name="question"' in client.get(home).text
    assert set(known.respondent().ask().names) <= kept  # type: ignore[union-attr]
    # The same file again is the same study, whose wishes stay.
    again = create_study(tmp_path / "flats.csv", "flats", storage=study.storage)
    assert again.settings.wishes == known.settings.wishes and again.n_items == len(kept)


def test_a_row_says_from_where_to_where_items_have_it_with_the_unit(
    client: TestClient, tmp_path: Path
) -> None:
    file = tmp_path / "laptops.csv"
    file.write_text("laptop;price;weight\nA;1266,38 €;1,2 kg\nB;669,08 €;\nC;900 €;2 kg\n")
    study = create_study(file, "laptops", storage=f"sqlite:///{tmp_path / 'web.db'}")
    at = f"/a/{study.respondent().record.token}?wishes=ask"
    for code, prices, weights in (
        ("en", "669.08 € to 1266.38 €", "1.2 kg to 2 kg"),
        ("de", "669,08 € bis 1266,38 €", "1,2 kg bis 2 kg"),
    ):
        page = client.get(at, headers={"Accept-Language": code}).text
        assert prices in page and weights in page


def test_the_card_is_skipped_and_comes_no_more_once_somebody_was_asked(
    client: TestClient, study: Study
) -> None:
    home = f"/a/{study.respondent().record.token}"
    assert client.post(f"{home}/wishes", data={}).status_code == 303 and may_declare(study)
    assert 'name="question"' in client.get(home).text
    assert 'name="question"' in client.get(f"{home}?wishes=ask").text
    assert not may_declare(study)
    with pytest.raises(InputError, match="before the first question"):
        declare_wishes(study, ["rent: less"])


def test_only_the_owner_declares_and_only_for_themselves(client: TestClient, study: Study) -> None:
    ann, me = (f"/a/{study.respondent(name).record.token}" for name in ("Ann", "me"))
    form = {"direction": ["less", "", ""], "at_least": ["", "", ""], "at_most": ["", "", ""]}
    stranger: Any = TestClient(client.app, base_url="http://127.0.0.1", client=("192.0.2.7", 5))
    stranger.headers["Origin"] = "http://127.0.0.1"
    for who, home in ((client, ann), (stranger, me)):
        assert who.post(f"{home}/wishes", data=form).status_code == 403
        assert "What is certain already?" not in who.get(f"{home}?wishes=ask").text
    assert load_study("flats", storage=study.storage).settings.wishes == ()

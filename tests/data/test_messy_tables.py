"""Tables as people have them become items to choose among, and notes say what was made of the cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from coombs import create_study
from coombs.data.catalogue import catalogue
from coombs.data.messy_tables import messy_catalogue
from coombs.data.tables import InputError
from coombs.study.stored_studies import items_in_file

LAPTOPS = [
    "Modell;Preis;Akku;Bild;Farbe;leer;Nr",
    "Öko 1;1266,38 €;k.A.;img/1.png;blau;;a7",
    "Öko 1;auf Anfrage;13 h;img/2.png;grün;;12",
    "Öko 2;1433,99 €;7 h;img/1.png;blau;;b",
    "Öko 1;;9 h;img/2.png;grün;;c",
    "Öko 3;999 €;9 h;img/1.png;blau;;d",
    "Öko 4;899 €;9 h;img/2.png;grün;;e",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "laptops.csv"
    made.write_text("\n".join(LAPTOPS), encoding="cp1252")
    return made


def test_whatever_a_table_has_it_starts_and_says_what_was_made_of_it(path: Path) -> None:
    with pytest.raises(InputError):
        catalogue(path)
    goods = messy_catalogue(path)
    assert goods.names == ["Öko 1", "Öko 1 (2)", "Öko 2", "Öko 1 (3)", "Öko 3", "Öko 4"]
    assert {"Preis", "Akku", "Farbe"} <= {*goods.columns} and "Bild" not in goods.columns
    told = " ".join(goods.notes)
    assert "Preis: no number, and so not known: 'auf Anfrage'." in told
    assert "Modell: more than one item is called 'Öko 1'; the others are 'Öko 1 (2)' and 'Öko 1 (3)'." in told
    assert goods.details[1]["Bild"] == "img/2.png"


def test_a_feature_that_was_named_is_one_and_what_it_was_said_to_be_stays(path: Path) -> None:
    goods = messy_catalogue(path, ["Preis", "Farbe:category"])
    assert goods.columns == ["Preis", "Farbe"]
    assert "auf Anfrage" in messy_catalogue(path, ["Preis:category"]).table.encoding.columns[0].levels  # type: ignore[union-attr]


def test_beside_numbers_a_title_is_what_items_are_called(tmp_path: Path) -> None:
    flats = tmp_path / "flats.csv"
    flats.write_text("id,title,rent\n17,Flat at the mill,700\n12,Flat at the bell,900\n")
    assert messy_catalogue(flats).names == ["Flat at the mill", "Flat at the bell"]
    assert messy_catalogue(flats, is_readable=False).names == ["17", "12"]
    # A study that was made by ids goes on.
    url = f"sqlite:///{tmp_path / 'flats.db'}"
    storage = create_study(flats, "old", storage=url).storage
    assert items_in_file(str(flats), None, "old", storage).names == ["17", "12"]
    assert items_in_file(str(flats), None, "new", storage).names == ["Flat at the mill", "Flat at the bell"]


def test_a_tidy_table_is_what_it_is_anyway(tmp_path: Path) -> None:
    tidy = tmp_path / "teas.csv"
    tidy.write_text("tea,price\nplain,3\nfancy,8\n")
    one, other = messy_catalogue(tidy), catalogue(tidy)
    assert (one.names, one.notes) == (other.names, other.notes)
    assert (one.table.matrix == other.table.matrix).all()

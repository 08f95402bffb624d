"""`coombs ask`: what it shows, what it understands, and that it leaves the terminal as it was."""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coombs import cli
from coombs.data.catalogue import Catalogue
from coombs.data.tables import ItemTable
from coombs.progress import ProgressBar
from coombs.render.sections import Points, Section, TableBlock, page
from coombs.render.sections import lines as text_lines
from coombs.study import PersonField, Presentation, Question, Study, StudyProgress, create_study, load_study
from coombs.study.participation import agree, fill_in
from coombs.terminal.after_questions import come_back
from coombs.terminal.display import Display, Draw
from coombs.terminal.keys import KeyReader, LineReader, UnknownInput, single_keys
from coombs.terminal.question_loop import Plan, QuestionLoop
from coombs.terminal.screen import help_screen, pause_screen, printable_rows, question_screen
from coombs.terminal_text import cells, cut, pad, terminal_safe, wrap
from coombs.words import numbers

ROOT = Path(__file__).resolve().parents[2]
WINDOW = Display(80, 24, full_screen=True, colour=True)
FOUND = StudyProgress(12, ("Elm Row 7", "Mill Court 5"), 0.43, 0.7, 0.2, 12, 0.8, 0.5)
FLATS = """flat,rent,size,distance,about
Abbey St 1,950,62,3.2,Quiet courtyard
Canal St 14,1180,81,1.1,Over a bakery
Elm Row 7,720,44,5.4,Near the park
Ferry Lane 2,1340,95,2.3,Roof terrace
Garden Way 19,860,58,6.0,Own garden
Mill Court 5,1020,70,3.2,Quiet courtyard
North Quay 33,1490,104,0.8,High ceilings
Oak Hill 8,690,51,8.7,At the wood
Price Sq 3,1100,66,0.5,In the middle of everything
Station Rd 40,780,62,1.9,Next to the tracks
Tower Bldg 12-C,1250,88,4.1,Twelfth floor
Willow End 6,900,76,7.5,Half a house
"""


def flats(*columns: tuple[str, str], names: tuple[str, str] = ("Elm Row 7", "Mill Court 5")) -> Catalogue:
    """Two flats with the same rent but not the same size, and details."""
    features = np.array(["rent", "size"], dtype=object)
    table = ItemTable(
        np.array([[720.0, 44.5], [720.0, 70.0]]), np.array(names, dtype=object), features, False
    )
    details = [{f"text {k}": texts[side] for k, texts in enumerate(columns)} for side in (0, 1)]
    return Catalogue(table, tuple(details))


def screen(items: Catalogue, display: Display, notice: str = "") -> list[str]:
    """The question about the first two items."""
    left, right = items.names[:2]
    question = Question(1, "me", left, right, (0, 1), "information", 0.5, datetime.now(UTC))
    return question_screen(question, items, FOUND, display, notice)


def plain(text: str) -> str:
    """Without styles."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


# What is shown.


@given(
    name=st.text(min_size=1, max_size=60),
    text=st.text(max_size=300),
    width=st.integers(20, 140),
    height=st.integers(4, 60),
    styles=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_no_screen_is_larger_than_the_terminal_or_commands_it(
    name: str, text: str, width: int, height: int, styles: tuple[bool, bool, bool]
) -> None:
    """Whatever is in the file, at any size; what is not style is printable."""
    display, items = Display(width, height, *styles), flats((text, "other"), names=(name, "B"))
    told = replace(FOUND, top=(name, "B"))
    for lines in (
        screen(items, display, text),
        pause_screen("It is reached.", told, display, text),
        help_screen(display),
    ):
        shown = [plain(line) if display.colour else line for line in lines]
        assert all(cells(line) <= width for line in shown)
        assert all(line.isprintable() for line in shown)
    assert len(screen(items, display)) <= height


def test_differing_features_are_marked_and_equal_ones_are_not() -> None:
    """By a star without colour; by bold and dim with it."""
    items = flats(("lift", "lift"), ("park", "river"))
    lines = {line.split()[1]: line for line in screen(items, Display()) if line.startswith("*")}
    assert set(lines) == {"size", "text"} and "park" in lines["text"] and "river" in lines["text"]
    text = "\n".join(screen(items, WINDOW))
    assert re.search(r"\x1b\[1m *44.5\x1b", text) and re.search(r"\x1b\[2m *720\x1b", text)
    assert "*" not in text


def test_items_stand_side_by_side_and_in_a_narrow_terminal_one_above_the_other() -> None:
    """Both names are on one line, or on two."""
    for width, together in ((80, True), (60, True), (59, False), (30, False)):
        lines = screen(flats(), Display(width))
        assert any("Elm Row 7" in line and "Mill Court 5" in line for line in lines) == together
        assert sum("44.5" in line for line in lines) == 1


def test_commands_to_the_terminal_in_a_file_are_shown_and_not_obeyed() -> None:
    """Escape sequences, control characters of both kinds, text turned around, half characters."""
    evil = "a\x1b[31mb\x07\x9b2Jc\u202ed\ud800e\nf"
    assert terminal_safe(evil) == "a\ufffd[31mb\ufffd\ufffd2Jcd\ufffde f"
    text = "\n".join(screen(flats((evil, evil), names=(evil, "B\x1b[2J")), Display(), evil))
    assert not set(text) & {"\x1b", "\x07", "\x9b", "\u202e", "\ud800", "\r"}


def test_wide_characters_do_not_break_the_columns() -> None:
    """What follows a name of double width begins where it always does."""
    japanese, latin = (
        next(line for line in screen(flats(names=(name, "right")), Display()) if "right" in line)
        for name in ("日本語の名前" * 2, "a" * 24)
    )
    assert cells(japanese.split("B →")[0]) == cells(latin.split("B →")[0])
    assert cells("日本") == 4 and cells("e\u0301") == 1
    assert cut("日本語", 5) == "日本…" and cut("日本語", 4) == "日…" and pad("日", 4) == "日  "


def test_long_names_end_in_an_ellipsis_and_long_texts_after_three_lines() -> None:
    """In three dots where there is no other."""
    lines = screen(flats(("word " * 100, ""), names=("n" * 200, "B")), Display(80))
    assert sum("word" in line for line in lines) == 3
    assert any("n…" in line for line in lines) and lines[-3].endswith("…")
    assert any("n..." in line for line in screen(flats(names=("n" * 200, "B")), Display(80, unicode=False)))
    assert wrap("one two three", 7, 1) == ["one tw…"] and wrap("x" * 9, 4) == ["xxxx", "xxxx", "x"]


def test_a_low_window_leaves_out_equal_features_first() -> None:
    """And says how many."""
    items = flats(("lift", "lift"), ("park", "river"))
    whole = len(screen(items, WINDOW))
    text = "\n".join(map(plain, screen(items, WINDOW._replace(height=whole - 1))))
    assert "size" in text and "river" in text
    assert "rent" not in text and "lift" not in text and "(and 2 more)" in text


@pytest.mark.parametrize(("width", "height"), [(80, 7), (40, 11), (30, 12)])
def test_a_low_window_shows_both_items_and_the_keys(width: int, height: int) -> None:
    """StudyProgress goes first, then rows."""
    lines = screen(flats(("lift", "lift")), WINDOW._replace(width=width, height=height), "word " * 100)
    text = "\n".join(map(plain, lines))
    assert "A ← Elm" in text and "B → Mill" in text and "quit" in text and "44.5" in text
    assert len(lines) <= height


def test_nothing_but_ascii_goes_where_nothing_else_can_be_shown() -> None:
    """Arrows, bars and rules have their likenesses."""
    assert all(line.isascii() for line in screen(flats(), Display(unicode=False, full_screen=True)))


def test_progress_is_a_bar_towards_the_goal_and_a_sentence() -> None:
    """Half of the way is half of the bar."""
    first = screen(flats(), Display())[0]
    assert first == "█" * 12 + "░" * 12 + "  top 2 is 43 % certain · 12 answers"


def test_numbers_are_the_users_and_are_told_apart() -> None:
    """No exponents for what people write without, no digits that come from the machine."""
    assert numbers(950.0, 1250000.0) == ("950", "1250000")
    assert numbers(0.1 + 0.2, 3.2) == ("0.3", "3.2")
    assert numbers(1 / 3, 2 / 3) == ("0.3333", "0.6667")
    assert len(set(numbers(1.0, 1.0 + 2**-52))) == 2


def test_details_that_both_lack_are_left_out() -> None:
    """A blank beside a text is not."""
    assert [row.label for row in printable_rows(flats(("", ""), ("", "x")), (0, 1))] == [
        "rent",
        "size",
        "text 1",
    ]


def test_an_explanation_is_fitted_to_the_terminal() -> None:
    """Sentences flow anew, points keep their indent, the first columns and headings stay."""
    row, point = ("a", "row", "of", "a", "table"), "a point that goes on and on"
    sections = [Section("Title", ["one two three four five", TableBlock("lllll", row, []), Points([point])])]
    assert text_lines(sections, 12) == [
        *("Title", "-----", "one two", "three four", "five", "  a  row  of", "  (and 2 co…"),
        *("- a point", "  that goes", "  on and on"),
    ]
    assert text_lines(sections, 80) == page(sections).splitlines()


def test_passwords_are_not_shown() -> None:
    """In the command that comes back."""
    text = come_back(
        "postgresql://ann:secret@host/db", ["ask", "--storage", "postgresql://ann:secret@host/db"]
    )
    assert "secret" not in text and "ann:...@host" in text


# What is understood.


def keys(*given: str | None) -> KeyReader:
    """A keyboard; None is a pause."""
    waiting: Iterator[str | None] = iter(given)
    return KeyReader(lambda seconds: next(waiting), lambda: (80, 24))


@pytest.mark.parametrize(
    ("pressed", "meaning"),
    [
        *((key, "left") for key in ("\x1b[D", "\x1bOD", "\x1b[1;5D", "a", "A")),
        *((key, "right") for key in ("\x1b[C", "\x1bOC", "b")),
        *((key, "tie") for key in ("\x1b[B", "t", "=")),
        *((key, "skip") for key in ("s", " ")),
        *((key, "undo") for key in ("u", "\x7f", "\x08", "\x1a")),
        *((key, "quit") for key in ("q", "\x1b", "\x03", "\x04")),
        ("?", "help"),
        ("c", "continue"),
        *((key, key) for key in "12345"),
    ],
)
def test_keys_mean_what_the_help_says(pressed: str, meaning: str) -> None:
    """Arrows as terminals send them; Esc alone is no arrow."""
    assert keys(*pressed, None).read() == meaning


@pytest.mark.parametrize("pressed", ["x", "\x1b[A", "\x1b[3~", "\x1bx", "é", "\n"])
def test_other_keys_mean_nothing_and_are_swallowed_whole(pressed: str) -> None:
    """The key after them is read as itself."""
    keyboard = keys(*pressed, "a")
    assert isinstance(keyboard.read(), UnknownInput)
    assert keyboard.read() == "left"


def test_another_size_of_the_window_is_noticed() -> None:
    """Without a key."""
    sizes = iter([(80, 24), (80, 24), (50, 24)])
    assert KeyReader(lambda seconds: None, lambda: next(sizes)).read() == "redraw"


def test_lines_are_words_or_letters_and_others_are_named_by_their_line() -> None:
    """Blank lines are passed over; the end is quit, also of what was never open."""
    lines = LineReader(io.StringIO("LEFT\n\n b \nlef\x1bt\n=\n"))
    assert [lines.read(), lines.read()] == ["left", "right"]
    unknown = lines.read()
    assert isinstance(unknown, UnknownInput) and unknown.sentence.startswith(
        "Line 4 is 'lef\ufffdt'; it must be left"
    )
    assert [lines.read(), lines.read(), LineReader(None).read()] == ["tie", "quit", "quit"]


# In a pipe.


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a file of flats."""
    monkeypatch.chdir(tmp_path)
    Path("flats.csv").write_text(FLATS)


def answer(monkeypatch: pytest.MonkeyPatch, lines: str, *options: str) -> int:
    """Run the command on some lines."""
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    return cli.main(["ask", "flats.csv", *options])


def test_answers_in_a_pipe_are_stored_and_the_next_time_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same question is open; no escape codes; the result and the way back at the end."""
    assert answer(monkeypatch, "left\nb\nskip\nwhat\nundo\ntie\n") == 0
    first = capsys.readouterr().out
    assert "A new study, 'flats': 12 items, judged by rent, size, distance." in first
    assert "Line 4 is 'what'; it must be left" in first and "Undone: no answer about" in first
    # Three answers are no pattern.
    assert "\x1b" not in first and "No pattern found yet\n-----" in first and "Ranking" not in first
    assert first.splitlines()[-1] == "Everything is stored. To go on: coombs ask flats.csv"
    study = load_study("flats")
    assert [one.choice for one in study.history()] == ["left", "right", "tie"]
    waiting = study.respondent().current()
    assert waiting is not None
    assert answer(monkeypatch, "quit\n") == 0
    second = capsys.readouterr().out
    assert "Going on with 'flats': 3 answers so far." in second
    assert f"A ← {waiting.left}" in second and f"B → {waiting.right}" in second


@pytest.mark.slow
def test_at_the_goal_one_may_go_on_or_finish(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer to no question is none; a goal so low is reached with the first one."""
    goal = ("--top", "1", "--certainty", "0.01")
    assert answer(monkeypatch, "left\nleft\ncontinue\nright\nq\n", *goal) == 0
    shown = capsys.readouterr().out
    # One answer is no evidence, so that no best items are named.
    assert "no favourites can be told" in " ".join(shown.split()) and "There is no question here" in shown
    assert [one.choice for one in load_study("flats").history()] == ["left", "right"]


@pytest.mark.slow
def test_always_one_side_is_told_instead_of_a_result(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(monkeypatch, "left\n" * 40, "--questions", "14", "--certainty", "0.99") == 0
    shown = capsys.readouterr().out
    assert "No pattern found yet\n---" in shown and "You always chose the left item" in shown
    assert "Ranking\n" not in shown and "The ideal\n" not in shown


def test_at_the_goal_the_best_are_named_unless_there_are_doubts() -> None:
    shown = "\n".join(pause_screen("The goal is reached.", FOUND, WINDOW))
    assert "The goal is reached. These are the best:" in shown and "Elm Row 7" in shown
    shown = "\n".join(pause_screen("The goal is reached.", FOUND, WINDOW, doubts=("No favourites yet.",)))
    assert "No favourites yet." in shown and "reached" not in shown and "Elm Row 7" not in shown
    assert "certain" not in shown


def test_a_study_of_a_fixed_number_says_when_all_are_answered(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    create_study("flats.csv", "flats", questions=2)
    assert answer(monkeypatch, "left\n" * 2) == 0
    shown = capsys.readouterr().out
    assert "All questions of this study are answered." in shown and "Every pair" not in shown
    assert len(load_study("flats").history()) == 2


FIELDS = (
    PersonField("Age group", "choice", ("under 30", "30 and over"), required=True),
    PersonField("Rent", "number", asked="after"),
)


@pytest.fixture
def survey() -> Study:
    """A study with a text for everything, a field before and one after."""
    shown = Presentation(
        *(
            "",
            "We ask about flats.",
            "My answers may be published.",
            "",
            "Choose one of two.",
            "You helped us.",
        ),
        redirect="https://example.org/done?id={pid}",
        fields=FIELDS,
    )
    return create_study("flats.csv", "flats", questions=2, presentation=shown)


def test_consent_and_fields_are_asked_in_a_terminal_and_stored_as_on_the_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, survey: Study
) -> None:
    lines = "perhaps\nyes\n\nnone\n2\nskip\nskip\nquit\ncheap\n 950,5 \n"
    assert answer(monkeypatch, lines, "--respondent", "Ann") == 0
    shown = capsys.readouterr().out
    for said in ("We ask about flats.", "published.", "1: under 30", "Choose one of two.", "You helped us."):
        assert said in shown
    assert "“Age group” is needed to go on." in shown and "“Rent” must be a number." in shown
    assert "Go on to https://example.org/done?id=Ann" in shown
    person = load_study("flats").respondent("Ann").record
    assert person.fields == {"Age group": "30 and over", "Rent": "950.5"}
    assert person.consented is not None and person.consent_version == survey.presentations.latest
    assert person.finished is not None
    # Who was asked is asked no more, unless the text has changed.
    survey.present(consent="My answers may be published by others.")
    other = survey.respondent("Bea")
    agree(other, True), fill_in(other, {"Age group": "under 30"})
    assert answer(monkeypatch, "skip\n", "--respondent", "Bea") == 0
    assert "do you agree?" not in capsys.readouterr().out


def test_of_whoever_declines_in_a_terminal_nothing_is_stored(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, survey: Study
) -> None:
    assert answer(monkeypatch, "no\nleft\nleft\n", "--respondent", "Ann", "--json") == 0
    said = capsys.readouterr()
    assert said.out == "null\n" and "Without consent nothing is asked, and nothing was stored." in said.err
    assert survey.respondents() == {}
    # A pipe that ends before the fields are filled in leaves them all blank.
    assert answer(monkeypatch, "yes\n", "--respondent", "Ann") == 0
    assert "Stopped before the first question" in capsys.readouterr().out
    ann = load_study("flats").respondent("Ann")
    assert ann.record.consented is not None and ann.record.fields == {} and not ann.history()


def test_a_closed_study_asks_nothing_in_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, survey: Study
) -> None:
    survey.close()
    assert answer(monkeypatch, "yes\n1\nleft\n", "--respondent", "Ann") == 2
    assert "This study is closed: nothing more can be answered." in capsys.readouterr().err
    assert survey.respondents() == {}


def test_people_see_no_result_in_a_terminal_where_the_study_shows_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    create_study("flats.csv", "flats", presentation=Presentation(shows_result=False))
    assert answer(monkeypatch, "left\nright\n", "--respondent", "Ann") == 0
    assert "No pattern found" not in capsys.readouterr().out


def loop(study: Study, lines: str) -> str:
    """What is shown to "me", who says some lines."""
    shown: list[str] = []

    def show(draw: Draw) -> Display:
        shown.extend(draw(Display()))
        return Display()

    plan = Plan("flats.csv", None, "memory:", "me", None, {}, None, False, ())
    QuestionLoop(study.respondent(), plan, LineReader(io.StringIO(lines)), show).run()
    return " ".join(" ".join(shown).split())


def test_whoever_answered_all_of_a_study_is_done_until_an_answer_is_taken_back() -> None:
    study = create_study([[0.0], [1.0], [2.0]], storage="memory:", questions=1)
    assert "All questions of this study are answered." in loop(study, "skip\n")
    (person,) = study.monitor().people
    assert person.status == "done" and person.finished is not None
    loop(study, "undo\nquit\n")
    assert study.monitor().people[0].status == "started"
    study.present(consent="I agree.")
    assert "are answered. Consent comes before" in loop(study, "skip\n")
    assert study.monitor().people[0].finished is None


def test_of_a_set_the_best_is_asked_for_and_then_the_worst() -> None:
    """An item is not both; the best can be taken back; a pair amid the sets is answered as any."""
    items = [[float(k), float(k % 3)] for k in range(8)]
    study = create_study(items, storage="memory:", set_size=4, metric="identity", attention=((1, "3", "4"),))
    question = study.ask()
    assert question is not None
    shown = loop(study, "2\nundo\n1\n1\n5\nleft\n3\n2\nskip\nundo\nquit\n")
    assert "the best (1-4), skip" in shown and "the worst (1-4), skip" in shown
    assert "That is the best already" in shown and "Say the number of the worst" in shown
    first, check = study.history()
    assert (first.winner, first.worst) == (question.names[0], question.names[2])
    assert (check.purpose, check.choice) == ("attention", "right")


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("width", [30, 79, 140])
def test_every_item_of_a_set_is_shown_with_its_number(n: int, width: int) -> None:
    items = Catalogue(
        ItemTable(
            np.arange(2.0 * n).reshape(n, 2),
            np.array([f"item {k}" for k in range(n)], dtype=object),
            np.array(["rent", "size"], dtype=object),
            False,
        ),
        ({},) * n,
    )
    names = tuple(items.names)
    question = Question(1, "me", None, None, tuple(range(n)), "random", None, datetime.now(UTC), names)
    for best in (None, 1):
        lines = question_screen(question, items, FOUND, WINDOW._replace(width=width, height=40), "", best)
        text = "\n".join(map(plain, lines))
        marks = ["+ " * (k == best) for k in range(n)]
        assert all(f"{k + 1} {marks[k]}item {k}" in text for k in range(n))
        assert ("the worst" if best is not None else "the best") in text and len(lines) <= 40
        assert all(cells(plain(line)) <= width for line in lines)


@pytest.mark.slow
def test_it_stops_after_so_many_answers_and_when_every_pair_was_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A skip is no answer; four items have six pairs."""
    Path("flats.csv").write_text("".join(FLATS.splitlines(keepends=True)[:5]))
    most = ("--certainty", "0.99")
    assert answer(monkeypatch, "skip\n" + "left\n" * 9, *most, "--questions", "2") == 0
    assert [one.choice for one in load_study("flats").history()] == ["skip", "left", "left"]
    assert "To go on with more --questions: coombs ask" in capsys.readouterr().out
    assert answer(monkeypatch, "left\n" * 3 + "undo\nright\n", *most) == 0
    assert "Every pair has been asked. Your answers could hardly be predicted" in capsys.readouterr().out
    assert [one.choice for one in load_study("flats").history()][3:] == ["left", "left", "right"]


@pytest.mark.slow
def test_json_is_alone_on_stdout(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The questions are on stderr; without answers there is no result."""
    options = ("--json", "--respondent", "Ann", "--name", "homes", "--features", "rent, size")
    assert answer(monkeypatch, "", *options) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_answers"] == 0 and told["ranking"] is None and told["ideal_point"] is None
    assert answer(monkeypatch, "a\nb\n", *options) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert (told["study"], told["respondent"], told["n_answers"]) == ("homes", "Ann", 2)
    assert sorted(told["ranking"])[0] == "Abbey St 1" and len(told["ranking"]) == 12
    assert told["has_pattern"] is False and told["ideal_point"] is None
    assert len(told["progress"]["top"]) == 3
    assert "A ← " in err and "To go on: coombs ask flats.csv --json" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nowhere.csv"], "There is no file nowhere.csv"),
        (["."], "cannot be read"),
        (["bad.csv"], "must be a number"),
        (["flats.csv", "--features", "rent,price"], "There is no column 'price'"),
        (["flats.csv", "--storage", "mysql://x"], "The storage is 'mysql://x'"),
        (["flats.csv", "--strategy", "guess"], "'guess' is not one of 'information', 'best'"),
        (["flats.csv", "--certainty", "2"], "at most 0.99"),
        (["flats.csv", "--respondent", " "], "not blank"),
        (["flats.csv", "--top", "none"], "'none' is not a positive whole number. See coombs ask --help."),
        (["flats.csv", "--questions", "0"], "'0' is not a positive whole number"),
        (["flats.csv", "--colour"], "No such option"),
        ([], "Missing argument 'ITEMS'"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With exit code 2, before anything is asked."""
    Path("bad.csv").write_text("flat,rent\nA,950\nB,cheap\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("left\n"))
    try:
        code: object = cli.main(["ask", *options])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert code == 2 and not out
    assert words in err and err.startswith("coombs: ") and err.count("\n") == 1
    assert not list(Path().glob("*.db")) or "--respondent" in options


@pytest.mark.slow
def test_a_study_keeps_its_items(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its goal and its way of asking may change."""
    assert answer(monkeypatch, "left\n", "--seed", "3") == 0
    assert answer(monkeypatch, "left\n", "--top", "2", "--seed", "3") == 0
    assert answer(monkeypatch, "left\n", "--strategy", "best") == 0
    capsys.readouterr()
    Path("flats.csv").write_text(FLATS.replace("950", "951"))
    assert answer(monkeypatch, "left\n") == 2
    assert "is about other items" in capsys.readouterr().err


def test_help_is_quick() -> None:
    """Nothing heavy is imported for it."""
    code = "import sys; from coombs import cli; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=environment()).returncode == 0


# On a terminal.


def environment(**more: str) -> dict[str, str]:
    """That of a terminal in colour."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm", "PYTHONIOENCODING": "utf-8", **more}


class Terminal:
    """A pseudo-terminal with `coombs ask flats.csv` in it."""

    CODE = (
        "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "from coombs.cli import main; sys.exit(main())"
    )

    def __init__(self, *options: str, columns: int = 80, **more: str) -> None:
        import fcntl
        import termios

        self.outer, self.inner = os.openpty()
        fcntl.ioctl(self.inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.before, self._settings = termios.tcgetattr(self.inner), termios.tcgetattr
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.CODE, "ask", "flats.csv", *options],
            **dict.fromkeys(("stdin", "stdout", "stderr"), self.inner),
            env=environment(**more),
            start_new_session=True,
        )

    def until(self, words: str, last: str = "\x1b[J") -> str:
        """What is shown from now until a screen with some words is complete."""
        shown, end = b"", time.monotonic() + 30
        while words not in (text := plain(shown.decode(errors="ignore"))) or not text.endswith(last):
            assert time.monotonic() < end, f"{words!r} never came: {text!r}"
            if select.select([self.outer], [], [], 0.1)[0]:
                shown += os.read(self.outer, 65536)
        return text

    def press(self, keys: str, words: str, last: str = "\x1b[J") -> str:
        """What is shown after some keys."""
        os.write(self.outer, keys.encode())
        return self.until(words, last)

    def end(self) -> int:
        """The exit code; the terminal must be as it was."""
        code = self.process.wait(30)
        assert self._settings(self.inner) == self.before
        return code

    def close(self) -> None:
        """End what is left."""
        self.process.kill()
        self.process.wait()
        os.close(self.outer)
        os.close(self.inner)


unix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")


@pytest.fixture
def open_terminal() -> Iterator[Callable[..., Terminal]]:
    """Opens terminals, which are closed afterwards whatever the test finds."""
    opened: list[Terminal] = []

    def open_one(*options: str, **more: Any) -> Terminal:
        opened.append(Terminal(*options, **more))
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.close()


@pytest.mark.slow
@unix
def test_keys_answer_without_enter_and_the_terminal_is_as_before(
    open_terminal: Callable[..., Terminal],
) -> None:
    """Arrows, undo, an unknown key, help, quit; the first screen comes back before the result is told."""
    terminal = open_terminal()
    assert "A new study" in terminal.until("help")
    for key, words in (("\x1b[D", "1 answer"), ("\x1bOC", "2 answers"), ("\x1b[B", "3 answers")):
        terminal.press(key, words)
    terminal.press("\x7f", "Undone: ")
    terminal.press("x", "That key has no meaning")
    terminal.press("?", "Any key goes back")
    terminal.press("x", "2 answers")
    terminal.press("s", "Stored: no answer about")
    shown = terminal.press("\x1b", "To go on: ", "\n")
    assert shown.index("\x1b[?25h\x1b[?1049l") < shown.index("No pattern found yet")
    assert terminal.end() == 0
    assert [one.choice for one in load_study("flats").history()] == ["left", "right", "skip"]


@pytest.mark.slow
@unix
def test_ctrl_c_is_a_quit_like_any_other_and_the_open_question_waits(
    open_terminal: Callable[..., Terminal],
) -> None:
    """Exit code 0; keys typed ahead count; a narrow terminal shows the same question stacked."""
    terminal = open_terminal("--json")
    shown = terminal.press("ab", "2 answers")
    pair = re.search(r"A ← (.*?) {2,}B → (.*?)\s*\x1b", shown[shown.rindex("\x1b[H") :])
    assert pair is not None
    terminal.press("\x03", "To go on: ", "\n")
    assert terminal.end() == 0
    terminal = open_terminal(columns=50, NO_COLOR="1")
    shown = terminal.until("2 answers so far")
    assert f"A ← {pair[1]}\x1b" in shown and f"B → {pair[2]}\x1b" in shown
    terminal.press("\x04", "To go on: ", "\n")
    assert terminal.end() == 0


@pytest.mark.slow
@unix
def test_a_killed_session_leaves_the_terminal_as_it_was(open_terminal: Callable[..., Terminal]) -> None:
    """SIGTERM while it waits for a key."""
    terminal = open_terminal()
    terminal.until("help")
    terminal.process.send_signal(signal.SIGTERM)
    terminal.until("", "\x1b[?1049l")
    assert terminal.end() == 128 + signal.SIGTERM


@pytest.mark.slow
@unix
def test_a_dumb_terminal_gets_no_escape_codes(open_terminal: Callable[..., Terminal]) -> None:
    """But single keys all the same."""
    terminal = open_terminal(TERM="dumb")
    shown = terminal.until("undo or quit?", "\n") + terminal.press("a", "1 answer", "\n")
    shown += terminal.press("q", "To go on: ", "\n")
    assert "\x1b" not in shown
    assert terminal.end() == 0


@unix
def test_the_terminal_is_restored_after_any_exception() -> None:
    """And so are the signals."""
    import termios

    outer, inner = os.openpty()
    before, handler = termios.tcgetattr(inner), signal.getsignal(signal.SIGTERM)

    def fail(stream: TextIO) -> None:
        with single_keys(stream, lambda: None) as keyboard:
            assert not termios.tcgetattr(inner)[3] & (termios.ICANON | termios.ECHO)
            os.write(outer, "\x1b[Dé".encode())
            assert keyboard.read() == "left"
            assert isinstance(keyboard.read(), UnknownInput)
            raise RuntimeError

    with open(inner, encoding="utf-8", closefd=False) as stream, pytest.raises(RuntimeError):
        fail(stream)
    assert termios.tcgetattr(inner) == before
    assert signal.getsignal(signal.SIGTERM) == handler
    os.close(outer)
    os.close(inner)


def test_a_dumb_terminal_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """It could not clear the line."""
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("coombs.progress.PATIENCE", -1.0)
    for term, is_shown in (("dumb", False), ("xterm", True)):
        monkeypatch.setenv("TERM", term)
        with ProgressBar(8, "cells", screen) as bar:
            bar.reach(0.5)
        assert bool(screen.getvalue()) == is_shown

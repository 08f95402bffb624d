"""Templates to responses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

import coombs
from coombs.data.encoding import NOT_KNOWN
from coombs.language import ENGLISH, Language, NumberText, Translatable, best_language, language
from coombs.study import Respondent, Study
from coombs.web.embedding import Embedding
from coombs.web.owner_access import OwnerAccess, visitor_of
from coombs.web.proxies import path_of, root_of
from coombs.web.routing import study_path
from coombs.words import NO_PATTERN, chance, count, day, ordinal, percent


@pass_context
def _said(context: Context, value: Any) -> Any:
    """A value as it is put into a page: in the page's language, if it is one of our texts or a number."""
    return context["language"].say(value) if isinstance(value, str) else value


@pass_context
def _joined(context: Context, values: Iterable[Any], between: str = "") -> Markup:
    """Values side by side, each in the page's language."""
    return escape(between).join(context["language"].say(value) for value in values)


@pass_context
def _capital(context: Context, text: str) -> str:
    """A text in the page's language as the beginning of a sentence."""
    said = str(context["language"].say(text))
    return f"{said[:1].upper()}{said[1:]}"


@pass_context
def _percent(context: Context, share: float) -> str:
    return str(context["language"].say(percent(share)))


@pass_context
def _feature(context: Context, name: str) -> str:
    """A feature's name; that of whether a column's cell is not known in the page's language."""
    of = name.removesuffix(f" {NOT_KNOWN}")
    return (
        name if of == name else str(context["language"].say(Translatable("{feature} not known", feature=of)))
    )


@pass_context
def _chance(context: Context, share: float) -> str:
    return str(context["language"].say(chance(share)))


@cache
def templates() -> Environment:
    """Every value is escaped, and said in the page's language."""
    env = Environment(
        loader=PackageLoader("coombs.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_said,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        percent=_percent, chance=_chance, join=_joined, capital=_capital, study_path=study_path
    )
    env.filters.update(day=day, number=NumberText, feature=_feature)
    env.globals.update(count=count, ordinal=ordinal, no_pattern=NO_PATTERN, version=coombs.__version__)
    return env


def render(request: Request, template: str, status: int = 200, **data: Any) -> HTMLResponse:
    """A page in the reader's language; every template knows whether the owner looks at it.

    `t("{n} answer|{n} answers", n=3)` in a template is a text in that language; its values are escaped.
    `<p{{ lang_of(sentence) }}>` says that a sentence is English where it cannot be said in that language.
    A `language` among the data settles which, or that of the study for its `person`, instead of what the
    browser asks for.
    """
    owner: OwnerAccess = request.app.state.owner
    embedding: Embedding = request.app.state.embedding
    is_owner, person = visitor_of(request.scope).is_owner, data.get("person")
    spoken: Language = data.get("language") or (
        language_of(request, person.study)
        if isinstance(person, Respondent) and not is_owner
        else browser_language(request)
    )

    def t(english: str, **values: Any) -> Markup:
        said = {name: spoken.say(value) for name, value in values.items()}
        return escape(spoken.form(english, values.get("n"))).format(**said)

    def lang_of(text: str) -> Markup:
        is_said = isinstance(text, Translatable) or spoken.code == ENGLISH
        return Markup("") if is_said else Markup(' lang="en" dir="ltr"')

    data = {
        "t": t,
        "lang_of": lang_of,
        "language": spoken,
        "is_owner": is_owner,
        "has_token": owner.has_token,
        "root": root_of(request.scope),
        "framed_by": embedding.framed_by(path_of(request.scope)),
        **data,
    }
    return HTMLResponse(templates().get_template(template).render(**data), status)


def browser_language(request: Request) -> Language:
    """What the browser likes most of what we have."""
    return best_language(request.headers.get("accept-language", ""))


def language_of(request: Request, study: Study) -> Language:
    """The language for the people of a study: the owner's choice, or else the browser's."""
    fixed = study.presentations.current.language
    return language(fixed) if fixed else browser_language(request)


def render_to_people(
    request: Request, template: str, study: Study, status: int = 200, **data: Any
) -> HTMLResponse:
    """A page for the people of a study, in their language, under the title that it has for them."""
    shown = study.presentations.current
    data = {**data, "study": study, "shown": shown, "title": study.title}
    # Of whoever is not a person of the study yet there is none.
    data.setdefault("token", "")
    return render(request, template, status, language=language_of(request, study), **data)


def render_to_person(
    request: Request, template: str, respondent: Respondent, status: int = 200, **data: Any
) -> HTMLResponse:
    """A page for one person of a study, in their language."""
    data = {**data, "person": respondent, "token": respondent.record.token}
    return render_to_people(request, template, respondent.study, status, **data)


def go_to(request: Request, path: str) -> Response:
    """After a form: the browser asks for another page of ours."""
    return RedirectResponse(f"{root_of(request.scope)}{path}", 303)


def download(content: bytes | str, name: str, kind: str) -> Response:
    """A file to save, whose name is plain."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "coombs"
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{plain}"'}
    )

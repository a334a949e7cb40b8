"""Adds what the registries know to the pages of methods and of kinds: parameters, formulations and families."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from properdocs.config.defaults import ProperDocsConfig
from properdocs.structure.files import Files
from properdocs.structure.pages import Page

from edrp.core.kinds import Kind, get_kind, kinds
from edrp.core.methods import Method, methods

METHODS = "reference/methods.md"
KIND = re.compile(r"reference/kinds/([a-z-]+)\.md")


def on_page_markdown(markdown: str, page: Page, config: ProperDocsConfig, files: Files) -> str:
    """Add to the page what the registries say."""
    if page.file.src_uri == METHODS:
        return "\n".join([markdown, "## Parameters, method by method\n", *map(described, methods().values())])
    if found := KIND.fullmatch(page.file.src_uri):
        return "\n".join([markdown, *of_kind(get_kind(found[1]))])
    return markdown


def of_kind(kind: Kind) -> Iterator[str]:
    """Methods, programs and families of a kind of problem."""
    yield "## Methods\n\n| name | how | summary |\n|---|---|---|"
    for name, method in methods(kind.name).items():
        yield f"| [`{name}`](../methods.md#{name}) | {how(method)} | {method.summary} |"
    if kind.formulations:
        programs = " or ".join(f"`{name}`" for name in kind.formulations)
        yield f"\nBackends solve the program {programs}; the first is the default, and `--program` names another."
    families = [family for family in kind.families or () if family.kind == kind.name]
    if families:
        yield "\n## Random instances\n"
        yield f"`edrp generate {kind.name} --list` describes the families; the sizes are their defaults.\n"
        yield "| family | size |\n|---|---|"
        yield from (f"| `{family.name}` | {family.default_size} {family.size} |" for family in families)


def described(method: Method) -> str:
    """A method with its parameters."""
    taken = "all kinds" if set(kinds()) <= set(method.kinds) else ", ".join(f"[`{k}`](kinds/{k}.md)" for k in method.kinds)
    parts = [
        f"### `{method.name}` {{ #{method.name} }}\n",
        f"{sentence(method.summary)} {how(method).capitalize()}. Takes {taken}.\n",
    ]
    own = list(fields(method.parameters))
    if own:
        about, meanings = documented(method.parameters)
        parts.append(f"{about}\n")
        hints = get_type_hints(method.parameters, include_extras=True)
        parts.append("| parameter | type | default | meaning |\n|---|---|---|---|")
        parts += [f"| `{f.name}` | {kind_of(hints[f.name])} | `{default(f)}` | {meanings.get(f.name, '')} |" for f in own]
        parts.append("")
    return "\n".join(parts)


def how(method: Method) -> str:
    """Whether a method proves what it finds."""
    return "proves" if method.exact else "searches"


def sentence(text: str) -> str:
    """A summary as a sentence."""
    return text[:1].upper() + text[1:] + "."


def documented(parameters: type[Any]) -> tuple[str, dict[str, str]]:
    """The docstring of parameters above its section `Attributes`, and the meaning of each parameter, from that section."""
    head, _, rest = inspect.cleandoc(parameters.__doc__ or "").partition("Attributes\n----------\n")
    meanings: dict[str, str] = {}
    for names, meaning in re.findall(r"^(\w+(?:, \w+)*)(?: : )?(.*(?:\n(?:    .*)?(?=\n|$))*)", rest, re.MULTILINE):
        unit, _, sentences = meaning.partition("\n")
        if sentences.strip()[:1].isupper():  # numpy's form: a type or unit, and below it what the parameter is
            meaning = f"{sentences} ({unit})" if unit else sentences
        for name in names.split(", "):
            meanings[name] = cell(meaning)
    return cell(head.partition("Examples\n---")[0]), meanings


def cell(text: str) -> str:
    """Text on one line that may stand in a table."""
    return " ".join(text.split()).replace("|", "\\|")


def kind_of(hint: Any) -> str:
    """A type in words, with its bounds."""
    if get_origin(hint) is Annotated:
        base, *notes = get_args(hint)
        bounds = [bound for note in notes for bound in bounds_of(note)]
        return ", ".join([kind_of(base), *bounds])
    words = {int: "whole number", float: "number", str: "text", bool: "true or false", type(None): "none"}
    if hint in words:
        return words[hint]
    if args := get_args(hint):
        plain = [f"`{arg}`" if isinstance(arg, str) else kind_of(arg) for arg in args if arg is not Ellipsis]
        return (" or " if get_origin(hint) not in (list, tuple) else ", ").join(plain)
    return str(getattr(hint, "__name__", hint))


def bounds_of(note: Any) -> list[str]:
    """Bounds that a note of a type states."""
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
    inner = getattr(note, "metadata", None) or [note]
    return [
        f"{sign} {getattr(part, name):g}"
        for part in inner
        for name, sign in signs.items()
        if getattr(part, name, None) is not None
    ]


def default(field: Field[Any]) -> str:
    """The default of a parameter."""
    value = field.default_factory() if field.default_factory is not MISSING else field.default
    return "required" if value is MISSING else repr(value)

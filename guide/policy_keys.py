"""The keys of a policy: what the JSON Schema says of each, with an example from a policy that is executed."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ruamel.yaml import YAML

from guide.example_tables import FOLDER, TABLES
from sfumato.policy.schema import schema
from sfumato.policy.taxonomies import BUILDERS

Schema = Mapping[str, Any]
ANY_NAME = "NAME"
"""Stands for the name of a column in the path of a key."""
SECTIONS = {
    (): "The file",
    ("columns", ANY_NAME): "A column",
    ("protect",): "protect",
    ("protect", "terms"): "protect.terms",
    ("person",): "person",
    ("recipients",): "recipients",
    ("columns", ANY_NAME, "observable"): "observable of a free column",
}
"""Headings of those places whose path is no good heading."""


@dataclass(frozen=True)
class PolicyKey:
    """A key: where it stands, its schema, and whether it must be there.

    `place` is the path down to the key; a builder of a taxonomy and a promise are steps of their own, since
    keys of the same name differ in them.
    """

    place: tuple[str, ...]
    name: str
    form: Schema
    required: bool

    @property
    def path(self) -> tuple[str, ...]:
        return (*self.place, self.name)

    @property
    def default(self) -> str:
        if self.required:
            return "must be said"
        return f"`{_flow(self.form['default'])}`" if "default" in self.form else "not there"


def every_key() -> list[PolicyKey]:
    """Returns every key of a policy, in the order of the schema."""
    whole = schema()
    return [PolicyKey((), name, form, name in whole["required"]) for name, form in _properties(whole)] + list(
        _inside((), whole)
    )


def _properties(form: Schema) -> Iterator[tuple[str, Schema]]:
    yield from form.get("properties", {}).items()


def _inside(place: tuple[str, ...], form: Schema) -> Iterator[PolicyKey]:
    """The keys below a place, one place after the other."""
    for name, below in _properties(form):
        yield from _of_value((*place, name), below)


def _of_value(place: tuple[str, ...], form: Schema) -> Iterator[PolicyKey]:
    if place == ("columns",):
        yield from _object((*place, ANY_NAME), form["additionalProperties"])
    elif place == ("promises",):
        for entry in form["items"]["oneOf"]:
            ((name, body),) = entry["properties"].items()
            yield from _object((*place, name), body)
    elif place[-1] == "taxonomy":
        for builder in form["oneOf"]:
            if "properties" in builder:
                yield from _object((*place, next(iter(builder["properties"]))), builder)
    else:
        for choice in (form, *form.get("oneOf", ())):
            yield from _object(place, choice)


def _object(place: tuple[str, ...], form: Schema) -> Iterator[PolicyKey]:
    for name, below in _properties(form):
        yield PolicyKey(place, name, below, name in form.get("required", ()))
    yield from _inside(place, form)


@cache
def examples() -> Mapping[str, Schema]:
    """Returns the example policies by the names of their files."""
    return {name: YAML(typ="safe", pure=True).load(FOLDER / f"{name}.yaml") for name in TABLES}


def example(key: PolicyKey) -> tuple[str, object] | None:
    """Returns a policy that uses the key, and the value it gives it; `None` where no example does."""
    for name, policy in examples().items():
        for value in _values(policy, key.path):
            return name, value
    return None


def _values(node: object, path: tuple[str, ...]) -> Iterator[object]:
    if not path:
        yield node
        return
    step, *rest = path
    if isinstance(node, list):
        for entry in node:
            yield from _values(entry, path)
    elif isinstance(node, Mapping):
        if step == ANY_NAME:
            for below in node.values():
                yield from _values(below, tuple(rest))
        elif step in node:
            if rest and rest[0] in node and step in BUILDERS:  # keys of a builder stand beside its name
                yield from _values(node, tuple(rest))
            else:
                yield from _values(node[step], tuple(rest))


def allowed(form: Schema) -> str:
    """Returns in words what a value may be."""
    defs = schema()["$defs"]
    if "$ref" in form:
        name = form["$ref"].rpartition("/")[2]
        named = {
            "fraction": "a share: `1/5`, `20%`, `0.2`",
            "number": "a number",
            "labels": "a list of values",
        }
        return named.get(name) or allowed(defs[name])
    for word in ("oneOf", "anyOf"):
        if word in form:
            each = dict.fromkeys(allowed(choice) for choice in form[word])
            exact = "text like `1/5`, `20%`"
            return ", or ".join("a fraction" if one == exact else one for one in each)
    if "enum" in form:
        return ", ".join(f"`{word}`" for word in form["enum"])
    if "const" in form:
        return f"`{_flow(form['const'])}`"
    return _of_type(form)


def _of_type(form: Schema) -> str:
    kind = form.get("type", "")
    if isinstance(kind, list):
        return " or ".join(_of_type({**form, "type": one}) for one in kind)
    words = {
        "object": "a mapping",
        "array": "a list",
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "`true` or `false`",
        "null": "nothing",
    }
    if kind == "string" and "/" in form.get("pattern", ""):
        return "text like `1/5`, `20%`"
    if kind == "array" and isinstance(form.get("items"), Mapping) and "enum" in form["items"]:
        return f"a list of {allowed(form['items'])}"
    if kind not in ("integer", "number"):
        return words.get(kind, "")
    low, above, high = form.get("minimum"), form.get("exclusiveMinimum"), form.get("maximum")
    bounds = [f"from {low}" if low is not None else "", f"above {above}" if above is not None else ""]
    bounds.append(f"up to {high}" if high is not None and high < 2**31 - 1 else "")
    return " ".join([words.get(kind, ""), *(bound for bound in bounds if bound)])


def keys_table() -> str:
    """Returns every key, place by place."""
    parts: list[str] = []
    place: tuple[str, ...] | None = None
    for key in every_key():
        if key.place != place:
            place = key.place
            parts += ["", f"### {_heading(place)}", "", *_introduction(place)]
            parts += ["| key | unless said | allowed | what it means | example |", "|---|---|---|---|---|"]
        parts.append(_line(key))
    return "\n".join(parts)


def _heading(place: tuple[str, ...]) -> str:
    if place in SECTIONS:
        return SECTIONS[place]
    return f"taxonomy: {place[-1]}" if "taxonomy" in place else place[-1]


def _introduction(place: tuple[str, ...]) -> list[str]:
    """What the schema says of a promise or a builder, before its keys."""
    for entry in schema()["properties"]["promises"]["items"]["oneOf"]:
        if place == ("promises", *entry["properties"]):
            return [entry["properties"][place[-1]]["description"], ""]
    columns = schema()["properties"]["columns"]["additionalProperties"]["properties"]
    for builder in columns["taxonomy"]["oneOf"]:
        if "taxonomy" in place and place[-1] in builder.get("required", ()):
            return [builder["description"], ""]
    return []


def _line(key: PolicyKey) -> str:
    used = example(key)
    shown = "" if used is None else f"[`{_short(key.name, used[1])}`](#example-{used[0]})"
    meaning = key.form.get("description", "")
    cells = (f"`{key.name}`", key.default, allowed(key.form), meaning, shown)
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _short(name: str, value: object, most: int = 60) -> str:
    text = f"{name}: {_flow(value)}"
    return text if len(text) <= most else text[: most - 1] + "…"


def _flow(value: object) -> str:
    """Returns a value on one line, as YAML."""
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = True
    writer.width = 10_000
    text = io.StringIO()
    writer.dump(value, text)
    return text.getvalue().removesuffix("\n").removesuffix("\n...").strip()


def example_policies() -> str:
    """Returns the example policies in full, each under its name."""
    parts = []
    for name in examples():
        text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
        parts += ["", f"### Example: {name}", "", "```yaml", text.rstrip(), "```"]
    return "\n".join(parts)

"""Which promises there are: built-in ones and those of other packages, through the same door."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from threading import local
from types import ModuleType
from typing import TypeVar

from sfumato.models.contract import ClassPromise, ColumnOptions, ColumnRolePromise, Promise, TablePromise
from sfumato.models.parameters import ParametrizedPromise, Schema
from sfumato.system.errors import BadPolicy, UsageError
from sfumato.system.plugins import offers
from sfumato.table.microdata import Role

ENTRY_POINTS = "sfumato.promises"
"""Other packages add promises here: policy key = module:Class."""


PACKAGE = "sfumato.models"
"""Where the built-in models are: a folder each, with its definition in the module `promise`."""

BUILT_IN = "built in"

_makers: dict[str, dict[str | None, type[ParametrizedPromise]]] = {}
_loaded: set[str] = set()
"""What is there as a whole: marked when all of it has registered, never before."""
_thread = local()
_refused: dict[str, UsageError] = {}

M = TypeVar("M", bound=ParametrizedPromise)


def register(maker: type[M]) -> type[M]:
    """Offer a promise class under its name, the policy key; of several kinds the first is the default.

    Raises `UsageError` where another class has that key: nothing replaces a promise in silence.
    """
    if _taken(maker.name, maker.kind, maker):
        raise UsageError(f"there is a promise {maker.name} already", where=".".join(_home(maker)))
    _makers.setdefault(maker.name, {})[maker.kind] = maker
    return maker


def known() -> tuple[str, ...]:
    """The policy keys of all promises, in alphabetical order."""
    _load_all()
    return tuple(sorted(_makers))


def definitions() -> tuple[type[ParametrizedPromise], ...]:
    """The classes of all promises, by policy key."""
    return tuple(maker for name in known() for maker in _makers[name].values())


def make(name: str, parameters: Mapping[str, object], folder: Path | None = None) -> Promise:
    """The promise that a policy names, with these parameters; files are looked for in `folder`.

    >>> str(make("l-diversity", {"of": "disease", "l": 3}))
    'distinct l-diversity of disease, l = 3'
    """
    if trouble := refused(name):
        raise BadPolicy(trouble.message, where=str(name), remedy=trouble.remedy)
    kinds = _kinds(name)
    if not isinstance(parameters, Mapping):
        raise BadPolicy(f"{name} needs parameters in the form key: value", where=name)
    kind = parameters.get("kind") if None not in kinds else None
    chosen = next(iter(kinds)) if kind is None else kind
    if not isinstance(chosen, str | None) or chosen not in kinds:
        raise BadPolicy(f"kind must be one of {', '.join(str(k) for k in kinds)}", where="kind")
    return kinds[chosen].from_parameters(parameters, folder)


def refused(name: str) -> UsageError | None:
    """Why what another package offers under this policy key is not used, if so."""
    _load_all()
    return _refused.get(name)


def owner_of(role: Role) -> str | None:
    """The policy key of the promise that a column role belongs to, if there is one."""
    return next((maker.name for maker in _owners(role)), None)


def column_options(role: Role) -> type[ColumnOptions] | None:
    """The keys that columns of this role get for the sake of the promise that it belongs to, if any."""
    return next((owner.column_options for owner in _owners(role) if owner.column_options), None)


def _owners(role: Role) -> Iterator[type[ColumnRolePromise]]:
    for maker in definitions():
        if issubclass(maker, ColumnRolePromise) and maker.column_role is role:
            yield maker


def schema() -> Schema:
    """One entry of the policy's list of promises, as a fragment of JSON Schema."""
    entries = []
    for name in known():
        body = _one_schema({kind: maker.schema() for kind, maker in _kinds(name).items()})
        entries.append(
            {"type": "object", "properties": {name: body}, "required": [name], "additionalProperties": False}
        )
    return {"oneOf": entries}


def _one_schema(kinds: dict[str | None, Schema]) -> Schema:
    """The keys of all kinds together; which of them go with which kind is said in `allOf`."""
    default, *_ = kinds
    if default is None:
        return kinds[None]
    forms: dict[str, list[Schema]] = {}
    for body in kinds.values():
        for key, form in body["properties"].items():
            bare = {word: part for word, part in form.items() if word != "description"}
            if bare not in forms.setdefault(key, []):
                forms[key].append(bare)
    descriptions = _told_by_kind(kinds)
    together = {
        key: {**(shapes[0] if len(shapes) == 1 else {"anyOf": shapes}), **descriptions[key]}
        for key, shapes in forms.items()
    }
    always = [key for key in together if all(key in body["required"] for body in kinds.values())]
    rules = []
    for kind, body in kinds.items():
        chosen: Schema = {"properties": {"kind": {"const": kind}}}
        condition = chosen if kind == default else {**chosen, "required": ["kind"]}
        names = {"propertyNames": {"enum": [*body["properties"], "kind"]}}
        rules.append({"if": condition, "then": {**body, "additionalProperties": True, **names}})
    return {
        "type": "object",
        "description": kinds[default].get("description", ""),
        "properties": {**together, "kind": _kind_schema(kinds)},
        "required": always,
        "additionalProperties": False,
        "allOf": rules,
    }


def _kind_schema(kinds: dict[str | None, Schema]) -> Schema:
    """The key `kind`: which definition is meant."""
    description = " ".join(f"{kind}: {body.get('description', '')}" for kind, body in kinds.items())
    return {"enum": list(kinds), "description": description, "default": next(iter(kinds))}


def _told_by_kind(kinds: dict[str | None, Schema]) -> dict[str, Schema]:
    """What each key means, once, or once for each kind where that differs."""
    kinds_by_text: dict[str, dict[str, list[str]]] = {}
    for kind, body in kinds.items():
        for key, form in body["properties"].items():
            kinds_by_text.setdefault(key, {}).setdefault(form.get("description", ""), []).append(str(kind))
    descriptions: dict[str, Schema] = {}
    for key, sentences in kinds_by_text.items():
        each = " ".join(f"{' and '.join(names)}: {sentence}" for sentence, names in sentences.items())
        descriptions[key] = {"description": next(iter(sentences)) if len(sentences) == 1 else each}
    return descriptions


def _kinds(name: str) -> dict[str | None, type[ParametrizedPromise]]:
    if name not in _makers:
        near = get_close_matches(str(name), _makers, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(sorted(_makers))}."
        raise BadPolicy(f"there is no promise {name}", where=str(name), remedy=hint)
    return _makers[name]


def _load_all() -> None:
    """Load the built-in definitions, then those of other packages, and only when somebody asks.

    Threads that ask first at the same time all load: modules are made once, whoever imports them. A lock here
    could wait for a thread that imports what this one needs, and asks.
    """
    if _loaded >= {BUILT_IN, ENTRY_POINTS} or getattr(_thread, "loads", False):
        return
    _thread.loads = True  # a definition that asks while it is loaded is told what is there so far
    try:
        if BUILT_IN not in _loaded:
            load_definitions(import_module(PACKAGE))
            _loaded.add(BUILT_IN)
        if ENTRY_POINTS not in _loaded:
            _load_plugins()
            _loaded.add(ENTRY_POINTS)
    finally:
        _thread.loads = False


def load_definitions(package: ModuleType) -> None:
    """Import the module `promise` of every folder of a package: each registers itself."""
    for folder in sorted(iter_modules(package.__path__), key=lambda each: each.name):
        if folder.ispkg:
            import_module(f"{package.__name__}.{folder.name}.promise")


def _load_plugins() -> None:
    """Load the promises of other packages; what fails is left aside."""
    for offer in offers(ENTRY_POINTS):
        try:
            maker = offer.load()
            if not (isinstance(maker, type) and issubclass(maker, ParametrizedPromise)):
                raise offer.refusal(
                    "is no promise: it does not derive from sfumato.extend.ParametrizedPromise"
                )
            if not issubclass(maker, ClassPromise | TablePromise):
                raise offer.refusal(
                    "is no promise: it derives neither from sfumato.extend.ClassPromise nor TablePromise"
                )
            if _taken(offer.name, maker.kind, maker):
                raise offer.refusal("would replace another promise of this name")
        except UsageError as trouble:
            _refused[offer.name] = trouble
        else:
            _makers.setdefault(offer.name, {})[maker.kind] = maker


def _taken(name: str, kind: str | None, maker: type[ParametrizedPromise]) -> bool:
    """Whether another class has this key and kind; a key has one class without a kind, or only kinds."""
    there = _makers.get(name, {})
    mixed = bool(there) and (kind is None) != (None in there)
    return mixed or (kind in there and _home(there[kind]) != _home(maker))


def _home(maker: type[ParametrizedPromise]) -> tuple[str, str]:
    """Where a class is defined: a module that is loaded twice defines the same one again."""
    return maker.__module__, maker.__qualname__

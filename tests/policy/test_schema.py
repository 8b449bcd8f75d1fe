"""The published JSON Schema says the same as loading."""

import json
import re

import pytest

from policy.sample_policies import HEAD, SMALL, TAIL, WHOLE
from sfumato.policy import yaml
from sfumato.policy.policy import Policy
from sfumato.policy.schema import schema
from sfumato.system.errors import BadPolicy


def plain(value):
    """As a JSON tool would see it."""
    return json.loads(json.dumps(value, default=float))


def fits(value, rule, root):
    """A second, smaller reading of JSON Schema, for the keywords in use."""
    if "$ref" in rule:
        return fits(value, root["$defs"][rule["$ref"].removeprefix("#/$defs/")], root)
    kinds = {
        "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
        "integer": int, "number": (int, float),
    }  # fmt: skip
    wanted = rule.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    typed = not wanted or any(
        isinstance(value, kinds[kind]) and (kind == "boolean" or not isinstance(value, bool))
        for kind in wanted
    )
    checks = [
        typed,
        "const" not in rule or (value == rule["const"] and type(value) is type(rule["const"])),
        "enum" not in rule or value in rule["enum"],
        "oneOf" not in rule or sum(fits(value, r, root) for r in rule["oneOf"]) == 1,
        "anyOf" not in rule or any(fits(value, r, root) for r in rule["anyOf"]),
    ]
    if isinstance(value, dict):
        known, rest = rule.get("properties", {}), rule.get("additionalProperties", True)
        checks += [key in value for key in rule.get("required", [])]
        for key, child in value.items():
            below = known.get(key, rest)
            checks.append(below if isinstance(below, bool) else fits(child, below, root))
        checks.append(len(value) >= rule.get("minProperties", 0))
    if isinstance(value, list):
        checks += [fits(v, rule.get("items", {}), root) for v in value]
        checks.append(len(value) >= rule.get("minItems", 0))
    if isinstance(value, str):
        checks.append(
            len(value) >= rule.get("minLength", 0) and bool(re.search(rule.get("pattern", ""), value))
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        checks.append(rule.get("minimum", value) <= value <= rule.get("maximum", value))
        checks.append("exclusiveMinimum" not in rule or value > rule["exclusiveMinimum"])
    return all(checks)


def valid(text):
    whole = schema()
    return fits(plain(yaml.read(text).data), whole, whole)


def test_it_is_json():
    assert json.loads(json.dumps(schema())) == schema()


@pytest.mark.parametrize(
    "text", [WHOLE, HEAD + TAIL, HEAD + TAIL + "protect: {suppress: 0.2, search: lattice}\n"]
)
def test_valid_policies_fit(text):
    assert valid(text)


def test_what_to_dict_writes_fits():
    whole = schema()
    assert fits(plain(Policy.from_dict(SMALL).to_dict()), whole, whole)


@pytest.mark.parametrize(
    "text",
    [
        HEAD,
        TAIL,
        HEAD + TAIL + "protekt: {}\n",
        HEAD + TAIL.replace("5", "0"),
        HEAD + TAIL.replace("k-anonymity", "k-anonimity"),
        HEAD.replace("quasi", "quazi") + TAIL,
        HEAD.replace("quasi}", "quasi, taxonomy: {prefx: [3]}}") + TAIL,
        HEAD.replace("quasi}", "quasi, taxonomy: {prefix: [3], mask: left}}") + TAIL,
        HEAD.replace("quasi}", "quasi, taxonomy: {date: [eon]}}") + TAIL,
        HEAD + TAIL + "protect: {suppress: lots}\n",
        HEAD + TAIL + "missing: drop\n",
        HEAD.replace("# a policy", "sfumato: 3") + TAIL,
    ],
)
def test_broken_policies_neither_fit_nor_load(text):
    assert not valid(text)
    with pytest.raises(BadPolicy):
        Policy.from_dict(yaml.read(text).data)

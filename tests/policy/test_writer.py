"""A policy written down and read again is the same policy."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sfumato.policy import yaml
from sfumato.policy.policy import Policy
from sfumato.system.errors import Origin

words = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
tricky = st.sampled_from(
    [
        *(
            "no",
            "null",
            "~",
            "1e3",
            "007",
            "0x1F",
            "2020-01-01",
            "a: b",
            "- x",
            "#",
            "'",
            '"',
            "*",
            "&a",
            "!t",
        ),
        *(" x ", "\n", "\x85", "<<", "=", "1/5", "5%"),
    ]
)
names = words | tricky
labels = st.lists(names.filter(lambda s: s != "*"), min_size=1, max_size=5, unique=True)
shares = st.fractions(Fraction(1, 1000), 1, max_denominator=1000)


@st.composite
def trees(draw):
    leaves = draw(labels)
    if len(leaves) < 3 or draw(st.booleans()):
        return {"tree": leaves}
    return {
        "tree": {leaves[0]: leaves[1:2], leaves[2]: leaves[3:]}
        if len(leaves) > 3
        else {leaves[0]: leaves[1:]}
    }


taxonomies = st.one_of(
    trees(),
    st.builds(lambda x: {"flat": x}, labels),
    st.builds(lambda x: {"flat": x, "ordered": True}, labels),
    st.just({"flat": True}),
    st.builds(lambda x: {"prefix": sorted(x, reverse=True)}, st.sets(st.integers(1, 9), min_size=1)),
    st.builds(lambda x: {"mask": "left", "steps": sorted(x)}, st.sets(st.integers(1, 9), min_size=1)),
    st.sampled_from([["month", "year"], ["day", "week"], ["quarter", "decade"]]).map(lambda x: {"date": x}),
    st.builds(
        lambda w, n: {"intervals": [w, 2 * w], "from": -n, "to": n}, st.integers(1, 9), st.integers(1, 99)
    ),
    st.builds(lambda w: {"intervals": [str(w / 10)], "decimal": True}, st.integers(1, 9)),
)


@st.composite
def policies(draw):
    keys = draw(st.lists(names, min_size=2, max_size=5, unique=True))
    secret, *others = keys
    columns = {
        secret: {"role": "sensitive", **({"taxonomy": draw(taxonomies)} if draw(st.booleans()) else {})},
        **{name: {"role": draw(st.sampled_from(["identifier", "insensitive"]))} for name in others[1:]},
        others[0]: {"role": "quasi", "taxonomy": draw(taxonomies)},
    }
    protect = {"suppress": draw(shares), "weights": {others[0]: draw(shares)}}
    return {
        "columns": columns,
        "promises": [
            {"k-anonymity": {"k": draw(st.integers(1, 2**31 - 1))}},
            {
                "l-diversity": {
                    "of": secret,
                    "l": draw(st.integers(1, 9)),
                    "kind": "recursive",
                    "c": draw(shares),
                }
            },
            {"t-closeness": {"of": secret, "t": draw(shares)}},
        ],
        "protect": protect,
        "missing": draw(st.sampled_from(["own-value", "suppress", "refuse"])),
    }


@given(policies())
def test_it_comes_back(asked):
    policy = Policy.from_dict(asked)
    assert Policy.from_dict(policy.to_dict()).digest == policy.digest
    document = yaml.read(policy.to_yaml())
    again = Policy.from_dict(document.data, origin=Origin(lines=document.lines))
    assert again.digest == policy.digest and again.to_yaml() == policy.to_yaml()
    assert again == policy


@given(policies(), policies())
def test_different_policies_have_different_digests(one, other):
    first, second = Policy.from_dict(one), Policy.from_dict(other)
    assert (first.digest == second.digest) == (first == second)

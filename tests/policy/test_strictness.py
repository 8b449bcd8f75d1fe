"""Policies compared part by part: what is not at least as strict is weaker, or cannot be compared."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policy.policy import Policy
from sfumato.policy.strictness import Comparison, compared, statement_of, weaker_parts

ONE, TWO = "a" * 64, "b" * 64
BASE = {
    "columns": {
        "id": {"role": "identifier"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "place": {"role": "quasi", "taxonomy": {"tree": {"north": ["Aford", "Bury"], "south": ["Cley"]}}},
        "ward": {"role": "insensitive"},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 5}}, {"l-diversity": {"of": "disease", "l": 3}}],
    "protect": {"search": "top-down", "suppress": 0},
    "recipients": {"frame-proof": 2, "overriders": [ONE]},
}


def changed(*place, to=None):
    """The policy with one part changed; `None` takes it away."""
    words = copy.deepcopy(BASE)
    spot = words
    for key in place[:-1]:
        spot = spot[key]
    if to is None:
        del spot[place[-1]]
    else:
        spot[place[-1]] = to
    return words


def parts(words, floor=BASE):
    return weaker_parts(statement_of(Policy.from_dict(words)), statement_of(Policy.from_dict(floor)))


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (changed("promises", 0, to={"k-anonymity": {"k": 4}}), "promises"),
        (changed("promises", 0), "promises"),
        (changed("promises", 1, to={"l-diversity": {"of": "disease", "l": 2}}), "promises"),
        (
            changed("promises", 1, to={"confidence-bounding": {"of": "disease", "confidence": "1/3"}}),
            "promises",
        ),
        (changed("recipients"), "recipients.frame-proof"),
        (changed("recipients", "frame-proof", to=1), "recipients.frame-proof"),
        (changed("recipients", "overriders", to=[ONE, TWO]), "recipients.overriders"),
        (changed("recipients", "overriders", to=[TWO]), "recipients.overriders"),
        (changed("columns", "zip", to={"role": "insensitive"}), "columns.zip.role"),
        (changed("columns", "zip", to={"role": "sensitive"}), "columns.zip.role"),
        (changed("columns", "zip", to={"role": "quasi"}), "columns.zip.taxonomy"),
        (changed("columns", "zip", "taxonomy", to={"prefix": [3, 1]}), "columns.zip.taxonomy"),
        (changed("columns", "id", to={"role": "insensitive"}), "columns.id.role"),
        (changed("columns", "ward", to={"role": "quasi"}), "columns.ward.role"),
        (changed("columns", "age", to={"role": "quasi"}), "columns.age.role"),
        (
            changed("columns", "disease", to={"role": "sensitive", "taxonomy": {"flat": ["flu"]}}),
            "columns.disease.taxonomy",
        ),
        (
            changed("columns", "place", "taxonomy", to={"tree": {"north": ["Aford"], "south": ["Cley"]}}),
            "columns.place.taxonomy",
        ),
        (
            changed(
                "columns", "place", "taxonomy", to={"tree": {"north": ["Aford"], "south": ["Bury", "Cley"]}}
            ),
            "columns.place.taxonomy",
        ),
        (
            changed(
                "columns",
                "place",
                "taxonomy",
                to={"tree": {"north": ["Aford", {"Bury": ["a", "b"]}], "south": ["Cley"]}},
            ),
            "columns.place.taxonomy",
        ),
        (changed("person", to="id"), "person"),
    ],
)
def test_what_is_weaker_is_named(words, place):
    assert place in [part.place for part in parts(words)]


@pytest.mark.parametrize(
    "words",
    [
        BASE,
        changed("promises", 0, to={"k-anonymity": {"k": 9}}),
        changed("promises", 0, to={"alpha-k-anonymity": {"of": "disease", "alpha": "1/2", "k": 5}}),
        changed("promises", 1, to={"l-diversity": {"of": "disease", "l": "5/2", "kind": "entropy"}}),
        changed("promises", 1, to={"l-diversity": {"of": "disease", "l": 3, "c": 2, "kind": "recursive"}}),
        changed("recipients", "frame-proof", to=3),
        changed("recipients", "overriders"),
        changed("recipients", "tolerance", to="50%"),
        changed("columns", "zip", to={"role": "identifier"}),
        changed("columns", "zip"),
        changed("columns", "zip", "start", to=1),
        changed("columns", "name", to={"role": "identifier"}),
        changed("columns", "disease", "taxonomy", to="flat"),
        changed("protect", to={"search": "lattice", "loss": "entropy"}),
        changed(
            "columns",
            "place",
            "taxonomy",
            to={"tree": {"north": ["Aford", "Bury", "Dene"], "south": ["Cley"], "sea": ["Ey"]}},
        ),
    ],
)
def test_what_is_as_strict_is_kept(words):
    """Also a tree that has grown below its nodes, and a column that is published no more."""
    assert parts(words) == []


def test_a_removed_start_level_is_weaker():
    floor = changed("columns", "zip", "start", to=1)
    assert [part.place for part in parts(BASE, floor)] == ["columns.zip.start"]


def test_people_that_are_no_longer_told_apart_are_weaker():
    floor = changed("person", to="id")
    assert [(part.place, part.before, part.now) for part in parts(BASE, floor)] == [("person", "id", "rows")]


def test_every_part_is_compared_and_said():
    both = [
        statement_of(Policy.from_dict(words))
        for words in (changed("promises", 0, to={"k-anonymity": {"k": 2}}), BASE)
    ]
    found = list(compared(*both))
    assert {part.comparison for part in found} == {Comparison.AS_STRICT, Comparison.WEAKER}
    assert len(found) > 12
    assert [str(part) for part in found if not part.kept] == [
        "promises: k-anonymity, k = 5, now k-anonymity, k = 2"
    ]


def test_a_file_counts_by_its_content(tmp_path):
    floors = []
    for name, content in (
        ("one.csv", "a;x;*\nb;x;*\n"),
        ("two.csv", "a;x;*\nb;x;*\n"),
        ("three.csv", "a;y;*\nb;x;*\n"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        words = changed("columns", "zip", "taxonomy", to={"file": name})
        floors.append(statement_of(Policy.from_dict(words, tmp_path)))
    assert weaker_parts(floors[1], floors[0]) == []
    assert [part.place for part in weaker_parts(floors[2], floors[0])] == ["columns.zip.taxonomy"]


def test_a_statement_is_json_without_values():
    words = changed(
        "columns", "disease", to={"role": "sensitive", "taxonomy": {"tree": {"Viral": ["Flu", "HIV"]}}}
    )
    words["promises"].append(
        {"t-closeness": {"of": "disease", "t": "1/2", "reference": {"Flu": 3, "HIV": 1}}}
    )
    text = json.dumps(statement_of(Policy.from_dict(words)))
    assert json.loads(text) == statement_of(Policy.from_dict(words))
    assert not any(value in text for value in ("Flu", "HIV", "Viral", "Aford", "north"))


promises = st.lists(
    st.one_of(
        st.builds(lambda k: {"k-anonymity": {"k": k}}, st.integers(1, 4)),
        st.builds(lambda n: {"l-diversity": {"of": "disease", "l": n}}, st.integers(1, 4)),
        st.builds(lambda n: {"l-diversity": {"of": "disease", "l": n, "kind": "entropy"}}, st.integers(1, 3)),
    ),
    min_size=1,
    max_size=3,
)


@st.composite
def policies(draw):
    words = copy.deepcopy(BASE)
    words["promises"] = draw(promises)
    words["recipients"] = {
        "frame-proof": draw(st.integers(1, 3)),
        "overriders": draw(st.lists(st.sampled_from([ONE, TWO]), unique=True)),
    }
    words["columns"]["zip"] = draw(
        st.sampled_from(
            [
                {"role": "quasi"},
                {"role": "identifier"},
                {"role": "quasi", "taxonomy": {"prefix": [2, 1]}, "start": 1},
                {"role": "insensitive"},
            ]
        )
    )
    return statement_of(Policy.from_dict(words))


@given(policies(), policies(), policies())
def test_strictness_is_an_order(one, two, three):
    """Everything is as strict as itself, and what is as strict as something is as strict as what that is."""
    assert weaker_parts({**one, "policy": "x"}, one) == []
    if not weaker_parts(one, two) and not weaker_parts(two, three):
        assert weaker_parts(one, three) == []

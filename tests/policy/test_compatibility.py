"""The table role x promise x search, cell by cell."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import ClassVar

import pytest

from sfumato.models import registry
from sfumato.models.contract import ClassPromise, ColumnRolePromise, Promises, TablePromise
from sfumato.models.freeform.promise import Freeform
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.policy.compatibility import objections, roles
from sfumato.policy.content import ColumnRule, ProtectRule
from sfumato.policy.policy import Policy
from sfumato.policy.searches import BUILT_IN, LOSSES
from sfumato.policy.taxonomies.texts import Flat
from sfumato.system.errors import BadPolicy
from sfumato.table.microdata import Missing, Role

K = KAnonymity(5)


def policy(*made, columns=None, **protect):
    missing, person = protect.pop("missing", Missing.OWN_VALUE), protect.pop("person", None)
    rules = {"q": Role.QUASI, "s": Role.SENSITIVE, **(columns or {})}
    return Policy(
        {name: rule if isinstance(rule, ColumnRule) else ColumnRule(rule) for name, rule in rules.items()},
        Promises(made or (K,)),
        ProtectRule(**{"search": "top-down", "suppress": Fraction(0), "price": None, **protect}),
        missing,
        person,
    )


def refused(*made, **rest):
    with pytest.raises(BadPolicy) as caught:
        policy(*made, **rest)
    return str(caught.value)


def test_what_is_allowed_has_no_refusals():
    assert objections(policy(K, DistinctLDiversity("s", 2))) == []


def test_a_role_becomes_available_with_its_promise(monkeypatch):
    assert set(roles()) == set(Role)
    monkeypatch.setattr(registry, "known", lambda: ("freeform", "k-anonymity"))
    assert Role.FREE in roles() and Role.QUASI_SENSITIVE not in roles()
    assert "quasi-sensitive is not available in this version" in refused(columns={"x": Role.QUASI_SENSITIVE})


def test_no_promise():
    with pytest.raises(BadPolicy, match="no promise is made"):
        Policy({"q": ColumnRule(Role.QUASI)}, Promises(()))


def test_no_key():
    assert "no column is a quasi-identifier" in refused(columns={"q": Role.INSENSITIVE})


@pytest.mark.parametrize("made", [DistinctLDiversity("x", 2), TCloseness("x", Fraction(1, 5))])
@pytest.mark.parametrize("role", roles())
def test_what_a_promise_may_be_about(made, role):
    if role is Role.SENSITIVE:
        assert objections(policy(made, columns={"x": role})) == []
    else:
        said = refused(made, columns={"x": role})
        reason = {
            Role.QUASI: "generalized",
            Role.FREE: "a promise of its own",
            Role.IDENTIFIER: "never published",
            Role.INSENSITIVE: "unchanged",
            Role.QUASI_SENSITIVE: "quasi-sensitive",
        }
        assert reason[role] in said and "must be sensitive" in said


def test_a_promise_about_no_column():
    assert "there is no column disese. Did you mean disease?" in refused(
        DistinctLDiversity("disese", 2), columns={"disease": Role.SENSITIVE}
    )


def test_ordered_distance_needs_an_order():
    t = TCloseness("s", Fraction(1, 5), "ordered")
    assert "no order" in refused(t, columns={"s": ColumnRule(Role.SENSITIVE, Flat())})
    assert policy(t, columns={"s": ColumnRule(Role.SENSITIVE, Flat(ordered=True))})
    assert policy(t)


@pytest.mark.parametrize("role", [Role.IDENTIFIER, Role.INSENSITIVE])
def test_a_taxonomy_that_would_not_be_used(role):
    assert "taxonomy would not be used" in refused(columns={"x": ColumnRule(role, Flat())})


WORKS = {
    "top-down": {"loss", "discernibility"},
    "lattice": set(LOSSES),
    "mondrian": {"loss", "discernibility"},
    "optimum": set(LOSSES) - {"height"},
    "local": {"loss"},
    "best": set(LOSSES),
}


@pytest.mark.parametrize(("search", "loss"), list(product(BUILT_IN, LOSSES)))
def test_search_and_loss(search, loss):
    if loss in WORKS[search]:
        assert policy(search=search, loss=loss)
    else:
        assert f"{loss} does not work" in refused(search=search, loss=loss)


@pytest.mark.parametrize(("search", "works"), [("top-down", True), ("lattice", True), ("mondrian", False)])
def test_search_and_suppression(search, works):
    if works:
        assert policy(search=search, suppress=Fraction(1, 20))
    else:
        assert "nothing to suppress" in refused(search=search, suppress=Fraction(1, 20))
    assert policy(search=search, suppress=Fraction(1, 20), missing=Missing.SUPPRESS)


@pytest.mark.parametrize(("search", "works"), [("top-down", False), ("lattice", False), ("mondrian", True)])
def test_search_and_relaxed(search, works):
    if works:
        assert policy(search=search, relaxed=True)
    else:
        assert "only Mondrian can be relaxed" in refused(search=search, relaxed=True)


def test_unknown_search_and_loss():
    assert "Did you mean lattice?" in refused(search="latice")
    assert "Did you mean entropy?" in refused(loss="entropie", search="lattice")


@pytest.mark.parametrize("share", [Fraction(-1, 100), Fraction(101, 100)])
def test_shares(share):
    assert "from 0 to 1" in refused(suppress=share)
    assert policy(suppress=Fraction(1)) and policy(suppress=Fraction(0))


def test_missing_rows_count_as_suppressed():
    assert "nothing may be suppressed" in refused(missing=Missing.SUPPRESS)
    assert policy(missing=Missing.SUPPRESS, suppress=Fraction(1, 100)) and policy(missing=Missing.REFUSE)


@pytest.mark.parametrize(
    ("name", "weight", "reason"),
    [
        ("s", 1, "only key columns"),
        ("x", 1, "no such column"),
        ("q", 0, "every key column has the weight 0"),
        ("q", -1, "must not be negative"),
    ],
)
def test_weights(name, weight, reason):
    assert reason in refused(weights={name: Fraction(weight)})
    assert policy(weights={"q": Fraction(1, 2)})


@pytest.mark.parametrize("role", roles())
def test_person(role):
    if role is Role.IDENTIFIER:
        assert policy(columns={"who": role}, person="who").dropped == ("who",)
    else:
        assert "must not be published" in refused(columns={"who": role}, person="who")
    assert "there is no column" in refused(person="whom")


@dataclass(frozen=True)
class Odd(ClassPromise):
    """A promise of another package."""

    name: ClassVar[str] = "odd"

    def holds_on(self, classes):
        return classes.people % 2 == 1

    def verdict(self, classes):
        raise NotImplementedError

    def __str__(self):
        return self.name


@dataclass(frozen=True)
class Whole(TablePromise):
    """A promise about the table as a whole."""

    name: ClassVar[str] = "whole"
    monotone: ClassVar[bool] = True
    hereditary: ClassVar[bool] = True

    def watch(self, table):
        raise NotImplementedError

    def verdict_on(self, table, cuts):
        raise NotImplementedError

    def __str__(self):
        return self.name


@dataclass(frozen=True)
class Picky(Odd):
    """A promise with rows of its own in the table."""

    monotone: ClassVar[bool] = True
    searches: ClassVar[tuple[str, ...]] = ("mondrian",)
    roles: ClassVar[tuple[Role, ...]] = (Role.INSENSITIVE,)
    sensitive: ClassVar[tuple[str, ...]] = ("i",)

    def objections(self, policy):
        return ["it does not like weights"] if policy.protect.weights else []


@pytest.mark.parametrize(
    ("search", "works"), [("top-down", False), ("lattice", True), ("mondrian", True), ("local", False)]
)
def test_promises_that_are_not_monotone(search, works):
    if works:
        assert policy(Odd(), search=search)
    else:
        assert "not monotone" in refused(Odd(), search=search)


@pytest.mark.parametrize(("search", "works"), [("top-down", True), ("lattice", False), ("mondrian", False)])
def test_promises_about_the_whole_table(search, works):
    if works:
        assert policy(Whole(), search=search)
    else:
        assert "recoded table as a whole" in refused(Whole(), search=search)


@dataclass(frozen=True)
class Fickle(Whole):
    """A promise about the table that a further step may mend."""

    monotone: ClassVar[bool] = False


def test_a_promise_about_the_whole_table_need_not_be_monotone():
    assert objections(policy(Fickle(), search="top-down")) == []


@dataclass(frozen=True)
class OfOne(Whole, ColumnRolePromise):
    """A promise that speaks of one free column."""

    name: ClassVar[str] = "freeform"
    column_role: ClassVar[Role] = Role.FREE
    reads: ClassVar[tuple[str, ...]] = ("f",)


def test_a_role_of_one_promise_is_refused_column_by_column():
    f, g = {"f": Role.FREE}, {"f": Role.FREE, "g": Role.FREE}
    assert objections(policy(OfOne(), columns=f)) == []
    assert objections(policy(Freeform(Fraction(1, 2)), columns=g)) == []
    assert "columns.f.role: free means nothing without the promise freeform" in refused(K, columns=f)
    said = refused(OfOne(), columns=g)
    assert "columns.g.role: free means nothing" in said and "columns.f.role" not in said


def test_promises_about_the_whole_table_leave_no_row_out():
    assert "with every row in it. Leave suppress out" in refused(Whole(), suppress=Fraction(1, 20))


def test_promises_bring_their_own_rows():
    columns = {"i": Role.INSENSITIVE}
    fine = policy(Picky(), columns=columns, search="mondrian")
    assert objections(fine) == []
    assert "Use search: mondrian" in refused(Picky(), columns=columns)
    assert "must be insensitive" in refused(Picky(), columns={"i": Role.SENSITIVE}, search="mondrian")
    with pytest.raises(BadPolicy, match="it does not like weights"):
        replace(fine, protect=replace(fine.protect, weights={"q": Fraction(1)}))


def test_two_promises_about_the_same_labels_need_one_prevalence():
    known = {"Flu": ["fever"], "Gout": ["pain"]}
    columns = {
        "age": {"role": "quasi"},
        "symptom": {"role": "quasi-sensitive"},
        "drug": {"role": "quasi-sensitive"},
    }

    def said(*prevalences):
        promises = [
            {"quasi-sensitive": {"of": of, "knowledge": known, "l": 2, "c": 3, "prevalence": how}}
            for of, how in zip(("symptom", "drug"), prevalences, strict=True)
        ]
        return Policy.from_dict(
            {"columns": columns, "promises": promises, "protect": {"search": "top-down", "suppress": 0}}
        )

    assert said({"Flu": 2, "Gout": 1}, {"Flu": "2/3", "Gout": "1/3"}).promises
    with pytest.raises(BadPolicy, match="how common"):
        said({"Flu": 2, "Gout": 1}, {"Flu": 1, "Gout": 2})
    with pytest.raises(BadPolicy, match="1 of 2 labels"):
        said({"Flu": 2}, {"Flu": 2})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["Lupus", "Gout"], ["lupus", "gout"]),
        (["Lupus", "Gout"], ["Lupus ", "Gout "]),
        (["Lupus", "Gout"], ["L.u.p.u.s.", "Gout"]),
        (["Lupus", "LUPUS"], ["Flu", "Cold"]),
    ],
)
def test_spellings_of_a_label_are_not_taken_for_unrelated_labels(first, second):
    """Each column alone leaves two labels; both are judged together if their labels are known to be one."""
    columns = {"a": {"role": "quasi-sensitive"}, "b": {"role": "quasi-sensitive"}}
    promises = [
        {"quasi-sensitive": {"of": of, "knowledge": {label: ["x"] for label in labels}, "l": 2, "c": 1}}
        for of, labels in (("a", first), ("b", second))
    ]
    with pytest.raises(BadPolicy, match="spelling"):
        Policy.from_dict(
            {"columns": columns, "promises": promises, "protect": {"search": "top-down", "suppress": 0}}
        )

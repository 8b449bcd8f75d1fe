"""Versions of the policy's form: what each gets without a word, and what stays as it was."""

from fractions import Fraction
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sfumato.core.errors import BadPolicy
from sfumato.core.microdata import Role
from sfumato.core.promise import Promises
from sfumato.policy.compatibility.search_fit import against_compared, searches_of
from sfumato.policy.judge_data import judge_data
from sfumato.policy.policy import ColumnRule, Policy, ProtectRule
from sfumato.policy.strictness import statement_of, statement_of_0_1, weaker_parts
from sfumato.promises import KAnonymity

GOLDEN = Path(__file__).parents[1] / "golden"
PLAIN = {
    "columns": {"q": {"role": "quasi"}, "s": {"role": "sensitive"}},
    "promises": [{"k-anonymity": {"k": 5}}],
}
CONTINUOUS = {**PLAIN, "promises": [{"k-anonymity": {"k": 5}}, {"continuous": {"k": 5}}]}


def policy(version=2, **words):
    return Policy.from_dict({"sfumato": version, **PLAIN, **words})


def test_version_1_keeps_search_suppression_and_price():
    for made in (policy(1), Policy.from_dict(PLAIN)):
        assert made.version == 1 and made.protect == ProtectRule("top-down", Fraction(0), price=None)
        assert "price" not in made.to_dict()["protect"] and made.to_dict()["sfumato"] == 1
    assert policy(1).digest == Policy.from_dict(PLAIN).digest


def test_version_2_searches_for_the_best_and_suppresses_at_a_price():
    made = policy()
    assert made.protect == ProtectRule("best", Fraction(1, 20), price=Fraction(3))
    assert made.to_dict()["protect"] == {"search": "best", "suppress": "1/20", "loss": "loss", "price": 3}
    assert made.digest != policy(1).digest


def test_what_is_said_holds_in_both_versions():
    for version in (1, 2):
        said = {"search": "lattice", "suppress": "1%", "price": "5/2"}
        assert policy(version, protect=said).protect == ProtectRule(
            "lattice", Fraction(1, 100), price=Fraction(5, 2)
        )


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("price", ["0", "0.99", 1001])
def test_a_price_below_a_generalized_row_is_refused(version, price):
    with pytest.raises(BadPolicy, match="from 1 to 1000") as caught:
        policy(version, protect={"price": price, "suppress": "1%"})
    assert "protect.price" in str(caught.value)


def test_an_unknown_version_is_refused():
    for version in (0, 3, "2", True, 1.0):
        with pytest.raises(BadPolicy, match="must be one of 1, 2"):
            policy(version)


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_written_is_read_again(version, tmp_path):
    made = policy(version)
    file = tmp_path / "policy.yaml"
    file.write_text(made.to_yaml())
    assert made.to_yaml().splitlines()[0] == f"sfumato: {version}"
    assert ("suppress: 5%" in made.to_yaml()) == (version == 2)
    again = Policy.load(file)
    assert again == made and again.digest == made.digest
    assert Policy.from_dict(made.to_dict()) == made


FREEFORM = {
    "columns": {
        "q": {"role": "quasi"},
        "f": {
            "role": "free",
            "taxonomy": {"tree": {"a": ["x", "y"], "b": ["z"]}},
            "sensitive": ["x"],
        },
    },
    "promises": [{"freeform": {"threat": "1/2"}}],
}


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ({**PLAIN, "recipients": {}}, ("lattice", "optimum", "top-down")),
        ({**PLAIN, "recipients": {"coalition": "pairs"}}, ("lattice", "optimum", "top-down")),
    ],
)
def test_recipients_get_every_row_and_whole_columns(words, left):
    made = Policy.from_dict({"sfumato": 2, **words})
    assert made.protect.search == "best" and made.protect.suppress == 0
    assert searches_of(made) == left
    reasons = against_compared(made)
    assert all("recodes every class by itself" in reasons[name][0].message for name in ("local", "mondrian"))


def test_best_beside_recipients_is_no_search_that_recodes_class_by_class():
    made = policy(1, protect={"search": "best"}, recipients={})
    assert searches_of(made) == ("lattice", "optimum", "top-down")
    with pytest.raises(BadPolicy, match="local recodes every class by itself") as caught:
        policy(1, protect={"search": "local"}, recipients={})
    assert "top-down or lattice or optimum or best" in str(caught.value)


def test_a_search_that_cannot_suppress_is_not_made_to_by_the_version():
    assert policy(protect={"search": "top-down"}).protect.suppress == Fraction(1, 20)
    assert policy(1, protect={"search": "mondrian"}).protect.suppress == 0
    with pytest.raises(BadPolicy, match="Leave suppress out or give suppressed rows a price"):
        policy(1, protect={"search": "mondrian", "suppress": "5%"})
    assert policy(1, protect={"search": "mondrian", "suppress": "5%", "price": 3})
    assert policy(2, protect={"search": "local"}).protect.suppress == Fraction(1, 20)


def test_an_order_that_nobody_listed_is_not_for_ranges():
    columns = {"q": {"role": "quasi", "taxonomy": {"flat": True, "ordered": True}}}
    made = policy(columns=columns)
    assert "mondrian" not in searches_of(made)
    assert "least and the greatest value" in against_compared(made)["mondrian"][0].message
    listed = {"q": {"role": "quasi", "taxonomy": {"flat": ["low", "high"], "ordered": True}}}
    assert "mondrian" in searches_of(policy(columns=listed))


def test_best_is_refused_where_no_search_fits():
    with pytest.raises(BadPolicy, match=r"not judged with rows suppressed|with every row in it"):
        Policy.from_dict({"sfumato": 2, **FREEFORM, "protect": {"suppress": "5%"}})


def test_freeform_gets_every_row():
    made = Policy.from_dict({"sfumato": 2, **FREEFORM})
    assert made.protect.suppress == 0 and searches_of(made) == ("optimum", "top-down")


def test_a_promise_about_earlier_releases_gets_every_row():
    made = Policy.from_dict({"sfumato": 2, **CONTINUOUS})
    assert made.protect.suppress == 0 and searches_of(made) == ("optimum", "top-down")


def test_the_floor_of_a_chain_does_not_ask_for_the_version():
    one, two = policy(1), policy(2)
    assert not weaker_parts(statement_of(two), statement_of(one))
    assert not weaker_parts(statement_of(one), statement_of(two))
    assert not weaker_parts(statement_of(two), statement_of_0_1(one))
    weaker = policy(2, promises=[{"k-anonymity": {"k": 4}}])
    assert [p.place for p in weaker_parts(statement_of(weaker), statement_of(one))] == ["promises"]


def test_the_second_judge_is_told_the_same_of_both_versions():
    assert judge_data(policy(1, formulas="refuse")) == judge_data(policy(2))
    assert judge_data(policy(1)) == judge_data(policy(2, formulas="keep"))


def test_policies_of_the_first_release_keep_their_digests():
    """Digests stand in certificates and ledgers: reading a policy anew must not change them."""
    digests = {
        line.split()[1]: line.split()[0]
        for line in (GOLDEN / "version_1_digests.txt").read_text().splitlines()
    }
    for name, digest in digests.items():
        made = Policy.load(GOLDEN / name)
        assert made.digest == digest, name
        said = YAML(typ="safe").load(GOLDEN / name).get("protect", {})
        assert made.version == 1 and made.protect.price is None
        assert made.protect.search == said.get("search", "top-down"), name
        assert (made.protect.suppress == 0) == (said.get("suppress", 0) == 0), name


def test_in_python_a_policy_is_of_the_first_version_unless_it_says():
    made = Policy({"q": ColumnRule(Role.QUASI)}, Promises((KAnonymity(2),)))
    assert made.version == 1 and made.protect.search == "top-down"

"""What a policy gets where it does not say how to protect."""

from fractions import Fraction

import pytest

from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.policy.compatibility import against_compared, searches_of
from sfumato.policy.content import ColumnRule, ProtectRule
from sfumato.policy.policy import Policy
from sfumato.policy.reference import judge_data
from sfumato.system.errors import BadPolicy
from sfumato.table.microdata import Role

PLAIN = {
    "columns": {"q": {"role": "quasi"}, "s": {"role": "sensitive"}},
    "promises": [{"k-anonymity": {"k": 5}}],
}
CONTINUOUS = {**PLAIN, "promises": [{"k-anonymity": {"k": 5}}, {"continuous": {"k": 5}}]}


def policy(**words):
    return Policy.from_dict({**PLAIN, **words})


def test_the_best_is_searched_for_and_rows_are_suppressed_at_a_price():
    made = policy()
    assert made.protect == ProtectRule() == ProtectRule("best", Fraction(1, 20), price=Fraction(3))
    assert made.to_dict()["protect"] == {"search": "best", "suppress": "1/20", "loss": "loss", "price": 3}
    assert made == Policy(
        {"q": ColumnRule(Role.QUASI), "s": ColumnRule(Role.SENSITIVE)}, Promises((KAnonymity(5),))
    )


def test_what_is_said_holds():
    said = {"search": "lattice", "suppress": "1%", "price": "5/2"}
    assert policy(protect=said).protect == ProtectRule("lattice", Fraction(1, 100), price=Fraction(5, 2))


def test_suppressed_rows_need_not_have_a_price():
    made = policy(protect={"price": "none"})
    assert made.protect.price is None and made.to_dict()["protect"]["price"] == "none"
    assert Policy.from_dict(made.to_dict()) == made
    assert policy().with_(price="none") == policy().with_(price=None) == made


@pytest.mark.parametrize("price", ["0", "0.99", 1001])
def test_a_price_below_a_generalized_row_is_refused(price):
    with pytest.raises(BadPolicy, match="from 1 to 1000") as caught:
        policy(protect={"price": price, "suppress": "1%"})
    assert "protect.price" in str(caught.value)


def test_what_is_written_is_read_again(tmp_path):
    made = policy()
    file = tmp_path / "policy.yaml"
    file.write_text(made.to_yaml())
    assert made.to_yaml().splitlines()[0] == "columns:" and "suppress: 5%" in made.to_yaml()
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
        ({**PLAIN, "recipients": {"tolerance": "5%"}}, ("lattice", "optimum", "top-down")),
    ],
)
def test_recipients_get_every_row_and_whole_columns(words, left):
    made = Policy.from_dict(words)
    assert made.protect.search == "best" and made.protect.suppress == 0
    assert searches_of(made) == left
    reasons = against_compared(made)
    assert all("recodes every class by itself" in reasons[name][0].message for name in ("local", "mondrian"))


def test_best_beside_recipients_is_no_search_that_recodes_class_by_class():
    with pytest.raises(BadPolicy, match="local recodes every class by itself") as caught:
        policy(protect={"search": "local"}, recipients={})
    assert "top-down or lattice or optimum or best" in str(caught.value)


def test_a_search_that_cannot_suppress_is_not_made_to():
    assert policy(protect={"search": "top-down"}).protect.suppress == Fraction(1, 20)
    assert policy(protect={"search": "mondrian", "price": "none"}).protect.suppress == 0
    with pytest.raises(BadPolicy, match="Leave suppress out or give suppressed rows a price"):
        policy(protect={"search": "mondrian", "suppress": "5%", "price": "none"})
    assert policy(protect={"search": "mondrian", "suppress": "5%"})
    assert policy(protect={"search": "local"}).protect.suppress == Fraction(1, 20)


def test_an_order_that_nobody_listed_is_not_for_ranges():
    columns = {"q": {"role": "quasi", "taxonomy": {"flat": True, "ordered": True}}}
    made = policy(columns=columns)
    assert "mondrian" not in searches_of(made)
    assert "least and the greatest value" in against_compared(made)["mondrian"][0].message
    listed = {"q": {"role": "quasi", "taxonomy": {"flat": ["low", "high"], "ordered": True}}}
    assert "mondrian" in searches_of(policy(columns=listed))


def test_best_is_refused_where_no_search_fits():
    with pytest.raises(BadPolicy, match=r"not judged with rows suppressed|with every row in it"):
        Policy.from_dict({**FREEFORM, "protect": {"suppress": "5%"}})


def test_freeform_gets_every_row():
    made = Policy.from_dict(FREEFORM)
    assert made.protect.suppress == 0 and searches_of(made) == ("optimum", "top-down")


def test_a_promise_about_earlier_releases_gets_every_row():
    made = Policy.from_dict(CONTINUOUS)
    assert made.protect.suppress == 0 and searches_of(made) == ("optimum", "top-down")


def test_formulas_are_refused_unless_they_are_to_be_kept():
    assert judge_data(policy()) == judge_data(policy(formulas="refuse"))
    assert judge_data(policy())["formulas"] == "refuse"
    assert judge_data(policy(formulas="keep"))["formulas"] == "keep"

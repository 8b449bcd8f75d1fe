"""A sensitive column that no promise protects is published on a person's word for it alone."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.policy.policy import Policy
from sfumato.studio.policy_edit import columns_confirmed
from sfumato.system.errors import BadPolicy, UsageError
from sfumato.workflows.confirm import check_policy, confirm_file
from sfumato.workflows.doctor import checkup_table
from sfumato.workflows.protect_file import protect_file

BY_HAND = """\
columns:
  zip: {role: quasi}
  dx: {role: sensitive}   # what they have
  income: {role: sensitive}
  weight: {role: insensitive}
promises:
  - k-anonymity: {k: 2}
  - l-diversity: {of: income, l: 2}
confirm: {weight: a measurement}   # the end
"""
ROWS = [
    ("a", "HIV", 1, 60),
    ("a", "HIV", 2, 61),
    ("a", None, 2, 62),
    ("b", "flu", 1, 60),
    ("b", "HIV", 3, 63),
]


@pytest.fixture
def folder(tmp_path):
    people = pl.DataFrame(ROWS, schema=["zip", "dx", "income", "weight"], orient="row")
    people.write_csv(tmp_path / "data.csv")
    (tmp_path / "policy.yaml").write_text(BY_HAND, encoding="utf-8")
    return tmp_path


def words(*promises, **more):
    columns = {"zip": {"role": "quasi"}, "dx": {"role": "sensitive"}}
    return {"columns": columns, "promises": [{"k-anonymity": {"k": 2}}, *promises], **more}


@pytest.mark.parametrize(
    ("promise", "values"),
    [
        ({"l-diversity": {"of": "dx", "l": 2}}, None),
        ({"confidence-bounding": {"of": "dx", "confidence": "99%"}}, None),
        ({"t-closeness": {"of": "dx", "t": "1/2", "distance": "ordered"}}, None),
        ({"beta-likeness": {"of": "dx", "beta": 2}}, None),
        ({"confidence-bounding": {"of": "dx", "confidence": "1/2", "values": ["HIV"]}}, ("HIV",)),
        ({"l-diversity": {"of": "dx", "l": 1}}, ()),
        ({"l-diversity": {"of": "dx", "l": 1, "kind": "entropy"}}, ()),
        ({"confidence-bounding": {"of": "dx", "confidence": 1}}, ()),
        ({"alpha-k-anonymity": {"of": "dx", "alpha": 1, "k": 3}}, ()),
        ({"t-closeness": {"of": "dx", "t": 1}}, ()),
    ],
)
def test_a_promise_that_allows_everything_protects_nothing(promise, values):
    policy = Policy.from_dict(words(promise))
    assert policy.not_protected == ({} if values is None else {"dx": values})
    assert list(policy.waiting) == (["dx"] if values == () else [])


def test_every_verb_asks_for_a_word(folder, capsys):
    data, policy = folder / "data.csv", folder / "policy.yaml"
    into, ledger = folder / "one", f"sqlite:///{folder}/l.db"
    for publish in (
        lambda: protect_file(data, policy, folder / "safe.csv"),
        lambda: sf.release(data, policy, ledger=ledger, into=into),
    ):
        with pytest.raises(
            BadPolicy, match=r"2 columns wait.*Sensitive, and not or not wholly protected: dx"
        ):
            publish()
    assert not into.exists() and not (folder / "safe.csv").exists()
    found = [d for d in check_policy(policy) if d.name == "unconfirmed"]
    assert [d.where for d in found] == ["column dx", "column weight"]
    assert "no promise protects" in found[0].what
    assert "column dx" in {d.where for d in checkup_table(data, policy).diagnoses if d.name == "unconfirmed"}
    assert run(["policy", "check", str(policy)]) == 3
    assert run(["protect", str(data), "-p", str(policy), "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert "not protected: dx" in out and "certain for 2 people" in out
    assert "column dx: nobody has confirmed" in err


def test_all_leaves_sensitive_columns_out(folder):
    policy = folder / "policy.yaml"
    assert confirm_file(policy, every=True) == ("dx",)
    assert Policy.load(policy).confirmed == ()
    assert confirm_file(policy, ["dx"]) == ()
    text = policy.read_text()
    assert '"dx": true' in text and "# what they have" in text and "weight: a" not in text
    again = Policy.load(policy)
    assert (again.confirmed, again.waiting, again.not_protected) == (("dx",), {}, {"dx": ()})
    assert again.digest == Policy.load(folder / "policy.yaml").digest
    assert Policy.from_dict(again.to_dict()).confirmed == ("dx",)
    plan, verdicts = protect_file(folder / "data.csv", policy, folder / "safe.csv")
    assert plan.not_protected == {"dx": 2} and all(verdict.holds for verdict in verdicts)
    audit = sf.audit(folder / "safe.csv", policy)
    assert audit.as_dict()["not_protected"] == {"dx": 0}
    assert str(audit.card()).splitlines()[1].split() == ["not", "protected:", "dx", "every", "value"]


@pytest.mark.parametrize(
    ("section", "left"),
    [
        ("", ()),
        ("confirm: {}\n", ()),
        ("confirm:\n- weight\n", ("weight",)),
        ('confirm:\n  "weight": it   # why\n', ("weight",)),
        ("confirm: {weight: true}", ()),
    ],
)
def test_a_word_is_written_into_any_file(folder, section, left):
    policy = folder / "policy.yaml"
    policy.write_text(BY_HAND.replace("confirm: {weight: a measurement}   # the end\n", section))
    before = Policy.load(policy)
    assert confirm_file(policy, ["dx"]) == left
    after = Policy.load(policy)
    assert "dx" in after.confirmed and after.digest == before.digest and tuple(after.confirm) == left


def test_python_takes_a_word_for_a_column(folder):
    data, ledger = pl.read_csv(folder / "data.csv"), f"sqlite:///{folder}/l.db"
    by_hand = folder / "policy.yaml"
    plan = sf.protect(data, by_hand, confirm=["dx", "weight"])
    assert plan.policy.waiting == {} and plan.as_dict()["not_protected"] == {"dx": 2}
    sf.release(data, by_hand, ledger=ledger, into=folder / "one", confirm=["dx", "weight"])
    protect_file(data, by_hand, folder / "safe.csv", confirm=["dx", "weight"])
    with pytest.raises(UsageError, match="income does not wait"):
        sf.protect(data, by_hand, confirm="income")
    assert '"not_protected":{"dx":0}' in (folder / "one" / "certificate.json").read_text().replace(
        " ", ""
    ).replace("\n", "")


def test_the_studio_asks_too(folder):
    policy = Policy.load(folder / "policy.yaml")
    edit = columns_confirmed(["dx"], "policy.yaml")(policy)
    assert edit.policy.confirmed == ("dx",) and list(edit.policy.waiting) == ["weight"]

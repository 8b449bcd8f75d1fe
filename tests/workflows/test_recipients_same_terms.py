"""Versions for recipients where terms have to go: the same ones in all, and every position is safe."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from oracles import beliefs as plain
from sfumato.inputs import count_table
from sfumato.policy.policy import Policy
from sfumato.recipients.versions import same_terms_removed
from sfumato.search.plan import with_original
from sfumato.system.errors import BadPolicy, RefusedByHistory
from sfumato.table.source import open_source
from strategies import cases
from workflows.test_recipients_term_sets import KNOWLEDGE, NAMES, people, policy

pytestmark = pytest.mark.slow

KNOWN = list(KNOWLEDGE.items())


def released(folder, rows, rules, names=NAMES):
    into = folder / f"out-{names[0]}"
    sf.release(rows, rules, ledger=f"sqlite:///{folder}/ledger.db", into=into, to=names)
    places = [into / name for name in names] if len(names) > 1 else [into]
    return [pl.read_csv(place / "data.csv", infer_schema=False) for place in places]


def terms(cell):
    return tuple(sorted((cell or "").split(";"))) if cell else ()


def test_all_versions_lose_the_same_terms_and_keep_the_promise(tmp_path):
    rows = people(60).with_columns(symptoms=pl.lit("fever;cough"))
    tables = released(tmp_path, rows, policy(l=2, c=1))
    seen = [Counter(terms(cell) for cell in table["symptoms"]) for table in tables]
    assert seen[0] == seen[1] and sum(seen[0].values()) == 60
    assert seen[0] != Counter({("cough", "fever"): 60})
    for table in tables:
        for _, group in table.group_by(["age", "zip"]):
            assert plain.diverse(KNOWN, [terms(cell) for cell in group["symptoms"]], 1, 2)


def test_whoever_comes_later_gets_a_version_of_the_same_shortened_table(tmp_path):
    rows = people(300).with_columns(symptoms=pl.lit("fever;cough"))
    first, _ = released(tmp_path, rows, policy(l=2, c=1))
    (late,) = released(tmp_path, rows, policy(l=2, c=1), names=["ministry"])
    assert Counter(map(terms, late["symptoms"])) == Counter(map(terms, first["symptoms"]))
    with pytest.raises(RefusedByHistory):
        released(tmp_path, rows.with_columns(symptoms=pl.lit("sneeze")), policy(l=2, c=1), names=["press"])


@pytest.mark.parametrize("common", [None, {"Flu": 3, "Cold": 2, "Malaria": 1, "Allergy": 2}])
def test_two_columns_about_the_same_labels_are_safe_together_in_all_versions(tmp_path, common):
    """Cough leaves flu and cold, drug A flu and malaria: each alone mixes labels, both give one away."""
    drugs = {"Flu": ["A", "C"], "Cold": ["B", "C"], "Malaria": ["A"], "Allergy": ["B"]}
    rows = people(60).with_columns(symptoms=pl.lit("cough"), drug=pl.lit("A"))
    rules = policy(l=2, c=2)
    rules["columns"]["drug"] = {"role": "quasi-sensitive"}
    more = {"prevalence": common} if common else {}
    one = rules["promises"][1]["quasi-sensitive"] | more
    rules["promises"][1:] = [{"quasi-sensitive": p} for p in (one, one | {"of": "drug", "knowledge": drugs})]
    for table in released(tmp_path, rows, rules):
        for _, group in table.group_by(["age", "zip"]):
            found = dict.fromkeys(KNOWLEDGE, Fraction(0))
            for cells in zip(group["symptoms"], group["drug"], strict=True):
                tables = zip((KNOWLEDGE, drugs), cells, strict=True)
                linked = set.intersection(
                    *(plain.linked(list(known.items()), terms(c)) for known, c in tables)
                )
                weigh = {label: Fraction((common or {}).get(label, 1)) for label in linked}
                for label, weight in weigh.items():
                    found[label] += weight / sum(weigh.values())
            assert plain.diverse_beliefs(found.values(), 2, 2)


def test_a_margin_is_refused_beside_recipients():
    rules = {
        **policy(l=2, c=1),
        "protect": {"search": "top-down", "suppress": 0, "terms": {"margin": "1/10"}},
    }
    with pytest.raises(BadPolicy, match="drawn at random"):
        Policy.from_dict(rules)


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["3", "8", "42", "47"]),
        st.sampled_from(["011", "012", "021", "022"]),
        st.sets(st.sampled_from(["fever", "cough", "headache", "sneeze"]), max_size=3),
    ),
    min_size=2,
    max_size=8,
)


@given(ROWS, st.sampled_from([1, 2]))
@cases(15)
def test_every_position_and_every_union_of_them_keeps_the_promise(rows, c):
    """By enumeration: the finest positions there may be, and all classes of all coarser versions."""
    table = [(age, code, ";".join(sorted(some)) or None) for age, code, some in rows]
    frame = pl.DataFrame(table, schema=["age", "zip", "symptoms"], orient="row")
    words = {**policy(l=2, c=c), "recipients": {"tolerance": "200%"}}
    words["promises"] = [{"k-anonymity": {"k": 1}}, words["promises"][1]]
    rules = Policy.from_dict(words)
    source = open_source(frame)
    counted = count_table(source, rules)
    told = same_terms_removed(counted, with_original(rules, counted))
    assert told is not None
    safe = source.recode(told[0], drop=())
    assert safe.select("age", "zip").sort("age", "zip").equals(frame.select("age", "zip").sort("age", "zip"))
    for years, digits in product((1, 5, 10, 50), (3, 2, 1)):
        groups = {}
        for age, code, cell in safe.rows():
            groups.setdefault((int(age) // years, code[:digits]), []).append(terms(cell))
        assert all(plain.diverse(KNOWN, some, c, 2) for some in groups.values())
    before, after = Counter(), Counter()
    for age, code, cell in frame.rows():
        before.update((age, code, term) for term in terms(cell))
    for age, code, cell in safe.rows():
        after.update((age, code, term) for term in terms(cell))
    assert not after - before
    assert told[1].removed == (before - after).total()
    assert isinstance(told[1].total, Fraction)

"""The attack on published tables alone finds what it finds on imprints."""

import polars as pl
import pytest
from hypothesis import given, settings

import sfumato as sf
from oracles.tiny_chains import chains, releases, shown
from sfumato.system.errors import BadData, UsageError


def tables(trees, people, cuts):
    """What was published, as frames."""
    found = []
    for release in shown(trees, people, cuts):
        columns = {f"q{j}": [t.labels[q[j]] for q, _ in release] for j, t in enumerate(trees)}
        found.append(pl.DataFrame({**columns, "s": [f"s{s}" for _, s in release]}))
    return found


def policy(trees, k=2):
    columns = {f"q{j}": {"role": "quasi", "taxonomy": t} for j, t in enumerate(trees)}
    columns |= {"s": {"role": "sensitive"}, "since": {"role": "identifier"}}
    return {
        "columns": columns,
        "promises": [{"continuous": {"k": k, "since": "since"}}],
        "protect": {"search": "top-down", "suppress": 0},
    }


@settings(max_examples=40)
@given(chains(count=2, rows=7))
def test_tables_tell_as_much_as_imprints(chain):
    trees, people, _ = chain
    if not any(p[-1] == 1 for p in people):
        return
    for scope in ("feasible", "literal"):
        from_tables = sf.attack.correspondence(tables(*chain), policy(trees), scope=scope)
        from_imprints = sf.attack.correspondence(releases(*chain), policy(trees), scope=scope)
        assert from_tables.as_dict() == from_imprints.as_dict()


WORDS = {
    "columns": {
        "place": {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK", "France"]}}},
        "job": {"role": "quasi"},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"continuous": {"k": 5}}],
    "protect": {"search": "top-down", "suppress": 0},
    "confirm": {"disease": True},
}
FIRST = pl.DataFrame({"place": ["Europe"] * 5, "job": ["Lawyer"] * 5, "disease": ["Flu"] * 3 + ["HIV"] * 2})
SECOND = pl.DataFrame(
    {
        "place": ["UK"] * 5 + ["France"] * 5,
        "job": ["*"] * 10,
        "disease": ["Flu"] * 3 + ["HIV"] * 2 + ["Flu"] * 2 + ["HIV"] * 3,
    }
)


def test_the_example_of_the_paper_from_two_files(tmp_path):
    FIRST.write_csv(tmp_path / "one.csv")
    SECOND.write_parquet(tmp_path / "two.parquet")
    found = sf.attack.correspondence([tmp_path / "one.csv", tmp_path / "two.parquet"], WORDS)
    assert (found.FA, found.CA, found.BA) == (4, 4, 4) and found.holds is False


def test_what_cannot_be_read_is_refused():
    with pytest.raises(UsageError, match="by the taxonomies of a policy"):
        sf.attack.correspondence([FIRST, SECOND])
    mixed = FIRST.with_columns(place=pl.Series(["Europe"] * 4 + ["UK"]))
    with pytest.raises(BadData, match="no single recoding"):
        sf.attack.correspondence([mixed, SECOND], WORDS)
    with pytest.raises(BadData, match="no values of its taxonomy"):
        sf.attack.correspondence([FIRST.with_columns(place=pl.lit("Asia")), SECOND], WORDS)
    grown = {
        **WORDS,
        "columns": {**WORDS["columns"], "place": {"role": "quasi", "taxonomy": {"prefix": [1]}}},
    }
    with pytest.raises(UsageError, match="grows from the data"):
        sf.attack.correspondence([FIRST, SECOND], grown)
    with pytest.raises(BadData, match="1 columns that the policy publishes"):
        sf.attack.correspondence([FIRST.drop("job"), SECOND], WORDS)

"""How often each verb reads its input: `docs/architecture.md` says the same."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.inputs import unheard
from sfumato.policy.taxonomies.dates import Dates
from sfumato.table.form_of_source import RowSource
from sfumato.table.source import open_source
from sfumato.workflows.confirm import check_policy
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

POLICY = {
    "columns": {
        "id": {"role": "identifier"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "age": {"role": "quasi", "taxonomy": {"intervals": [10, 40], "from": 0, "to": 80}},
        "note": {"role": "insensitive"},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "disease", "l": 2, "kind": "distinct"}}],
    "protect": {"price": "none", "search": "lattice", "suppress": "10%"},
}
PEOPLE = {**POLICY, "person": "id"}
EACH_ROW = {**POLICY, "person": "each-row"}
KNOWLEDGE = {"flu": ["cough", "fever"], "cold": ["cough"]}
SETS = {
    "columns": {
        "id": {"role": "identifier"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "note": {"role": "insensitive"},
        "signs": {"role": "quasi-sensitive", "separator": "|"},
        "cough": {"role": "quasi-sensitive", "set": "more"},
        "fever": {"role": "quasi-sensitive", "set": "more"},
    },
    "promises": [
        {"k-anonymity": {"k": 2}},
        {
            "quasi-sensitive": {
                "of": "signs",
                "kind": "diversity",
                "l": 2,
                "c": "100%",
                "knowledge": KNOWLEDGE,
            }
        },
        {"quasi-sensitive": {"of": "more", "kind": "diversity", "l": 2, "c": "100%", "knowledge": KNOWLEDGE}},
    ],
    "protect": {"search": "top-down", "suppress": 0},
}


def table(rows=120):
    return pa.table(
        {
            "id": [f"p{i // 2}" for i in range(rows)],
            "zip": [f"0{i // 2 % 3}{i // 2 % 4}" for i in range(rows)],
            "age": [str(i // 2 % 70) for i in range(rows)],
            "note": [["x", "X", None][i % 3] for i in range(rows)],
            "disease": [["flu", "Flu", "cough"][i // 2 % 3] for i in range(rows)],
        }
    )


class CountingReader:
    """Counts how often its rows are asked for, and which columns."""

    def __init__(self, rows=None):
        self.reader, self.asked = open_source(table() if rows is None else rows).reader, []

    def __getattr__(self, name):
        return getattr(self.reader, name)

    def batches(self, names):
        self.asked.append(sorted(names))
        return self.reader.batches(names)


@pytest.fixture
def reader():
    return CountingReader()


def warnings():
    found = []
    return found, lambda diagnosis: found.append(diagnosis.name)


def test_protect_reads_once(reader):
    sf.protect(RowSource(reader), POLICY)
    assert reader.asked == [["age", "disease", "id", "note", "zip"]]  # `id` may repeat, `note` hold names
    reader.asked.clear()
    sf.protect(RowSource(reader), POLICY, warn=unheard)
    assert reader.asked == [["age", "disease", "note", "zip"]]


def test_protect_with_warnings_reads_once(reader):
    found, warn = warnings()
    plan = sf.protect(RowSource(reader), POLICY, warn=warn)
    assert reader.asked == [["age", "disease", "id", "note", "zip"]]
    assert found == ["several-rows", "folded"]
    assert plan.as_dict() == sf.protect(table(), POLICY).as_dict()


def test_applying_a_plan_reads_once(reader):
    plan = sf.protect(table(), POLICY)
    plan.apply(RowSource(reader))
    assert len(reader.asked) == 1


@pytest.mark.parametrize("policy", [POLICY], ids=["rows"])
def test_protect_to_a_file_reads_twice(reader, policy, tmp_path):
    """Once to count and survey, once to write the file; people with several rows take more passes."""
    found, warn = warnings()
    _, verdicts = protect_file(RowSource(reader), policy, tmp_path / "safe.csv", warn=warn)
    assert len(reader.asked) == 2
    assert found == (["folded"] if "person" in policy else ["several-rows", "folded"])
    assert all(verdict.holds for verdict in verdicts)
    assert [path.name for path in tmp_path.iterdir()] == ["safe.csv"]


@pytest.mark.parametrize("to", [None, ["lab"], ["north", "south"]], ids=str)
@pytest.mark.parametrize("policy", [EACH_ROW, PEOPLE], ids=["rows", "people"])
def test_a_release_reads_once_however_many_recipients(reader, policy, to, tmp_path):
    """Once for groups, and where all that is published was counted: versions are written from counts then."""
    several = (
        {"recipients": {"by": "marks"}, "chain": {}}
        if policy is PEOPLE
        else {"recipients": {"quality": "entropy", "tolerance": "100%"}}
    )
    rules = policy | several if to and len(to) > 1 else policy
    found, warn = warnings()
    made = sf.release(
        RowSource(reader), rules, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / "one", to=to, warn=warn
    )
    assert made.published
    assert len(reader.asked) == 1
    assert found == ["folded"]
    assert len(list((tmp_path / "one").rglob("data.csv"))) == max(1, len(to or ()))


def test_a_rehearsal_reads_once(reader, tmp_path):
    rules = {**EACH_ROW, "recipients": {"tolerance": "100%"}}
    ledger = f"sqlite:///{tmp_path}/l.db"
    sf.release(RowSource(reader), rules, ledger=ledger, to=["north", "south"], dry_run=True)
    assert len(reader.asked) == 1


def test_term_sets_are_warned_of_by_the_pass_that_counts(tmp_path):
    rows = {
        "id": [f"p{i}" for i in range(60)],
        "zip": [f"0{i % 3}{i % 2}" for i in range(60)],
        "note": ["x"] * 60,
        "signs": [["cough", "cough|fever", "cough|itching"][i // 3 % 3] for i in range(60)],
        "cough": ["1"] * 60,
        "fever": [str(i % 2) for i in range(60)],
    }
    reader = CountingReader(pa.table(rows))
    found, warn = warnings()
    protect_file(RowSource(reader), SETS, tmp_path / "safe.csv", warn=warn)
    assert len(reader.asked) == 2
    assert found == ["unknown-terms", "unlinked"]
    reader.asked.clear()
    assert {"unknown-terms", "unlinked"} <= {d.name for d in check_policy(SETS, RowSource(reader))}
    assert len(reader.asked) == 1


def test_a_limit_of_memory_costs_one_more_pass_where_warnings_are_wanted(reader):
    """The survey then has a pass of its own: it takes no room from what is counted."""
    found, warn = warnings()
    sf.protect(RowSource(reader), POLICY, memory="4GB", warn=warn)
    assert reader.asked == [["age", "disease", "id", "note", "zip"], ["age", "disease", "zip"]]
    assert found == ["several-rows", "folded"]
    reader.asked.clear()
    sf.protect(RowSource(reader), POLICY, memory="4GB", warn=unheard)
    assert len(reader.asked) == 1


def test_an_audit_reads_once_for_the_attacks_and_the_judge(reader, tmp_path):
    """The judge is handed the rows that are counted; a file it reads for itself."""
    sf.audit(RowSource(reader), POLICY)
    assert len(reader.asked) == 1
    chained = {
        **EACH_ROW,
        "promises": [{"continuous": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"disease": True},
    }
    ledger = f"sqlite:///{tmp_path}/l.db"
    sf.release(table(), chained, ledger=ledger, into=tmp_path / "one")
    published = open_source(tmp_path / "one" / "data.csv")
    again = CountingReader(pa.Table.from_batches(published.reader.batches(published.columns)))
    assert sf.audit(RowSource(again), chained, against=ledger).holds
    assert len(again.asked) == 2


@pytest.mark.parametrize(
    "verb",
    [
        lambda source: sf.discover(source, k=2, mode="any", max_size=2, without=["id"]),
        lambda source: sf.patterns(source, POLICY),
        lambda source: sf.capacity(source, POLICY),
        lambda source: check_policy(POLICY, source),
    ],
    ids=["discover", "patterns", "capacity", "policy check"],
)
def test_other_verbs_read_once(reader, verb):
    verb(RowSource(reader))
    assert len(reader.asked) == 1


def test_a_draft_is_surveyed_and_planned(reader):
    """And planned again for every variant that is tried, here three that protect less."""
    sf.declare(RowSource(reader))
    assert len(reader.asked) == 5


def test_a_trace_reads_the_leak_once(tmp_path):
    ledger = f"sqlite:///{tmp_path}/l.db"
    sf.release(table(), EACH_ROW, ledger=ledger, into=tmp_path / "one", to="lab")
    published = open_source(tmp_path / "one" / "data.csv")
    leak = CountingReader(pa.Table.from_batches(published.reader.batches(published.columns)))
    traced = sf.trace(RowSource(leak), ledger=ledger)
    assert traced.ours
    assert len(leak.asked) == 1


@pytest.mark.parametrize(
    "call",
    [
        ("protect", "data.csv", "--dry-run"),
        ("protect", "data.csv", "-o", "safe.csv"),
        ("release", "data.csv", "--into", "one", "--ledger", "sqlite:///l.db"),
        ("release", "data.csv", "--dry-run", "--ledger", "sqlite:///l.db"),
        ("audit", "data.csv", "--strict"),
        ("policy", "check"),
    ],
    ids=" ".join,
)
def test_a_command_loads_its_policy_once(sfumato, clinic, monkeypatch, call):
    monkeypatch.chdir(clinic())
    loaded, load = [], sf.Policy.load
    monkeypatch.setattr(sf.Policy, "load", lambda path: loaded.append(path) or load(path))
    option = ["policy.yaml", "data.csv"] if call[0] == "policy" else ["-p", "policy.yaml"]
    assert sfumato(*call, *option).code in (0, 1)
    assert len(loaded) == 1


def test_a_taxonomy_is_built_once_though_the_table_is_examined_for_warnings(monkeypatch):
    built, build = [], Dates.build
    monkeypatch.setattr(Dates, "build", lambda self, values: built.append(1) or build(self, values))
    people = pl.DataFrame({"born": [f"19{year}-0{month}-11" for year in range(60, 80) for month in (1, 2)]})
    policy = {
        "columns": {"born": {"role": "quasi", "taxonomy": {"date": ["year", "decade"]}}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"suppress": 0, "search": "top-down"},
    }
    sf.protect(people, policy, warn=lambda _: None)
    assert len(built) == 1

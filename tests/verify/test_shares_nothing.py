"""The judge shares nothing with the search: recorded while it works, and read off its imports."""

from __future__ import annotations

import ast
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.models.continuous.chain import Chain
from sfumato.models.k_anonymity import judge as k_anonymity
from sfumato.policy.taxonomies import rule_from
from sfumato.system.memory import Memory
from sfumato.table.form_of_source import RowSource
from sfumato.table.reader import ArrowReader
from sfumato.table.release_summary import Imprint
from sfumato.verify import policy_data
from sfumato.verify.chain import ruling
from sfumato.workflows.protect_file import protect_file
from verify.executed_modules import ALLOWED, is_below, recorded

pytestmark = pytest.mark.slow

POLICY = {
    "columns": {
        "who": {"role": "identifier"},
        "born": {"role": "quasi", "taxonomy": {"date": ["month", "year"]}},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [3, 1]}},
        "job": {
            "role": "free",
            "sensitive": ["Spy"],
            "taxonomy": {"tree": {"State": ["Spy", "Clerk"], "Cook": None}},
        },
        "age": {"role": "sensitive", "taxonomy": {"intervals": [5, 10], "from": 0, "to": 120, "top": 90}},
        "disease": {"role": "sensitive", "taxonomy": {"file": "disease.csv"}},
        "code": {"role": "sensitive", "taxonomy": {"mask": "right"}},
        "symptoms": {"role": "quasi-sensitive"},
        "visits": {"role": "insensitive"},
    },
    "promises": [
        {"k-anonymity": {"k": 2}},
        {"l-diversity": {"of": "disease", "l": 1}},
        {"l-diversity": {"of": "age", "l": 1, "kind": "entropy"}},
        {"l-diversity": {"of": "code", "l": 1, "kind": "recursive", "c": 99}},
        {"confidence-bounding": {"of": "disease", "confidence": 1}},
        {"alpha-k-anonymity": {"of": "disease", "alpha": 1, "k": 2}},
        {"t-closeness": {"of": "age", "t": 1, "distance": "ordered"}},
        {
            "t-closeness": {
                "of": "disease",
                "t": 1,
                "distance": "hierarchical",
                "reference": {"Flu": 3, "TB": 1},
            }
        },
        {"freeform": {"threat": "9/10"}},
        {
            "quasi-sensitive": {
                "kind": "diversity",
                "of": "symptoms",
                "l": 1,
                "c": 99,
                "knowledge": {"Flu": ["fever", "cough"], "Cold": ["cough", "sneeze"]},
            }
        },
        {
            "quasi-sensitive": {
                "kind": "closeness",
                "of": "symptoms",
                "t": 1,
                "knowledge": {"Flu": ["fever", "cough"], "Cold": ["cough", "sneeze"]},
            }
        },
    ],
    "protect": {"search": "top-down", "suppress": 0},
    "confirm": {"age": True, "disease": True, "code": True},
}
JUDGES = [
    "k_anonymity.judge.k_anonymity",
    "l_diversity.judge.distinct_l_diversity",
    "l_diversity.judge.entropy_l_diversity",
    "l_diversity.judge.recursive_l_diversity",
    "confidence.judge.confidence_bounding",
    "confidence.judge.alpha_k_anonymity",
    "t_closeness.judge.t_closeness",
    "freeform.judge.freeform",
    "quasi_sensitive.judge.quasi_sensitive_diversity",
]
TABLE = pa.table(
    {
        "who": [str(i) for i in range(8)],
        "born": ["2020-01-03", "2020-01-04", "2021-02-05", "2021-02-05"] * 2,
        "zip": ["02138", "02139", "02141", None] * 2,
        "job": ["Spy", "Clerk", "Cook", "Cook"] * 2,
        "age": [11, 42, 93, 95, 20, 25, 33, None],
        "disease": ["Flu", "TB", "Flu", "AIDS"] * 2,
        "code": ["K1", "K2", "L1", "L2"] * 2,
        "symptoms": ["fever;cough", "cough", "sneeze", "fever"] * 2,
        "visits": list(range(8)),
    }
)


def policy_in(folder):
    (folder / "disease.csv").write_text("Flu;Viral;*\nAIDS;Viral;*\nTB;Bacterial;*\n")
    return sf.Policy.from_dict(POLICY, folder=folder)


@pytest.fixture
def policy(tmp_path):
    return policy_in(tmp_path)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """What is recorded while a release is made, and its file."""
    home = tmp_path_factory.mktemp("released")
    ledger, policy = f"sqlite:///{home}/ledger.db", policy_in(home)
    with recorded() as found:
        receipt = sf.release(TABLE, policy, into=home / "out", ledger=ledger, chain="main")
    return found, receipt.folder / "data.csv"


def judged(found):
    """Every judge was at work, and nothing else of ours."""
    assert {f"sfumato.models.{name}" for name in JUDGES} <= found.functions
    assert "sfumato.verify.trees" in found.inside
    assert found.foreign == set()


def test_in_a_release(released):
    judged(released[0])


def test_in_protect_with_a_file(policy, tmp_path):
    source, target = tmp_path / "people.parquet", tmp_path / "safe.csv"
    pa.parquet.write_table(TABLE, source)
    (tmp_path / "policy.yaml").write_text(policy.to_yaml())
    with recorded() as found:
        assert run(["protect", str(source), "-p", str(tmp_path / "policy.yaml"), "-o", str(target)]) == 0
    judged(found)


def others(table):
    """A table of another package: only what a reader has to have."""
    return RowSource(ArrowReader(table, kind="theirs"))


class OtherSource:
    """A source of another make: it counts and publishes, and hands out no batches."""

    kind, memory = "another", Memory()

    def __init__(self, table):
        self._source = RowSource(ArrowReader(table))
        self.columns = self._source.columns

    def survey(self, *words, **more):
        return self._source.survey(*words, **more)

    def count(self, *words, **more):
        return self._source.count(*words, **more)

    def recode(self, *words, **more):
        return self._source.recode(*words, **more)

    def write(self, *words, **more):
        return self._source.write(*words, **more)

    def digest(self, *words, **more):
        return self._source.digest(*words, **more)


KINDS = {
    "pandas": lambda t: t.to_pandas(),
    "polars": pl.from_arrow,
    "polars-lazy": lambda t: pl.from_arrow(t).lazy(),
    "pyarrow": lambda t: t,
    "duckdb": lambda t: duckdb.connect().from_arrow(t),
    "of others": others,
    "of another make": OtherSource,
}


@pytest.mark.parametrize("kind", KINDS)
def test_in_an_audit_of_a_frame(policy, kind):
    frame = KINDS[kind](TABLE.drop_columns(["who"]).slice(1))
    with recorded() as found:
        audit = sf.audit(frame, policy)
    judged(found)
    assert [v.holds for v in audit.verdicts[:2]] == [False, True]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_in_an_audit_of_a_file(policy, released, tmp_path, ending):
    """A file in the form of releases is judged from its bytes, any other by the rows that it holds."""
    path = released[1]
    if ending == "tsv":
        path = tmp_path / "data.tsv"
        pd.read_csv(released[1], dtype=str).to_csv(path, sep="\t", index=False)
    with recorded() as found:
        audit = sf.audit(path, policy, reference=_reference(released[1].parents[1]))
    judged(found)
    assert {v.holds for v in audit.verdicts} == {True}


def _reference(folder):
    return next(folder.glob("out*.reference.json"))


CHAIN = {
    "columns": {
        "month": {"role": "identifier"},
        "place": {"role": "quasi", "taxonomy": {"tree": {"North": ["a", "b"], "South": ["c", "d"]}}},
        "job": {"role": "quasi", "taxonomy": {"tree": {"State": ["e", "f"], "Trade": ["g", "h"]}}},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"continuous": {"k": 2, "since": "month"}}],
    "protect": {"search": "top-down", "suppress": 0, "loss": "discernibility"},
    "confirm": {"disease": True},
}
MONTHS = ("1", "2", "3")


def people(upto):
    """Everybody who came up to a month."""
    random = np.random.default_rng(5)
    cells = random.integers(0, [4, 4, 3], (90, 3)).tolist()
    rows = [(MONTHS[i // 30], "abcd"[p], "efgh"[j], f"d{d}") for i, (p, j, d) in enumerate(cells)]
    return pl.DataFrame([row for row in rows if row[0] <= upto], schema=list(CHAIN["columns"]), orient="row")


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A ledger with three releases, what is recorded while they are made, and where they are."""
    home = tmp_path_factory.mktemp("chain")
    ledger = f"sqlite:///{home}/chain.db"
    with recorded() as found:
        for month in MONTHS:
            sf.release(people(month), CHAIN, into=home / month, ledger=ledger)
    return ledger, found, home


CHECKS = ("worlds.WorldBounds.take", "worlds.SumSystem.is_world")


def judged_a_chain(found, checks=CHECKS):
    """The judge of chains checked what it was handed, and nothing else of ours was at work."""
    asked = ("ruling.ChainCase.rule", "ruling.nodes_of", *checks)
    assert {f"sfumato.verify.chain.{name}" for name in asked} <= found.functions
    assert found.foreign == set()


def test_in_a_chain_of_three_releases(chain):
    """The third is judged beside the second alone, which settled the first: two tables need no evidence."""
    judged_a_chain(chain[1], checks=("ruling.candidates_of_two",))


def test_in_protect_beside_two_earlier_releases(chain, tmp_path):
    earlier = [Imprint.from_json(r.memory) for r in sf.Ledger(chain[0], readonly=True).history("main")][:2]
    with recorded() as found:
        _, verdicts = protect_file(people("3"), CHAIN, tmp_path / "third.parquet", earlier=earlier)
    assert verdicts[0].holds and "beside 2 earlier releases" in verdicts[0].reason
    judged_a_chain(found)


@pytest.mark.parametrize("kind", ["file", "frame"])
def test_in_an_audit_beside_all_releases(chain, kind):
    path = chain[2] / "2" / "data.csv"
    with recorded() as found:
        audit = sf.audit(path if kind == "file" else pl.read_csv(path), CHAIN, against=chain[0])
    assert audit.holds and audit.beside.place == 2
    assert audit.verdicts[0].reason == "beside 2 other releases"
    judged_a_chain(found)


def test_a_judge_that_borrowed_from_the_search_would_be_caught(chain, monkeypatch):
    class Borrowed(ruling.RememberedRelease):
        @classmethod
        def of(cls, document):
            Chain.of([Imprint.from_dict(document)])
            return super().of(document)

    monkeypatch.setattr(ruling, "RememberedRelease", Borrowed)
    with recorded() as found:
        sf.audit(chain[2] / "2" / "data.csv", CHAIN, against=chain[0])
    assert {"sfumato.models.continuous.chain", "sfumato.table.release_summary"} <= found.foreign


def test_a_judge_that_asked_the_policy_for_a_tree_would_be_caught(policy, monkeypatch):
    def borrowed(spec, texts, *, content=None):
        rule_from({"flat": True}).build(texts)
        return honest(spec, texts, content=content)

    honest = policy_data.value_tree
    monkeypatch.setattr(policy_data, "value_tree", borrowed)
    with recorded() as found:
        sf.audit(TABLE, policy)
    assert {"sfumato.policy.taxonomies.texts", "sfumato.table.taxonomy"} <= found.foreign


def test_a_judge_that_asked_the_promise_would_be_caught(policy, monkeypatch):
    [promise] = [p for p in policy.promises if p.name == "k-anonymity"]
    honest = k_anonymity.people_verdict
    monkeypatch.setattr(
        k_anonymity,
        "people_verdict",
        lambda data, *words, **more: (promise.judge_data(), honest(data, *words, **more))[1],
    )
    with recorded() as found:
        sf.audit(TABLE, policy)
    assert "sfumato.models.contract" in found.foreign


def test_nothing_else_is_imported():
    """Types count, too."""
    rooms = Path(sf.__file__).parent
    of_models = list(rooms.glob("models/*/judge.py"))
    assert {file.parent for file in of_models} == {file.parent for file in rooms.glob("models/*/__init__.py")}
    judges = [*(rooms / "verify").rglob("*.py"), *of_models]
    assert len(judges) > 20
    for file in judges:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not isinstance(node, ast.ImportFrom) or node.level == 0, file
            ours = [name for name in names if is_below(name, "sfumato")]
            assert all(any(is_below(name, room) for room in ALLOWED) for name in ours), (file, ours)

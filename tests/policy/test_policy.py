"""Loading policies: what is read, what is refused, and on which line."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from policy.sample_policies import HEAD, SMALL, TAIL, WHOLE
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.policy import yaml
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadPolicy, BadTaxonomy, Origin
from sfumato.table.microdata import Missing, Role
from sfumato.table.taxonomy import Taxonomy
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "job.csv").write_text("nurse;care;*\ncook;kitchen;*\n")
    (tmp_path / "policy.yaml").write_text(WHOLE)
    return tmp_path


def load(text):
    document = yaml.read(text)
    return Policy.from_dict(document.data, origin=Origin(lines=document.lines))


def complaint(text):
    with pytest.raises(BadPolicy) as caught:
        load(text)
    return str(caught.value)


def test_the_whole_shape(folder):
    policy = Policy.load(folder / "policy.yaml")
    assert policy.published == ("age", "zip", "born", "sex", "job", "disease", "visits")
    assert policy.dropped == ("name",) and policy.person == "name"
    assert [(c.name, c.role) for c in policy.codings] == [
        *((name, Role.QUASI) for name in ("age", "zip", "born", "sex", "job")),
        ("disease", Role.SENSITIVE),
    ]
    assert policy.protect.suppress == Fraction(1, 20)
    assert policy.protect.weights == {"age": 2, "zip": Fraction(1, 2)}
    assert policy.missing is Missing.OWN_VALUE
    assert [p.name for p in policy.promises] == ["k-anonymity", "l-diversity", "t-closeness"]
    assert policy.codings[4].build(["nurse", None]).leaf_labels == ("nurse", "cook", None)
    assert policy.codings[3].build(["f", "m"]).labels == ("*", "f", "m")


def test_defaults():
    policy = Policy.from_dict(SMALL)
    assert (policy.protect.search, policy.protect.suppress, policy.missing) == (
        "top-down",
        0,
        Missing.OWN_VALUE,
    )
    assert policy.person is None and policy.dropped == ()


def test_python_objects_are_taken_as_they_are():
    tree = Taxonomy.grow(["*", "V", "Flu", "TB"], [-1, 0, 1, 1])
    policy = Policy.from_dict(
        {
            "columns": {"a": {"role": Role.QUASI, "taxonomy": tree}, "b": {"role": "insensitive"}},
            "promises": [KAnonymity(3), {"k-anonymity": {"k": np.int64(2)}}],
            "protect": {"search": "top-down", "price": "none", "suppress": Fraction(1, 3)},
        }
    )
    assert policy.codings[0].build([]).digest == tree.digest
    assert policy.protect.suppress == Fraction(1, 3) and len(policy.promises.members) == 2
    assert Policy.from_dict(policy.to_dict()).digest == policy.digest


def test_a_distance_in_order_makes_the_default_taxonomy_ordered():
    words = {**SMALL, "promises": [{"t-closeness": {"of": "d", "t": "1/2", "distance": "ordered"}}]}
    tree = Policy.from_dict(words).codings[1].build(["10", "9"])
    assert tree.ordered and tree.leaf_labels == ("9", "10")


def test_it_comes_back_from_yaml_with_the_same_digest(folder):
    policy = Policy.load(folder / "policy.yaml")
    (folder / "again.yaml").write_text(policy.to_yaml())
    again = Policy.load(folder / "again.yaml")
    assert again.digest == policy.digest and again.to_yaml() == policy.to_yaml()
    assert again.columns == policy.columns and again.promises == policy.promises


def test_the_digest_covers_the_files(folder):
    before = Policy.load(folder / "policy.yaml").digest
    (folder / "job.csv").write_text("nurse;care;*\ncook;cooks;*\n")
    assert Policy.load(folder / "policy.yaml").digest != before


def test_the_digest_covers_references(folder):
    words = "reference: pop.csv, distance: hierarchical"
    (folder / "policy.yaml").write_text(WHOLE.replace("distance: hierarchical", words))
    (folder / "pop.csv").write_text("value,count\nFlu,3\nTB,1\n")
    policy = Policy.load(folder / "policy.yaml")
    (folder / "again.yaml").write_text(policy.to_yaml())
    assert Policy.load(folder / "again.yaml").digest == policy.digest
    assert "reference: pop.csv" in policy.to_yaml()
    (folder / "pop.csv").write_text("value,count\nFlu,3\nTB,2\n")
    assert Policy.load(folder / "policy.yaml").digest != policy.digest


@dataclass(frozen=True)
class Filed(KAnonymity):
    """A promise of another package that was made from a file."""

    digest: ClassVar[str] = "1"

    @property
    def files(self):
        return (("limits.csv", self.digest),)


def test_the_digest_covers_the_files_of_any_promise(monkeypatch):
    words = {**SMALL, "promises": [Filed(5)]}
    before = Policy.from_dict(words).digest
    assert before != Policy.from_dict({**SMALL, "promises": [KAnonymity(5)]}).digest
    monkeypatch.setattr(Filed, "digest", "2")
    assert Policy.from_dict(words).digest != before


@dataclass(frozen=True)
class Outspoken(DistinctLDiversity):
    """A promise about a column that others publish unchanged and count nowhere."""

    roles: ClassVar[tuple[Role, ...]] = (Role.INSENSITIVE,)


@dataclass(frozen=True)
class Curious(KAnonymity):
    """A promise that reads a column whose histogram it does not need."""

    reads: ClassVar[tuple[str, ...]] = ("note",)


@pytest.mark.parametrize("made", [Outspoken("note", 2), Curious(2)])
def test_every_column_that_a_promise_reads_is_coded(made, tmp_path):
    columns = {"zip": {"role": "quasi"}, "note": {"role": "insensitive"}, "rest": {"role": "insensitive"}}
    policy = Policy.from_dict(
        {"columns": columns, "promises": [made], "protect": {"search": "top-down", "suppress": 0}}
    )
    assert [c.name for c in policy.codings] == ["zip", "note"]
    people = pl.DataFrame({"zip": ["1", "1", "2", "3"], "note": ["a", "b", "a", "b"], "rest": list("wxyz")})
    plan = sf.protect(people, policy)
    safe = plan.apply(people)
    assert sorted(safe["note"]) == ["a", "a", "b", "b"]
    assert sf.audit(safe, policy).holds is True
    protect_file(people, policy, tmp_path / "safe.csv")


def test_the_digest_ignores_comments_and_layout():
    one = load("columns:\n  a: {role: quasi}\npromises: [{k-anonymity: {k: 5}}]\nprotect: {suppress: 0.05}\n")
    two = load("promises:\n- k-anonymity: {k: 5}\ncolumns: {a: {role: quasi}} # x\nprotect: {suppress: 5%}\n")
    three = load(
        "columns: {a: {role: quasi}}\npromises: [{k-anonymity: {k: 6}}]\nprotect: {suppress: 1/20}\n"
    )
    assert one.digest == two.digest != three.digest


def test_labels_keep_their_digits():
    policy = load(
        "columns: {a: {role: quasi, taxonomy: {tree: {07: [007, 1.50, no, 2020-01-01, 0x1F, 'true']}}}}\n"
        "promises: [{k-anonymity: {k: 5}}]\n"
    )
    assert policy.codings[0].build([]).leaf_labels == ("007", "1.50", "no", "2020-01-01", "0x1F", "true")


def test_columns_must_match():
    policy = Policy.from_dict(SMALL)
    policy.check_columns(["d", "a"])
    with pytest.raises(BadPolicy, match=r"not declared: b, c\..*Declare every column"):
        policy.check_columns(["a", "b", "c", "d"])
    with pytest.raises(BadPolicy, match=r"not in the data: d\."):
        policy.check_columns(["a"])


def test_errors_of_a_taxonomy_name_the_column_and_hide_the_values():
    words = {**SMALL, "columns": {"a": {"role": "quasi", "taxonomy": {"tree": ["x"]}}}}
    with pytest.raises(BadTaxonomy, match="column a: 2 values occur") as caught:
        Policy.from_dict(words).codings[0].build(["x", "canary", "canary2"])
    assert "canary" not in str(caught.value) and caught.value.values == ("canary", "canary2")


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        (HEAD + TAIL + "protekt: {}\n", "line 7, protekt", "unknown key. Did you mean protect?"),
        (
            HEAD + TAIL.replace("k: 5", "k: 0"),
            "line 6, promises[0].k-anonymity.k",
            "whole number from 1 to 2147483647",
        ),
        (HEAD + TAIL.replace("k: 5", "k: -1"), "line 6, promises[0].k-anonymity.k", "whole number from 1"),
        (HEAD + TAIL.replace("k: 5", "k: 1e12"), "line 6, promises[0].k-anonymity.k", "whole number from 1"),
        (HEAD + TAIL.replace("k: 5", "k: 1000000000000"), "line 6", "from 1 to 2147483647"),
        (HEAD + TAIL.replace("k: 5", "k: 5.5"), "line 6", "whole number"),
        (HEAD + TAIL.replace("k: 5", "k: yes please"), "line 6", "whole number"),
        (HEAD + TAIL.replace("k: 5", "k: true"), "line 6", "whole number"),
        (HEAD + TAIL.replace("k: 5", "kk: 5"), "line 6", "unknown key. "),
        (HEAD + TAIL.replace("k: 5", ""), "line 6, promises[0].k-anonymity", "k is missing"),
        (
            HEAD + TAIL.replace("k-anonymity", "k-anonimity"),
            "line 6, promises[0]",
            "Did you mean k-anonymity?",
        ),
        (
            HEAD + TAIL.replace("k-anonymity: {k: 5}", "freeform: {threat: 1/2}"),
            "line 6",
            "no column is free",
        ),
        (
            HEAD + TAIL.replace("k-anonymity", "quasi-sensitive"),
            "line 6",
            "quasi-sensitive: knowledge is missing",
        ),
        (HEAD + "promises: []\n", "line 5, promises", "must not be empty"),
        (HEAD, "line 2", "promises is missing"),
        (TAIL, "line 1", "columns is missing"),
        ("columns: {}\n" + TAIL, "line 1, columns", "must not be empty"),
        (
            HEAD.replace("role: quasi", "role: quazi") + TAIL,
            "line 3, columns.age.role",
            "Did you mean quasi?",
        ),
        (
            HEAD.replace("role: quasi", "role: free") + TAIL,
            "line 3, columns.age.role",
            "free means nothing without the promise freeform",
        ),
        (
            HEAD.replace("quasi}", "quasi-sensitive}") + TAIL,
            "line 3, columns.age.role",
            "means nothing without",
        ),
        (HEAD.replace("role: quasi", "rolle: quasi") + TAIL, "line 3, columns.age", "Did you mean role?"),
        (HEAD.replace("{role: quasi}", "7") + TAIL, "line 3, columns.age", "must be a mapping"),
        (HEAD.replace("{role: quasi}", "") + TAIL, "line 3, columns.age", "must be a mapping"),
        (
            HEAD.replace("quasi}", "quasi, taxonomy: {prefx: [3]}}") + TAIL,
            "line 3, columns.age.taxonomy",
            "prefix?",
        ),
        (
            HEAD.replace("quasi}", "quasi, taxonomy: {prefix: 3}}") + TAIL,
            "columns.age.taxonomy.prefix",
            "must be a list",
        ),
        (
            HEAD.replace("quasi}", "quasi, taxonomy: {prefix: [x]}}") + TAIL,
            "taxonomy.prefix[0]",
            "whole number from 1",
        ),
        (
            HEAD.replace("quasi}", "quasi, taxonomy: {intervals: [5, 12], from: 0, to: 9}}") + TAIL,
            "line 3",
            "5 does not divide",
        ),
        (HEAD.replace("quasi}", "quasi, taxonomy: {file: no.csv}}") + TAIL, "line 3", "cannot be read"),
        (HEAD + TAIL + "protect: {suppress: 150%}\n", "line 7, protect.suppress", "share from 0 to 1"),
        (HEAD + TAIL + "protect: {suppress: a lot}\n", "line 7, protect.suppress", "fraction such as 1/5"),
        (HEAD + TAIL + "protect: {suppress: 1/0}\n", "line 7, protect.suppress", "1/5"),
        (HEAD + TAIL + "protect: {suppress: -1%}\n", "line 7, protect.suppress", "1/5"),
        (HEAD + TAIL + "protect: {serch: lattice}\n", "line 7, protect.serch", "Did you mean search?"),
        (HEAD + TAIL + "protect: {search: latice}\n", "line 7, protect.search", "Did you mean lattice?"),
        (HEAD + TAIL + "missing: drop\n", "line 7, missing", "own-value, suppress, refuse"),
        (HEAD + TAIL + "person: agee\n", "line 7, person", "Did you mean age?"),
        (HEAD.replace("# a policy", "sfumato: 3") + TAIL, "line 1, sfumato", "there is one form of policies"),
        (HEAD + "  age: {role: quasi}\n" + TAIL, "line 5", "the key age occurs twice"),
        ("- a\n- b\n", "line 1", "must be a mapping"),
        ("just text\n", "line 1", "must be a mapping"),
    ],
)
def test_every_message_names_key_and_line(text, where, what):
    said = complaint(text)
    assert where in said and what in said, said


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n...\n"])
def test_an_empty_policy(text):
    assert "the policy is empty" in complaint(text) or "must be a mapping" in complaint(text)


def test_all_problems_come_together_in_the_order_of_the_file():
    said = complaint(
        "colums: {}\ncolumns:\n  a: {role: quazi}\n  b: {role: quasi, taxonomy: {date: [eon]}}\n"
        "promises:\n  - k-anonymity: {k: 0}\n  - l-diversity: {of: c}\nprotect: {loss: fun}\n"
    )
    lines = said.splitlines()
    assert lines[0] == "policy: 6 problems"
    assert [line.split(",")[0].strip() for line in lines[1:]] == [f"line {n}" for n in (1, 3, 4, 6, 7, 8)]


def test_what_the_search_cannot_do_is_told_along_with_the_rest():
    said = complaint(HEAD + TAIL.replace("5", "0") + "protect: {search: top-down, loss: height}\n")
    assert "policy: 2 problems" in said and "line 7, protect.loss: height does not work" in said


def test_combinations_are_refused_with_their_line(tmp_path):
    (tmp_path / "p.yaml").write_text(HEAD + TAIL + "protect: {search: top-down, relaxed: true}\n")
    with pytest.raises(BadPolicy, match=r"p\.yaml, line 7, protect\.relaxed: only Mondrian"):
        Policy.load(tmp_path / "p.yaml")
    said = complaint(HEAD + "promises:\n  - k-anonymity: {k: 5}\n  - l-diversity: {of: age, l: 2}\n")
    assert "line 7, promises[1].l-diversity.of" in said and "quasi-identifier" in said


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (BOMB, "too many aliases"),
        ("a: &x [*x]\n", "an anchor contains itself"),
        ("a: !!python/object/apply:os.system [ls]\n", "is not allowed"),
        ("a: !thing {b: c}\n", "is not allowed"),
        ("a: !!binary aGVsbG8=\n", "is not allowed"),
        ("a: !!set {b, c}\n", "is not allowed"),
        ("? [a, b]\n: c\n", "a key must be a word"),
        ("a: [1, 2\nb: 3\n", "this is not YAML"),
        ("a: 'x\n", "this is not YAML"),
        ("\tb: 3\n", "this is not YAML"),
        ("a: b: c\n", "this is not YAML"),
        ("a: 1\n---\nb: 2\n", "this is not YAML"),
        ("a: \x07\n", "this is not YAML"),
        ("a: " + "[" * 60 + "]" * 60, "nested too deeply"),
        ("a: " + "[" * 3000 + "]" * 3000, "nested too deeply"),
        (
            "".join(f"{n}: &n{n} {'[' * 30}{f'*n{n - 1}' if n else 'x'}{']' * 30}\n" for n in range(50)),
            "too deeply",
        ),
        ("a: " + "x" * 2**20, "larger than 1 MiB"),
        (b"a: \xff\n", "not UTF-8"),
    ],
)
def test_hostile_yaml(text, what):
    assert what in complaint(text)


def test_yaml_errors_name_the_line():
    assert complaint("a: 1\nb: [1, 2\nc: 3\n").startswith("policy, line 3")
    assert complaint("a: 1\nb: !!binary eA==\n").startswith("policy, line 2")
    assert complaint(b"a: 1\nb: \xff\n").startswith("policy, line 2")


def test_an_honest_anchor_is_fine():
    policy = load("columns: {a: &q {role: quasi}, b: *q}\npromises: [{k-anonymity: {k: 5}}]\n")
    assert policy.columns["b"].role is Role.QUASI


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(BadPolicy, match=r"nothing\.yaml: the policy cannot be read: no such file") as missing:
        Policy.load(tmp_path / "nothing.yaml")
    assert "sfumato declare" in missing.value.remedy
    (tmp_path / "big.yaml").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(BadPolicy, match=r"big\.yaml: the file is larger than 1 MiB"):
        Policy.load(tmp_path / "big.yaml")


@given(st.text(max_size=80))
def test_any_text_is_a_policy_or_a_clear_refusal(text):
    assert complaint(text)


scraps = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("quasi"),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "taxonomy", "k", "k-anonymity", "tree", "x", "date"]), below, max_size=3
        )
    ),
    max_leaves=8,
)
keys = st.sampled_from(["sfumato", "columns", "promises", "protect", "missing", "person", "kolumns"])


@given(st.dictionaries(keys, scraps | st.dictionaries(st.text(max_size=3), scraps, max_size=2), max_size=5))
def test_any_data_is_a_policy_or_a_clear_refusal(words):
    try:
        assert isinstance(Policy.from_dict(words), Policy)
    except BadPolicy as wrong:
        assert str(wrong)

"""A certificate holds for exactly the files, the promises and the key it was made with."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import polars as pl
import pytest

import sfumato as sf
from faults.made_up import release
from sfumato.models.attack_contract import built_in, on_request
from sfumato.policy.person import PersonRule
from sfumato.releases.certificate import (
    STATED,
    Circumstances,
    examine,
    read_certificate,
    stated_adversaries,
)
from sfumato.releases.ledger.keys import public_keys
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.errors import BadData, BadLedger, Infeasible


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certified")
    ledger = Ledger(f"sqlite:///{folder}/ledger.db")
    release(ledger, folder / "one")
    return folder / "one", ledger.public_key


@pytest.fixture
def published(template, tmp_path):
    """What a reader has: the folder, and the public key."""
    shutil.copytree(template[0], tmp_path / "one")
    return tmp_path / "one", template[1]


def test_it_holds_for_what_was_published(published):
    folder, key = published
    found = examine(folder / "certificate.json", key=key)
    assert found.holds
    assert found.pinned
    assert found.as_dict()["verdicts"][0]["promise"] == "k-anonymity, k = 5"
    assert examine(folder / "certificate.json", key="0" * 64).holds is False


def test_what_is_no_certificate_or_no_key_is_refused_with_what_to_name(published):
    folder, _ = published
    with pytest.raises(BadData, match="no certificate") as refused:
        examine(folder / "data.csv")
    assert refused.value.remedy == "Name the certificate.json of a release."
    with pytest.raises(BadLedger, match="cannot be read") as missing:
        public_keys(folder / "nowhere.pub")
    assert ".key.pub" in missing.value.remedy


def test_without_the_publishers_key_it_neither_holds_nor_fails(published):
    """Anybody could have made the folder, the certificate and a key for it."""
    folder, _ = published
    found = examine(folder / "certificate.json")
    assert found.holds is None and found.as_dict()["holds"] is None and not found.faults
    assert "is NOT known" in str(found.card())


@pytest.mark.parametrize(
    "change", [str.upper, lambda text: f" {text}", lambda text: text[:2] + " " + text[2:]]
)
def test_another_spelling_of_the_signature_is_a_change(published, change):
    """Hexadecimal digits in capitals, or with blanks, are the same bytes, and not what was written."""
    folder, key = published
    place = folder / "certificate.json"
    whole = json.loads(place.read_text(encoding="utf-8"))
    place.write_text(json.dumps({**whole, "signature": change(whole["signature"])}), encoding="utf-8")
    assert examine(place, key=key).faults == ("the certificate is not signed by the key it names",)


@pytest.mark.parametrize("name", ["data2.csv", ".notes", "more"])
def test_a_strange_file_beside_it_is_named(published, name):
    folder, key = published
    if name == "more":
        (folder / name).mkdir()
    else:
        (folder / name).write_text("zip\n02138\n", encoding="utf-8")
    assert examine(folder / "certificate.json", key=key).faults == (f"{name} was not published with it",)


def leaves(content, path=()):
    if isinstance(content, dict | list):
        for key, item in content.items() if isinstance(content, dict) else enumerate(content):
            yield from leaves(item, (*path, key))
    else:
        yield path


def test_every_word_of_it_counts(published):
    folder, _ = published
    place = folder / "certificate.json"
    whole = json.loads(place.read_text(encoding="utf-8"))
    changed = 0
    for path in leaves(whole):
        if path == ("sfumato",):
            continue
        copy = json.loads(json.dumps(whole))
        spot = copy
        for key in path[:-1]:
            spot = spot[key]
        spot[path[-1]] = 4711 if isinstance(spot[path[-1]], int) else "0" * 64
        if copy == whole:
            continue
        place.write_text(json.dumps(copy), encoding="utf-8")
        assert examine(place).holds is False, path
        changed += 1
    assert changed > 15


@pytest.mark.parametrize("name", ["data.csv", "manifest.json"])
@pytest.mark.parametrize("harm", ["cut", "flip", "remove"])
def test_changed_files_are_found(published, name, harm):
    """Also a file that was cut at the end of a line, which looks like a whole one."""
    folder, key = published
    content = (folder / name).read_bytes()
    if harm == "remove":
        (folder / name).unlink()
    elif harm == "cut":
        (folder / name).write_bytes(content[: content[:-1].rindex(b"\n") + 1])
    else:
        (folder / name).write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    assert not examine(folder / "certificate.json", key=key).holds


def test_it_says_nothing_that_only_the_ledger_may_know(published):
    folder, _ = published
    text = (folder / "certificate.json").read_text(encoding="utf-8")
    assert all(word not in text for word in ("loss", "suppressed", "memory", "salt", "cuts", "taxonomies"))


# -- adversaries whom no promise stops: each is named where it applies, and nowhere else ------------------

COLUMNS = {
    "who": {"role": "identifier"},
    "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10], "from": 0, "to": 80}},
}
SECRET = {"s": {"role": "sensitive"}}
KEPT = {"p": {"role": "insensitive"}}
K, L = {"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "s", "l": 2}}
CLOSE = {"t-closeness": {"of": "s", "t": "1/2", "reference": {"x": 1, "y": 1}}}


def policy(*promises, columns=COLUMNS, **words):
    return sf.Policy.from_dict({"columns": columns, "promises": list(promises), **words})


PLAIN = policy(K)
VALUES = policy(K, L, columns=COLUMNS | SECRET)
GROUPS = policy(K, L, columns=COLUMNS | SECRET, person="who", chain={})
ROWS = policy(K, columns=COLUMNS | KEPT, person={"column": "who", "rows": "all"})


@pytest.mark.parametrize(
    ("who", "there", "absent"),
    [
        ("knows how sensitive values", Circumstances(VALUES), Circumstances(PLAIN)),
        ("knows facts", Circumstances(ROWS), Circumstances(PLAIN)),
        ("knows how insensitive columns", Circumstances(ROWS), Circumstances(VALUES)),
        ("knows one unchanged value", Circumstances(ROWS), Circumstances(PLAIN)),
        ("knows families", Circumstances(VALUES), Circumstances(PLAIN)),
        ("sees who came", Circumstances(GROUPS), Circumstances(VALUES)),
        ("knows values of other members", Circumstances(VALUES), Circumstances(PLAIN)),
        ("is a member of a group that was joined", Circumstances(GROUPS, {"blind"}), Circumstances(GROUPS)),
        ("knows that rows of a person agree", Circumstances(ROWS), Circumstances(GROUPS)),
        ("asks what somebody ever had", Circumstances(ROWS), Circumstances(GROUPS)),
        ("heard that a release was refused", Circumstances(VALUES, refused=1), Circumstances(VALUES)),
        ("knows the program", Circumstances(GROUPS, {"blind", "informed"}), Circumstances(GROUPS, {"blind"})),
        (
            "takes different values",
            Circumstances(VALUES),
            Circumstances(policy(K, CLOSE, columns=COLUMNS | SECRET)),
        ),
        ("holds some versions", Circumstances(VALUES, recipients=2), Circumstances(VALUES)),
        ("has the owner's files", Circumstances(GROUPS), Circumstances(VALUES)),
    ],
)
def test_each_sentence_is_said_where_it_applies(who, there, absent):
    (adversary,) = [told for told in STATED if told.who.startswith(who)]
    assert adversary.document(there) in stated_adversaries(there)
    assert adversary.who not in {told["who"] for told in stated_adversaries(absent)}


def test_some_are_named_always_and_every_sentence_is_tried():
    always = {told["who"] for told in stated_adversaries(Circumstances(PLAIN))}
    assert always == {told.who for told in STATED if told.applies.words == "every release"}
    assert (len(always), len(STATED)) == (3, 18)


def test_k_alone_says_nothing_of_the_program():
    who = {
        told["who"]
        for told in stated_adversaries(Circumstances(replace(ROWS, person=None, people=PersonRule())))
    }
    assert "knows the program" not in who and "knows that rows of a person agree" not in who


def test_whoever_is_measured_is_measured_by_an_attack_that_there_is():
    attacks = {*built_in(), *on_request()}
    assert {name for told in STATED for name in told.by} <= attacks
    assert {told.state for told in STATED} == {"measured", "said", "not covered"}


def released(tmp_path, rows, rules, **words):
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    return sf.release(
        rows, rules, ledger=ledger, into=tmp_path / f"r{len(list(tmp_path.iterdir()))}", **words
    )


def frame(values):
    ages = [str(20 + 7 * i % 40) for i in range(len(values))]
    return pl.DataFrame({"who": [f"p{i}" for i in range(len(values))], "age": ages, "s": list(values)})


def test_a_refusal_is_counted_and_the_certificate_says_how_often(tmp_path):
    people = frame("xxxxxxxy")
    with pytest.raises(Infeasible):
        released(tmp_path, people, policy(K, {"l-diversity": {"of": "s", "l": 3}}, columns=COLUMNS | SECRET))
    many = policy({"k-anonymity": {"k": 20}}, columns=COLUMNS | SECRET, confirm={"s": True})
    with pytest.raises(Infeasible):
        released(tmp_path, people, many)
    receipt = released(tmp_path, people, VALUES)
    told = sentences(receipt)
    assert "A release of this table was refused 1 time before this one" in told
    assert "refused" not in sentences(released(tmp_path, frame("xyxyxyxy"), VALUES, chain="others"))


def sentences(receipt):
    body = read_certificate(receipt.certificate)["entry"]["body"]
    return " ".join(told["sentence"] for told in body["adversaries"])


def test_reports_list_whom_the_certificate_names(tmp_path):
    receipt = released(tmp_path, frame("xyxyxyxy"), VALUES)
    for audience in ("internal", "public"):
        page = sf.report(receipt, VALUES, audience=audience).html
        assert "Adversaries whom no promise stops" in page and "This is not differential privacy." in page
    assert "names 12 adversaries" not in page

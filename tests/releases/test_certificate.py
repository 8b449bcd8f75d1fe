"""A certificate holds for exactly the files, the promises and the key it was made with."""

from __future__ import annotations

import json
import shutil

import pytest

from faults.made_up import release
from sfumato.releases.certificate import examine
from sfumato.releases.ledger.keys import public_keys
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.errors import BadData, BadLedger


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

"""Every parser of bytes from outside, with a whole file for each: what is read, refused, and never fatal."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
import shutil
import zipfile
from dataclasses import dataclass

import sfumato as sf
from faults.written_files import write_files
from policy.test_arx_project import project
from sfumato import demo
from sfumato.cli.attack import read_vocabulary
from sfumato.cli.trace import _lines_in
from sfumato.inputs import load_transformation
from sfumato.models.parameters import ReferenceDistribution
from sfumato.models.quasi_sensitive import knowledge
from sfumato.policy.columns import numbers_in
from sfumato.policy.other_tools import ArxProject
from sfumato.policy.reference import Reference
from sfumato.policy.taxonomies.files import parse, read_bytes
from sfumato.releases import certificate
from sfumato.releases import certificate as manifest
from sfumato.releases.ledger import backup
from sfumato.releases.ledger.backup import anchor, read_anchor
from sfumato.releases.ledger.checkpoint import last_seen
from sfumato.releases.ledger.keys import Key, ReadingKey, Secret, load_key, public_key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.overrides import WeakerOverride
from sfumato.studio.state import PolicyFile
from sfumato.system.errors import SfumatoError
from sfumato.table.data_file import DataFile
from sfumato.table.release_summary import Imprint
from sfumato.table.source import open_source
from sfumato.workflows.confirm import confirm_file
from table.reading import binary_workbooks, files_of_rows, sas_files

READY = """\
columns:
  country: {role: quasi, taxonomy: {ready: countries}}
  zip: {role: quasi, taxonomy: {prefix: [3, 1]}}
  weight: {role: insensitive}
promises:
  - k-anonymity: {k: 3}
confirm:
  weight: harmless, it seems
"""
ROWS = [
    {"zip": f"0{2100 + n % 7}", "age": 20 + n % 9, "weight": 40.5 + n, "note": None if n % 5 else "é"}
    for n in range(24)
]


@dataclass(frozen=True)
class Parser:
    """A parser: the file of the place that it reads, how, and how often its turn comes."""

    file: str
    read: object
    turns: int = 4


def read_table(path):
    source = open_source(path)
    source.survey()
    source.digest()


def read_labels(path):
    read_table(DataFile(path.with_name("visits.sas7bdat"), catalog=path))


def ask_database(path):
    open_source(DataFile(f"sqlite:///{path}", query=files_of_rows.QUERY)).survey()


def judge(path):
    """What somebody else's reader makes of the published bytes."""
    return sf.audit(path, path.with_name("rows.yaml")).as_dict()


def examine(path):
    found = certificate.examine(path)
    return str(found.card()), found.as_dict()


def trace(path):
    return sf.trace(path, ledger=f"sqlite:///{path.parent}/ledger.db").as_dict()


def verify(path):
    with Ledger(f"sqlite:///{path}", key=path.with_name("ledger.db.key"), readonly=True) as ledger:
        return ledger.verify().as_dict()


def restore(path):
    target = path.with_name("restored.db")
    for left in path.parent.glob("restored.db*"):
        left.unlink()
    return backup.restore(path, f"sqlite:///{target}", key=path.with_name("ledger.db.key"))


def history(path):
    """The states of a policy in the studio, of which one was written by somebody else."""
    policy = PolicyFile(path.parent.parent / "studio.yaml")
    told = [policy.current(), policy.history(), policy.version]
    with contextlib.suppress(SfumatoError):
        policy.undo(version=policy.version)
    return told


def confirm(path):
    return confirm_file(path, every=True)


def like(path):
    return load_transformation(path, sf.Policy.load(path.with_name("policy.yaml")))


PARSERS = {
    "policy": Parser("versions.yaml", sf.Policy.load),
    "policy with knowledge": Parser("terms_kept.yaml", sf.Policy.load, 2),
    "policy with ready taxonomies": Parser("ready.yaml", sf.Policy.load),
    "confirmed policy": Parser("ready.yaml", confirm, 2),
    "policy history": Parser(".studio.yaml.history/000002.json", history, 2),
    "hierarchy": Parser("job.csv", lambda path: parse(read_bytes(path), name=path.name), 8),
    "project of ARX": Parser("p.deid", ArxProject.read, 8),
    "knowledge": Parser("knowledge.csv", knowledge.load, 8),
    "vocabulary": Parser("vocabulary.txt", read_vocabulary, 8),
    "numbers": Parser("numbers.csv", numbers_in, 8),
    "counts": Parser("counts.csv", ReferenceDistribution.load, 8),
    "reference": Parser("terms_kept.csv.reference.json", Reference.load, 8),
    "earlier plan": Parser("plan.json", like, 2),
    "certificate": Parser("certificate.json", examine, 8),
    "manifest": Parser("manifest.json", manifest.read_manifest, 8),
    "override": Parser("override.json", WeakerOverride.read, 8),
    "imprint": Parser("imprint.json", lambda path: Imprint.from_json(path.read_bytes()), 8),
    "public key": Parser("ledger.db.key.pub", public_key, 8),
    "key": Parser("ledger.db.key", Key.load, 8),
    "reading key": Parser("auditor.key", load_key, 8),
    "last head": Parser("ledger.db.key.seen", lambda path: last_seen(path.with_suffix("")), 8),
    "anchor": Parser("anchor.json", read_anchor, 8),
    "keys of people": Parser("keys.txt", lambda path: _lines_in(str(path), "--person-file"), 8),
    "csv": Parser("hospital.csv", read_table, 2),
    "small csv": Parser("people.csv", read_table),
    "packed csv": Parser("people.csv.gz", read_table),
    **{
        kind: Parser(f"people.{kind}", read_table)
        for kind in ("xlsx", "ods", "sav", "dta", "xpt", "arrow", "feather", "parquet", "jsonl")
    },
    **{kind: Parser(f"people.{kind}", read_table) for kind in ("xls", "xlsb")},
    "table of SAS": Parser("visits.sas7bdat", read_table),
    "catalogue of SAS": Parser("formats.sas7bcat", read_labels, 8),
    "database": Parser("people.sqlite", ask_database, 2),
    "judged csv": Parser("judged/people.csv", judge, 1),
    "judged parquet": Parser("judged/people.parquet", judge, 1),
    "judged xlsx": Parser("judged/people.xlsx", judge, 1),
    "judged sav": Parser("judged/people.sav", judge, 1),
    "judged arrow": Parser("judged/people.arrow", judge, 1),
    "judged jsonl": Parser("judged/people.jsonl", judge, 1),
    "leak": Parser("university.csv", trace, 1),
    "leaked record": Parser("record.json", trace, 2),
    "ledger": Parser("ledger.db", verify, 2),
    "backup": Parser("backup.db", restore, 1),
}

JUDGED = """\
columns:
  zip: {role: quasi, taxonomy: {prefix: [3, 1]}}
  age: {role: insensitive}
  weight: {role: insensitive}
  note: {role: sensitive}
promises:
  - k-anonymity: {k: 2}
"""


def lay_out(place):
    """Puts a whole file for every parser into a folder."""
    place.mkdir(parents=True, exist_ok=True)
    write_files(place)
    _write_tables(place)
    _write_notes(place)
    _write_studio(place)
    for parser in PARSERS.values():
        _forget_times(place / parser.file)


TIMES = re.compile(
    rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d"  # of SAS
    rb"|\d\d [A-Z][a-z]{2} \d\d\d\d:\d\d:\d\d"  # of SPSS
    rb"|\d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d"  # of Stata
    rb"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
)


def _forget_times(path):
    """Write down no time of making: the same number is then the same damaged input in every run."""
    content = path.read_bytes()
    if not content.startswith(b"PK"):
        if path.suffix in {".sav", ".dta", ".xpt"} or path.parent.suffix == ".history":
            path.write_bytes(TIMES.sub(_digits_kept, content))
        return
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            whole = TIMES.sub(_digits_kept, old.read(part))
            new.writestr(zipfile.ZipInfo(part.filename), whole, compress_type=part.compress_type)


def _digits_kept(found):
    """A time of the same shape: the first day of a year long ago."""
    text = re.sub(rb"[A-Z]{3}", b"JAN", re.sub(rb"[A-Z][a-z]{2}", b"Jan", found[0]))
    return re.sub(rb"\d", b"1", text)


def _write_tables(place):
    for kind in files_of_rows.KINDS:
        if kind != "latin-1":
            files_of_rows.write(kind, ROWS, place)
    for kind in (binary_workbooks.xls, binary_workbooks.xlsb):
        (place / f"people.{kind.__name__}").write_bytes(kind(binary_workbooks.cells_of(ROWS)))
    sas_files.lay_out(place)
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        file.write((place / "people.csv").read_bytes())
    (place / "people.csv.gz").write_bytes(packed.getvalue())
    judged = place / "judged"
    judged.mkdir(exist_ok=True)
    (judged / "rows.yaml").write_text(JUDGED, encoding="utf-8")
    for kind in ("csv", "parquet", "xlsx", "sav", "arrow", "jsonl"):
        shutil.copy(place / f"people.{kind}", judged)


def _write_notes(place):
    (place / "vocabulary.txt").write_text("fever\ncough\nsore throat\n", encoding="utf-8")
    (place / "numbers.csv").write_text("x;1/3\ny;0.25\n", encoding="utf-8")
    (place / "counts.csv").write_text("value,count\nflu,12\ncold,7\nasthma,30\n", encoding="utf-8")
    (place / "keys.txt").write_text("p-001\np-002\n", encoding="utf-8")
    ReadingKey((Secret(1, bytes(range(32))), Secret(2, bytes(32)))).write(place / "auditor.key")
    with Ledger(f"sqlite:///{place}/ledger.db", key=place / "ledger.db.key", readonly=True) as ledger:
        (place / "anchor.json").write_text(json.dumps(anchor(ledger).as_dict()), encoding="utf-8")
    project(place / "p.deid")
    demo.write(place / "demo", 60)
    policy = place / "demo" / "policy.yaml"
    policy.write_text(policy.read_text(encoding="utf-8").replace("search: best", "search: lattice"))
    plan = sf.protect(place / "demo" / "hospital.csv", policy)
    (place / "plan.json").write_text(json.dumps(plan.as_dict(), default=str), encoding="utf-8")
    for name in ("policy.yaml", "job.csv", "disease.csv"):
        if not (place / name).exists():
            shutil.copy(place / "demo" / name, place / name)


def _write_studio(place):
    (place / "ready.yaml").write_text(READY, encoding="utf-8")
    policy = PolicyFile(place / "studio.yaml")
    for number in range(3):
        policy.write(READY + f"# {number}\n", version=policy.version, did=f"change {number}")

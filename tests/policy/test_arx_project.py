"""Projects of ARX: an archive as that tool writes it, read without its data; damaged ones are refused."""

from __future__ import annotations

import json
import zipfile
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sfumato.cli.main import app
from sfumato.policy.other_tools import ArxProject
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadInput, SfumatoError, UsageError
from sfumato.table.source import open_source
from sfumato.workflows.confirm import take_over_arx_project
from strategies import cases

CANARY = "Zebra"
AGES = "9;[0, 10[;*\n10;[10, 20[;*\n11;[10, 20[;*\n"
COLUMNS = (
    ("name", "IDENTIFYING_ATTRIBUTE", "String", None),
    ("age", "QUASI_IDENTIFYING_ATTRIBUTE", "Integer", "10;[10, 20[;*\n9;[0, 10[;*\n11;[10, 20[;*\n"),
    ("sex & co", "QUASI_IDENTIFYING_ATTRIBUTE", "String", "f;*\nm;*\n"),
    ("disease", "SENSITIVE_ATTRIBUTE", "String", None),
    ("ward", "INSENSITIVE_ATTRIBUTE", "String", None),
)


def definition(columns=COLUMNS, levels=("All", "All")):
    lines = ["<definition>"]
    for name, kind, datatype, rows in columns:
        said = [("name", name), ("type", kind), ("datatype", datatype)]
        if rows is not None:
            said += [("ref", f"hierarchies/{name}.csv"), ("min", levels[0]), ("max", levels[1])]
        words = "".join(f"\t\t<{tag}>{escape(text)}</{tag}>\n" for tag, text in said)
        lines.append(f"\t<assigment>\n{words}\t</assigment>")
    return "\n".join([*lines, "</definition>"])


def project(path, columns=COLUMNS, *, models=("5-anonymity",), separator=";", encoding="utf-8", **more):
    """A file in the layout of ARX 3: what it writes with XML and CSV, and stand-ins for objects of Java."""
    criteria = "".join(f"<criterion>{escape(model)}</criterion>" for model in models)
    config = (
        f"<config><relativeMaxOutliers>0.05</relativeMaxOutliers><criteria>{criteria}</criteria></config>"
    )
    entries = {
        "metadata.xml": "<metadata><version>3.9.0</version><vocabulary>2.0</vocabulary></metadata>",
        "project.dat": f"\xac\xed {CANARY}",
        "project.xml": f"<project><name>p</name><separator>{separator}</separator></project>",
        "data/input.csv": f"name;age\n{CANARY};9\n",
        "input/config.dat": f"\xac\xed {CANARY}",
        "input/config.xml": config,
        "input/definition.xml": definition(columns),
        **more,
    }
    for name, _, _, rows in columns:
        if rows is not None:
            entries[f"input/hierarchies/{name}.csv"] = rows.replace(";", separator)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(name, text.encode(encoding))
    return path


def test_roles_hierarchies_and_limits_become_a_policy_that_protects(tmp_path):
    taken = take_over_arx_project(project(tmp_path / "p.deid"), tmp_path / "out")
    assert taken.files == {"age": "hierarchies/age.csv", "sex & co": "hierarchies/sex_co.csv"}
    assert (tmp_path / "out/hierarchies/age.csv").read_text() == AGES, "numbers in their order"
    written = "".join(path.read_text() for path in (tmp_path / "out").rglob("*.*"))
    assert CANARY not in written + str(taken) + json.dumps(taken.as_dict())
    assert taken.faults == () and "[10, 20[" not in repr(taken)
    path = tmp_path / "out/policy.yaml"
    rules = Policy.load(path)
    assert [rule.role.value for rule in rules.columns.values()] == [
        "identifier", "quasi", "quasi", "sensitive", "insensitive",
    ]  # fmt: skip
    assert rules.promises.members[0].k == 5 and str(rules.protect.suppress) == "1/20"
    assert rules.columns["age"].taxonomy.ordered


def test_models_that_are_not_taken_over_are_named(tmp_path):
    models = ["(3)-anonymity", "distinct-2-diversity for attribute 'disease'"]
    taken = take_over_arx_project(project(tmp_path / "p.deid", models=models), tmp_path / "out")
    assert taken.project.k == 3 and taken.project.other_models == (models[1],)
    assert "not taken over, write it under promises: distinct-2-diversity" in str(taken)


def test_a_project_without_k_wants_a_promise(tmp_path):
    taken = take_over_arx_project(project(tmp_path / "p.deid", models=()), tmp_path / "out")
    assert len(taken.faults) == 1 and "promise" in taken.faults[0]


@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_separator_and_encoding_are_those_of_the_project(tmp_path, separator):
    columns = [("town", "QUASI_IDENTIFYING_ATTRIBUTE", "String", "Zürich;CH;*\nGenève;CH;*\n")]
    for encoding in ("utf-8", "cp1252"):
        path = project(tmp_path / f"{encoding}.deid", columns, separator=separator, encoding=encoding)
        (town,) = ArxProject.read(path).columns
        assert [row[0] for row in town.rows] == ["Zürich", "Genève"]


def test_levels_that_a_project_allows_are_kept(tmp_path):
    path = project(tmp_path / "p.deid", **{"input/definition.xml": definition(levels=("1", "1"))})
    take_over_arx_project(path, tmp_path / "out")
    assert '"start": 1, "at-most": 1' in (tmp_path / "out/policy.yaml").read_text()


def test_a_hierarchy_that_is_no_tree_is_told(tmp_path):
    columns = [("x", "QUASI_IDENTIFYING_ATTRIBUTE", "String", "a;A;R\na;B;R\n")]
    (column,) = ArxProject.read(project(tmp_path / "p.deid", columns)).columns
    assert column.refused and not column.rows


def test_nothing_is_replaced(tmp_path):
    path = project(tmp_path / "p.deid")
    take_over_arx_project(path, tmp_path / "out")
    with pytest.raises(UsageError, match="exist already"):
        take_over_arx_project(path, tmp_path / "out")


@pytest.mark.parametrize(
    "change",
    [
        {"input/definition.xml": "<definition>"},
        {"input/definition.xml": '<!DOCTYPE d [<!ENTITY a "b">]><definition/>'},
        {"input/definition.xml": "<definition></definition>"},
        {"input/definition.xml": definition([("x", "UNKNOWN_ATTRIBUTE_TYPE", "String", None)])},
        {"input/hierarchies/age.csv": 'a;"b\n'},
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, change):
    columns = (
        [one for one in COLUMNS if one[0] != "age"] if "input/hierarchies/age.csv" in change else COLUMNS
    )
    more = {**change}
    if columns is not COLUMNS:
        more["input/definition.xml"] = definition()
    with pytest.raises(BadInput):
        ArxProject.read(project(tmp_path / "p.deid", columns, **more))


def test_other_archives_and_files_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    (tmp_path / "text.deid").write_text("no archive")
    for name, said in [
        ("other.zip", "no project of ARX"),
        ("text.deid", "no project"),
        ("none.deid", "cannot"),
    ]:
        with pytest.raises(BadInput, match=said):
            ArxProject.read(tmp_path / name)


@given(st.data())
@cases(30)
def test_damaged_projects_are_read_or_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged")
    content = bytearray(project(folder / "p.deid").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (folder / "damaged.deid").write_bytes(bytes(content[: data.draw(st.integers(1, len(content)))]))
    try:
        assert ArxProject.read(folder / "damaged.deid").columns
    except SfumatoError as refused:
        assert CANARY not in str(refused)


def test_a_project_that_is_handed_in_as_a_table_is_told_apart(tmp_path):
    with pytest.raises(UsageError, match="no table") as refused:
        open_source(project(tmp_path / "p.deid"))
    assert "sfumato policy arx" in refused.value.remedy


def test_on_the_command_line(tmp_path):
    path = project(tmp_path / "p.deid")
    done = CliRunner().invoke(app, ["policy", "arx", str(path), "--into", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert (
        "hierarchies/age.csv: 3 values, 3 levels" in done.output
        and "next: sfumato policy check" in done.output
    )
    told = CliRunner().invoke(app, ["policy", "arx", str(path), "--into", str(tmp_path / "two"), "--json"])
    assert json.loads(told.stdout)["k"] == 5

"""Cells of a file without a header are never shown as names of columns."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.draft.roles_from_content import may_be_a_row
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData, BadPolicy
from sfumato.workflows.confirm import check_policy

ROWS = {
    "numbers": "34,f,flu\n36,m,cold\n",
    "an address": "alma@canary.example,x\nbo@canary.example,y\n",
    "a date": "1985-03-01,x\n1990-01-02,y\n",
    "a value that comes again": "canary,x\nother,y\ncanary,z\n",
    "names of people": "Alma Canary,Lund\nBo Ek,Malmoe\n",
    "an illness": "alma canary,lund,hiv\nbo ek,malmoe,flu\n",
    "a long number": "S850301-1234567,x\nS900101-7654321,y\n",
    "one row alone": "Alma,34\n",
    "a value that comes again, beside one column of numbers": "canary,unknown,x\nother,3,y\ncanary,4,z\n",
    "a word for nothing": "canary,NA,x,unknown\nother,3,y,1\n",
}
HEADED = {
    "words that are known": "name,City\nAlma,Lund\nBo,Malmoe\n",
    "numbers below a word": "height,weight\n180,80\n",
    "capitals below small letters": "colour,shape\nRed,Round\n",
    "small letters below capitals": "Colour,Shape\nred,round\n",
    "a name that is a value, too": "age,kids,married\n36,2,married\n40,0,single\n",
    "a name that is a value, beside more words than numbers": "row,nr,people,prov,abroad,view,pet,urban\n"
    "1,2851,32,BC,no,some,cat,urban\n2,521,599,QC,no,not,dog,rural\n",
    "a name that is a value, beside a name that is known": "id,week,y,arm,side\n1,2,y,a,l\n2,3,n,b,r\n",
    "a name that is a word for nothing": "height,weight,na\n180,80,3\n175,75,4\n",
}


@pytest.mark.parametrize("text", ROWS.values(), ids=ROWS)
def test_a_row_is_not_taken_for_names(text, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(text)
    cells = [cell for line in text.splitlines() for cell in line.split(",") if len(cell) > 2]
    for ask in (lambda: sf.declare(path), lambda: sf.discover(path, k=2, mode="any")):
        with pytest.raises(BadData, match="may be a row") as refused:
            ask()
        assert not any(cell in str(refused.value) for cell in cells)
    assert sf.declare(path, header=True).columns


@pytest.mark.parametrize("text", HEADED.values(), ids=HEADED)
def test_names_are_taken_for_names(text, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(text)
    assert tuple(sf.declare(path).columns) == tuple(text.splitlines()[0].split(","))


ONE_COLUMN = {
    "a title above the names": "Patients of March\n\nid;age;disease\n" + "17;34;canary\n18;35;flu\n" * 30,
    "blanks between columns": "id age disease\n" + "17 34 canary\n18  35 flu\n" * 30,
    "columns below quotes": '"id,age,disease"\n' + '"17,34,canary"\n"18,35,flu"\n' * 30,
}


@pytest.mark.parametrize("text", ONE_COLUMN.values(), ids=ONE_COLUMN)
def test_several_columns_are_not_taken_for_one(text, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(text)
    for ask in (lambda: sf.declare(path), lambda: sf.discover(path, k=2, mode="any")):
        with pytest.raises(BadData, match=r"read as one column, and [a-z]+ divide its cells") as refused:
            ask()
        assert "canary" not in str(refused.value)
    assert len(sf.declare(path, header=True).columns) == 1


def test_a_delimiter_that_is_named_divides_columns(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(ONE_COLUMN["blanks between columns"].replace("  ", " "))
    assert list(sf.declare(sf.DataFile(path, delimiter=" ")).columns) == ["id", "age", "disease"]
    path.write_text("job\n" + "one\ntwo words\nthree words here\n" * 20)
    assert list(sf.declare(path).columns) == ["job"]


def test_rows_of_other_lengths_do_no_harm():
    assert not may_be_a_row(["name", "age"], [["Alma"], [], ["Bo", "3", "4"]])


def test_a_policy_for_other_columns_shows_none_of_them(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(ROWS["names of people"])
    rule = Policy.from_dict(
        {
            "columns": {"zip": {"role": "quasi"}},
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    with pytest.raises(BadPolicy, match="none of the 2 columns") as refused:
        sf.protect(path, rule)
    assert "Canary" not in str(refused.value)
    (tmp_path / "policy.yaml").write_text(rule.to_yaml())
    with pytest.raises(BadPolicy, match="none of the 2 columns") as refused:
        check_policy(tmp_path / "policy.yaml", path)
    assert "Canary" not in str(refused.value)

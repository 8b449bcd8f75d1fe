"""`audit` with several files: the rule of a chain of groups, repeated from the published files alone."""

import csv

import pytest

import sfumato as sf
from sfumato.policy.policy import Policy
from sfumato.system.errors import UsageError

NAMES = ["town", "disease", "bare_row"]
POLICY = Policy.from_dict(
    {
        "columns": {"town": {"role": "quasi"}, "disease": {"role": "sensitive"}},
        "promises": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "disease", "l": 2}}],
        "chain": {},
    }
)
FIRST = [("north", "flu", "no"), ("north", "cold", "no"), ("south", "flu", "no"), ("south", "TB", "no")]
FURTHER = [("south", "", "yes"), ("*", "flu", "no"), ("*", "asthma", "no")]


def audited(folder, *tables):
    files = []
    for number, rows in enumerate(tables):
        files.append(folder / f"release_{number}.csv")
        with files[-1].open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([NAMES, *rows])
    return sf.audit_chain(files, POLICY)


def broken(audit):
    return [verdict.promise for step in audit.steps for verdict in step.verdicts if verdict.holds is False]


def test_rows_that_stay_and_new_classes_that_keep_every_promise(tmp_path):
    audit = audited(tmp_path, FIRST, FIRST + FURTHER)
    assert audit.holds is True
    assert len(audit.steps[0].verdicts) == 3


@pytest.mark.parametrize("gone", range(4))
def test_a_row_that_is_gone_breaks_the_rule(tmp_path, gone):
    left = [row for place, row in enumerate(FIRST) if place != gone]
    assert broken(audited(tmp_path, FIRST, left + FURTHER)) == ["earlier rows stay as they were published"]


def test_a_whole_group_may_go(tmp_path):
    audit = audited(tmp_path, FIRST, FIRST[2:] + FURTHER)
    assert audit.holds is True
    assert audit.steps[0].verdicts[0].reason == "2 rows are gone, with all that show the same"


def test_a_value_that_changed_breaks_the_rule_unless_a_group_may_have_come_instead(tmp_path):
    """Of {flu, cold} and {flu, measles} the rows of flu cancel: one group may have gone, another come."""
    changed = [("north", "flu", "no"), ("north", "measles", "no"), *FIRST[2:]]
    audit = audited(tmp_path, FIRST, changed)
    assert audit.holds is None and "cancel between the files" in audit.steps[0].verdicts[0].reason
    triples = [("north", value, "no") for value in ("flu", "flu", "cold")]
    rows = [("north", "flu", "no"), ("north", "TB", "no"), ("north", "burn", "no")]
    assert audited(tmp_path, triples, rows).holds is None
    moved = [("south", "flu", "no"), *FIRST[1:]]
    assert "earlier rows stay as they were published" in broken(audited(tmp_path, FIRST, moved))


def test_what_else_is_new_is_judged_beside_groups_that_cancel(tmp_path):
    changed = [("north", "flu", "no"), ("north", "measles", "no"), *FIRST[2:]]
    alike = [("*", "flu", "no"), ("*", "flu", "no")]
    audit = audited(tmp_path, FIRST, changed + alike)
    assert broken(audit) == ["distinct l-diversity of disease, l = 2"]
    fine = audited(tmp_path, FIRST, changed + FURTHER)
    assert fine.holds is None and not broken(fine)


def test_new_rows_are_judged_by_themselves(tmp_path):
    """With the old rows they would look safe: two rows of flu join a class of flu and cold."""
    joined = [*FIRST, ("north", "flu", "no"), ("north", "flu", "no")]
    assert broken(audited(tmp_path, FIRST, joined)) == ["distinct l-diversity of disease, l = 2"]


def test_bare_rows_count_for_nothing(tmp_path):
    audit = audited(tmp_path, FIRST, [*FIRST, ("*", "flu", "no"), ("*", "", "yes")])
    assert "k-anonymity, k = 2" in broken(audit)


def test_two_groups_with_equal_boxes_are_not_decided(tmp_path):
    twins = [*FIRST[:2], ("north", "TB", "no"), ("north", "cold", "no")]
    audit = audited(tmp_path, twins, twins[:2])
    assert audit.holds is None
    assert audit.as_dict()["steps"][0]["verdicts"][0]["holds"] is None


def test_one_file_is_no_chain(tmp_path):
    with pytest.raises(UsageError, match="two files at least"):
        audited(tmp_path, FIRST)

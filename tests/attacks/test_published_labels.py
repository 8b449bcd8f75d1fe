"""Whatever a recoding may publish, an audit knows: no label of any tree is doubted."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks.published_labels import KnownLabels
from sfumato.policy.policy import Policy

pytestmark = pytest.mark.slow

DAYS = st.dates(date(1900, 1, 1), date(2099, 12, 31)).map(date.isoformat)
WHOLE = st.integers(0, 119).map(str)
DECIMALS = st.decimals(0, 99, places=2).map(str)
CODES = st.text("0123456789AK", min_size=1, max_size=6)
BUILT = [
    ({"intervals": [5, 10, 40], "from": 0, "to": 120, "top": 90, "bottom": 18}, WHOLE),
    ({"intervals": [5, 10], "from": 0, "to": 100, "decimal": True}, DECIMALS),
    ({"date": ["month", "quarter", "year", "decade"]}, DAYS),
    ({"date": ["week"]}, DAYS),
    ({"prefix": [3, 1]}, CODES),
    ({"mask": "right"}, CODES),
    ({"tree": {"Health": ["Nurse", "Doctor, chief"], "Trade": ["Cook"]}}, st.just("Cook")),
    ("flat", st.text(st.characters(exclude_categories=["Cs"]), min_size=1)),
]


@pytest.mark.parametrize(("taxonomy", "values"), BUILT)
@given(data=st.data())
def test_every_label_of_a_tree_is_known(taxonomy, values, data):
    columns = {"x": {"role": "quasi", "taxonomy": taxonomy}}
    rule = (
        Policy.from_dict(
            {
                "columns": columns,
                "promises": [{"k-anonymity": {"k": 1}}],
                "protect": {"search": "top-down", "suppress": 0},
            }
        )
        .columns["x"]
        .taxonomy
    )
    held = data.draw(st.lists(values, min_size=1, max_size=8, unique=True))
    tree = rule.build(held)
    for level in range(tree.height + 1):
        shown = sorted({str(tree.labels[v]) for v in tree.levels[level].tolist()})
        assert KnownLabels(rule, shown).unknown == ()
        if taxonomy != "flat":
            assert KnownLabels(rule, shown).lists == ()

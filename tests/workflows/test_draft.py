"""What is drafted from a table can be followed on that table."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf

CELLS = {
    "age": st.integers(0, 99),
    "zip": st.integers(0, 99999).map("{:05}".format),
    "born": st.dates(),
    "weight": st.floats(-1e6, 1e6).map(lambda x: round(x, 2)),
    "sex": st.sampled_from(["m", "f"]),
    "disease": st.sampled_from(["Flu", "TB", "cold"]),
    "patient": st.sampled_from(["P1", "P2", "P3", "P4", "P5", "P6"]),
}


@st.composite
def frames(draw):
    rows = draw(st.integers(2, 60))
    names = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4, unique=True))
    dice = draw(st.randoms(use_true_random=False))
    found = {}
    for name in names:
        few = draw(st.lists(CELLS[name] | st.none(), min_size=1, max_size=12))
        found[name] = [dice.choice(few) for _ in range(rows)]
    return pl.DataFrame(found, strict=False)


@settings(max_examples=8, deadline=None)
@given(frames())
def test_a_draft_can_be_followed(frame):
    policy = sf.declare(frame)
    plan = sf.protect(frame, policy)
    assert all(verdict.holds for verdict in plan.verdicts)
    assert set(plan.apply(frame).columns) == set(policy.published)

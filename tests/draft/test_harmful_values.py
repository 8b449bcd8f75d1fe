"""Which values of a sensitive column a draft takes for those that harm, and what it promises of them."""

from __future__ import annotations

import random
from fractions import Fraction

import polars as pl
import pytest

import sfumato as sf
from sfumato.draft.draft import harmful_values
from sfumato.table.source import open_source

ROWS = 1200


def harmful(header, cells):
    """The values that harm, as a draft of these cells has it."""
    survey = open_source(pl.DataFrame({header: cells})).survey()
    return harmful_values(header, survey.columns[header])


@pytest.mark.parametrize(
    ("header", "cells", "expected"),
    [
        ("disability", ["no"] * 7 + ["yes"] * 3, {"yes": Fraction(3, 10)}),
        ("disability", ["yes"] * 7 + ["no"] * 3, {"yes": Fraction(7, 10)}),
        ("vaccinated", ["no"] * 3 + ["yes"] * 7, {"no": Fraction(3, 10)}),
        ("is_employed", ["0"] * 3 + ["1"] * 7, {"0": Fraction(3, 10)}),
        ("hiv", ["0_no"] * 4 + ["1_yes"], {"1_yes": Fraction(1, 5)}),
        ("hiv", ["negative"] * 4 + ["positive", "n/a", None], {"positive": Fraction(1, 5)}),
        ("test", ["Positive"] * 4 + ["neg"], {"Positive": Fraction(4, 5)}),
        ("depressed", ["nein"] * 4 + ["ja", "Ja"], {"Ja": Fraction(1, 3)}),
        ("income", ["<50K"] * 4 + [">50K"], {">50K": Fraction(1, 5)}),
        ("answer", [1, 1, 1, 2], {"2": Fraction(1, 4)}),
        ("disease", ["healthy"] * 2 + ["flu", "HIV"], {"flu": Fraction(1, 4), "HIV": Fraction(1, 4)}),
        ("disease", ["flu", "HIV", "cold"], {}),
        ("disease", ["flu", "flu"], {}),
        ("income", [0] * 90 + list(range(1, 80)), {}),
    ],
)
def test_values_that_harm_are_guessed(header, cells, expected):
    assert harmful(header, cells) == expected


def survey_of_people(**more):
    dice = random.Random(4)
    cells = {
        "age": [dice.randint(20, 70) for _ in range(ROWS)],
        "sex": [dice.choice("mf") for _ in range(ROWS)],
        "town": [dice.choice("abcdefghij") + "ville" for _ in range(ROWS)],
    }
    return pl.DataFrame({**cells, **more})


def test_a_one_sided_column_is_promised_a_bound_of_the_value_that_harms():
    table = survey_of_people(
        disability=["yes" if i % 300 == 7 else "no" for i in range(ROWS)],
        vaccinated=["no" if i % 240 == 11 else "yes" for i in range(ROWS)],
    )
    policy = sf.declare(table)
    bounds = {p.of: p.values for p in policy.promises if p.name == "confidence-bounding"}
    assert bounds == {"disability": ("yes",), "vaccinated": ("no",)}
    plan = sf.protect(table, policy)
    published = plan.apply(table)
    assert all(verdict.holds for verdict in plan.verdicts)
    for name, value in (("disability", "yes"), ("vaccinated", "no")):
        groups = published.group_by("age", "sex", "town").agg((pl.col(name) == value).mean().alias("share"))
        assert groups["share"].max() <= 0.5
        others = published.group_by("age", "sex", "town").agg(
            (pl.col(name) == value).sum().alias("harmed"), pl.len()
        )
        certain = int(others.filter(pl.col("harmed") == 0)["len"].sum())
        assert plan.not_protected[name] == certain > 0
        assert "which is a guess" in policy.confirm[name] and "is certain for" in policy.confirm[name]
    first, second, *_ = str(plan.card()).splitlines()[1:]
    assert "not protected: disability" in first and "not protected: vaccinated" in second

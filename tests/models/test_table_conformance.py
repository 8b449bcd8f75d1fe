"""The public suite passes every table promise of ours, and catches each kind of liar."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from sfumato.models.continuous.promise import Continuous
from sfumato.models.contract import Answer, IncrementalChecker, Promises, TablePromise
from sfumato.models.freeform.inference import FreeColumn
from sfumato.models.freeform.promise import Freeform
from sfumato.system.verdict import Verdict
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import Imprint
from sfumato.testing.promises import check_table_promise

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("threat", [Fraction(0), Fraction(1, 3), Fraction(1, 2)])
def test_freeform_keeps_to_the_seam(threat):
    secrets = {"q0": FreeColumn(sensitive=("*",))}
    check_table_promise(lambda _: Freeform(threat, columns=secrets), tables=15)


def test_continuous_keeps_to_the_seam():
    rng = np.random.default_rng(5)

    def beside_part_of_it(table: Microdata):
        """A promise beside a release of some of the rows, at the roots of all columns but the first."""
        earlier = Microdata.of_codes(
            table.columns,
            [np.repeat(table.codes(c.name), table.counts) for c in table.columns],
        )
        cuts = {c.name: Cut.root(c.taxonomy) for c in earlier.keys}
        if rng.random() < 0.5:
            first = earlier.keys[0]
            cuts[first.name] = Cut.leaves(first.taxonomy)
        imprint = Imprint.of(Recoding.of_cuts(earlier, cuts), ("s",))
        k = int(max(1, imprint.sizes.min() if rng.random() < 0.7 else 1))
        return Continuous(k=k).given([imprint], Promises(()))

    check_table_promise(beside_part_of_it, tables=15)


@dataclass(frozen=True)
class Coarse(TablePromise):
    """At most `most` nodes are shown in the first column; `lie` changes one thing."""

    most: int = 2
    lie: str = ""

    name, monotone = "coarse", True

    def watch(self, table):  # noqa: ARG002  # it looks at cuts alone
        return Watching(self)

    def kept(self, cuts):
        shown = len(cuts["q0"].nodes)
        return shown >= self.most if self.lie == "monotone" else shown <= self.most

    def verdict_on(self, table, cuts):
        if self.lie == "writes":
            table.counts[0] += 1
        return Verdict(str(self), None if self.lie == "undecided" else self.kept(cuts), None, self.most)

    def __str__(self):
        return "coarse"


class Watching(IncrementalChecker):
    def __init__(self, promise):
        self.promise, self.stale = promise, None

    def ask(self, cuts, step=None):
        kept = self.promise.kept(cuts)
        if self.promise.lie == "forgets" and step is not None and self.stale is not None:
            kept = self.promise.kept(self.stale)
        if self.promise.lie == "always":
            kept = True
        never = Answer.NEVER if self.promise.lie in ("", "never") else Answer.LATER
        if self.promise.lie == "never" and len(cuts["q0"].nodes) == 1 and "q1" in cuts:
            return Answer.NEVER, "too early"
        return (Answer.YES, "") if kept else (never, "too fine")

    def accept(self, cuts):
        self.stale = self.stale or cuts


def test_an_honest_one_passes():
    check_table_promise(lambda _: Coarse())


@pytest.mark.parametrize(
    ("lie", "sentence"),
    [
        ("monotone", "claims to be monotone"),
        ("undecided", "must be decided"),
        ("forgets", "disagree"),
        ("always", "disagree"),
        ("never", "disagree"),
        ("writes", "changes the table|answers differently|disagree"),
    ],
)
def test_liars_are_caught(lie, sentence):
    with pytest.raises((AssertionError, ValueError), match=sentence + "|read-only"):
        check_table_promise(lambda _: Coarse(lie=lie))


def test_never_means_never():
    class Hasty(Coarse):
        def kept(self, cuts):
            return len(cuts["q0"].nodes) != 2

        monotone = False

    with pytest.raises(AssertionError, match="NEVER"):
        check_table_promise(lambda _: Hasty())

"""Quasi-sensitive values: what terms say together about a label that is not in the table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import nextafter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import (
    ColumnOptions,
    ColumnView,
    KeptPrior,
    PolicyView,
    Prior,
    Promise,
    RelativePromise,
    TermPromise,
    Truth,
)
from sfumato.models.parameters import (
    ChoiceParam,
    ColumnParam,
    FractionParam,
    IntegerParam,
    Parameter,
    ParametrizedPromise,
    histogram_of,
    largest_ratio,
    verdict,
)
from sfumato.models.quasi_sensitive.knowledge import (
    DISTANCES,
    EUCLIDEAN,
    MADE,
    Knowledge,
    KnowledgeFile,
    LabelCloseness,
    LabelDiversity,
    Links,
    Prevalence,
    PrevalenceFile,
    PriorRule,
    distance_from,
    head_and_tail,
    merged,
    merged_rows,
)
from sfumato.models.registry import register
from sfumato.system.errors import BadData, BadPolicy
from sfumato.system.presentation.cards import pluralize
from sfumato.system.verdict import Evidence, Measure, Order, Verdict
from sfumato.table.classes import Classes, Histogram
from sfumato.table.microdata import JointColumn, Microdata, PartForm, Role

# Terms in running text: those of a vocabulary, or all words.

SHORTEST_WORD = 3
"""Words of fewer letters are no terms, unless a vocabulary has them."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True)
class TermFinder:
    """Finds terms in a text, whatever the case of its letters; in the spelling of the vocabulary.

    A term of several words is found where they follow each other. Negation is not understood: "no fever"
    holds fever.

    >>> TermFinder.of(["High fever", "cough"]).terms("Coughing; HIGH  fever, then a cough.")
    ('High fever', 'cough')
    >>> TermFinder.of([]).terms("A cough, a Cough: no end")
    ('cough', 'end')
    """

    spelling: dict[tuple[str, ...], str]
    longest: int

    @classmethod
    def of(cls, vocabulary: Iterable[str]) -> TermFinder:
        spelling: dict[tuple[str, ...], str] = {}
        for term in vocabulary:
            words = _words(term)
            if not words:
                raise BadData("a term of the vocabulary holds no letter", remedy="Leave it out.")
            spelling.setdefault(words, term)
        return cls(spelling, max((len(words) for words in spelling), default=0))

    def terms(self, text: str) -> tuple[str, ...]:
        """Returns the terms of a text, each once, in alphabetical order."""
        words = _words(text)
        if not self.spelling:
            return tuple(sorted({word for word in words if len(word) >= SHORTEST_WORD} - PARTICLES))
        terms = set()
        for start in range(len(words)):
            for end in range(start + 1, min(start + self.longest, len(words)) + 1):
                term = self.spelling.get(words[start:end])
                if term is not None:
                    terms.add(term)
        return tuple(sorted(terms))


PARTICLES = frozenset({"and", "but", "for", "has", "had", "her", "his", "not", "the", "was", "were", "with"})
"""English words that say nothing of anybody; a vocabulary may hold them."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in _WORD.findall(text))


# What a policy says of a quasi-sensitive column: how it holds its term sets.


@dataclass(frozen=True)
class SetOptions:
    """How a quasi-sensitive column holds term sets: text with a `separator`, lists, or 0 and 1 where the
    column stands for one term of the `set` that it names.

    `marks` are what stands for 0 and 1 in such a column. With `values` each of its values is a term.
    """

    separator: str | None = None
    set: str | None = None
    marks: tuple[str, str] | None = None
    values: bool = False

    schema: ClassVar[Mapping[str, Any]] = {
        "separator": {
            "type": "string",
            "minLength": 1,
            "default": ";",
            "description": "What stands between the terms of a quasi-sensitive column of text.",
        },
        "set": {
            "type": "string",
            "minLength": 1,
            "description": "The set that this quasi-sensitive column of 0 and 1 is one term of.",
        },
        "marks": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 2,
            "maxItems": 2,
            "description": 'What such a column holds instead of 0 and 1, such as ["no", "yes"].',
        },
        "values": {
            "type": "boolean",
            "default": False,
            "description": "Whether each value of such a column is a term, written column=value.",
        },
    }

    @classmethod
    def read(cls, words: Mapping[str, Any]) -> SetOptions:
        marks = words.get("marks")
        if marks is not None:
            texts = marks if isinstance(marks, list | tuple) else ()
            if len(set(texts)) != 2 or not all(isinstance(text, str) and text for text in texts):
                raise BadPolicy(
                    "marks are two texts, of absence and of presence",
                    where="marks",
                    remedy='Write them in quotes: ["no", "yes"].',
                )
        absent_present = None if marks is None else (str(marks[0]), str(marks[1]))
        return cls(words.get("separator"), words.get("set"), absent_present, words.get("values") is True)

    def words(self) -> dict[str, object]:
        keys = {"separator": self.separator, "set": self.set, "values": self.values or None}
        marks = {} if self.marks is None else {"marks": list(self.marks)}
        return {**{key: word for key, word in keys.items() if word is not None}, **marks}

    @property
    def part_form(self) -> PartForm:
        """How the column is read where it is part of a set."""
        return PartForm(self.marks, self.values)


def options_of(rule: ColumnView) -> SetOptions:
    """What the policy says of a column of term sets."""
    return rule.options if isinstance(rule.options, SetOptions) else SetOptions()


# Tables of knowledge that are about the same labels: which of them are judged together.

KnownColumn = tuple[str, Knowledge]
"""A column of term sets, and what outsiders know of its terms."""

MOST_TABLES = 4
"""More tables about the same labels are not judged together; a policy with more is refused."""

MOST_MERGED_ROWS = 100_000
"""So many rows what all of them say together may have; with more, too, a policy is refused."""


def joint_subsets(own: KnownColumn, all_tables: Iterable[KnownColumn]) -> Iterator[tuple[KnownColumn, ...]]:
    """Yields every set of two or more tables about the same labels that one table belongs to.

    What two tables say together may break a promise that each keeps, and three may keep what two of them
    break: none of these sets speaks for another.
    """
    labels = set(own[1].labels)
    alike = [table for table in dict.fromkeys(all_tables) if set(table[1].labels) == labels]
    if len(alike) > MOST_TABLES or merged_rows([knowledge for _, knowledge in alike]) > MOST_MERGED_ROWS:
        return
    for size in range(2, len(alike) + 1):
        yield from (subset for subset in combinations(alike, size) if own in subset)


def joint_column(tables: Iterable[KnownColumn]) -> JointColumn:
    """Returns the column that stands for the columns of these tables."""
    return JointColumn(tuple(column for column, _ in tables))


# What quasi-sensitive promises have in common: term sets, what is known of terms, and links to labels.

JOINED = ("of", "knowledge")
"""What a promise about several tables has a value of its own for."""


@dataclass(frozen=True)
class LabelPromise(ParametrizedPromise, TermPromise):
    """What both kinds of quasi-sensitive promises have in common: beliefs in labels that terms link to.

    `tables` is filled where several columns, or several tables about one, are judged together: `of` is then
    the name of a joint column, and `knowledge` what all tables say of it. Such a promise is derived from
    those about each.
    """

    of: str
    knowledge: Knowledge
    prevalence: Prevalence | None = field(default=None, kw_only=True)
    tables: tuple[KnownColumn, ...] = field(default=(), kw_only=True)

    name: ClassVar[str] = "quasi-sensitive"
    monotone: ClassVar[bool] = True
    evidence: ClassVar[Evidence] = Evidence.REFERENCE
    cone: ClassVar[bool] = True
    roles: ClassVar[tuple[Role, ...]] = (Role.QUASI_SENSITIVE,)
    column_role: ClassVar[Role] = Role.QUASI_SENSITIVE
    threats: ClassVar[tuple[str, ...]] = ("quasi-sensitive",)
    column_options: ClassVar[type[ColumnOptions] | None] = SetOptions

    @cached_property
    def known(self) -> Knowledge:
        """What outsiders know: which terms go with which label, and how common labels are."""
        return self.knowledge.weighing(dict(self.prevalence.shares)) if self.prevalence else self.knowledge

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.known  # a label without prevalence is refused at once

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(column for column, _ in self.tables) or (self.of,)

    @property
    def derived(self) -> bool:
        return bool(self.tables)

    @property
    def joint_columns(self) -> tuple[JointColumn, ...]:
        return (joint_column(self.tables),) if self.tables else ()

    def derived_with(self, promises: Sequence[Promise]) -> tuple[Self, ...]:
        """Returns the same promise about every set of tables that share their labels with its own."""
        all_tables = [(p.of, p.known) for p in promises if isinstance(p, LabelPromise)]
        return tuple(
            replace(
                self,
                of=joint_column(subset).name,
                knowledge=merged([knowledge for _, knowledge in subset]),
                tables=subset,
            )
            for subset in joint_subsets((self.of, self.known), all_tables)
        )

    @property
    def about_what(self) -> str:
        return f"{self.of} together" if self.tables else self.of

    @property
    def parts(self) -> tuple[str, ...]:
        return self.reads if self.tables else ()

    def judge_data(self) -> dict[str, object]:
        """Returns the data of its judge, who is told the tables and not what they come to together."""
        data = super().judge_data()
        if not self.tables:
            return data
        plain = KnowledgeFile("knowledge").plain
        parameters = {
            key.name: key.plain(getattr(self, key.name)) for key in self.keys if key.name not in JOINED
        }
        tables = tuple((column, plain(knowledge)) for column, knowledge in self.tables)
        return {**data, "columns": self.reads, "parameters": {**parameters, "jointly": tables}}

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The knowledge and the prevalence, where they stand in files."""
        sources = (self.knowledge, self.prevalence)
        return tuple(
            (source.file, source.digest)
            for source in sources
            if source is not None and source.file is not None
        )

    def objections(self, policy: PolicyView) -> list[str]:
        """What it cannot go with."""
        sentences: list[str] = []
        if self.derived:
            return sentences
        if policy.person is not None:
            sentences.append(
                "it judges rows, one per person, but the policy names a person column: join the rows of a"
                " person into one term set first"
            )
        rule = policy.columns.get(self.of)
        separator = options_of(rule).separator if rule else None
        mixed = sum(separator in term for term in self.knowledge.terms) if separator else 0
        if mixed:
            sentences.append(
                f"{pluralize(mixed, 'term')} of the knowledge with the separator of {self.of} inside,"
                " which no row can hold: choose another separator"
            )
        return sentences

    def links(self, classes: Classes) -> tuple[Links, Histogram]:
        histogram = histogram_of(classes, self.of)
        return self.links_in(histogram), histogram

    def links_in(self, histogram: Histogram) -> Links:
        from sfumato.models.quasi_sensitive.labels import links_of  # noqa: PLC0415  # compiled

        return links_of(self.known, histogram.taxonomy)

    def unlinked(self, links: Links, histogram: Histogram) -> str:
        """A sentence about rows that link to nothing."""
        count = int(histogram.counts[links.number[histogram.values] == 0].sum())
        return f"{pluralize(count, 'row links', 'rows link')} to no label" if count else ""


NEAR = 1e-9
"""Far more than sums of shares lose in floating point, relative to their size."""
ROUNDED = 2.0**-50
"""What one addition of shares loses at most, relative to their sum, with room to spare."""
READABLE = 2**53
TERM_SETS = ColumnParam("of", meaning="The column of term sets that is protected.")
KNOWLEDGE = KnowledgeFile(
    "knowledge", meaning="Which terms go with which label, as outsiders know it: a mapping, or a file of it."
)
PREVALENCE = PrevalenceFile(
    "prevalence", meaning="How common each label is, in any unit: a number per label, or a file of them."
)


@register
@dataclass(frozen=True)
class QuasiSensitiveDiversity(LabelPromise):
    """In every class p1 <= c * (pl + ... + pm), where p1 >= ... >= pm > 0 are the beliefs in its m labels.

    The belief in a label is the mean, over the rows of the class, of one over the number of labels that the
    row links to (0 where it does not link to this one); with a `prevalence`, of the label's part in that of
    all labels that the row links to. A class whose rows link to fewer than l labels breaks
    it; one whose rows link to none keeps it, and the verdict says how many rows those are. The verdict
    measures p1 / (pl + ... + pm), which may be at most c.
    Source: Shi, Xiong and Fung, *Anonymizing data with quasi-sensitive attribute values*, 2010. The
    rule for beliefs is the simplest one under which the beliefs of linked rows add up to 1.
    Monotone: yes (the condition is convex in the beliefs, and those of a union are a mean). Hereditary: no.
    Evidence: the published table and the knowledge.
    Does not promise: anything against outsiders with better knowledge than the one that is named.

    >>> from sfumato.table.classes import histogram
    >>> from sfumato.models.quasi_sensitive.knowledge import Knowledge
    >>> from sfumato.table.taxonomy import Taxonomy
    >>> known = Knowledge.of([("Flu", ["fever", "cough"]), ("Cold", ["cough", "sneeze"])])
    >>> sets = Taxonomy.flat(["fever", "cough"])
    >>> one = histogram(sets, np.array([0, 0]), np.array([0, 1]), np.array([1, 1]), 1)
    >>> classes = Classes(one.totals, one.totals, {"symptoms": one})
    >>> QuasiSensitiveDiversity("symptoms", known, l=2, c=Fraction(3)).verdict(classes).measured
    Fraction(3, 1)
    """

    l: int = 2  # noqa: E741  # the name in the paper and in every policy
    c: Fraction = Fraction(1)

    plain: ClassVar[str] = (
        "What the terms of {of} give away together stays mixed among people who look alike: {l} "
        "labels, none dominates."
    )
    silent_on: ClassVar[str] = "Knowledge that the policy does not name may link terms to other labels."
    kind: ClassVar[str | None] = "diversity"
    keys: ClassVar[tuple[Parameter, ...]] = (
        TERM_SETS,
        KNOWLEDGE,
        IntegerParam(
            "l", meaning="The likeliest label is compared with the l-th likeliest and all others after it."
        ),
        FractionParam(
            "c", strict=True, meaning="The likeliest label is at most c times as likely as those together."
        ),
        PREVALENCE,
    )
    orders: ClassVar[Mapping[str, Order]] = {"l": Order.LARGER, "c": Order.SMALLER}

    def parameters(self) -> dict[str, object]:
        return {**super().parameters(), "l": self.l, "c": FractionParam("c").write(self.c)}

    @property
    def reachable(self) -> bool:
        """Whether a class with linked rows can keep it at all."""
        return self._limit.reachable

    @property
    def _limit(self) -> LabelDiversity:
        return LabelDiversity(self.of, self.known, self.l, self.c, parts=self.parts)

    def limits(self) -> tuple[LabelDiversity, ...]:
        return (self._limit,)

    def objections(self, policy: PolicyView) -> list[str]:
        sentences = super().objections(policy)
        if not self.reachable and not self.derived:
            sentences.append(
                f"no class can keep it, even with every term removed: l = {self.l} and c = {self.c} need more"
                f" than the {len(self.knowledge.labels)} labels of the knowledge"
            )
        return sentences

    def holds_on(self, classes: Classes) -> Truth:
        return self._judge(*self.links(classes))[0]

    def verdict(self, classes: Classes) -> Verdict:
        links, histogram = self.links(classes)
        truth, head, tail, poor = self._judge(links, histogram)
        worst, measured, reason = None, None, self.unlinked(links, histogram)
        if poor.any():
            worst = int(poor.argmax())
            reason = "; ".join(r for r in (f"a class links to fewer than {self.l} labels", reason) if r)
        elif len(classes) and (linked := np.flatnonzero(head > 0)).size:
            ratio = head[linked] / tail[linked]
            near = linked[ratio >= ratio.max() * (1 - NEAR)]
            worst, measured = self._worst(links, histogram, near)
        return verdict(self, classes, truth, limit=self.c, worst=worst, measured=measured, reason=reason)

    def _judge(
        self, links: Links, histogram: Histogram
    ) -> tuple[Truth, NDArray[np.float64], NDArray[np.float64], Truth]:
        """Truths, rounded heads and tails, and which classes have no tail."""
        from sfumato.models.quasi_sensitive.labels import heads_and_tails  # noqa: PLC0415  # compiled

        skip = min(self.l - 1, links.labels)
        head, tail, common = heads_and_tails(*links.arrays(histogram), skip)
        left, right = head * float(self.c.denominator), tail * float(self.c.numerator)
        truth: Truth = left <= right
        small = (common > 0) & (np.maximum(left, right) < READABLE) & (self.c.denominator < READABLE)
        lost = links.labels * ROUNDED * histogram.totals.astype(np.float64)
        margin = NEAR * (left + right) + lost * float(self.c.denominator + self.c.numerator)
        doubtful = ~small & (abs(left - right) <= margin)
        for i in np.flatnonzero(doubtful).tolist():
            above, below = head_and_tail(links, histogram, i, self.l)
            truth[i] = above * self.c.denominator <= below * self.c.numerator
        poor = (head > 0) & (tail <= lost)
        for i in np.flatnonzero(poor & (common == 0)).tolist():
            poor[i] = head_and_tail(links, histogram, i, self.l)[1] == 0
        return truth & ~poor, head, tail, poor

    def _worst(self, links: Links, histogram: Histogram, near: NDArray[np.int64]) -> tuple[int, Fraction]:
        exact: dict[tuple[int, int], int] = {}
        for i in near.tolist():
            exact.setdefault(head_and_tail(links, histogram, i, self.l), i)
        pairs = np.array(list(exact), dtype=object).reshape(-1, 2)
        place, measured = largest_ratio(pairs[:, 0], pairs[:, 1])
        return list(exact.values())[place], measured

    def __str__(self) -> str:
        return f"quasi-sensitive (c, l)-diversity of {self.about_what}, c = {self.c}, l = {self.l}"


@register
@dataclass(frozen=True)
class QuasiSensitiveCloseness(LabelPromise, RelativePromise):
    """In every class the beliefs in labels are within the distance t of what was believed before.

    Beliefs are those of `QuasiSensitiveDiversity`. The prior is made from the original table, never from the
    published one: `mean` (what its rows say on average), `count` (how often labels are linked to) or
    `uniform`; or `prevalence`, as common as the policy says labels are; or it is given, as the prior that a
    plan stored. The `distance` over all labels of the knowledge is `euclidean` (the verdict measures its
    square, which may be at most the square of t), `variational` (half the sum of all gaps: how much more
    likely any set of labels becomes) or `largest` (the largest gap: how much more or less likely any one
    label becomes).
    Source: Shi, Xiong and Fung, *Anonymizing data with quasi-sensitive attribute values*, 2010.
    Monotone: yes (the distance to a fixed prior is convex). Hereditary: no. Evidence: the published table,
    the knowledge and the prior.
    Does not promise: a bound on how much likelier a rare label becomes.
    """

    t: Fraction = Fraction(1)
    prior: str | Prior = "mean"
    distance: str = EUCLIDEAN

    plain: ClassVar[str] = "What the terms of {of} give away together moves beliefs by at most {t}."
    silent_on: ClassVar[str] = "Knowledge that the policy does not name may link terms to other labels."
    kind: ClassVar[str | None] = "closeness"
    keys: ClassVar[tuple[Parameter, ...]] = (
        TERM_SETS,
        KNOWLEDGE,
        FractionParam(
            "t", meaning="The largest distance between what a class tells of labels and the prior."
        ),
        PriorRule("prior", meaning="What outsiders believe of labels before they see the table."),
        ChoiceParam("distance", DISTANCES, meaning="How far beliefs are apart: over all labels, or at most."),
        PREVALENCE,
    )
    orders: ClassVar[Mapping[str, Order]] = {"t": Order.SMALLER}

    def parameters(self) -> dict[str, object]:
        return {**super().parameters(), "t": FractionParam("t").write(self.t)}

    @property
    def needs_original(self) -> bool:
        """Whether the prior has yet to be made from the original table."""
        return self.prior in MADE

    @property
    def relative(self) -> bool:
        return self.needs_original

    def limits(self) -> tuple[LabelCloseness, ...]:
        return (self._limit,)

    @property
    def _limit(self) -> LabelCloseness:
        return LabelCloseness(self.of, self.known, self.t, self.prior, self.distance, parts=self.parts)

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The knowledge and the stored prior, where they stand in files."""
        if not isinstance(self.prior, Prior) or self.prior.file is None:
            return super().files
        return (*super().files, (self.prior.file, self.prior.digest))

    def given_original(self, table: Microdata) -> Self:
        """Returns the same promise with the prior that the original table gives."""
        if isinstance(self.prior, Prior) and not self.tables:
            return self
        whole = Classes.of(table, np.zeros(table.distinct, np.int32), sensitive=self.sensitive)
        if self.tables:
            self._refuse_contradictions(whole)
        return self.bound(whole)

    def _refuse_contradictions(self, whole: Classes) -> None:
        """Raises where the columns of a row, taken together, link to no label: no belief follows."""
        links, histogram = self.links(whole)
        if rows := int(histogram.counts[links.number[histogram.values] == 0].sum()):
            raise BadData(
                f"{pluralize(rows, 'row links', 'rows link')} to no label in all of {self.of}, and {self}"
                " says nothing of them.",
                where=f"column {self.reads[0]}",
                remedy="Correct the knowledge, leave such rows out, or promise diversity instead.",
            )

    @property
    def kept_of_original(self) -> tuple[KeptPrior, ...]:
        if not isinstance(self.prior, Prior) or self.prior.rule not in MADE:
            return ()
        return (KeptPrior(self.of, self.prior.rule, self.known.digest, self.prior),)

    def given_kept(self, kept: Sequence[KeptPrior]) -> Self:
        wanted = (self.of, self.prior, self.known.digest)
        fitting = [k.prior for k in kept if (k.of, k.rule, k.knowledge) == wanted]
        return replace(self, prior=fitting[0]) if fitting else self

    def bound(self, classes: Classes) -> Self:
        """Returns the same promise with the prior that these classes, those of the original table, give."""
        if isinstance(self.prior, Prior):
            return self
        links, histogram = self.links(classes)
        return replace(self, prior=self._prior(links, histogram))

    def holds_on(self, classes: Classes) -> Truth:
        links, histogram = self.links(classes)
        target, rough = self._rough(links, histogram)
        most = self._limit.most
        border = float(most)
        truth: Truth = rough <= border
        for i in np.flatnonzero(abs(rough - border) <= NEAR * (1 + border)).tolist():
            truth[i] = distance_from(links, histogram, i, target, self.distance) <= most
        return truth

    def verdict(self, classes: Classes) -> Verdict:
        links, histogram = self.links(classes)
        truth, worst, measured = self.holds_on(classes), None, None
        if len(classes):
            target, rough = self._rough(links, histogram)
            near = np.flatnonzero(rough >= rough.max() - NEAR)[:8]
            exact = {i: distance_from(links, histogram, i, target, self.distance) for i in near.tolist()}
            worst = max(exact, key=lambda i: (exact[i], not truth[i], -i))
            measured = _readable(exact[worst])
            if truth[worst] and not truth.all():
                worst = int((~truth).argmax())
        most, reason = self._limit.most, self.unlinked(links, histogram)
        return verdict(self, classes, truth, limit=most, worst=worst, measured=measured, reason=reason)

    def _rough(self, links: Links, histogram: Histogram) -> tuple[list[Fraction], NDArray[np.float64]]:
        from sfumato.models.quasi_sensitive.labels import distances  # noqa: PLC0415  # compiled

        target = self._prior(links, histogram).on(self.known.labels)
        floats = np.array([float(share) for share in target])
        return target, distances(*links.arrays(histogram), floats, DISTANCES.index(self.distance))

    def _prior(self, links: Links, histogram: Histogram) -> Prior:
        if isinstance(self.prior, Prior):
            return self.prior
        from sfumato.models.quasi_sensitive.labels import prior_of  # noqa: PLC0415  # compiled

        return prior_of(self.prior, self.known.labels, links, histogram)

    def __str__(self) -> str:
        before = self.prior if isinstance(self.prior, str) else self.prior.rule or "stored"
        how = "" if self.distance == EUCLIDEAN else f", {self.distance} distance"
        return f"quasi-sensitive t-closeness of {self.about_what}, t = {self.t}, {before} prior{how}"


def _readable(number: Fraction) -> Measure:
    """A fraction that a person can read, or the next float above it."""
    return number if number.denominator < READABLE else nextafter(float(number), 2.0)

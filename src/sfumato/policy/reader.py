"""The reader of policies: from words to content, collecting everything that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import cast

from sfumato.models import registry as known_promises
from sfumato.models.contract import ColumnOptions, Promise, Promises
from sfumato.policy import columns as column_controls
from sfumato.policy import confirmation, recipients, schema, searches
from sfumato.policy import schema as schema_check
from sfumato.policy import schema as source_words
from sfumato.policy.columns import ColumnControls, TermRule, numbers_in
from sfumato.policy.compatibility import of_search, options_of, roles
from sfumato.policy.content import NO_PRICE, ColumnRule, Formulas, Knows, PolicyContent, ProtectRule
from sfumato.policy.taxonomies import rule_from
from sfumato.system.errors import BadInput, Origin, Place, Problem, UsageError, refuse
from sfumato.table.arrays import fraction
from sfumato.table.data_file import SourceForm
from sfumato.table.microdata import Missing, Role
from sfumato.table.spelling import Spelling
from sfumato.table.taxonomy import Taxonomy, TaxonomyRule

Words = Mapping[str, object]


def content(words: object, origin: Origin, *, folder: Path | None = None) -> PolicyContent:
    """Returns what these words say, part by part; raises one `BadPolicy` with every problem and its line.

    Whether the parts go together is not asked here.
    """
    problems = schema_check.problems(words, schema.top(), defs=schema.DEFS)
    if not isinstance(words, Mapping):
        refuse(problems, origin)
    reader = _Reader(cast("Words", words), folder, problems)
    columns, promises, given_to = reader.columns(), reader.promises(), reader.recipients()
    every_row = given_to is not None or bool(promises.of_table)
    protect = reader.protect(every_row=every_row)
    person, knows = reader.person()
    source = reader.source()
    if reader.problems:
        refuse([*reader.problems, *of_search(protect, Missing.SUPPRESS)], origin)
    return PolicyContent(
        columns,
        promises,
        protect,
        Missing(str(reader.words.get("missing", Missing.OWN_VALUE))),
        person,
        given_to,
        folder,
        origin,
        knows=knows,
        confirm=confirmation.read_entries(reader.words.get(confirmation.KEY)),
        source=source,
        formulas=reader.formulas(),
        preset=reader.preset(),
    )


class _Reader:
    def __init__(self, words: Words, folder: Path | None, problems: list[Problem]) -> None:
        self.words = words
        self.folder = folder
        self.problems = problems

    def columns(self) -> dict[str, ColumnRule]:
        specs = self.words.get("columns")
        if not isinstance(specs, Mapping):
            return {}
        rules = {}
        for name, words in specs.items():
            rule = self._column(words, ("columns", str(name)))
            if rule is not None:
                rules[str(name)] = rule
        return rules

    def promises(self) -> Promises:
        entries = self.words.get("promises")
        if isinstance(entries, Promises):
            return entries
        if not isinstance(entries, list | tuple):
            return Promises(())
        promises = [self._promise(words, ("promises", i)) for i, words in enumerate(entries)]
        return Promises(tuple(promise for promise in promises if promise is not None))

    def protect(self, *, every_row: bool) -> ProtectRule:
        """Returns how to protect; what is not said is as `ProtectRule` has it.

        Nothing is suppressed without a word where `every_row` is needed, for recipients or by a promise about
        the table as a whole, nor by a search that has no use for it.
        """
        section = self.words.get("protect", {})
        if not isinstance(section, Mapping) or any(p.place[:1] == ("protect",) for p in self.problems):
            return ProtectRule()
        words, default = dict(section), ProtectRule()
        search = words.pop("search", default.search)
        price = default.price
        if "price" in words:
            word = words.pop("price")
            price = None if word == NO_PRICE else self._fraction(word, ("protect", "price"))
        suppressed = Fraction(0) if every_row or not _suppresses(search, price) else default.suppress
        weights = {
            name: self._fraction(w, ("protect", "weights", name))
            for name, w in words.pop("weights", {}).items()
        }
        suppress = self._fraction(words.pop("suppress", suppressed), ("protect", "suppress"))
        removal = dict(words.pop("terms", {}))
        margin = self._fraction(removal.pop("margin", 0), ("protect", "terms", "margin"))
        terms = TermRule(margin=margin, **removal)
        together = tuple(tuple(group) for group in words.pop("together", ()))
        return ProtectRule(
            search,
            suppress,
            weights=weights,
            terms=terms,
            price=price,
            together=together,
            **words,
        )

    def recipients(self) -> recipients.RecipientRule | None:
        section = self.words.get("recipients")
        if isinstance(section, recipients.RecipientRule):
            return section
        if not isinstance(section, Mapping) or any(p.place[:1] == ("recipients",) for p in self.problems):
            return None
        tolerance = self._fraction(section.get("tolerance", 0), ("recipients", "tolerance"))
        return recipients.read(section, tolerance)

    def formulas(self) -> Formulas:
        """Returns what becomes of cells that a spreadsheet would run."""
        word = self.words.get("formulas")
        return Formulas.KEEP if word == Formulas.KEEP else Formulas.REFUSE

    def preset(self) -> str | None:
        """Returns the preset whose name the policy bears."""
        name = self.words.get("preset")
        return name if isinstance(name, str) else None

    def source(self) -> SourceForm:
        """Returns how the data are read."""
        section = self.words.get(source_words.KEY)
        if isinstance(section, SourceForm):
            return section
        if not isinstance(section, Mapping) or any(p.place[:1] == (source_words.KEY,) for p in self.problems):
            return SourceForm()
        try:
            return SourceForm.of_words(section)
        except UsageError as wrong:
            self.problems.append(Problem((source_words.KEY,), wrong.message, wrong.remedy))
            return SourceForm()

    def person(self) -> tuple[str | None, Knows | None]:
        """Returns the column that tells people apart, and what others know of a person, where it is said."""
        section = self.words.get("person")
        if isinstance(section, Mapping) and not any(p.place[:1] == ("person",) for p in self.problems):
            knows = section.get("knows")
            return str(section["column"]), None if knows is None else Knows(str(knows))
        return (section if isinstance(section, str) else None), None

    def _column(self, words: object, place: Place) -> ColumnRule | None:
        if isinstance(words, Mapping) and self._foreseen_role(words, place):
            return None
        spec: Words = words if isinstance(words, Mapping) else {}
        taxonomy = spec.get("taxonomy")
        plain = {k: w for k, w in spec.items() if not (callable(w) or (k == "taxonomy" and _is_built(w)))}
        wrong = schema_check.problems(plain if spec else words, schema.column(), defs=schema.DEFS)
        self.problems += [problem.under(*place) for problem in wrong]
        if wrong or not isinstance(words, Mapping):
            return None
        role = Role(words["role"])
        return ColumnRule(
            role,
            self._taxonomy(taxonomy, (*place, "taxonomy")),
            options=self._options(spec, role, place),
            start=int(words.get("start", 0)),
            spelling=self._spelling(words, role, place),
            one_spelling=role is Role.QUASI and words.get("spelling") == Spelling.FOLDED,
            digits=None if words.get("digits") is None else int(words["digits"]),
            controls=self._controls(spec, place),
        )

    def _controls(self, words: Words, place: Place) -> ColumnControls:
        try:
            return ColumnControls.read(words)
        except BadInput as wrong:
            self._note(wrong, place)
            return ColumnControls()

    def _spelling(self, words: Words, role: Role, place: Place) -> Spelling:
        """Returns how the values of a sensitive column are told apart when they are counted."""
        if "spelling" in words and role not in (Role.SENSITIVE, Role.QUASI):
            self.problems.append(Problem((*place, "spelling"), f"a column that is {role} has no such key"))
        if role is not Role.SENSITIVE:
            return Spelling.FOLDED
        return Spelling(str(words.get("spelling", Spelling.FOLDED)))

    def _options(self, words: Words, role: Role, place: Place) -> ColumnOptions | None:
        """Returns what is said of a column beyond role and taxonomy."""
        options, own = options_of(role), schema.column_keys(role)
        for key in words:
            if key not in ("role", "taxonomy", "start", "spelling", "digits", *column_controls.SCHEMA, *own):
                self.problems.append(Problem((*place, key), f"a column that is {role} has no such key"))
        if options is None:
            return None
        try:
            return options.read({key: self._with_file(word) for key, word in words.items() if key in own})
        except BadInput as wrong:
            self._note(wrong, place)
            return None

    def _with_file(self, word: object) -> object:
        """Returns what is said of a column; a file of numbers is read, so that the policy holds them."""
        if not isinstance(word, Mapping) or set(word) != {"file"}:
            return word
        name = str(word["file"])
        return {"values": numbers_in(Path(name) if self.folder is None else self.folder / name)}

    def _foreseen_role(self, words: Words, place: Place) -> bool:
        role = words.get("role")
        foreseen = role in tuple(Role) and role not in roles()
        if foreseen:
            self.problems.append(
                Problem((*place, "role"), f"the role {role} is not available in this version")
            )
        return foreseen

    def _taxonomy(self, spec: object, place: Place) -> TaxonomyRule | None:
        if spec is None:
            return None
        if _is_built(spec) and not isinstance(spec, Taxonomy):
            return cast("TaxonomyRule", spec)
        try:
            return rule_from(spec, self.folder)
        except BadInput as wrong:
            self._note(wrong, place)
            return None

    def _promise(self, words: object, place: Place) -> Promise | None:
        if isinstance(words, Promise):
            return words
        name = next(iter(words)) if isinstance(words, Mapping) and len(words) == 1 else None
        trouble = known_promises.refused(name) if isinstance(name, str) else None
        if trouble is not None:
            self.problems.append(Problem((*place, str(name)), trouble.message, trouble.remedy))
            return None
        wrong = schema_check.problems(words, known_promises.schema(), defs=schema.DEFS)
        self.problems += [problem.under(*place) for problem in wrong]
        if wrong or not isinstance(name, str) or not isinstance(words, Mapping):
            return None
        try:
            return known_promises.make(name, words[name], self.folder)
        except BadInput as complaint:
            self._note(complaint, (*place, name))
            return None

    def _fraction(self, word: object, place: Place) -> Fraction:
        try:
            return fraction(word, key=str(place[-1]))
        except BadInput as wrong:
            self.problems.append(Problem(place, wrong.message, wrong.remedy))
            return Fraction(0)

    def _note(self, wrong: BadInput, place: Place) -> None:
        """Notes a refusal; a builder or a promise names its own key, or a file, in `where`."""
        inside = (wrong.where,) if wrong.where and " " not in wrong.where and "." not in wrong.where else ()
        file = f"{wrong.where}: " if wrong.where and not inside else ""
        self.problems.append(Problem((*place, *inside), f"{file}{wrong.message}", wrong.remedy, wrong.values))


def _suppresses(search: str, price: Fraction | None) -> bool:
    """Whether a search makes use of a suppression limit; one that cannot be used is refused elsewhere."""
    try:
        ability = searches.ability_of(search)
    except UsageError:
        return False
    return ability is not None and ability.can_suppress(price)


def _is_built(spec: object) -> bool:
    # `getattr`: in Python a policy may hold a rule of the caller's own, of any class.
    return isinstance(spec, Taxonomy) or callable(getattr(spec, "build", None))

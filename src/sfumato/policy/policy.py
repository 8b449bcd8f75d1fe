"""The policy: what each column is, what is promised, and how to get there, checked as a whole."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from textwrap import wrap
from typing import Any, TypeVar, cast

from sfumato.models import registry as known_promises
from sfumato.models.contract import ColumnOptions, Promise, Promises, with_derived
from sfumato.policy import chain, person, recipients, schema, searches, yaml
from sfumato.policy import columns as column_controls
from sfumato.policy.chain import ChainRule
from sfumato.policy.columns import ColumnControls, TermRule, numbers_in
from sfumato.policy.compatibility import objections, of_search, options_of, roles
from sfumato.policy.content import (
    CONFIRM_KEY,
    NO_PRICE,
    ColumnRule,
    Formulas,
    PolicyContent,
    ProtectRule,
    confirm_entries,
    confirmed_entries,
    unknown_columns,
    with_word_for,
)
from sfumato.policy.other_tools import said_elsewhere
from sfumato.policy.person import PersonRule
from sfumato.policy.recipients import By
from sfumato.policy.taxonomies import rule_from
from sfumato.system.disk import read_start
from sfumato.system.errors import (
    BadInput,
    BadPolicy,
    Origin,
    Place,
    Problem,
    UsageError,
    did_you_mean,
    refuse,
    short,
)
from sfumato.system.json_object import JsonMapping, JsonObject
from sfumato.system.presentation.cards import Card, not_protected_lines, pluralize
from sfumato.table.arrays import fraction, written
from sfumato.table.data_file import SourceForm
from sfumato.table.microdata import Missing, Role
from sfumato.table.spelling import Spelling
from sfumato.table.taxonomy import Taxonomy, TaxonomyRule

# A policy on a card: what is promised in plain words, and what each column is.

ROLES = {
    Role.IDENTIFIER: "identifies somebody",
    Role.QUASI: "others may know it",
    Role.FREE: "known or secret, value by value",
    Role.SENSITIVE: "secret",
    Role.QUASI_SENSITIVE: "terms that may tell a secret",
    Role.INSENSITIVE: "harmless",
}
"""What a role says of a column, for people."""


def policy_card(policy: PolicyContent) -> Card:
    """Returns the policy in a few lines; of its hierarchies only the kind, since they may hold values."""
    stated = policy.promises.stated
    lines = [*not_protected_lines(policy.protected_counts), ()]
    lines += [(str(promise), promise.in_words()) for promise in stated]
    columns = [(name, ROLES[rule.role], _published(rule)) for name, rule in policy.columns.items()]
    search = f"searched by {policy.protect.search}, at most {float(policy.protect.suppress):.1%} of the rows"
    notes = [f"{search} suppressed", f"digest {policy.digest}"]
    if policy.preset is not None:
        notes.insert(0, f"keeps the rules of {policy.preset} for columns")
    if policy.waiting:
        notes.insert(0, f"waiting for confirmation: {', '.join(policy.waiting)}")
    counts = f"{pluralize(len(stated), 'promise')}, {pluralize(len(policy.columns), 'column')}"
    return Card(f"policy: {counts}", [*lines, (), *columns], notes)


def _published(rule: ColumnRule) -> str:
    if rule.role is Role.IDENTIFIER:
        return "not published"
    if not rule.role.is_key:
        return f"published {rule.rewritten or 'as it is'}"
    kinds = [] if rule.taxonomy is None else [key for key in rule.taxonomy.spec if key in KINDS]
    meaning = f"made less exact by {KINDS[kinds[0]]}" if kinds else "published as it is, or as *"
    return f"{meaning}; {rule.rewritten}" if rule.rewritten else meaning


KINDS = {
    "intervals": "intervals",
    "prefix": "leading characters",
    "mask": "masked characters",
    "date": "parts of the calendar",
    "tree": "a hierarchy",
    "rows": "a hierarchy",
    "file": "a hierarchy from a file",
    "ready": "a ready hierarchy",
    "arx": "a hierarchy",
}
"""What taxonomies do, by their keys in a policy."""


# Changed policies: another k, another role of a column, another search, and everything else as it was.

Names = str | Sequence[str]
"""The name of a column, or several of them."""
CONTROLS = ("at_most", "fixed", "never_suppress")
"""The controls that a column has in its own rule."""
WHOLE_WORDS = ("person", "missing", "recipients", "chain", "follows", "formulas", "preset")
"""Keys of a policy beside `protect` that are changed by what its file would say."""


@dataclass(frozen=True)
class RoleNames:
    """The columns that a caller gives a role to."""

    identifier: Names = ()
    quasi: Names = ()
    sensitive: Names = ()
    insensitive: Names = ()

    @property
    def roles(self) -> dict[str, Role]:
        """The role of each named column; raises `UsageError` where one is named twice."""
        names_by_role = {
            Role.IDENTIFIER: self.identifier,
            Role.QUASI: self.quasi,
            Role.SENSITIVE: self.sensitive,
            Role.INSENSITIVE: self.insensitive,
        }
        roles: dict[str, Role] = {}
        for role, names in names_by_role.items():
            for name in [names] if isinstance(names, str) else names:
                if roles.setdefault(name, role) is not role:
                    raise UsageError(f"column {short(name)} is named as {roles[name]} and as {role}")
        return roles


def changed_columns(policy: PolicyContent, names: RoleNames) -> dict[str, ColumnRule]:
    """Returns the columns with other roles; a taxonomy goes with a role that needs none."""
    columns = dict(policy.columns)
    for name, role in names.roles.items():
        _require_column(name, columns)
        if columns[name].role is not role:
            taxonomy = columns[name].taxonomy if role.is_key or role is Role.SENSITIVE else None
            columns[name] = ColumnRule(role, taxonomy)
    return columns


def _require_column(name: str, columns: Mapping[str, ColumnRule]) -> None:
    if name not in columns:
        hint = did_you_mean(name, list(columns))
        raise BadPolicy(f"there is no column {short(name)}", where="columns", remedy=hint)


def controlled_columns(
    columns: Mapping[str, ColumnRule], controls: Mapping[str, object]
) -> dict[str, ColumnRule]:
    """Returns the columns with other controls: for each of `CONTROLS`, what every named column gets."""
    changed = dict(columns)
    for key, by_column in controls.items():
        if not isinstance(by_column, Mapping):
            raise UsageError(f"{key} takes names of columns and what each gets", remedy=f"{key}={{'age': …}}")
        for name, value in by_column.items():
            _require_column(name, changed)
            rule = changed[name]
            controlled = replace(rule.controls, **{key: _control(key, value)})  # type: ignore[arg-type]  # read by its key
            changed[name] = replace(rule, controls=controlled)
    return changed


def _control(key: str, value: object) -> int | tuple[str, ...] | None:
    if key == "never_suppress":
        return (value,) if isinstance(value, str) else tuple(map(str, cast("Sequence[object]", value)))
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise UsageError(f"{key} is a level", remedy="Give a whole number: 0 is the column as it is.")
    return value


def changed_promises(
    policy: PolicyContent, columns: Mapping[str, ColumnRule], numbers: Mapping[str, object]
) -> Promises:
    """Returns the promises with other numbers (`k`, `l`, `t`), without those about columns that left.

    Where no promise has a number that is asked for, it is promised: k-anonymity, or l-diversity or
    t-closeness of each sensitive column. A column that becomes sensitive is promised two different values.
    """
    remaining = [
        promise
        for promise in policy.promises.stated
        if all(_stays(policy, columns, name) for name in promise.sensitive)
    ]
    for key, value in numbers.items():
        if any(key in promise.parameters() for promise in remaining):
            remaining = [_with_number(promise, key, value, policy) for promise in remaining]
        else:
            remaining += _new_promises(key, value, columns)
    about = {name for promise in remaining for name in promise.sensitive}
    secret = [name for name, rule in columns.items() if rule.role is Role.SENSITIVE]
    new = [name for name in secret if not _stays(policy, columns, name) and name not in about]
    stated = {key: numbers[key] for key in DIVERSITY if key in numbers} or {"l": LEAST_VALUES}
    for key, value in stated.items():
        remaining += [known_promises.make(DIVERSITY[key], {"of": name, key: value}) for name in new]
    return Promises(tuple(remaining))


DIVERSITY = {"l": "l-diversity", "t": "t-closeness"}
LEAST_VALUES = 2
"""So many different values a class has of a column that becomes sensitive, unless the caller says more."""


def _stays(policy: PolicyContent, columns: Mapping[str, ColumnRule], name: str) -> bool:
    return name not in policy.columns or columns[name].role is policy.columns[name].role


def _with_number(promise: Promise, key: str, value: object, policy: PolicyContent) -> Promise:
    parameters = promise.parameters()
    return (
        known_promises.make(promise.name, {**parameters, key: value}, policy.folder)
        if key in parameters
        else promise
    )


def _new_promises(key: str, value: object, columns: Mapping[str, ColumnRule]) -> list[Promise]:
    if key == "k":
        return [known_promises.make("k-anonymity", {"k": value})]
    secret = [name for name, rule in columns.items() if rule.role is Role.SENSITIVE]
    if not secret:
        raise UsageError(f"{key} is about sensitive columns, and there is none", remedy="Name one.")
    return [known_promises.make(DIVERSITY[key], {"of": column, key: value}) for column in secret]


def changed_protect(rule: ProtectRule, changes: Mapping[str, object]) -> ProtectRule:
    """Returns another way to search; raises `UsageError` for a word that is none of `protect`."""
    keys = [field.name for field in fields(ProtectRule)]
    for name in changes:
        if name not in keys:
            words = ", ".join([*CONTROLS, *keys, *WHOLE_WORDS])
            hint = did_you_mean(name, keys, otherwise=f"There are k, l, t, roles and {words}.")
            raise UsageError(f"a policy has no {short(name)} to change", remedy=said_elsewhere(name) or hint)
    read: dict[str, object] = {}
    for name, value in changes.items():
        exact = name in ("suppress", "price") and value not in (None, NO_PRICE)
        read[name] = fraction(value, key=name) if exact else None if value == NO_PRICE else value
        if name == "weights" and isinstance(value, Mapping):
            read[name] = {column: fraction(weight, key=column) for column, weight in value.items()}
    return replace(rule, **read)  # type: ignore[arg-type]  # names were compared, values are checked with the policy


# The writer of policies: YAML as a person would write it.


def as_yaml(policy: PolicyContent) -> str:
    """Returns the policy as a file: one line per column, reasons as comments."""
    from ruamel.yaml import YAML  # noqa: PLC0415  # only needed when a file is written
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415  # as above

    words: JsonObject = policy.to_dict()
    columns = CommentedMap()
    for name, rule in words.pop("columns").items():
        columns[_text(name)] = flowing(rule)
        if reason := policy.columns[name].reason:
            columns.yaml_add_eol_comment(" ".join(reason.split()), name)
    entries = words.pop("promises")
    promises = CommentedSeq(
        CommentedMap((name, flowing(p)) for name, p in entry.items()) for entry in entries
    )
    whole = CommentedMap(columns=columns, promises=promises)
    words["protect"]["suppress"] = _share(policy.protect.suppress)
    for key, value in words.items():
        whole[key] = (
            flowing(value)
            if key != CONFIRM_KEY
            else CommentedMap((_text(n), _text(w)) for n, w in value.items())
        )
    if policy.note:
        whole.yaml_set_start_comment(_wrapped(policy.note))
    writer = YAML()
    writer.width = 2**30
    writer.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    writer.dump(whole, out)
    return out.getvalue()


def _share(share: Fraction) -> object:
    """Returns a share as a person would write it: a whole percentage, or a fraction.

    >>> _share(Fraction(1, 20)), _share(Fraction(1, 3)), _share(Fraction(0))
    ('5%', '1/3', 0)
    """
    percent = share * 100
    return f"{percent}%" if share and percent.denominator == 1 else written(share)


def _wrapped(note: str) -> str:
    """Returns the lines of a note, none too long to read."""
    return "\n".join(part for line in note.splitlines() for part in wrap(line, 108))


def flowing(value: object) -> object:
    """Returns the value on one line, in brackets and braces."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415  # as above

    line: CommentedMap | CommentedSeq
    if isinstance(value, dict):
        line = CommentedMap((_text(key), flowing(child)) for key, child in value.items())
    elif isinstance(value, list):
        line = CommentedSeq(flowing(child) for child in value)
    else:
        return _text(value)
    line.fa.set_flow_style()
    return line


def _text(value: object) -> object:
    """Returns the value; text with line breaks or invisible characters in double quotes, escaped."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString  # noqa: PLC0415  # as above

    if not isinstance(value, str) or (value.isprintable() and value.strip() == value):
        return value
    return DoubleQuotedScalarString(value)


# The reader of policies: from words to content, collecting everything that is wrong.

Words = Mapping[str, object]
T = TypeVar("T")


def read_content(words: object, origin: Origin, *, folder: Path | None = None) -> PolicyContent:
    """Returns what these words say, part by part; raises one `BadPolicy` with every problem and its line.

    Whether the parts go together is not asked here.
    """
    problems = schema.problems(words, schema.top(), defs=schema.DEFS)
    if not isinstance(words, Mapping):
        refuse(problems, origin)
    reader = _Reader(cast("Words", words), folder, problems)
    columns, promises, given_to = reader.columns(), reader.promises(), reader.recipients()
    every_row = bool(promises.of_table) or (given_to is not None and given_to.by is By.PATTERNS)
    protect = reader.protect(every_row=every_row)
    named, people = reader.person()
    source = reader.source()
    if reader.problems:
        refuse([*reader.problems, *of_search(protect, Missing.SUPPRESS)], origin)
    return PolicyContent(
        columns,
        promises,
        protect,
        Missing(str(reader.words.get("missing", Missing.OWN_VALUE))),
        named,
        given_to,
        folder,
        origin,
        people=people,
        confirm=confirm_entries(reader.words.get(CONFIRM_KEY)),
        confirmed=confirmed_entries(reader.words.get(CONFIRM_KEY)),
        source=source,
        formulas=Formulas(str(reader.words.get("formulas", Formulas.REFUSE))),
        preset=cast("str | None", reader.words.get("preset")),
        chain=reader.chain(),
        follows=reader.follows(),
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
        section = self._section("protect") if "protect" in self.words else {}
        if section is None:
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
            search, suppress, weights=weights, terms=terms, price=price, together=together, **words
        )

    def _section(self, key: str) -> JsonMapping | None:
        """Returns what stands below a key; `None` where it is no mapping, or has a problem."""
        section = self.words.get(key)
        has_problem = any(problem.place[:1] == (key,) for problem in self.problems)
        return section if isinstance(section, Mapping) and not has_problem else None

    def recipients(self) -> recipients.RecipientRule | None:
        rule, section = self.words.get("recipients"), self._section("recipients")
        if isinstance(rule, recipients.RecipientRule):
            return rule
        if section is None:
            return None
        tolerance, error = (
            self._fraction(section[key], ("recipients", key)) if key in section else None
            for key in ("tolerance", "error")
        )
        return recipients.read(section, chain=chain.KEY in self.words, tolerance=tolerance, error=error)

    def follows(self) -> dict[str, tuple[str, ...]]:
        """Returns by which other columns a column can be told."""
        section = self._section("follows") or {}
        return {
            str(name): (others,) if isinstance(others, str) else tuple(map(str, others))
            for name, others in section.items()
        }

    def source(self) -> SourceForm:
        """Returns how the data are read."""
        form, section = self.words.get(schema.KEY), self._section(schema.KEY)
        if isinstance(form, SourceForm):
            return form
        if section is None:
            return SourceForm()
        try:
            return SourceForm.of_words(section)
        except UsageError as wrong:
            self.problems.append(Problem((schema.KEY,), wrong.message, wrong.remedy))
            return SourceForm()

    def chain(self) -> ChainRule | None:
        """Returns how later releases go on, where the policy says it."""
        given = self.words.get(chain.KEY)
        if isinstance(given, ChainRule):
            return given
        if not isinstance(given, Mapping) or any(p.place[:1] == (chain.KEY,) for p in self.problems):
            return None
        return chain.read(given)

    def person(self) -> tuple[str | None, PersonRule]:
        """Returns the column that tells people apart, and how their rows are published."""
        if any(problem.place[:1] == (person.KEY,) for problem in self.problems):
            return None, PersonRule()
        return person.read(self.words.get(person.KEY))

    def _column(self, words: object, place: Place) -> ColumnRule | None:
        if isinstance(words, Mapping) and self._foreseen_role(words, place):
            return None
        spec: Words = words if isinstance(words, Mapping) else {}
        taxonomy = spec.get("taxonomy")
        plain = {k: w for k, w in spec.items() if not (callable(w) or (k == "taxonomy" and _is_built(w)))}
        wrong = schema.problems(plain if spec else words, schema.column(), defs=schema.DEFS)
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
            controls=self._noted(place, lambda: ColumnControls.read(spec)) or ColumnControls(),
        )

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
        return self._noted(
            place,
            lambda: options.read({key: self._with_file(word) for key, word in words.items() if key in own}),
        )

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
        return self._noted(place, lambda: rule_from(spec, self.folder))

    def _promise(self, words: object, place: Place) -> Promise | None:
        if isinstance(words, Promise):
            return words
        name = next(iter(words)) if isinstance(words, Mapping) and len(words) == 1 else None
        trouble = known_promises.refused(name) if isinstance(name, str) else None
        if trouble is not None:
            self.problems.append(Problem((*place, str(name)), trouble.message, trouble.remedy))
            return None
        wrong = schema.problems(words, known_promises.schema(), defs=schema.DEFS)
        self.problems += [problem.under(*place) for problem in wrong]
        if wrong or not isinstance(name, str) or not isinstance(words, Mapping):
            return None
        return self._noted((*place, name), lambda: known_promises.make(name, words[name], self.folder))

    def _fraction(self, word: object, place: Place) -> Fraction:
        try:
            return fraction(word, key=str(place[-1]))
        except BadInput as wrong:
            self.problems.append(Problem(place, wrong.message, wrong.remedy))
            return Fraction(0)

    def _noted(self, place: Place, read: Callable[[], T]) -> T | None:
        """Returns what is read, or notes why it is refused.

        A builder or a promise names its own key, or a file, in `where`.
        """
        try:
            return read()
        except BadInput as wrong:
            inside = (
                (wrong.where,) if wrong.where and " " not in wrong.where and "." not in wrong.where else ()
            )
            file = f"{wrong.where}: " if wrong.where and not inside else ""
            message = f"{file}{wrong.message}"
            self.problems.append(Problem((*place, *inside), message, wrong.remedy, wrong.values))
        return None


def _suppresses(search: str, price: Fraction | None) -> bool:
    """Whether a search makes use of a suppression limit; one that cannot be used is refused elsewhere."""
    ability = searches.usable_ability(search)
    return ability is not None and ability.can_suppress(price)


def _is_built(spec: object) -> bool:
    # `getattr`: in Python a policy may hold a rule of the caller's own, of any class.
    return isinstance(spec, Taxonomy) or callable(getattr(spec, "build", None))


__all__ = ["ColumnRule", "Policy", "ProtectRule", "TaxonomyRule"]

NOWHERE = Origin()


@dataclass(frozen=True)
class Policy(PolicyContent):
    """Roles, taxonomies, promises: everything a release is held to.

    Identifiers are never published. Quasi-identifiers are generalized along their taxonomies (without
    one: the value or `*`). Sensitive columns are what promises protect; they and the insensitive columns
    are published unchanged. Every column of the data must be declared. `person` names the identifier that
    tells people apart where somebody has several rows; `people` says which of these rows show values.

    >>> policy = Policy.from_dict(
    ...     {
    ...         "columns": {
    ...             "name": {"role": "identifier"},
    ...             "zip": {"role": "quasi", "taxonomy": {"prefix": [3, 1]}},
    ...         },
    ...         "promises": [{"k-anonymity": {"k": 5}}],
    ...     }
    ... )
    >>> policy.published, policy.dropped, [str(p) for p in policy.promises]
    (('zip',), ('name',), ['k-anonymity, k = 5'])
    """

    def __post_init__(self) -> None:
        informed = Promises(tuple(promise.about(self.columns) for promise in self.promises))
        object.__setattr__(self, "promises", with_derived(informed))
        refuse([*objections(self), *unknown_columns(self)], self.origin)

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Reads a policy file; every message names the key and the line.

        Args:
            path: the file. Files that it names are looked for in its folder.
        """
        source = Path(path)
        try:
            content = read_start(source, yaml.MOST_FILE_BYTES + 1)
        except OSError as wrong:
            reason = (wrong.strerror or "unknown reason").lower()
            raise BadPolicy(
                f"the policy cannot be read: {reason}",
                where=source.name,
                remedy="Check the path. `sfumato declare DATA -o POLICY` writes a first policy.",
            ) from None
        document = yaml.read(content, name=source.name)
        return cls._checked(document.data, Origin(source.name, document.lines), source.parent)

    @classmethod
    def from_dict(
        cls, words: Mapping[str, object], folder: str | Path | None = None, *, origin: Origin = NOWHERE
    ) -> Policy:
        """Returns the policy of the same shape in Python, with `Fraction`, `Role`, `Taxonomy` or promises.

        Args:
            words: what a policy file would say.
            folder: where files that it names are looked for.
            origin: the file and the lines that the words stand in, for messages.
        """
        return cls._checked(words, origin, None if folder is None else Path(folder))

    @classmethod
    def _checked(cls, words: object, origin: Origin, folder: Path | None) -> Policy:
        parts = read_content(words, origin, folder=folder)
        return cls(**{field.name: vars(parts)[field.name] for field in fields(parts)})

    def confirm_columns(self, *columns: str) -> Policy:
        """Returns the policy in which somebody has confirmed that these columns may be published unchanged.

        A sensitive column that no promise protects waits for that, too. Raises `UsageError` where a column
        does not wait.

        Args:
            columns: the names of the columns.
        """
        remaining, confirmed = with_word_for(self, columns)
        return replace(self, confirm=remaining, confirmed=confirmed)

    def confirm_all(self) -> Policy:
        """Returns the policy in which somebody has confirmed every column that waited but sensitive ones:
        these need a word each."""
        return self.confirm_columns(*(n for n in self.waiting if self.columns[n].role is not Role.SENSITIVE))

    def with_(
        self,
        *,
        k: int | None = None,
        l: int | None = None,  # noqa: E741  # the name of the papers
        t: object = None,
        identifier: Names = (),
        quasi: Names = (),
        sensitive: Names = (),
        insensitive: Names = (),
        **protect: object,
    ) -> Policy:
        """Returns a copy with something changed, checked as a whole like any other policy.

        Where no promise has such a number, `k`, `l` and `t` are promised from now on, `l` and `t` of every
        sensitive column. Promises about a column that leaves its role go, and a column that is named needs no
        confirmation any more.

        Args:
            k: the k of the promises that have one.
            l: the l of the promises that have one.
            t: the t of the promises that have one.
            identifier: names of columns that become identifiers.
            quasi: names of columns that become quasi-identifiers.
            sensitive: names of columns that become sensitive.
            insensitive: names of columns that become insensitive.
            protect: keys of `protect`: `search`, `suppress`, `loss`, `weights`; controls of columns, by
                their names: `at_most` and `fixed` (levels), `never_suppress` (values); or other keys of a
                policy, with what its file would say: `person`, `missing`, `recipients`, `chain`, `follows`.

        >>> words = {"columns": {"zip": {"role": "quasi"}}, "promises": [{"k-anonymity": {"k": 5}}]}
        >>> policy = Policy.from_dict(words).with_(k=10, search="lattice", suppress="2%")
        >>> [str(p) for p in policy.promises], policy.protect.search, policy.protect.suppress
        (['k-anonymity, k = 10'], 'lattice', Fraction(1, 50))
        """
        numbers = {key: value for key, value in (("k", k), ("l", l), ("t", t)) if value is not None}
        roles = RoleNames(identifier, quasi, sensitive, insensitive)
        controls = {key: protect.pop(key) for key in CONTROLS if key in protect}
        whole = {key: protect.pop(key) for key in WHOLE_WORDS if key in protect}
        columns, named = controlled_columns(changed_columns(self, roles), controls), roles.roles
        changed = replace(
            self,
            columns=columns,
            promises=changed_promises(self, columns, numbers),
            protect=changed_protect(self.protect, protect),
            confirm={name: why for name, why in self.confirm.items() if name not in named},
            confirmed=tuple(name for name in self.confirmed if name not in named),
        )
        if not whole:
            return changed
        read = Policy.from_dict({**changed.to_dict(), **whole}, self.folder)
        return replace(changed, **{key: getattr(read, key) for key in (*WHOLE_WORDS, "people")})

    def card(self) -> Card:
        """Returns the policy in a few lines: promises in plain words, and what each column is."""
        return policy_card(self)

    def _repr_html_(self) -> str:
        return self.card()._repr_html_()

    def to_yaml(self) -> str:
        """Returns the policy as a file, with the reasons of guesses as comments."""
        return as_yaml(self)


# Edited policy files: what changed is written, and every other line stays as somebody wrote it.


def policy_of_text(text: str, *, name: str, folder: Path | None = None) -> Policy:
    """Returns the policy that a text holds; raises `BadPolicy` that names keys and lines."""
    document = yaml.read(text.encode(), name=name)
    words: Any = document.data  # whatever the text holds; checked as a whole
    return Policy.from_dict(words, folder, origin=Origin(name, document.lines))


def with_confirmed(policy: Policy, columns: Names) -> Policy:
    """Returns the policy in which a caller confirms these columns, as `Policy.confirm_columns` does."""
    names = (columns,) if isinstance(columns, str) else columns
    return policy.confirm_columns(*names) if names else policy


def edited_text(text: str, before: Policy, after: Policy, *, name: str = "policy.yaml") -> str:
    """Returns the text of a policy that changed: comments and order stay where nothing changed.

    `before` is what the text holds. Where the text cannot be edited so that it holds `after`, which is
    found out by reading it again, it is written anew.
    """
    try:
        edited = _merged_text(text, before.to_dict(), after.to_dict())
        again = policy_of_text(edited, name=name, folder=after.folder)
    except (BadInput, KeyError, TypeError, ValueError, AttributeError):
        return after.to_yaml()
    agrees = again.digest == after.digest and dict(again.confirm) == dict(after.confirm)
    agrees = agrees and set(again.confirmed) == set(after.confirmed)
    return edited if agrees and again.source == after.source else after.to_yaml()


def _merged_text(text: str, before: JsonObject, after: JsonObject) -> str:
    from ruamel.yaml import YAML  # noqa: PLC0415  # only needed when a file is written

    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 2**30
    editor.indent(mapping=2, sequence=4, offset=2)
    document = editor.load(text)
    _merge(document, before, after)
    out = io.StringIO()
    editor.dump(document, out)
    return out.getvalue()


def _merge(document: dict[Any, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Puts what differs into the document; what is equal in both may be written there in any way."""
    for key in before:
        if key not in after and key in document:
            del document[key]
    for key, value in after.items():
        if key in before and before[key] == value:
            continue
        current, was = document.get(key), before.get(key)
        if isinstance(current, dict) and isinstance(was, Mapping) and isinstance(value, Mapping):
            _merge(current, was, value)
        elif isinstance(current, list) and isinstance(was, Sequence) and len(current) == len(was):
            _merge_list(current, list(was), list(value))
        else:
            document[key] = flowing(value)


def _merge_list(document: list[Any], before: list[Any], after: list[Any]) -> None:
    """Puts what differs into a list: entries are changed in their places, removed, or added at the end."""
    staying = [position for position, value in enumerate(before) if value in after]
    if [before[position] for position in staying] == after[: len(staying)] and len(before) != len(after):
        for position in reversed(range(len(before))):
            if position not in staying:
                del document[position]
        document.extend(flowing(value) for value in after[len(staying) :])
        return
    if len(before) != len(after):
        document[:] = [flowing(value) for value in after]
        return
    for position, (was, value) in enumerate(zip(before, after, strict=True)):
        if was != value:
            current = document[position]
            if isinstance(current, dict) and isinstance(was, Mapping) and isinstance(value, Mapping):
                _merge(current, was, value)
            else:
                document[position] = flowing(value)


def column_comments(text: str) -> dict[str, str]:
    """Returns what a policy file says behind columns that stand on one line: there drafts give reasons."""
    try:
        root = yaml.compose(text)
    except BadInput:
        return {}
    lines = text.splitlines()
    pairs = [] if root is None else root.value
    columns: object = next((value.value for key, value in pairs if key.value == "columns"), [])
    if not isinstance(columns, list):
        return {}
    ends = {key.value: value.end_mark for key, value in columns if value.flow_style}
    behind = {str(name): lines[end.line][end.column :].strip() for name, end in ends.items()}
    return {name: comment[1:].strip() for name, comment in behind.items() if comment.startswith("#")}

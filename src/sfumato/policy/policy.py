"""The policy: what each column is, what is promised, and how to get there, checked as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.core.derived_promises import with_derived
from sfumato.core.errors import BadPolicy
from sfumato.core.problem import Origin, refuse
from sfumato.core.promise import Promises
from sfumato.core.taxonomy_rule import TaxonomyRule
from sfumato.policy import reader, writer, yaml
from sfumato.policy.changed_policy import (
    CONTROLS,
    Names,
    RoleNames,
    changed_columns,
    changed_promises,
    changed_protect,
    controlled_columns,
)
from sfumato.policy.compatibility.objections import objections
from sfumato.policy.confirmation import remaining, unknown_columns
from sfumato.policy.content import ColumnRule, PolicyContent, ProtectRule
from sfumato.policy.policy_card import policy_card
from sfumato.show.card import Card
from sfumato.system.disk import read_start

__all__ = ["ColumnRule", "Policy", "ProtectRule", "TaxonomyRule"]

NOWHERE = Origin()


@dataclass(frozen=True)
class Policy(PolicyContent):
    """Roles, taxonomies, promises: everything a release is held to.

    Identifiers are never published. Quasi-identifiers are generalized along their taxonomies (without
    one: the value or `*`). Sensitive columns are what promises protect; they and the insensitive columns
    are published unchanged. Every column of the data must be declared. `person` names the identifier that
    tells people apart where somebody has several rows. Where anything but k-anonymity is promised, or `knows`
    is `profile`, outsiders are taken to know all rows of a person, and people are judged by what these show
    together.

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
        """Reads a policy file; every message names the key and the line."""
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

        Files are looked for in `folder`; `origin` says which lines the words stand in.
        """
        return cls._checked(words, origin, None if folder is None else Path(folder))

    @classmethod
    def _checked(cls, words: object, origin: Origin, folder: Path | None) -> Policy:
        parts = reader.content(words, origin, folder=folder)
        return cls(
            parts.columns,
            parts.promises,
            parts.protect,
            parts.missing,
            parts.person,
            parts.recipients,
            parts.folder,
            parts.origin,
            parts.note,
            parts.knows,
            parts.confirm,
            parts.source,
            parts.formulas,
            parts.preset,
        )

    def confirm_columns(self, *columns: str) -> Policy:
        """Returns the policy in which somebody has confirmed that these columns may be published unchanged.

        Raises `WrongCall` where a column does not wait for that.
        """
        return replace(self, confirm=remaining(self, columns))

    def confirm_all(self) -> Policy:
        """Returns the policy in which somebody has confirmed every column that waited."""
        return replace(self, confirm={})

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

        `k`, `l` and `t` change the promises that have such a number; where none has, it is promised from now
        on, `l` and `t` of every sensitive column. The four roles take names of columns; promises about a
        column that leaves its role go, and a column that is named needs no confirmation any more. What else
        is given is a key of `protect`: `search`, `suppress`, `loss`, `weights`; or a control of columns, by
        their names: `at_most` and `fixed` (levels), `never_suppress` (values).

        >>> words = {"columns": {"zip": {"role": "quasi"}}, "promises": [{"k-anonymity": {"k": 5}}]}
        >>> policy = Policy.from_dict(words).with_(k=10, search="lattice", suppress="2%")
        >>> [str(p) for p in policy.promises], policy.protect.search, policy.protect.suppress
        (['k-anonymity, k = 10'], 'lattice', Fraction(1, 50))
        """
        numbers = {key: value for key, value in (("k", k), ("l", l), ("t", t)) if value is not None}
        roles = RoleNames(identifier, quasi, sensitive, insensitive)
        controls = {key: protect.pop(key) for key in CONTROLS if key in protect}
        columns, named = controlled_columns(changed_columns(self, roles), controls), roles.roles
        return replace(
            self,
            columns=columns,
            promises=changed_promises(self, columns, numbers),
            protect=changed_protect(self.protect, protect),
            confirm={name: why for name, why in self.confirm.items() if name not in named},
        )

    def card(self) -> Card:
        """Returns the policy in a few lines: promises in plain words, and what each column is."""
        return policy_card(self)

    def _repr_html_(self) -> str:
        return self.card()._repr_html_()

    def to_yaml(self) -> str:
        """Returns the policy as a file, with the reasons of guesses as comments."""
        return writer.as_yaml(self)

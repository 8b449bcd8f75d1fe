"""An earlier plan that a caller hands in, so that another delivery is transformed in the same way."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.errors import BadData
from sfumato.core.json_object import JsonMapping, read_json
from sfumato.engine import open_source
from sfumato.engine.files.formats import FORMATS
from sfumato.policy.policy import Policy
from sfumato.protection.plan import Plan
from sfumato.protection.same_transformation import Transformation
from sfumato.system.disk import read_document

AnyTransformation = Plan | Transformation | str | Path
"""A plan, the JSON that `protect --json` printed of it, or the certificate in the folder of a release."""

PUBLISHED = tuple(f"data.{kind}" for kind in FORMATS)
"""The published table, beside its certificate."""


def load_transformation(given: AnyTransformation | None, policy: Policy) -> Transformation | None:
    """Returns what an earlier plan made of each key column, if there is one.

    Of a certificate, the table beside it is read: its texts are the nodes that values became. Raises
    `BadData` where the file is neither, or where local recoding made the earlier table.
    """
    if isinstance(given, Plan):
        return given.transformation
    if given is None or isinstance(given, Transformation):
        return given
    path = Path(given)
    try:
        document = read_json(read_document(path))
    except OSError as wrong:
        reason = (wrong.strerror or "unknown reason").lower()
        raise BadData(f"the earlier plan cannot be read: {reason}", where=path.name) from None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise BadData(
            "this is no plan and no certificate",
            where=path.name,
            remedy="Name what `sfumato protect --json` printed, or the certificate.json of a release.",
        )
    if "entry" in document and "signature" in document:
        return _of_release(path, policy)
    return Transformation.of_document(_plan_in(document), where=path.name)


def _plan_in(document: JsonMapping) -> JsonMapping:
    """Returns the plan of a document, which may be that of a release."""
    plan = document.get("plan")
    return plan if isinstance(plan, dict) else document


def _of_release(certificate: Path, policy: Policy) -> Transformation:
    """Returns the texts that the table beside a certificate shows, column by column."""
    there = [file for name in PUBLISHED if (file := certificate.parent / name).exists()]
    if not there:
        raise BadData(
            "the table that this certificate is about is not beside it",
            where=certificate.name,
            remedy=f"Name the certificate in the folder of the release, with {' or '.join(PUBLISHED)}.",
        )
    keys = [name for name, rule in policy.columns.items() if rule.role.is_key]
    source = open_source(there[0], expected=policy.form_of_data)
    held = source.survey([name for name in keys if name in source.columns])
    return Transformation(
        {name: column.values for name, column in held.columns.items() if column.complete},
        where=certificate.name,
    )

"""The verb `audit` with several files: a chain of groups, judged by whoever holds its releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sfumato.inputs import AnyMemory, AnyPolicy, load_policy, open_original, view_policy
from sfumato.policy.reference import judge_data
from sfumato.system.errors import UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.memory import Memory
from sfumato.system.presentation.cards import Card, Printable, pluralize, verdict_document, verdict_lines
from sfumato.system.progress import Progress, silent
from sfumato.system.verdict import Verdict
from sfumato.table.arrow_rows import form_of
from sfumato.verify.groups import judge_step


@dataclass(frozen=True)
class ChainStep:
    """What two files of a chain show, one after the other."""

    earlier: str
    later: str
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class ChainAudit(Printable):
    """Whether the files of a chain keep its rule: earlier rows stay, and what is new keeps every promise.

    The rows of a class are taken to be of different people, as the certificates of the releases state.
    """

    steps: tuple[ChainStep, ...]

    @property
    def holds(self) -> bool | None:
        """Whether every step does; `None` where some step is not decided by the files."""
        found = [verdict.holds for step in self.steps for verdict in step.verdicts]
        return False if False in found else None if None in found else True

    def as_dict(self) -> JsonObject:
        """Returns the audit as JSON."""
        return {
            "holds": self.holds,
            "steps": [
                {
                    "earlier": step.earlier,
                    "later": step.later,
                    "verdicts": list(map(verdict_document, step.verdicts)),
                }
                for step in self.steps
            ],
        }

    def card(self) -> Card:
        """Returns the audit in a few lines."""
        words = {True: "keep", False: "BREAK", None: "do not decide"}
        lines: list[tuple[str, ...]] = []
        for step in self.steps:
            lines += [(f"{step.earlier} → {step.later}",), *verdict_lines(step.verdicts), ()]
        files = pluralize(len(self.steps) + 1, "file")
        notes = ("Rows of a class are taken to be of different people, as their certificates state.",)
        return Card(f"{files} {words[self.holds]} the rule of a chain of groups", lines[:-1], notes)


def audit_chain(
    files: Sequence[str | Path],
    policy: AnyPolicy,
    *,
    memory: AnyMemory = None,
    progress: Progress | None = None,
) -> ChainAudit:
    """Judge the files of a chain of groups, oldest first, from their bytes alone.

    Every file is held against the one before it: rows once published are all there, or all rows that show a
    box are gone, and the rows that are new keep every promise of the policy by themselves. Nothing but the
    files is looked at, so anybody who holds them can repeat it.

    Args:
        files: the published files, oldest first, two at least.
        policy: what they promise.
        memory: how much may be used, such as "4GB".
        progress: receives how far it is.

    >>> import sfumato as sf
    >>> words = {"columns": {"town": {"role": "quasi"}}, "promises": [{"k-anonymity": {"k": 2}}], "chain": {}}
    >>> sf.audit_chain(["only_one.csv"], sf.Policy.from_dict(words))
    Traceback (most recent call last):
    ...
    sfumato.system.errors.UsageError: a chain has two files at least. Name them, oldest first.
    """
    show, paths = progress or silent, [Path(file) for file in files]
    if len(paths) < 2:
        raise UsageError("a chain has two files at least", remedy="Name them, oldest first.")
    rules = judge_data(view_policy(load_policy(policy)))
    forms = [form_of(open_original(path, memory), path) for path in paths]
    steps = []
    for i, (earlier, later) in enumerate(pairwise(paths)):
        show("judging", i, len(paths) - 1)
        verdicts = judge_step(earlier, later, rules, form=forms[i + 1], memory=Memory.of(memory))
        steps.append(ChainStep(str(files[i]), str(files[i + 1]), verdicts))
    show("judging", len(steps), len(steps))
    return ChainAudit(tuple(steps))

"""The rules of a chain of groups once more, in plain Python: from sources, published files, and whose rows
they are said to be. Nothing of the project is imported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

TREES = {"town": {"north": ["Ahus", "Bro"], "south": ["Cora", "Dorn"]}}


@dataclass(frozen=True)
class Claim:
    """A published row and what its publisher says of it: whose, in which group, since which release."""

    person: str
    group: int
    release: int
    bare: bool
    cells: tuple


@dataclass(frozen=True)
class Rules:
    """What a policy asks for."""

    keys: tuple
    unchanged: tuple
    k: int
    l: int  # noqa: E741  # the name of the papers
    person: str = "person"
    by: str | None = "day"
    secret: str = "illness"
    hold: int = 0
    shows: str = "everybody"
    leavers: str = "linger"
    again: str = "bare"

    @property
    def published(self):
        return (*self.keys, *self.unchanged)


def covers(column, label, value):
    """Whether a published label covers a value."""
    if label == "*":
        return True
    if label is None or value is None:
        return label == value
    if label.startswith("["):
        low, high = label[1:-1].split(", ")
        return int(low) <= int(value) < int(high)
    if column in TREES:
        return value == label or value in TREES[column].get(label, ())
    if label.endswith("*"):
        return value.startswith(label.rstrip("*")) and len(value) == len(label)
    return value == label or value.startswith(f"{label}-")  # a month, of a day


def box_covers(rules, cells, row):
    return all(covers(name, cell, row[name]) for name, cell in zip(rules.keys, cells, strict=False))


def check_groups(rules, claims):
    """Every group keeps every promise by itself; one row of a person in each, and in all of them once."""
    first = [claim for claim in claims if not claim.bare]
    assert max(Counter(claim.person for claim in first).values(), default=1) == 1
    groups = defaultdict(list)
    for claim in first:
        groups[claim.group].append(claim)
    secret = rules.published.index(rules.secret)
    for members in groups.values():
        assert len({claim.cells[: len(rules.keys)] for claim in members}) == 1, "one box"
        assert len({claim.release for claim in members}) == 1, "groups are closed"
        assert len(members) >= rules.k
        assert len({claim.cells[secret] for claim in members} - {None}) >= rules.l
    alone = defaultdict(list)
    for claim in claims:
        assert not claim.bare or all(cell is None for cell in claim.cells[len(rules.keys) :])
        if claim.bare and claim.group not in groups:
            alone[claim.group].append(claim)
    for members in alone.values():
        assert len({claim.cells for claim in members}) == 1
        assert len({claim.person for claim in members}) == len(members) >= rules.k
    homes = {claim.person: claim.group for claim in first}
    for claim in claims:
        assert not claim.bare or homes[claim.person] != claim.group
        if claim.bare and claim.group in groups:
            assert claim.cells[: len(rules.keys)] == groups[claim.group][0].cells[: len(rules.keys)]


def check_truth(rules, claims, source, release):
    """Every new row is true of a row of its person in the table it came from, each row once."""
    theirs = defaultdict(list)
    for row in source:
        theirs[row[rules.person]].append(row)
    mine = defaultdict(list)
    for claim in claims:
        if claim.release == release:
            mine[claim.person].append(claim)
    for person, new in mine.items():
        left = sorted(theirs[person], key=lambda row: row[rules.by] if rules.by else 0)
        shown = [claim for claim in new if not claim.bare]
        if shown:
            earliest = [row for row in left if not rules.by or row[rules.by] == left[0][rules.by]]
            values = shown[0].cells[len(rules.keys) :]
            fitting = [
                row
                for row in earliest
                if box_covers(rules, shown[0].cells, row) and tuple(row[n] for n in rules.unchanged) == values
            ]
            assert fitting, "the row of the first day, in its box, with its values"
            left.remove(fitting[0])
        assert _placed([claim.cells for claim in new if claim.bare], left, rules)


def _placed(boxes, rows, rules):
    """Whether every box covers a row of its own."""
    if not boxes:
        return True
    return any(
        box_covers(rules, boxes[0], row) and _placed(boxes[1:], rows[:i] + rows[i + 1 :], rules)
        for i, row in enumerate(rows)
    )


def shown_claims(rules, claims, sources):
    """What a file of the newest release shows of these claims."""
    homes = {claim.person: claim.group for claim in claims if not claim.bare}
    gone = set()
    if rules.leavers == "withheld":
        for release, source in enumerate(sources, start=1):
            there = {row[rules.person] for row in source}
            came = {claim.person: claim.release for claim in claims if not claim.bare}
            gone |= {homes[person] for person, at in came.items() if at < release and person not in there}
    kept = [claim for claim in claims if claim.group not in gone and homes[claim.person] not in gone]
    values = {claim.group for claim in claims if not claim.bare}
    torn = {claim.group for claim in set(claims) - set(kept)} - values
    kept = [claim for claim in kept if claim.group not in torn]
    return [claim for claim in kept if rules.shows == "everybody" or claim.release == len(sources)]


def judge_step(rules, sources, before, claims, file):
    """One release: `before` and `claims` are those of the base, `file` what was published."""
    release = len(sources)
    assert Counter(before) == Counter(claim for claim in claims if claim.release < release), "nothing changes"
    check_groups(rules, claims)
    check_truth(rules, claims, sources[-1], release)
    shown = shown_claims(rules, claims, sources)
    assert Counter((claim.cells, claim.bare) for claim in shown) == Counter(file)
    if rules.again == "withheld":
        assert not any(claim.bare for claim in claims)
    if rules.shows == "newcomers":
        boxes = {claim.group for claim in claims if claim.release == release and not claim.bare}
        classes = Counter(claim.group for claim in shown if claim.bare and claim.group not in boxes)
        assert all(count >= rules.k for count in classes.values())
    known = {claim.person for claim in before}
    newcomers = {row[rules.person] for row in sources[-1]} - known
    fresh = {claim.person for claim in claims if claim.release == release and not claim.bare}
    assert fresh <= newcomers
    if len(newcomers) < max(rules.hold, rules.k, rules.l):
        assert not fresh


def judge_files(rules, files):
    """Rules that anybody can check: earlier rows stay, and what is new keeps every promise by itself."""
    secret = rules.published.index(rules.secret)
    for i, file in enumerate(files):
        earlier = Counter(files[i - 1]) if i else Counter()
        assert not (earlier - Counter(file)), "earlier rows stay"
        classes = defaultdict(list)
        for (cells, bare), count in (Counter(file) - earlier).items():
            if not bare:
                classes[cells[: len(rules.keys)]] += [cells] * count
        for members in classes.values():
            assert len(members) >= rules.k
            assert len({cells[secret] for cells in members} - {None}) >= rules.l

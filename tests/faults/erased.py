"""Made-up releases that hold marks of people, and what is left of whoever is erased from them."""

from __future__ import annotations

import base64
import uuid
from pathlib import Path

import numpy as np
from sqlalchemy import func, select

from sfumato.releases.ledger.erasure import ErasureRequest, erase_people
from sfumato.releases.ledger.notices import mark_bytes, marks_of
from sfumato.releases.ledger.record import ReleaseRecord, memory_bytes
from sfumato.releases.ledger.tables import ENTRIES, PEOPLE
from sfumato.releases.ledger.vault import opened_marks
from sfumato.releases.staging import no_hook
from sfumato.table.cut import Cut
from sfumato.table.keyed_hashes import are_known, label_marks
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import Imprint
from sfumato.table.taxonomy import Taxonomy

PLACE = Taxonomy.flat(["x", "y"])


def imprint(people):
    """What is remembered of a release about these people, one row each."""
    names = Taxonomy.flat(sorted(people))
    columns = [Column("place", Role.QUASI, PLACE), Column("who", Role.IDENTIFIER, names)]
    codes = [np.zeros(len(people), np.int32), np.arange(len(people), dtype=np.int32)]
    recoding = Recoding.of_cuts(Microdata.of_codes(columns, codes), {"place": Cut.root(PLACE)})
    return Imprint.of(recoding, [], since="who", people=True)


def enter_people(ledger, people, chain="main"):
    """Enter a release about these people; its id."""
    history = ledger.history(chain, memory=False)
    memory, marks = memory_bytes(imprint(people).as_dict()), mark_bytes(label_marks(people))
    record = ReleaseRecord(uuid.uuid4().hex, chain, "p" * 64, memory=memory, people=marks)
    ledger.commit(record, after=history[-1].hash if history else "", staged=False)
    return record.release


def erase(ledger, person, at=no_hook):
    erase_people(ledger, ErasureRequest(label_marks([person]), "who"), at=at)


def is_erased(ledger, person):
    """Whether nothing in the tables tells of somebody; all of it, or none."""
    assert ledger.verify().holds, ledger.verify().faults
    mark, told = label_marks([person]), set()
    with ledger.database.reading() as connection:
        stored = [
            opened_marks(connection, row.number, row.marks) for row in connection.execute(select(PEOPLE))
        ]
    told.add(any(are_known(mark, marks_of(one))[0] for one in stored))
    imprints = [Imprint.from_json(record.memory) for record in ledger.history() if record.memory]
    told.add(any(are_known(mark, one.batches)[0] for one in imprints))
    assert all(len(one.batches) + one.erased == one.rows for one in imprints)
    assert len(told) == 1, "from everything, or from nothing"
    return not told.pop()


def envelopes(ledger):
    """The ends of what is encrypted of the last release: its memory, and the marks of its people."""
    with ledger.database.reading() as connection:
        last = connection.execute(select(func.max(PEOPLE.c.number))).scalar()
        memory = connection.execute(select(ENTRIES.c.memory).where(ENTRIES.c.number == last)).scalar()
        marks = connection.execute(select(PEOPLE.c.marks).where(PEOPLE.c.number == last)).scalar()
    return [bytes(cell)[-32:] for cell in (memory, marks)]


def files_with(folder, person, *, besides=()):
    """The files below a folder in which the bytes of a key or its mark stand; some folders are left out."""
    mark = label_marks([person])[0].astype("<u8").tobytes()
    wanted = [person.encode(), mark, mark.hex().encode(), base64.b64encode(mark)[:20]]
    return files_with_any(folder, wanted, besides=besides)


def files_with_any(folder, wanted, *, besides=()):
    """The files below a folder in which any of these bytes stand; some folders are left out."""
    return [
        path.name
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
        and not set(besides) & set(path.relative_to(folder).parts)
        and any(word in path.read_bytes() for word in wanted)
    ]

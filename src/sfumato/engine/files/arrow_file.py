"""Arrow files as readers: the IPC file format (Feather), and its streams."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import ipc

from sfumato.core.errors import BadData
from sfumato.engine.files.loaded_file import LoadedFileReader

ARROW_ENDINGS = (".arrow", ".feather", ".ipc", ".arrows")
BYTES_PER_BYTE = 2
"""Memory for each byte of a file that is not compressed: measured were 1.8."""


@dataclass(frozen=True, eq=False)
class ArrowFileReader(LoadedFileReader):
    """An Arrow IPC file or stream."""

    def needed_bytes(self) -> int:
        return self.path.stat().st_size * BYTES_PER_BYTE

    def load(self) -> pa.Table:
        try:
            with pa.OSFile(str(self.path)) as file:
                try:
                    packed = ipc.open_file(file)
                except pa.ArrowInvalid:
                    file.seek(0)
                    stream = ipc.open_stream(file)
                    return self._joined(stream.schema, stream)
                batches = (packed.get_batch(number) for number in range(packed.num_record_batches))
                return self._joined(packed.schema, batches)
        except (pa.ArrowException, OSError):
            raise BadData(
                "the file cannot be read as Arrow", where=self.path.name, remedy="Is it complete?"
            ) from None

    def _joined(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        """Returns all batches as a table; what is compressed shows its size only when it is unpacked.

        Arrow believes the offsets of a file, and reads where nothing is if they are damaged.
        """
        held = []
        for batch in batches:
            batch.validate(full=True)
            held.append(batch)
            self.check_room(batch.nbytes)
        return pa.Table.from_batches(held, schema)

"""Arrow files as readers: the IPC file format (Feather), and its streams."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyarrow import ipc

from sfumato.core.errors import BadData
from sfumato.engine.files.loaded_file import LoadedFileReader

ARROW_ENDINGS = (".arrow", ".feather", ".ipc", ".arrows")


@dataclass(frozen=True, eq=False)
class ArrowFileReader(LoadedFileReader):
    """An Arrow IPC file or stream."""

    def load(self) -> pa.Table:
        try:
            with pa.OSFile(str(self.path)) as file:
                try:
                    return ipc.open_file(file).read_all()
                except pa.ArrowInvalid:
                    file.seek(0)
                    return ipc.open_stream(file).read_all()
        except (pa.ArrowException, OSError):
            raise BadData(
                "the file cannot be read as Arrow", where=self.path.name, remedy="Is it complete?"
            ) from None

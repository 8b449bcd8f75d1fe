"""Names for what Altair hands around, which may not be installed.

`Any`: Altair and its converter are optional packages, so there is no type to name where they are absent.
"""

from __future__ import annotations

from typing import Any

AltairModule = Any
AltairChart = Any
"""A chart, or a part of one such as an axis."""

VlConvertModule = Any

"""Adversaries who seek labels that stand nowhere in a table: what they have in common."""

from __future__ import annotations

from typing import ClassVar


class SeeksLabels:
    """An attack on what terms give away together: when it succeeds, and which promises it breaks."""

    succeeds: ClassVar[str] = "the belief in a label is more than the promise allows"
    threatens: ClassVar[tuple[str, ...]] = ("quasi-sensitive",)

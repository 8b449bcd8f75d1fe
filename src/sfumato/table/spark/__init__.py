"""Spark tables as sources: rows are counted and published in Spark, and only packed counts leave it."""

from __future__ import annotations

from sfumato.table.spark.source import SparkSource

__all__ = ["SparkSource"]

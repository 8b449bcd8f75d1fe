"""Tables in memory as sources: pandas, Polars, PyArrow, DuckDB, single records."""

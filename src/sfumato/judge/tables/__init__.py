"""How the judge reads tables: files from their bytes, rows in memory through a narrow door."""

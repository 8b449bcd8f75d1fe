"""The judge: a second implementation in full, which shares nothing with the search.

It has its own reader, its own trees and its own definition of every promise, and is handed plain data: the
policy as texts and numbers, a file by its path, a table in memory as Arrow batches.
"""

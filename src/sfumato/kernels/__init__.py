"""Compiled loops: arrays in, arrays out, no words of the domain."""

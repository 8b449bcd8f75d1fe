"""Continuous publishing: each release stays safe beside the earlier ones of its chain."""

"""Freeform attacks: what is sensitive and what is observable, value by value, and what follows from it.

After Wang, Xu, Fu and Wong, *FF-anonymity: when quasi-identifiers are missing*, 2009.
"""

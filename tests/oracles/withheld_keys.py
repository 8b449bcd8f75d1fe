"""Every set of keys that may be withheld: what searches with priced suppression choose from."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from oracles.partitions_of_keys import partitions, recoding_of
from sfumato.table.classes import Classes
from sfumato.table.recoding import SUPPRESSED, Recoding
from strategies import all_recodings


def tables_without(table, aim):
    """Every table that is left when keys with no more rows than allowed are withheld, and which rows stay."""
    codes = np.stack([table.codes(c.name) for c in table.keys], axis=1)
    keys, key_of_row = np.unique(codes, axis=0, return_inverse=True)
    key_of_row = key_of_row.ravel()
    for size in range(len(keys)):
        for gone in combinations(range(len(keys)), size):
            kept = ~np.isin(key_of_row, gone)
            rows = int(table.counts[~kept].sum())
            if rows + table.dropped <= aim.allowed(table):
                less = replace(
                    table,
                    words=np.ascontiguousarray(table.words[:, kept]),
                    counts=table.counts[kept],
                    dropped=table.dropped + rows,
                )
                yield less, kept


def least_loss(table, promises, aim, recodings):
    """The least loss of any recoding of any table that may be left, or `None`; `recodings` lists those."""
    least = None
    for less, kept in tables_without(table, aim):
        for recoding in recodings(less):
            classes = Classes.of(less, recoding.class_of, sensitive=promises.sensitive)
            if not promises.holds_on(classes).all():
                continue
            class_of = np.full(table.distinct, SUPPRESSED, np.int32)
            class_of[kept] = recoding.class_of
            loss = aim.loss_of(replace(recoding, table=table, class_of=class_of))
            least = loss if least is None else min(least, loss)
    return least


def global_recodings(table):
    """Every combination of cuts."""
    return [Recoding.of_cuts(table, cuts) for cuts in all_recodings(table)]


def local_recodings(table):
    """Every partition of the keys."""
    codes = np.stack([table.codes(c.name) for c in table.keys], axis=1)
    keys, key_of_row = np.unique(codes, axis=0, return_inverse=True)
    return [recoding_of(table, key_of_row.ravel(), some) for some in partitions(len(keys))]

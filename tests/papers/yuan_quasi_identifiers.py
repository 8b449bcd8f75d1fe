"""The tables of Yuan, "Finding quasi-identifiers against k-anonymity"."""

NOTHING = "⊥"


def cover_table(elements, collection):
    """The reduction of section 4.1: a column per set, a row per element, and a row of nothing."""
    return {
        name: [e if e in members else NOTHING for e in elements] + [NOTHING]
        for name, members in collection.items()
    }


def example_4_2():
    """Elements a to e and the sets c1 to c4."""
    collection = {"c1": {1, 2, 3}, "c2": {2, 4}, "c3": {3, 4}, "c4": {4, 5}}
    return cover_table(range(1, 6), collection)


def example_5_2():
    """The table on which the paper's algorithm is followed step by step."""
    return {
        "a": ["x", "x", "x", "x", 5],
        "b": [1, "x", 3, "x", "x"],
        "c": ["x", 2, "x", 4, "x"],
        "d": [6, 7, 8, "x", "x"],
        "e": ["x", "x", "x", 9, 0],
    }

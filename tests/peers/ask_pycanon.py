"""Runs in `.venv-peers`: reads tables as JSON from stdin, writes what pyCANON measures to stdout."""

from __future__ import annotations

import json
import math
import sys


def main() -> None:
    import pandas

    from pycanon import anonymity

    answers = []
    for table in json.load(sys.stdin):
        frame = pandas.DataFrame(table["columns"])
        keys = table["keys"]
        c, least = anonymity.recursive_c_l_diversity(frame, keys, ["text"])
        answers.append(
            {
                "k": int(anonymity.k_anonymity(frame, keys)),
                "distinct": int(anonymity.l_diversity(frame, keys, ["text"])),
                "entropy": int(anonymity.entropy_l_diversity(frame, keys, ["text"])),
                "recursive": [None if math.isnan(c) else int(c), int(least)],
                "equal": float(anonymity.t_closeness(frame, keys, ["text"])),
                "ordered": ordered(anonymity, frame, keys),
            }
        )
    json.dump(answers, sys.stdout)


def ordered(anonymity, frame, keys):
    try:
        return float(anonymity.t_closeness(frame, keys, ["number"]))
    except ZeroDivisionError:
        return "divides by zero"


if __name__ == "__main__":
    main()

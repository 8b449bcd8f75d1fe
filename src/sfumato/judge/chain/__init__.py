"""Chains of releases, judged a second time: from what every release showed, with a solver of its own."""

"""Packages as they would be installed: a module and the metadata that offers its parts."""

from __future__ import annotations

import sys
from importlib import invalidate_caches

import pytest

import sfumato.models.registry as promises
import sfumato.verify.registry as judges
from sfumato.system import plugins


@pytest.fixture
def install(tmp_path, monkeypatch):
    """install(distribution, source, {group: {name: "module:attribute"}}); everything is gone afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    promises.known()  # what is built in registers itself when it is first imported,
    judges._load_own()  # and must be there before a copy is made
    monkeypatch.setattr(promises, "_loaded", {promises.BUILT_IN})
    monkeypatch.setattr(promises, "_makers", {name: dict(kinds) for name, kinds in promises._makers.items()})
    monkeypatch.setattr(promises, "_refused", {})
    monkeypatch.setattr(judges, "_judges", dict(judges._judges))
    modules = set(sys.modules)

    def add(distribution, source, groups):
        module = distribution.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        lines = [
            line
            for group, parts in groups.items()
            for line in (f"[{group}]", *(f"{name} = {place}" for name, place in parts.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        invalidate_caches()
        _forget_offers()

    _forget_offers()
    yield add
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]
    _forget_offers()


def _forget_offers():
    plugins.all_entry_points.cache_clear()
    plugins.offers.cache_clear()

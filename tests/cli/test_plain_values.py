"""Texts and paths of the command line are read as Typer reads them, and the asked command alone is built."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from sfumato.cli.main import NAMES, app, program
from sfumato.cli.options import PlainGroup


def echo(
    text: str,
    path: Path | None = None,
    number: int = 3,
    there: Annotated[Path | None, typer.Option("--there", exists=True)] = None,
    folder: Annotated[Path | None, typer.Option("--folder", file_okay=False)] = None,
    whole: Annotated[Path | None, typer.Option("--whole", resolve_path=True)] = None,
    upper: Annotated[str | None, typer.Option("--upper", parser=str.upper)] = None,
    several: Annotated[list[str] | None, typer.Option("--several")] = None,
    variable: Annotated[str | None, typer.Option("--variable", envvar="SFUMATO_TEST_VARIABLE")] = None,
    paths: Annotated[list[Path] | None, typer.Option("--paths")] = None,
    uppers: Annotated[list[str] | None, typer.Option("--uppers", parser=str.upper)] = None,
    listed: Annotated[list[str], typer.Option("--listed", envvar="SFUMATO_TEST_VARIABLE")] = ["a"],  # noqa: B006
) -> None:
    found = (text, path, number, there, folder, whole, upper, several, variable, paths, uppers, listed)
    typer.echo(repr(found))


def made(cls):
    built = typer.Typer(cls=cls, rich_markup_mode=None, pretty_exceptions_enable=False)
    built.command()(echo)
    inner = typer.Typer(rich_markup_mode=None)
    inner.command()(echo)
    built.add_typer(inner, name="below")
    return built


LINES = [
    ["x"],
    [""],
    [],
    ["ä"],
    ["\udcff"],
    ["x", "--path", ""],
    ["x", "--path", "some/file"],
    ["x", "--path", "\udcff"],
    ["x", "--path", "HERE"],
    ["x", "--path", "CLOSED"],
    ["x", "--number", "4"],
    ["x", "--number", "four"],
    ["x", "--there", "nowhere"],
    ["x", "--there", "HERE"],
    ["x", "--folder", "HERE"],
    ["x", "--whole", "."],
    ["x", "--upper", "a"],
    ["x", "--several", "a", "--several", "b"],
    ["x", "--several", "\udcff"],
    ["x", "--several", ""],
    ["x", "--paths", "some/file", "--paths", "HERE"],
    ["x", "--uppers", "a", "--uppers", "b"],
    ["x", "--listed", "b"],
    ["x", "--variable"],
    ["x", "--nonsense"],
    ["--help"],
]


@pytest.mark.parametrize("line", LINES, ids=repr)
@pytest.mark.parametrize("above", [["echo"], ["below", "echo"]], ids=" ".join)
def test_values_are_read_as_typer_reads_them(tmp_path, monkeypatch, above, line):
    monkeypatch.setenv("SFUMATO_TEST_VARIABLE", "from outside")
    (tmp_path / "here").touch()
    (tmp_path / "closed").touch(mode=0)
    names = {"HERE": str(tmp_path / "here"), "CLOSED": str(tmp_path / "closed")}
    call = [*above, *(names.get(word, word) for word in line)]
    plain, usual = (CliRunner().invoke(made(cls), call) for cls in (PlainGroup, None))
    assert (plain.exit_code, plain.output) == (usual.exit_code, usual.output)


def test_a_file_that_may_not_be_read_is_refused_as_by_typer(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    plain, usual = (
        CliRunner().invoke(made(cls), ["echo", "x", "--path", str(tmp_path)]) for cls in (PlainGroup, None)
    )
    assert (plain.exit_code, plain.output) == (usual.exit_code, usual.output)
    assert plain.exit_code == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_command_alone_is_the_command_among_all(name):
    alone, among = get_command(program([name])), get_command(app)
    assert list(alone.commands) == [name]
    context = typer.Context(among, info_name="sfumato")
    pages = [
        whole.commands[name].get_help(typer.Context(whole.commands[name], parent=context, info_name=name))
        for whole in (alone, among)
    ]
    assert pages[0] == pages[1]

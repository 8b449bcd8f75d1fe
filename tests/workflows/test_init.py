"""`sfumato init`: six answers, asked or given as flags, become a policy that can be followed."""

from __future__ import annotations

import io
import shlex
import sys
from collections import Counter
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.draft.draft import Audience, Frequency, Intent, RowMeaning
from sfumato.policy.presets import PRESETS
from sfumato.system.errors import Infeasible, UsageError
from sfumato.workflows.declare import DraftEvidence
from sfumato.workflows.init import init

pytestmark = pytest.mark.slow

CANARY = "Zuleika"
PUBLIC = ("--row", "person", "--audience", "public", "--once", "--rule", "small-cells-5", "--nothing-exact")


def lines(people=120, visits=1):
    return [
        f"{CANARY}{i},8{i % 4}3{i % 3}1,{'fm'[i % 2]},{60 + i * 7 % 30}.5,"
        f"{('flu', 'measles', 'asthma')[i // 2 % 3]},Q{1 + i // (people // 2)},{20 + i * 7 % 13}"
        for i in range(people)
        for _ in range(visits)
    ]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    header = "patient_id,zip,sex,tension,disease,quarter,age"
    (tmp_path / "people.csv").write_text("\n".join([header, *lines()]) + "\n")
    (tmp_path / "visits.csv").write_text("\n".join([header, *lines(80, 3)]) + "\n")


class Keyboard(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def typed(monkeypatch):
    """Let somebody sit at a terminal and type these lines."""

    def sit(*answers):
        monkeypatch.setattr(sys, "stdin", Keyboard("".join(f"{line}\n" for line in answers)))
        monkeypatch.setattr("sfumato.cli.terminal.is_terminal", lambda: True)

    return sit


def test_nobody_can_be_asked_so_the_missing_flags_are_named(sfumato):
    said = sfumato("init", "people.csv")
    assert said.code == 2
    for flag in ("--row", "--audience", "--once or --again", "--recipients", "--rule", "--nothing-exact"):
        assert flag in said.err
    assert not Path("policy.yaml").exists()
    part = sfumato("init", "people.csv", "--row", "event", "--audience", "public", "--again", "--rule", "ema")
    assert part.code == 2
    assert "--person COLUMN" in part.err and "--since COLUMN" in part.err
    assert "--recipients" not in part.err and "--rule" not in part.err
    as_json = sfumato("init", "people.csv", "--json")
    assert as_json.document["error"]["exit_code"] == 2


def test_flags_give_a_policy_and_commands(sfumato):
    said = sfumato("init", "people.csv", *PUBLIC)
    assert said.code == 0, said.err
    policy = sf.Policy.load("policy.yaml")
    assert policy.promises.members[0].parameters() == {"k": 5}
    assert "sfumato release people.csv -p policy.yaml --into release-1" in said.out
    assert CANARY not in said.out + said.err + Path("policy.yaml").read_text()
    assert sfumato("init", "people.csv", *PUBLIC).code == 2
    again = sfumato("init", "people.csv", *PUBLIC, "--overwrite", "--json")
    assert again.document["written"] == "policy.yaml"
    assert again.document["answers"]["audience"] == "public"
    assert again.document["policy"] == policy.to_dict()


def test_the_commands_that_come_next_run_as_they_are_printed(sfumato):
    said = sfumato("init", "people.csv", *PUBLIC, "--json")
    policy = Path("policy.yaml")
    policy.write_text(policy.read_text().replace("search: best", "search: top-down"))
    commands = [shlex.split(line) for line in said.document["next"]]
    assert [command[1] for command in commands] == ["policy", "doctor", "release", "report", "report"]
    for _, *arguments in commands:
        if arguments[0] == "report":
            arguments[-1] += ".html"
        answer = sfumato(*arguments)
        assert answer.code == 0, (arguments, answer.err)
    assert Path("release-1/data.csv").is_file() and Path("public-report.html").is_file()
    for file in (*Path("release-1").iterdir(), Path("public-report.html"), Path("report.html")):
        assert CANARY.encode() not in file.read_bytes()


def test_questions_are_asked_on_a_terminal(sfumato, typed):
    typed("", "partners", "7", "1", "", "oops", "10", "sex, nowhere", "sex")
    said = sfumato("init", "people.csv")
    assert said.code == 0, said.err
    for number in range(1, 7):
        assert f"{number} of 6. " in said.err
    assert "say a number from 1 to 2" in said.err and "there is no column nowhere" in said.err
    policy = sf.Policy.load("policy.yaml")
    assert policy.promises.members[0].parameters() == {"k": 10}
    assert policy.columns["sex"].controls.at_most == 0
    assert policy.recipients is None


def test_answered_questions_are_not_asked_again(sfumato, typed):
    typed("since", "quarter", "1", "tension")
    flags = ("--row", "person", "--audience", "inside", "--again", "--rule", "5", "--out", "p.yaml")
    said = sfumato("init", "people.csv", *flags)
    assert said.code == 0, said.err
    assert "1 of 6" not in said.err and "2 of 6" not in said.err
    policy = sf.Policy.load("p.yaml")
    assert policy.columns["quarter"].role == "identifier"
    assert policy.recipients is None and policy.chain is not None
    several = Intent(
        RowMeaning.PERSON, Audience.INSIDE, Frequency.AGAIN, since="quarter", recipients=2, rule="5"
    )
    marked = init(DraftEvidence.of("people.csv"), several).policy
    assert marked.recipients is not None and marked.recipients.by == "marks" and marked.chain is not None
    assert sf.Policy.from_dict(marked.to_dict()) == marked


def test_somebody_who_walks_away_leaves_nothing_behind(sfumato, typed):
    typed("person", "public")
    said = sfumato("init", "people.csv")
    assert said.code == 130
    assert not Path("policy.yaml").exists()


def test_people_with_several_rows(sfumato):
    flags = (
        "--row",
        "event",
        "--audience",
        "inside",
        "--recipients",
        "1",
        "--rule",
        "none",
        "--nothing-exact",
    )
    said = sfumato("init", "visits.csv", *flags, "--once", "--person", "patient_id")
    assert said.code == 0, said.err
    assert sf.Policy.load("policy.yaml").person == "patient_id"
    again = sfumato("init", "visits.csv", *flags, "--again", "--person", "patient_id", "--overwrite")
    assert again.code == 0, again.err
    policy = sf.Policy.load("policy.yaml")
    assert policy.person == "patient_id" and policy.chain is not None
    assert "--original" not in again.out, "a chain is not compared with one table"
    one_each = ("--row", "person", *flags[2:], "--again", "--person", "patient_id", "--overwrite")
    assert "values repeat, so somebody has several rows" in sfumato("init", "visits.csv", *one_each).err
    single = sfumato("init", "people.csv", *flags, "--once", "--person", "patient_id", "--overwrite")
    assert "no value occurs twice" in single.err
    several = sfumato("init", "visits.csv", *PUBLIC, "--overwrite")
    assert "if these are people with several rows" in several.err


def test_whoever_says_that_everybody_has_one_row_is_not_asked_about_surnames():
    rows = "".join(f"{i},{CANARY}{i % 4},{20 + i % 9},{'fm'[i % 2]}\n" for i in range(90))
    Path("list.csv").write_text(f"Pat-Nr,Nachname,age,sex\n{rows}")
    first = init(DraftEvidence.of("list.csv"), Intent(RowMeaning.PERSON, Audience.INSIDE))
    assert first.warnings == ()
    assert {name for name, rule in first.policy.columns.items() if rule.role == "identifier"} == {
        "Pat-Nr",
        "Nachname",
    }


def test_a_column_that_must_stay_exact_and_cannot():
    evidence = DraftEvidence.of("people.csv")
    wanted = Intent(RowMeaning.PERSON, Audience.PUBLIC, rule="40", exact=("zip", "sex"))
    with pytest.raises(Infeasible) as refused:
        init(evidence, wanted)
    assert "The cheapest change that would do" in refused.value.remedy
    with pytest.raises(UsageError, match="identifier"):
        init(evidence, Intent(RowMeaning.PERSON, Audience.PUBLIC, exact=("patient_id",)))
    with pytest.raises(UsageError, match="no column zap") as refused:
        init(evidence, Intent(RowMeaning.PERSON, Audience.PUBLIC, exact=("zap",)))
    assert "zip" in refused.value.remedy


def test_recipients_get_the_narrowest_tolerance_that_serves_them():
    evidence = DraftEvidence.of("people.csv")
    two = init(evidence, Intent(RowMeaning.PERSON, Audience.PARTNERS, recipients=2, rule="3"))
    assert two.policy.recipients is not None
    assert sf.capacity("people.csv", two.policy).recipients >= 2
    assert "--to recipient-1 --to recipient-2" in " ".join(two.commands("people.csv", "policy.yaml"))
    with pytest.raises(Infeasible, match="not for 900") as refused:
        init(evidence, Intent(RowMeaning.PERSON, Audience.PARTNERS, recipients=900, rule="3"))
    assert "--recipients" in refused.value.remedy


@pytest.mark.parametrize("rule", [*PRESETS, "none"])
@pytest.mark.parametrize("audience", list(Audience))
def test_every_rule_gives_its_number_or_the_proposed_one(rule, audience):
    from sfumato.draft.draft import USUAL_RULE, intended

    evidence = DraftEvidence.of("people.csv")
    intent = Intent(RowMeaning.PERSON, audience, rule=rule)
    policy = intended(evidence.draft(intent.preset), intent)
    wanted = PRESETS[USUAL_RULE[audience] if rule == "none" else rule].k
    assert policy.promises.members[0].parameters() == {"k": wanted}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"recipients": 2}, "one table for everybody"),
        ({"recipients": 0}, "a number from 1"),
        ({"since": "quarter"}, "come again"),
        ({"frequency": Frequency.AGAIN}, "who was in them"),
        ({"frequency": Frequency.AGAIN, "since": "a", "person": "b"}, "who was in them"),
        ({"rows": RowMeaning.EVENT}, "which rows are whose"),
        ({"rule": "emma"}, "no rule of this name"),
        ({"rule": "1"}, "hides nobody"),
    ],
)
def test_answers_that_contradict_each_other(given, reason):
    with pytest.raises(UsageError, match=reason):
        Intent(**{"rows": RowMeaning.PERSON, "audience": Audience.PUBLIC, **given})


def quarter(of, months):
    """Return lines of patients, each admitted in one of these months."""
    return [f"{line},2025-{months[i % 3]:02}" for i, line in enumerate(of)]


def test_from_the_answers_to_the_second_release(sfumato):
    """Some return, some are new, most have left: nobody edits the policy."""
    header, people = "patient_id,zip,sex,tension,disease,quarter,age,admitted", lines(240)
    first, second = quarter(people[:120], (1, 2, 3)), quarter([*people[:15], *people[120:]], (4, 5, 6))
    Path("q1.csv").write_text("\n".join([header, *first]) + "\n")
    Path("q2.csv").write_text("\n".join([header, *second]) + "\n")
    flags = ("--row", "person", "--audience", "inside", "--recipients", "1", "--rule", "none")
    said = sfumato("init", "q1.csv", *flags, "--nothing-exact", "--again", "--person", "patient_id", "--json")
    assert said.code == 0, said.err
    policy = sf.Policy.load("policy.yaml")
    assert policy.protect.search == "best" and not policy.promises.looks_back
    assert policy.chain is not None and policy.people.by == "admitted" and policy.person == "patient_id"
    for line in said.document["next"]:
        arguments = shlex.split(line)[1:]
        arguments[-1] += ".html" if arguments[0] == "report" else ""
        answer = sfumato(*arguments)
        assert answer.code == 0, (line, answer.err)
    assert "report" in " ".join(said.document["next"])
    answer = sfumato("release", "q2.csv", "-p", "policy.yaml", "--into", "release-2")
    assert answer.code == 0, answer.err
    earlier = Path("release-1/data.csv").read_text().splitlines()[1:]
    names, *later = Path("release-2/data.csv").read_text().splitlines()
    assert names.endswith(",bare_row")
    assert not Counter(f"{line},no" for line in earlier) - Counter(later)
    assert sum(line.endswith(",yes") for line in later) == 15
    assert CANARY not in "".join(later)


def test_a_first_line_that_may_be_a_row_is_not_shown(sfumato):
    Path("bare.csv").write_text("\n".join(lines()) + "\n")
    said = sfumato("init", "bare.csv", *PUBLIC)
    assert said.code == 3
    assert CANARY not in said.err + said.out

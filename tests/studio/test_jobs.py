"""Jobs: done beside the server, looked at while they run, and stopped for good."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from sfumato.studio.jobs import JobResult, Jobs, JobState, Step, WorkerProcess
from sfumato.system.disk import private_folder
from sfumato.system.errors import BadData
from studio.stage import Held, StudioClient, open_studio, post

pytestmark = pytest.mark.slow

LONG = 300.0
"""Seconds after which a test gives up; no test comes near it."""


def double(number, *, progress):
    progress("doubling", 1, 2)
    return 2 * number


def refuse(*, progress):
    del progress
    raise BadData("no such table", remedy="Look again.", where="here")


def break_down(*, progress):
    del progress
    raise ZeroDivisionError("a secret value")


def return_no_data(*, progress):
    del progress
    return lambda: None


def sleep_forever(note, *, progress):
    progress("sleeping", 0, None)
    Path(note).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(1000)


def die(*, progress):
    del progress
    os._exit(1)


def aside(*, progress):
    del progress
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGINT):
        signal.raise_signal(number)
    with private_folder() as folder:
        return str(folder)


def ended(jobs, job):
    until = time.monotonic() + LONG
    while jobs.job(job.number).open and time.monotonic() < until:
        time.sleep(0.01)
    job = jobs.job(job.number)
    assert not job.open
    return job


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    made = Jobs(WorkerProcess(tmp_path_factory.mktemp("temporary")))
    yield made
    made.close()


def test_work_is_done_in_another_process(jobs):
    job = ended(jobs, jobs.start("kind", "double", "/", double, 21))
    assert (job.state, job.value, job.phase) == (JobState.DONE, 42, "doubling")
    assert jobs.find("kind", "double") == job and jobs.find("kind", "other") is None


def test_what_it_keeps_aside_is_where_the_studio_removes_it_and_a_terminal_does_not_end_it(jobs):
    job = ended(jobs, jobs.start("kind", "aside", "/", aside))
    assert Path(job.value).parent == jobs._workshop._temporary


def test_errors_come_back_whole_and_bugs_without_what_they_say(jobs):
    job = ended(jobs, jobs.start("kind", "refuse", "/", refuse))
    assert type(job.error) is BadData and job.error.remedy == "Look again." and job.error.where == "here"
    job = ended(jobs, jobs.start("kind", "break", "/", break_down))
    assert "ZeroDivisionError" in str(job.error) and "secret" not in str(job.error)
    job = ended(jobs, jobs.start("kind", "no data", "/", return_no_data))
    assert job.state is JobState.REFUSED and "a bug" in str(job.error)


def test_a_stopped_job_is_really_stopped(jobs, tmp_path):
    note = tmp_path / "process"
    job = jobs.start("kind", "sleep", "/", sleep_forever, str(note))
    waiting = jobs.start("other", "double", "/", double, 4)
    until = time.monotonic() + LONG
    while not (note.exists() and note.read_text()) and time.monotonic() < until:
        time.sleep(0.01)
    process = int(note.read_text())
    jobs.stop(job.number)
    job = jobs.job(job.number)
    assert job.state is JobState.REFUSED and "stopped" in str(job.error)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert ended(jobs, waiting).value == 8


def test_a_process_that_dies_is_told_and_replaced(jobs):
    job = ended(jobs, jobs.start("kind", "die", "/", die))
    assert "ended before it was done" in str(job.error)
    assert ended(jobs, jobs.start("kind", "double again", "/", double, 5)).value == 10


def test_a_process_that_has_ended_gets_no_order_while_it_still_counts_as_alive(tmp_path, monkeypatch):
    workshop = WorkerProcess(tmp_path)
    jobs = Jobs(workshop)
    try:
        ended(jobs, jobs.start("kind", "die", "/", die))
        monkeypatch.setattr(workshop._process, "is_alive", lambda: True)
        assert ended(jobs, jobs.start("kind", "double", "/", double, 5)).value == 10
    finally:
        jobs.close()


def test_one_job_at_a_time_and_a_newer_question_replaces_the_older():
    held = Held()
    jobs = Jobs(held)

    def state(number):
        return jobs.job(number).state

    first = jobs.start("look", "a", "/", double, 1).number
    assert jobs.start("look", "a", "/", double, 1).number == first
    other = jobs.start("plan", "a", "/", double, 2).number
    assert (state(first), state(other)) == (JobState.RUNNING, JobState.WAITING)
    newer = jobs.start("look", "b", "/", double, 3).number
    assert state(first) is JobState.REFUSED and held.stopped == 1 and state(other) is JobState.RUNNING
    held.report(JobResult(first, "too late"))
    assert jobs.job(first).value is None
    held.report(Step(other, "counting", 3, 4))
    assert (jobs.job(other).phase, jobs.job(other).percent) == ("counting", 75)
    held.report(JobResult(other, "plan"))
    assert jobs.job(other).value == "plan" and state(newer) is JobState.RUNNING


def test_what_follows_a_job_happens_once_and_not_after_a_stop():
    held, done = Held(), []
    jobs = Jobs(held)
    job = jobs.start("k", "a", "/", double, 1, then=lambda value: done.append(value) or "kept")
    held.report(JobResult(job.number, 2))
    assert (jobs.job(job.number).value, done) == ("kept", [2])
    stopped = jobs.start("k", "b", "/", double, 1, then=done.append)
    jobs.stop(stopped.number)
    held.report(JobResult(stopped.number, 3))
    assert done == [2]

    def fail(value):
        del value
        raise BadData("cannot be kept")

    job = jobs.start("k", "c", "/", double, 1, then=fail)
    held.report(JobResult(job.number, 4))
    job = jobs.job(job.number)
    assert job.state is JobState.REFUSED and "cannot be kept" in str(job.error)


def test_results_of_old_jobs_are_forgotten():
    held = Held()
    jobs = Jobs(held)
    for number in range(40):
        job = jobs.start("k", str(number), "/", double, 1)
        held.report(JobResult(job.number, number))
    assert jobs.find("k", "0") is None and jobs.find("k", "39").value == 39


def test_a_page_shows_progress_and_stops_work(tmp_path):
    held = Held()
    studio = open_studio(tmp_path, workshop=held)
    client = StudioClient(studio)
    post(client, "/data/choose", table="folder/people.csv")
    held.report(Step(1, "reading", 30, 60))
    page = client.get("/discover").text
    assert "reading, 50%" in page and 'hx-get="/jobs/1"' in page
    assert "reading, 50%" in client.get("/jobs/1").text
    assert 'hx-get="/jobs/1?part=findings"' in client.get("/jobs/1?part=findings").text
    assert "evil" not in client.get("/jobs/1?part=evil").text
    assert post(client, "/jobs/1/stop").headers["location"] == "/discover"
    assert held.stopped == 1 and client.get("/jobs/1").headers["hx-refresh"] == "true"
    assert "stopped" in client.get("/discover").text

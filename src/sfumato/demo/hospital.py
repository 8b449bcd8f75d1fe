"""A year of a made-up hospital: skewed, correlated, and about nobody."""

from __future__ import annotations

import csv
import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML

from sfumato.policy.policy import Policy
from sfumato.system.errors import UsageError
from sfumato.system.json_object import JsonObject

Tree = dict[str, dict[str, list[str]]]


@dataclass(frozen=True)
class Job:
    """How common a job is (women, men), from what age to what age, and what it pays in the middle."""

    women: float
    men: float
    ages: tuple[int, int]
    pay: int


@dataclass(frozen=True)
class Disease:
    """How common a disease is, around what age, how widely, how much more among men, and in which fields."""

    rate: float
    age: int
    spread: int
    men: float
    symptoms: tuple[str, ...]
    fields: dict[str, float] = field(default_factory=dict)


_CATALOGUE = tomllib.loads(files("sfumato.demo").joinpath("hospital.toml").read_text("utf-8"))
JOBS: Tree = _CATALOGUE["jobs"]
"""Sector -> field -> jobs."""
JOB_FACTS = {name: Job(**facts) for name, facts in _CATALOGUE["job_facts"].items()}
DISEASES: Tree = _CATALOGUE["diseases"]
"""Chapter -> group -> diseases."""
DISEASE_FACTS = {name: Disease(**facts) for name, facts in _CATALOGUE["disease_facts"].items()}
SYLLABLES: dict[str, list[list[str]]] = _CATALOGUE["syllables"]
"""First, middle and last ones, of the first names of each sex and of families."""

SEXES = ("female", "male")
Kind = Literal["polars", "pandas", "pyarrow"]

YEAR = 2025
HIGHEST_AGE = 104
KINDS: tuple[Kind, ...] = ("polars", "pandas", "pyarrow")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Texts = NDArray[np.str_]


def hospital(
    rows: int = 100_000, seed: int = 0, kind: Kind = "polars"
) -> Any:  # the dataframe of a library that may not be installed
    """Returns made-up patients of one year as a dataframe.

    Age shapes the job, the job the income; age, sex and job shape the disease, the disease its symptoms
    and the month; the town shapes a little of everything. Zip codes keep their leading zeros. The same
    `rows` and `seed` give the same table everywhere.

    Args:
        rows: the number of rows.
        seed: chooses the patients.
        kind: the library of the dataframe: "polars", "pandas" or "pyarrow".

    >>> people = hospital(3, seed=1)
    >>> people.columns
    ['patient_id', 'name', 'born', 'zip', 'sex', 'job', 'income', 'disease', 'symptoms', 'admitted']
    >>> people.equals(hospital(3, seed=1))
    True
    """
    if kind not in KINDS:
        raise UsageError("no such kind of dataframe", remedy=f"Pick one of {', '.join(KINDS)}.")
    if rows < 0:
        raise UsageError("a table has at least 0 rows")
    return nw.from_dict(columns(rows, seed), backend=kind).to_native()


def columns(rows: int, seed: int) -> dict[str, NDArray[np.generic]]:
    """Returns the columns of `hospital` as arrays."""
    draw = np.random.default_rng([seed, 0x5F])
    sex = (draw.random(rows) < 0.47).astype(np.int64)
    age = _ages(rows, draw)
    zips, wealth, place = _towns(rows, draw)
    job = _pick(_job_weights(), age * 2 + sex, draw)
    income = _incomes(job, age, wealth, draw)
    disease = _pick(_disease_weights(), (_field_of()[job] * (HIGHEST_AGE + 1) + age) * 2 + sex, draw)
    return {
        "patient_id": _digits(draw.permutation(rows) + 1, 7, prefix="P"),
        "name": _names(sex, draw),
        "born": _births(age, draw),
        "zip": zips[place],
        "sex": np.array(SEXES)[sex],
        "job": np.array(list(JOB_FACTS))[job],
        "income": income,
        "disease": np.array(list(DISEASE_FACTS))[disease],
        "symptoms": _symptoms(disease, draw),
        "admitted": _months(disease, draw),
    }


def _ages(rows: int, draw: np.random.Generator) -> Ints:
    """Draws ages: newborns, some young people, and many old ones."""
    years = np.arange(HIGHEST_AGE + 1)
    weight = 0.35 + 2.2 * np.exp(-(((years - 72) / 15) ** 2)) + 0.5 * np.exp(-(((years - 33) / 9) ** 2))
    weight[0] += 3
    weight[years > 88] *= 0.75 ** (years[years > 88] - 88)
    picked: Ints = np.searchsorted(np.cumsum(weight) / weight.sum(), draw.random(rows))
    return picked


def _towns(rows: int, draw: np.random.Generator) -> tuple[Texts, Floats, Ints]:
    """Returns zip codes, how well off each is, and where everybody lives: a few cities, many villages."""
    map_of_the_land = np.random.default_rng(0x21B)
    count = 400
    regions = np.array([1, 2, 3, 4, 10, 11, 20, 21])
    region = regions[map_of_the_land.choice(len(regions), count, p=_shares(len(regions), 0.8))]
    codes = region * 1000 + map_of_the_land.choice(1000, count, replace=False)
    size = _shares(count, 1.1)
    wealth = np.exp(map_of_the_land.normal(0, 0.12, count))
    place: Ints = np.searchsorted(np.cumsum(size), draw.random(rows))
    return _digits(codes, 5), wealth[place], place


def _shares(count: int, steep: float) -> Floats:
    share: Floats = 1 / np.arange(1, count + 1) ** steep
    share /= share.sum()
    share[0] += 1 - share.sum()
    return share


def _job_weights() -> Floats:
    """Returns one row per age and sex, one column per job."""
    years = np.arange(HIGHEST_AGE + 1)
    weights = np.zeros((HIGHEST_AGE + 1, 2, len(JOB_FACTS)))
    for j, job in enumerate(JOB_FACTS.values()):
        open_to = (years >= job.ages[0]) & (years <= job.ages[1])
        weights[open_to, :, j] = job.women, job.men
    return weights.reshape(-1, len(JOB_FACTS))


def _fields() -> list[str]:
    return [name for sector in JOBS.values() for name in sector]


def _field_of() -> Ints:
    """Returns the number of each job's field."""
    home = {job: i for i, name in enumerate(_fields()) for s in JOBS.values() for job in s.get(name, ())}
    return np.array([home[job] for job in JOB_FACTS])


def _disease_weights() -> Floats:
    """Returns one row per field, age and sex, one column per disease."""
    fields, years = _fields(), np.arange(HIGHEST_AGE + 1)
    weights = np.zeros((len(fields), HIGHEST_AGE + 1, 2, len(DISEASE_FACTS)))
    for d, disease in enumerate(DISEASE_FACTS.values()):
        by_age = disease.rate * (0.01 + np.exp(-(((years - disease.age) / disease.spread) ** 2)))
        women, men = (0.0, 1.5) if disease.men > 1e3 else (1.0, disease.men)
        by_field = np.array([disease.fields.get(name, 1.0) for name in fields])
        weights[:, :, :, d] = by_field[:, None, None] * by_age[None, :, None] * np.array([women, men])
    return weights.reshape(-1, len(DISEASE_FACTS))


def _pick(weights: Floats, row: Ints, draw: np.random.Generator) -> Ints:
    """Draws for everybody a column of `weights`, by the chances in their `row`."""
    running = np.cumsum(weights, axis=1)
    running /= running[:, -1:]
    running[:, -1] = 1
    stacked = (running + np.arange(len(weights))[:, None]).ravel()
    position: Ints = np.searchsorted(stacked, row + draw.random(len(row)), side="right")
    picked: Ints = np.minimum(position - row * weights.shape[1], weights.shape[1] - 1)
    return picked


def _incomes(job: Ints, age: Ints, wealth: Floats, draw: np.random.Generator) -> Ints:
    """Draws incomes: skewed to the right, rising with experience, in hundreds a year."""
    middle = np.array([j.pay for j in JOB_FACTS.values()])[job]
    start = np.array([j.ages[0] for j in JOB_FACTS.values()])[job]
    experience = 0.8 + 0.4 * np.clip(age - start, 0, 30) / 30
    noise = np.exp(draw.normal(0, 0.22, len(job)))
    income: Ints = (np.round(middle * experience * wealth * noise / 100) * 100).astype(np.int64)
    return income


def _births(age: Ints, draw: np.random.Generator) -> Texts:
    """Draws a birth date for everybody who had this age at the end of the year."""
    first = (YEAR - age).astype("U4").astype("datetime64[D]")
    length = ((YEAR + 1 - age).astype("U4").astype("datetime64[D]") - first).astype(np.int64)
    born: Texts = (first + (draw.random(len(age)) * length).astype(np.int64)).astype("U10")
    return born


def _months(disease: Ints, draw: np.random.Generator) -> Texts:
    """Draws the month of admission; infections come in winter, injuries in summer."""
    season = np.ones((len(DISEASE_FACTS), 12))
    winter = 1 + 0.8 * np.cos(2 * np.pi * np.arange(12) / 12)
    names = list(DISEASE_FACTS)
    for chapter, wave in (("Infection", winter), ("Injury", 2.2 - winter)):
        for name in itertools.chain.from_iterable(DISEASES[chapter].values()):
            season[names.index(name)] = wave
    month = _pick(season, disease, draw)
    return np.array([f"{YEAR}-{m + 1:02d}" for m in range(12)])[month]


def _symptoms(disease: Ints, draw: np.random.Generator) -> Texts:
    """Draws at least one symptom of the disease; several are joined by `;`."""
    size = 1 << max(len(d.symptoms) for d in DISEASE_FACTS.values())
    texts = [_joined(d.symptoms, mask) for d in DISEASE_FACTS.values() for mask in range(size)]
    possible = np.array([1 << len(d.symptoms) for d in DISEASE_FACTS.values()])[disease]
    mask = 1 + (draw.random(len(disease)) * (possible - 1)).astype(np.int64)
    chosen: Texts = np.array(texts)[disease * size + mask]
    return chosen


def _joined(symptoms: Sequence[str], mask: int) -> str:
    return ";".join(name for i, name in enumerate(symptoms) if mask >> i & 1)


def _names(sex: Ints, draw: np.random.Generator) -> Texts:
    """Draws names of syllables; women and men have different first names."""
    names = [["".join(parts) for parts in itertools.product(*SYLLABLES[s])] for s in SEXES]
    pool = np.array(names[0] + names[1])
    family = np.array(["".join(parts) for parts in itertools.product(*SYLLABLES["family"])])
    sizes, starts = np.array([len(g) for g in names])[sex], np.array([0, len(names[0])])[sex]
    first = pool[starts + (draw.random(len(sex)) * sizes).astype(np.int64)]
    last = family[(draw.random(len(sex)) ** 2 * len(family)).astype(np.int64)]
    return np.char.add(np.char.add(first, " "), last)


def _digits(numbers: Ints, width: int, *, prefix: str = "") -> Texts:
    """Returns numbers as text of fixed width, zeros in front."""
    letters = np.zeros((len(numbers), len(prefix) + width), dtype=np.uint32)
    for i, letter in enumerate(prefix):
        letters[:, i] = ord(letter)
    for place in range(width):
        letters[:, -1 - place] = numbers // 10**place % 10 + ord("0")
    return letters.view(f"<U{len(prefix) + width}").ravel()


# The policy of the made-up hospital, and a folder with everything to try it on.

POLICY = files("sfumato.demo").joinpath("policy.yaml").read_text("utf-8")
CHAIN_POLICY = "".join(
    [
        *(line for line in POLICY.splitlines(keepends=True) if "t-closeness" not in line),
        "person: patient_id\n",
        "chain: {}                                        # the table comes again every quarter\n",
        "recipients: {by: marks, tolerance: 10%}          # everybody gets a version of their own\n",
    ]
)
"""The same for a chain. How close a class is to the table cannot be promised where the table grows."""


def policy() -> Policy:
    """Returns the policy of `hospital`, with its taxonomies inside.

    >>> [str(promise) for promise in policy().promises][:2]
    ['k-anonymity, k = 5', 'distinct l-diversity of disease, l = 3']
    """
    words: JsonObject = YAML(typ="safe", pure=True).load(POLICY)
    for name, tree in (("job", JOBS), ("disease", DISEASES)):
        words["columns"][name]["taxonomy"] = {"tree": tree}
    return Policy.from_dict(words)


def write(folder: str | Path, rows: int = 100_000, seed: int = 0) -> tuple[Path, ...]:
    """Writes hospital.csv, policy.yaml, job.csv and disease.csv into a folder; replaces earlier ones.

    Args:
        folder: the folder; it is made where it is not there.
        rows: the number of patients.
        seed: chooses the patients.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write(folder, rows=10)]
    ['hospital.csv', 'policy.yaml', 'job.csv', 'disease.csv']
    """
    into = Path(folder)
    if into.exists() and not into.is_dir():
        raise UsageError("the place for the demo is a file", remedy="Name a folder.")
    into.mkdir(parents=True, exist_ok=True)
    _write_table(into / "hospital.csv", columns(rows, seed))
    (into / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (into / "job.csv").write_text(_hierarchy(JOBS), encoding="utf-8")
    (into / "disease.csv").write_text(_hierarchy(DISEASES), encoding="utf-8")
    return tuple(into / name for name in ("hospital.csv", "policy.yaml", "job.csv", "disease.csv"))


RETURNING = 16
"""One patient of so many of the first quarter comes again in the second."""


def write_quarters(folder: str | Path, rows: int, seed: int = 0) -> tuple[Path, Path, Path]:
    """Writes what `write` does, and quarter-1.csv, quarter-2.csv and quarters.yaml, which publishes both.

    Some patients of the first quarter come again in the second, for another visit; the others do not.
    """
    into, year = write(folder, rows, seed)[0].parent, columns(rows, seed)
    month = np.array([int(text[-2:]) for text in year["admitted"].tolist()])
    first, second = np.flatnonzero(month <= 3), np.flatnonzero((month > 3) & (month <= 6))
    back = first[::RETURNING]
    again = {name: column[back] for name, column in year.items()}
    again["admitted"] = np.array([f"{YEAR}-{m + 3:02d}" for m in month[back].tolist()])
    later = {name: np.concatenate([column[second], again[name]]) for name, column in year.items()}
    _write_table(into / "quarter-1.csv", {name: column[first] for name, column in year.items()})
    _write_table(into / "quarter-2.csv", later)
    (into / "quarters.yaml").write_text(CHAIN_POLICY, encoding="utf-8")
    return into / "quarter-1.csv", into / "quarter-2.csv", into / "quarters.yaml"


def _write_table(path: Path, table: Mapping[str, NDArray[np.generic]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(table)
        lines.writerows(zip(*(column.tolist() for column in table.values()), strict=True))


def _hierarchy(tree: Tree) -> str:
    """Returns one line per leaf, from the leaf up to `*`."""
    lines = [
        f"{leaf};{group};{top};*" for top, below in tree.items() for group, ls in below.items() for leaf in ls
    ]
    return "\n".join(lines) + "\n"

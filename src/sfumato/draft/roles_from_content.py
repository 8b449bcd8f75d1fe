"""What cells tell of their column where its header says nothing: secrets, amounts, numbers of people."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from itertools import dropwhile

from sfumato.draft.evidence import ColumnProfile, TableEvidence
from sfumato.policy.columns import AGES, IDENTIFIERS, PEOPLE, PLACES, words
from sfumato.policy.content import PolicyContent
from sfumato.policy.header_lexicon import lexicon
from sfumato.policy.taxonomies.intervals import MONEY, bears_money
from sfumato.system.errors import BadPolicy, short
from sfumato.table.microdata import Role

MOST_WORDS = 60
"""Different cells that are read word by word at most."""
FEWEST_NUMBERS = 50
"""Different numbers of people, and different amounts, at least: fewer prove nothing."""
LEAST_OF_FIVE_DIGITS = 10_000
NINE_DIGITS = 100_000_000
"""Numbers of people that are insured, sick or believing; sums of money are seldom as long."""
MOST_ROWS_EACH = 20
"""Numbers of people have fewer rows each on average."""
_HOUSEHOLDS = "hh household haushalt foyer ménage menage hogar famiglia nucleo hushold"
HOUSEHOLDS = frozenset(_HOUSEHOLDS.split())
"""Headers that are a household and nothing of it, such as its size."""
MOST_RELATIVES = 100
"""So many different numbers count nobody's relatives."""
_NOTHING_SAID = """
    other others none no unknown missing na n/a not_applicable refused yes andere keine unbekannt autre aucun
    inconnu otro ninguno desconocido altro nessuno sconosciuto control controls healthy normal
"""
NOTHING_SAID = frozenset(_NOTHING_SAID.split())
"""Cells beside which the others speak."""
_TEST_RESULTS = """
    positive negative pos neg + - reactive nonreactive non-reactive inconclusive indeterminate invalid
    positiv negativ positif négatif positivo negativo détecté detected not_detected
"""
TEST_RESULTS = frozenset(_TEST_RESULTS.split())
SECRETS = frozenset({"health", "crime", "belief", "sexuality", "genetics", "legal_status"})


def secret_words(profile: ColumnProfile) -> str:
    """Returns what the cells of a column of words are about, if that is nobody's business; else nothing.

    At least half of the different cells have to say so, beside those that say nothing.
    """
    telling = [v for v in profile.values if v.strip().lower().replace(" ", "_") not in NOTHING_SAID]
    if profile.numbers is not None or not 1 <= len(telling) <= MOST_WORDS or profile.distinct < 2:
        return ""
    read = [lexicon().read(value, shortened=False) for value in telling]
    secret = [reading for reading in read if reading.role is Role.SENSITIVE and reading.kinds & SECRETS]
    return secret[0].says if secret and 2 * len(secret) >= len(telling) else ""


def are_sums_of_money(profile: ColumnProfile) -> bool:
    """Whether the cells are numbers, some with a currency, or negative ones in brackets as in accounts.

    Numbers with nothing but blanks around them can be read in a form of money, and are none.
    """
    form = profile.number_form
    return form is not None and form.written.startswith(MONEY) and any(map(bears_money, profile.values))


def are_test_results(profile: ColumnProfile) -> bool:
    """Whether the cells are what a test found: positive or negative."""
    values = {value.strip().lower().replace(" ", "_") for value in profile.values} - NOTHING_SAID
    return len(values) > 1 and values <= TEST_RESULTS


def are_numbers_of_people(profile: ColumnProfile) -> bool:
    """Whether whole numbers of five digits or more, all as long, stand for a few rows each.

    Sums of money have different lengths, and their last digits are often alike.
    """
    numbers = profile.numbers
    if not numbers or not profile.whole or profile.distinct < FEWEST_NUMBERS or profile.dates:
        return False
    if min(numbers) < LEAST_OF_FIVE_DIGITS or len({len(str(int(size))) for size in numbers}) > 1:
        return False
    last = [int(size) % 10 for size in numbers]
    even = max(last.count(digit) for digit in range(10)) * 4 <= len(last)
    few_rows = profile.distinct * MOST_ROWS_EACH >= profile.present
    return even and few_rows and max(profile.counts) <= 5 * (profile.present // profile.distinct + 1)


def number_relatives(profile: ColumnProfile) -> bool:
    """Whether a hundred whole numbers or more, in a few rows each, stand below a relative or a household.

    They say who it is: nobody has so many children, and ages and heights repeat.
    """
    named = profile.called("relative") and profile.reading.kinds <= {"relative", "household", "person"}
    named |= profile.header.lower().strip("_. 0123456789") in HOUSEHOLDS
    if not named or not profile.whole or profile.distinct < MOST_RELATIVES or profile.dates:
        return False
    return profile.distinct * MOST_ROWS_EACH >= profile.present


def are_long_numbers(profile: ColumnProfile) -> bool:
    """Whether nearly every cell is another whole number of nine digits or more, all as long."""
    return profile.unique and are_numbers_of_people(profile) and min(profile.numbers or (0,)) >= NINE_DIGITS


def are_codes(profile: ColumnProfile) -> bool:
    """Whether every cell is one word with a digit in it, such as `P07`."""
    return all(any(c.isdigit() for c in text) and not any(map(str.isspace, text)) for text in profile.values)


def end_as_numbers_of_people(profile: ColumnProfile) -> bool:
    """Whether a header that ends in `id` stands above as many different numbers or codes as that takes."""
    if not profile.called("perhaps_id") or profile.flags or profile.distinct < 2:
        return False
    coded = profile.whole or all(any(c.isdigit() for c in value) for value in profile.values)
    return coded and profile.distinct * MOST_ROWS_EACH >= profile.present


# Names of people in a column: how its cells look, which given names are among them, what it is called.

LOOK_ALIKE = Fraction(4, 5)
"""So many of the cells look like names where a column holds names."""
KNOWN_SHARE = Fraction(3, 10)
"""So many hold a given name that is known: most given names are in no list."""
SMALL_KNOWN_SHARE = Fraction(1, 2)
"""The same without capitals, where words of other kinds look like names."""
MANY_NAMES = 20
FEW_NAMES = 8
"""Different names of a column that is called so; fewer prove nothing."""
LONGEST_PERSON_NAME = 60
BARE_HEADERS = frozenset({"first", "last"})
"""Which name of a person, where no other word stands in the header; of other things, the cells tell."""
FULL_SHARE = Fraction(1, 2)
"""So many of the different cells are full names where a few names are certainly those of people."""
MOST_PARTS = 4
_TITLES = """
    dr dra drs prof professor doctor mr mrs ms miss sir frau herr fr hr mme mlle madame monsieur sr sra srta
    don doña dott dottssa dottoressa dottore sig sigra pd med dipl ing univ pr ph.d
"""
TITLES = frozenset(_TITLES.split())
"""What stands before the name of somebody, without points."""
_NO_SURNAMES = """
    school schule grundschule gymnasium realschule college university universität institute institut academy
    hospital klinik clinic klinikum spital hôpital ospedale clínica street straße strasse str avenue ave
    road platz allee weg drive square beach city town county island islands springs falls valley hills river
    port inc ltd llc corp co gmbh ag kg company group holding bank store stores shop motors airlines airport
    hotel kirche foundation stiftung team club union cup award prize theatre theater museum library station
    tower stadium arena
"""
NO_SURNAMES = frozenset(_NO_SURNAMES.split())
"""Words with which the names of people become those of places, firms and houses."""
NAMED_AFTER_PEOPLE = frozenset({"place", "education", "job", "thing", "contact", "address_word"})
"""Kinds of headers, as the lexicon calls them, below which places, firms and products bear people's names."""
_PERSON = re.compile(r"[^\W\d_]+(?:[’'.-][^\W\d_]+)*\.?")


@dataclass(frozen=True)
class NameEvidence:
    """How far a column looks like names: shares of its cells, and how many different ones there are."""

    alike: Fraction
    known: Fraction
    several_words: Fraction
    different: int
    most_differ: bool
    header: str
    full: Fraction = Fraction(0)
    """The share of the different cells that are full names: a given name or a title, and a surname."""
    small: bool = False
    """Whether no cell has a capital, so that nothing but the words themselves can tell."""
    joined: bool = False
    """Whether cells are in a script that writes no blank between surname and given name."""

    @cached_property
    def called(self) -> bool:
        """Whether the header says so, too; asked only where cells look like names."""
        return called_names(self.header)

    @property
    def plausible(self) -> bool:
        """Whether cells look like names, and given names are among them."""
        return self.alike >= LOOK_ALIKE and self.known >= KNOWN_SHARE

    @property
    def certain(self) -> bool:
        """Whether nothing else looks like this: given names, and a header or two words per cell say so."""
        if not self.plausible:
            return False
        enough = self.different >= (FEW_NAMES if self.called else MANY_NAMES)
        apart = self.several_words >= LOOK_ALIKE or (self.joined and self.full >= LOOK_ALIKE)
        return enough and (self.called or (apart and self.most_differ))

    @property
    def few_people(self) -> bool:
        """Whether a few full names are those of people: staff, most often, in many rows each.

        Schools, firms and products are named after people; where a header speaks of such a thing, or of what
        was answered or measured, cells alone prove nothing.
        """
        alike = self.alike >= LOOK_ALIKE and not self.small and self.different > 1
        alike &= self.several_words >= LOOK_ALIKE or (self.joined and self.full >= LOOK_ALIKE)
        return alike and self.full >= FULL_SHARE and may_be_people(self.header)

    @property
    def likely(self) -> bool:
        """Whether a person should say that these are no names before they are published."""
        if self.alike < LOOK_ALIKE or self.different < 2:
            return False
        if self.known >= (SMALL_KNOWN_SHARE if self.small else KNOWN_SHARE) and self.different >= MANY_NAMES:
            return True
        return self.called and (self.most_differ or self.different > MANY_NAMES)

    @property
    def possible(self) -> bool:
        """Whether most cells are several words with capitals, and most of them differ."""
        alike = self.alike >= LOOK_ALIKE and self.several_words >= LOOK_ALIKE and not self.small
        return alike and self.most_differ and self.different > MANY_NAMES


def called_names(header: str) -> bool:
    """Whether a header says that the column holds names of people, or people and nothing else.

    >>> called_names("first name"), called_names("Employee"), called_names("Employee type")
    (True, True, False)
    """
    if header.strip().lower() in BARE_HEADERS:
        return True
    read = lexicon().read(header)
    named = bool(read.kinds & {"person_name", "name_word"}) or read.kinds <= {"person", "modifier"}
    return read.role is Role.IDENTIFIER and named


def may_be_people(header: str) -> bool:
    """Whether people can stand below a header: it names staff or persons, or says nothing of other things.

    >>> may_be_people("Klassenlehrer"), may_be_people("Schule"), may_be_people("x7")
    (True, False, True)
    """
    read = lexicon().read(header)
    if read.kinds & {"staff", "person", "contact_person"}:
        return True
    return read.role not in (Role.SENSITIVE, Role.INSENSITIVE) and not read.kinds & NAMED_AFTER_PEOPLE


def name_evidence(header: str, texts: Sequence[str], counts: Sequence[int]) -> NameEvidence:
    """Returns the evidence in the different cells of a column, each with how often it occurs."""
    present = sum(counts) or 1
    pairs = list(zip(texts, counts, strict=True))
    small = written_small(texts)
    named = [(text, count) for text, count in pairs if looks_like_a_name(text, small=small)]
    return NameEvidence(
        Fraction(sum(count for _, count in named), present),
        Fraction(sum(count for text, count in named if has_given_name(text)), present),
        Fraction(sum(count for text, count in named if len(text.split()) > 1), present),
        len(named),
        2 * len(texts) > present,
        header,
        Fraction(sum(is_full_name(text) for text in texts), len(texts) or 1),
        small,
        2 * sum(begins_with_surname(text) for text in texts) > len(texts),
    )


def written_small(texts: Sequence[str]) -> bool:
    """Whether no cell has a capital: such columns lost their capitals, names too."""
    return all(text == text.lower() for text in texts) and any(map(str.islower, texts))


def looks_like_a_name(text: str, *, small: bool = False) -> bool:
    """Whether a cell is one to five words of letters, most with capitals unless the column is `small`.

    >>> [looks_like_a_name(text) for text in ("Ada Lovelace", "O'Neil, Jim", "flu", "Room 7")]
    [True, True, False, False]
    """
    parts = _without_marks(text).replace(",", " ").replace("،", " ").split()
    if not 1 <= len(parts) <= 5 or len(text) > LONGEST_PERSON_NAME:
        return False
    capitals = len(parts) if small else sum(not part[0].islower() for part in parts)
    return capitals * 2 > len(parts) and all(_PERSON.fullmatch(part) for part in parts)


def has_given_name(text: str) -> bool:
    """Whether one of the first words is a given name of the list.

    >>> has_given_name("Lovelace, Ada Maria"), has_given_name("Grand Hotel")
    (True, False)
    """
    names, parts = given_names(), text.replace(",", " ").replace("،", " ").replace("-", " ").split()[:3]
    return any(part.lower() in names for part in parts) or begins_with_surname(text)


def begins_with_surname(text: str) -> bool:
    """Whether a cell is a Chinese, Japanese or Korean name: a surname of the list, and few characters more.

    >>> begins_with_surname("王小明"), begins_with_surname("김 민준"), begins_with_surname("高血压病史")
    (True, True, False)
    """
    name = "".join(text.split())
    if not 2 <= len(name) <= MOST_SYLLABLES or not all(_SYLLABLE.fullmatch(char) for char in name):
        return False
    return any(name[:size] in given_names() and 1 <= len(name) - size <= MOST_GIVEN for size in (1, 2))


MOST_SYLLABLES, MOST_GIVEN = 5, 3
_SYLLABLE = re.compile("[\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
"""Characters of Chinese, Japanese and Korean; their names need no blank."""


def _without_marks(text: str) -> str:
    """Returns a text without signs that belong to the letters before them, such as vowels of Hindi."""
    return text if text.isascii() else "".join(c for c in text if unicodedata.category(c)[0] not in "MC")


def is_full_name(text: str) -> bool:
    """Whether a cell is a given name of the list, or a title, with a surname; in either order with a comma.

    >>> [is_full_name(text) for text in ("Anna Lovelace", "Weber, Anna", "Dr. Weber", "Anna", "San Marino")]
    [True, True, True, False, False]
    """
    if begins_with_surname(text):
        return True
    last, comma, first = text.replace("،", ",").partition(",")
    words = [word.rstrip(".") for word in (f"{first} {last}" if comma else text).split()]
    parts = list(dropwhile(lambda word: word.lower() in TITLES, words))
    titled = len(parts) < len(words)
    if not 2 - titled <= len(parts) <= MOST_PARTS or parts[0][:1].islower() or parts[-1][:1].islower():
        return False
    if any(word.lower() in NO_SURNAMES for word in parts) or not looks_like_a_name(text):
        return False
    first_parts = parts if parts[0][0] > LAST_OF_LATIN else parts[:1]  # others put the surname first, too
    return titled or any(piece.lower() in given_names() for part in first_parts for piece in part.split("-"))


LAST_OF_LATIN = "\u024f"


@cache
def given_names() -> frozenset[str]:
    """Returns the given names that Sfumato knows, in small letters."""
    text = (files("sfumato.policy") / "lexicon" / "given_names.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def refuse_published_names(policy: PolicyContent, survey: TableEvidence) -> None:
    """Raises `BadPolicy` where a column that is published holds names of people with certainty."""
    for name, texts, counts in _published_texts(policy, survey):
        if name_evidence(name, texts, counts).certain:
            raise BadPolicy(
                f"column {short(name)} holds names of people and is {policy.columns[name].role}:"
                " names are not published, not even generalized.",
                where="columns",
                remedy="Give it the role identifier.",
            )


def _published_texts(
    policy: PolicyContent, survey: TableEvidence
) -> Iterator[tuple[str, tuple[str, ...], tuple[int, ...]]]:
    """Yields the published columns of texts, with their different cells and how often each occurs."""
    for name in policy.published:
        column = survey.columns.get(name)
        if column is not None and column.kind == "text" and column.complete:
            profile = ColumnProfile.of(name, column, survey.rows)
            yield name, profile.values, profile.counts


# The first line of a file: names of columns, or cells of somebody's row that must not be shown as names.

KNOWN = frozenset(
    {*IDENTIFIERS, *PEOPLE, *PLACES, *AGES, "sex", "gender", "date", "year", "city", "country", "job"}
    | {"disease", "diagnosis", "income", "salary"}
)
"""Words that are found in names of columns, and hardly ever as a cell."""

LONGEST_NAME = 200
"""A name that is longer is none."""

MARKS = {";": "semicolons", ",": "commas", "\t": "tabs", "|": "bars", " ": "blanks"}
"""What may stand between the columns of a file that was read as one column."""

LEAST_ROWS, LEAST_MARKS = 5, 2
"""Fewer rows, or fewer marks in each, tell nothing."""

LEAST_NAMED = 2
"""Fewer words over columns of numbers do not outweigh a name that may be a cell."""

ENOUGH_NAMED = 3
"""So many different words over columns of numbers outweigh it, whatever the other columns are."""

_TELLING_CELL = re.compile(
    r"[+-]?[0-9][0-9 .,:/-]*%?|.*@.*\..*|.*[0-9]{5,}.*|.*[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}.*",
    re.IGNORECASE | re.DOTALL,
)
_WORD_OF_CELLS = re.compile(r"true|false|n/?a|null", re.IGNORECASE)
_LETTERS = ((re.compile("[0-9]+"), "0"), (re.compile("[A-Z]+"), "A"), (re.compile("[^\\W\\d_A-Z]+"), "a"))


def marks_in_one_column(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns which marks divide nearly every cell of an only column into as many parts; empty if none do.

    >>> marks_in_one_column(["Patients, March"], [["17;34;f"], ["18;35;m"], ["19;40;f"]] * 2)
    'semicolons'
    >>> marks_in_one_column(["name"], [["Ada King, Countess of Lovelace"], ["Weber, Anna"], ["Bo"]] * 2)
    ''
    """
    cells = [row[0].strip() for row in rows if len(row) == 1]
    if len(names) != 1 or len(cells) < LEAST_ROWS:
        return ""
    for mark, called in MARKS.items():
        counts = Counter(len(re.findall(" +" if mark == " " else re.escape(mark), cell)) for cell in cells)
        marks, often = counts.most_common(1)[0]
        if marks >= LEAST_MARKS and 10 * often >= 9 * len(cells):
            return called
    return ""


def may_be_a_row(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line of a file may be a row like those that follow, and no line of names.

    It may be one where a name is a number, a date, an address or the like. It may be one where a name occurs
    as a cell below itself, or is a word for nothing (`Na`, which is sodium, too), unless words stand over
    numbers: over three columns, or over two that are most of the others or beside a name that says what a
    column is. Else it is one unless a name says what a column is, a column below a word holds numbers or
    dates, or words below a name look different.

    >>> may_be_a_row(["34", "f", "flu"], [["36", "m", "cold"]])
    True
    >>> may_be_a_row(["age", "sex", "disease"], [["36", "m", "cold"]])
    False
    >>> may_be_a_row(["age", "kids", "married"], [["36", "2", "married"], ["40", "0", "single"]])
    False
    >>> may_be_a_row(["urban", "x", "y"], [["urban", "a", "b"], ["rural", "c", "d"]])
    True
    """
    columns = [[row[i] for row in rows if i < len(row) and row[i] != ""] for i in range(len(names))]
    beside = list(zip(names, columns, strict=True))
    if any(map(_is_telling_cell, names)):
        return True
    doubted = {name for name, cells in beside if name in cells or _is_cell(name)}
    called = any(words(name) & KNOWN for name in names if name not in doubted)
    if doubted:
        return not _words_over_numbers(beside, doubted, called=called)
    return not called and all(_is_alike(name, cells) for name, cells in beside if cells)


def _words_over_numbers(
    beside: Sequence[tuple[str, Sequence[str]]], doubted: Collection[str], *, called: bool
) -> bool:
    """Whether so many words stand over columns of numbers that the line is one of names all the same."""
    over = {name for name, cells in beside if name not in doubted and cells and all(map(_is_cell, cells))}
    if len(over) < LEAST_NAMED:
        return False
    return called or len(over) >= ENOUGH_NAMED or 2 * len(over) > len(beside) - len(doubted)


def _is_telling_cell(text: str) -> bool:
    """Whether a text is what cells are and names are not."""
    return len(text) > LONGEST_NAME or _TELLING_CELL.fullmatch(text.strip()) is not None


def _is_cell(text: str) -> bool:
    """The same, and words that cells hold where nothing is known, or yes and no."""
    return _is_telling_cell(text) or _WORD_OF_CELLS.fullmatch(text.strip()) is not None


def _is_alike(name: str, cells: Sequence[str]) -> bool:
    """Whether a name looks like one of the cells below it: capitals, small letters and digits alike."""
    return _look(name) in set(map(_look, cells))


def _look(text: str) -> str:
    for pattern, letter in _LETTERS:
        text = pattern.sub(letter, text.strip())
    return text


# Hash values in a column: pseudonyms that anybody computes who knows, or counts up, what was hashed.

DIGITS = frozenset({32, 40, 48, 56, 64, 96, 128})
"""How many hexadecimal digits hash values have: MD5, SHA-1, Tiger, and SHA-2 and SHA-3 of all sizes."""
FEW_HASHES = 5
"""Different hash values of a column that holds them; fewer prove nothing."""
_HASH = re.compile(r"(?:(?:md5|sha-?\d+)[:$-])?([0-9a-f]+|[0-9A-F]+)")


def hash_digits(texts: Iterable[str]) -> int:
    """Returns the number of hexadecimal digits that all cells have, if these look like hash values; else 0.

    >>> from hashlib import sha256
    >>> hash_digits(sha256(str(n).encode()).hexdigest() for n in range(9)), hash_digits(["5d41402a"] * 9)
    (64, 0)
    """
    lengths, different, letters = set[int](), set[str](), False
    for text in texts:
        match = _HASH.fullmatch(text.strip())
        if match is None or len(match[1]) not in DIGITS:
            return 0
        lengths.add(len(match[1]))
        different.add(match[1])
        letters |= not match[1].isdecimal()
    return lengths.pop() if len(lengths) == 1 and len(different) >= FEW_HASHES and letters else 0


def refuse_published_hashes(policy: PolicyContent, survey: TableEvidence) -> None:
    """Raises `BadPolicy` where a column that is published holds hash values, with a secret key or without.

    Which of both cannot be told from the values, and a keyed one still joins all tables that have it.
    """
    for name, texts, _ in _published_texts(policy, survey):
        if digits := hash_digits(texts):
            raise BadPolicy(
                f"column {short(name)} holds hash values of {digits} digits and is "
                f"{policy.columns[name].role}: whoever knows what was hashed, or tries all of it, finds the "
                "person again.",
                where="columns",
                remedy="Give it the role identifier.",
            )

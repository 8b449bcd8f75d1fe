"""The words of a header: split, folded, and without those that mean nothing by themselves."""

from __future__ import annotations

import re
import unicodedata

_PIECE = re.compile(r"[^\W\d_]+|[0-9]+")
_NUMBER_SIGN = re.compile(r"№|#|\b[Nn]\.?[°º]")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})

_LITTLE = """
    of the a an at to in on for and or is has was with by per from de du des la le les l d un une au aux et en
    sur par pour dans von vom der die das den dem zu zum zur im am mit bei und oder ist hat di del della dello
    dei degli delle da por sin sans senza als as al alla il lo gli i e o con y el los las su es tiene
"""
LITTLE_WORDS = frozenset(_LITTLE.split())
"""Words that join others and say nothing of a column."""

_SAME = {
    **dict.fromkeys(("no", "nr", "nro", "number", "numero", "nummer", "nbr", "num", "numb"), "num"),
    **dict.fromkeys(("code", "codigo", "codice", "cod", "kode"), "code"),
}
"""Ways to write one word."""


def header_pieces(header: str) -> list[str]:
    """Returns the pieces of a header as it is written: words in snake_case, camelCase and numbers apart.

    >>> header_pieces("dateOfBirth"), header_pieces("ICD10-Code"), header_pieces("PLZ_Wohnort")
    (['date', 'Of', 'Birth'], ['ICD', '10', 'Code'], ['PLZ', 'Wohnort'])
    """
    if header.isascii() and header.islower() and header.isalpha():
        return [header]
    pieces: list[str] = []
    for piece in _PIECE.findall(unicodedata.normalize("NFC", header)):
        start = 0
        for i in range(1, len(piece)):
            rises = piece[i].isupper() and not piece[i - 1].isupper()
            ends = piece[i].islower() and piece[i - 1].isupper() and i - 1 > start
            if rises or ends:
                cut = i if rises else i - 1
                pieces.append(piece[start:cut])
                start = cut
        pieces.append(piece[start:])
    return pieces


def spellings(word: str) -> tuple[str, ...]:
    """Returns how a word is looked up: small letters without accents, umlauts as one letter and as two.

    >>> spellings("Größe"), spellings("Prénom"), spellings("Año")
    (('grosse', 'groesse'), ('prenom',), ('ano',))
    """
    return tuple(dict.fromkeys(_SAME.get(text, text) for text in foldings(word)))


def foldings(word: str) -> tuple[str, ...]:
    """Returns the same without taking abbreviations for the word itself."""
    if word.isascii():
        return (word.lower(),)
    small = unicodedata.normalize("NFC", word).lower()
    return tuple(dict.fromkeys((_plain(small.replace("ß", "ss")), _plain(small.translate(_UMLAUTS)))))


def header_words(header: str) -> list[tuple[str, ...]]:
    """Returns the words that count, in their order, each in its spellings.

    >>> header_words("date_of_Birth"), header_words("N° client"), header_words("Case #")
    ([('date',), ('birth',)], [('num',), ('client',)], [('case',), ('num',)])
    """
    every = [spellings(piece) for piece in header_pieces(_NUMBER_SIGN.sub(" no ", header))]
    return [word for word in every if word[0] not in LITTLE_WORDS] or every


def _plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))

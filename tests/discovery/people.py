"""Made-up cells of every kind of identifier, and tables of them."""

import random

from sfumato.discovery import identifiers as digits

VALID = {
    "uk_nhs": ["9434765919", "4505577104"],
    "spanish_dni": ["12345678Z", "X1234567L", "00000001R"],
    "dutch_bsn": ["111222333", "123456782"],
    "italian_codice_fiscale": ["RSSMRA85T10A562S"],
    "french_nir": ["255081416802538", "295109912611193", "253072B07300470", "253072A07300443"],
    "german_tax_id": ["36574261809", "86095742719"],
    "polish_pesel": ["44051401359", "02070803628"],
    "swedish_personnummer": ["8112189876", "198112189876"],
    "iban": ["GB82WEST12345698765432", "DE89370400440532013000", "FR1420041010050500013M02606"],
    "payment_card": ["4111111111111111", "5555555555554444", "378282246310005"],
    "us_social_security": ["123456789"],
}
"""Numbers printed in public descriptions of each rule; none belongs to anybody."""


def passing(check, bodies, tails):
    """Complete each body with the first tail that passes."""
    return [next(b + t for t in tails if check(b + t)) for b in bodies if any(check(b + t) for t in tails)]


def numbers(seed, size, count, first="123456789"):
    dice = random.Random(seed)
    return [dice.choice(first) + "".join(dice.choices("0123456789", k=size - 1)) for _ in range(count)]


TEN = "0123456789"
KEYS = [f"{i:02}" for i in range(1, 98)]
DAYS = [f"{y:02}{m:02}{d:02}" for y in range(30, 70, 4) for m in (3, 11) for d in (7, 25)]


def cells():
    """Forty or so different valid cells of each kind, as they are usually written."""
    dice = random.Random(3)
    ibans = [f"NL{k}BANK{n}" for n in numbers(1, 10, 40) for k in KEYS if digits.iban(f"NL{k}BANK{n}")]
    nirs = [f"1{y:02}{m:02}75{n}" for y in range(40, 60) for m in (1, 12) for n in numbers(y, 6, 1)]
    taxes = []
    for i in range(40):
        order = dice.sample(TEN[1:], 9)
        taxes.append("".join(order) + order[i % 9])
    fiscal = [f"RSSMRA{y}{m}{d}A562" for y in range(50, 90) for m in "AT" for d in (10,)]
    return {
        "e-mail": [f"person{i}@example.org" for i in range(40)],
        "url": [f"https://example.org/p/{i}" for i in range(40)],
        "uuid": [f"123e4567-e89b-42d3-a456-4266141740{i:02}" for i in range(40)],
        "mac-address": [f"00:1A:2b:3c:4d:{i:02x}" for i in range(40)],
        "ip-address": [f"192.0.2.{i}" for i in range(20)] + [f"2001:db8::{i}" for i in range(20)],
        "iban": ibans,
        "payment-card": passing(digits.payment_card, numbers(2, 15, 40, "45"), TEN),
        "it-codice-fiscale": passing(digits.italian_codice_fiscale, fiscal, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        "fr-nir": passing(digits.french_nir, nirs, KEYS),
        "es-dni": passing(digits.spanish_dni, numbers(4, 8, 40), "TRWAGMYFPDXBNJZSQVHLCKE"),
        "pl-pesel": passing(digits.polish_pesel, [d + n for d in DAYS for n in numbers(5, 4, 1)], TEN),
        "se-personnummer": [
            f"{n[:6]}-{n[6:]}"
            for n in passing(
                digits.swedish_personnummer, [d + n for d in DAYS for n in numbers(6, 3, 1)], TEN
            )
        ],
        "de-tax-id": passing(digits.german_tax_id, taxes, TEN),
        "uk-nhs": [f"{n[:3]} {n[3:6]} {n[6:]}" for n in passing(digits.uk_nhs, numbers(7, 9, 40), TEN)],
        "nl-bsn": passing(digits.dutch_bsn, numbers(8, 8, 40), TEN),
        "us-ssn": [f"{123 + i}-45-{6789 - i}" for i in range(40)],
        "coordinates": [f"52.{3000 + i}, 4.{9000 - i}" for i in range(40)],
        "phone": [f"+31 20 {5550000 + 13 * i}" for i in range(20)]
        + [f"(617) 555-01{i:02}" for i in range(20)],
        "name": [f"{g} {f}" for g in ("Maria", "John", "Wei", "Olga") for f in FAMILIES],
        "free-text": [
            f"the patient came back {i} times and said that her neighbour had seen it" for i in range(40)
        ],
    }


FAMILIES = ["Karlsson", "O'Brien", "van Dijk", "Smith", "Müller", "Rossi", "Novak", "Silva", "Petit", "Costa"]

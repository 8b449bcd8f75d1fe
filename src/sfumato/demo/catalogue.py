"""The catalogue of the made-up hospital: jobs, diseases, symptoms, syllables. All invented."""

from __future__ import annotations

from dataclasses import dataclass, field

SEXES = ("female", "male")

JOBS: dict[str, dict[str, tuple[str, ...]]] = {
    "Working with people": {
        "Care": ("Nurse", "Physician", "Midwife", "Paramedic"),
        "Teaching": ("Teacher", "Lecturer", "Coach"),
        "Service": ("Cook", "Waiter", "Hairdresser", "Cleaner", "Driver"),
    },
    "Working with things": {
        "Trades": ("Electrician", "Carpenter", "Plumber", "Mechanic"),
        "Land": ("Farmer", "Gardener", "Forester"),
        "Technology": ("Programmer", "Engineer", "Chemist"),
    },
    "Working with paper": {
        "Office": ("Clerk", "Accountant", "Secretary"),
        "Law": ("Lawyer", "Notary"),
        "Leading": ("Manager", "Director"),
    },
    "Not employed": {
        "Learning": ("Pupil", "Student"),
        "At home": ("Retired", "Homemaker", "Seeking work"),
    },
}
"""Sector -> field -> jobs."""


@dataclass(frozen=True)
class Job:
    """How common a job is (women, men), from what age to what age, and what it pays in the middle."""

    women: float
    men: float
    ages: tuple[int, int]
    pay: int


JOB_FACTS: dict[str, Job] = {
    "Nurse": Job(9, 2, (19, 66), 39_000),
    "Physician": Job(1.5, 1.6, (25, 69), 98_000),
    "Midwife": Job(0.5, 0.01, (20, 66), 41_000),
    "Paramedic": Job(0.4, 1.2, (19, 60), 37_000),
    "Teacher": Job(6, 2.2, (23, 66), 52_000),
    "Lecturer": Job(0.5, 0.7, (26, 68), 61_000),
    "Coach": Job(0.4, 0.8, (18, 64), 27_000),
    "Cook": Job(1.8, 3, (17, 66), 28_000),
    "Waiter": Job(3.4, 2, (17, 60), 23_000),
    "Hairdresser": Job(2.2, 0.2, (17, 64), 24_000),
    "Cleaner": Job(5, 1.2, (18, 67), 21_000),
    "Driver": Job(0.6, 5.5, (18, 67), 31_000),
    "Electrician": Job(0.1, 4, (17, 66), 41_000),
    "Carpenter": Job(0.1, 3.2, (17, 65), 36_000),
    "Plumber": Job(0.05, 2.6, (17, 65), 40_000),
    "Mechanic": Job(0.2, 4.4, (17, 66), 37_000),
    "Farmer": Job(0.8, 1.9, (18, 75), 30_000),
    "Gardener": Job(0.5, 1, (17, 68), 26_000),
    "Forester": Job(0.05, 0.3, (20, 66), 38_000),
    "Programmer": Job(1.1, 4.2, (20, 66), 66_000),
    "Engineer": Job(1.2, 4.4, (23, 67), 68_000),
    "Chemist": Job(0.5, 0.6, (23, 66), 62_000),
    "Clerk": Job(9, 4, (18, 66), 34_000),
    "Accountant": Job(3.2, 2, (20, 67), 50_000),
    "Secretary": Job(4.2, 0.2, (18, 66), 33_000),
    "Lawyer": Job(0.7, 0.9, (26, 72), 88_000),
    "Notary": Job(0.05, 0.1, (32, 72), 120_000),
    "Manager": Job(2, 4, (26, 67), 82_000),
    "Director": Job(0.1, 0.4, (35, 72), 160_000),
    "Pupil": Job(420, 420, (0, 18), 0),
    "Student": Job(26, 24, (18, 29), 9_000),
    "Retired": Job(900, 900, (63, 104), 19_000),
    "Homemaker": Job(12, 1, (20, 70), 6_000),
    "Seeking work": Job(4, 5, (17, 65), 12_000),
}

DISEASES: dict[str, dict[str, tuple[str, ...]]] = {
    "Infection": {
        "Virus": ("Influenza", "Hepatitis B", "HIV", "Shingles"),
        "Bacterium": ("Pneumonia", "Tuberculosis", "Salmonellosis", "Borreliosis"),
    },
    "Circulation": {
        "Heart": ("Angina", "Heart failure", "Arrhythmia"),
        "Vessels": ("Stroke", "Hypertension", "Thrombosis"),
    },
    "Growth": {
        "Benign": ("Fibroid", "Polyp"),
        "Malignant": ("Breast cancer", "Lung cancer", "Colon cancer", "Prostate cancer"),
    },
    "Mind and nerves": {
        "Mind": ("Depression", "Anxiety", "Addiction"),
        "Nerves": ("Migraine", "Epilepsy", "Dementia"),
    },
    "Injury": {
        "Bones": ("Fracture", "Slipped disc"),
        "Skin and senses": ("Burn", "Contact eczema", "Concussion"),
    },
    "Metabolism": {
        "Sugar": ("Diabetes type 1", "Diabetes type 2"),
        "Organs": ("Asthma", "Gallstones", "Kidney stones"),
    },
}
"""Chapter -> group -> diseases."""


@dataclass(frozen=True)
class Disease:
    """How common a disease is, around what age, how widely, how much more among men, and in which fields."""

    rate: float
    age: int
    spread: int
    men: float
    symptoms: tuple[str, ...]
    fields: dict[str, float] = field(default_factory=dict)


DISEASE_FACTS: dict[str, Disease] = {
    "Influenza": Disease(7, 35, 40, 1, ("fever", "cough", "aching", "tiredness"), {"Care": 2, "Teaching": 2}),
    "Hepatitis B": Disease(1, 45, 18, 1.4, ("tiredness", "jaundice", "nausea"), {"Care": 3}),
    "HIV": Disease(0.8, 38, 12, 3, ("fever", "weight loss", "swollen glands", "tiredness")),
    "Shingles": Disease(2, 68, 14, 0.8, ("rash", "burning pain", "itching")),
    "Pneumonia": Disease(6, 72, 22, 1.2, ("fever", "cough", "short breath", "chest pain")),
    "Tuberculosis": Disease(0.5, 50, 22, 1.5, ("cough", "weight loss", "night sweat"), {"Care": 2}),
    "Salmonellosis": Disease(2, 25, 30, 1, ("fever", "diarrhoea", "cramps", "nausea"), {"Service": 2}),
    "Borreliosis": Disease(1, 48, 20, 1.1, ("rash", "joint pain", "tiredness"), {"Land": 9}),
    "Angina": Disease(5, 67, 12, 1.8, ("chest pain", "short breath", "sweating")),
    "Heart failure": Disease(7, 78, 10, 1.1, ("short breath", "swollen legs", "tiredness")),
    "Arrhythmia": Disease(5, 70, 14, 1.3, ("palpitations", "dizziness", "short breath")),
    "Stroke": Disease(5, 75, 11, 1.1, ("paralysis", "slurred speech", "dizziness", "headache")),
    "Hypertension": Disease(7, 64, 15, 1.1, ("headache", "dizziness", "nosebleed"), {"Leading": 2, "Law": 2}),
    "Thrombosis": Disease(2, 60, 18, 0.8, ("swollen legs", "leg pain", "warm skin"), {"Office": 1.6}),
    "Fibroid": Disease(3, 44, 8, 0, ("bleeding", "cramps", "back pain")),
    "Polyp": Disease(2, 60, 13, 1.3, ("bleeding", "cramps")),
    "Breast cancer": Disease(4, 60, 14, 0.01, ("lump", "skin change", "tiredness")),
    "Lung cancer": Disease(2.5, 68, 9, 1.7, ("cough", "short breath", "weight loss", "chest pain")),
    "Colon cancer": Disease(2.5, 70, 11, 1.3, ("bleeding", "weight loss", "cramps")),
    "Prostate cancer": Disease(3, 71, 8, 1e6, ("back pain", "bleeding", "frequent urge")),
    "Depression": Disease(6, 42, 18, 0.5, ("sadness", "sleeplessness", "tiredness"), {"At home": 1.6}),
    "Anxiety": Disease(3, 34, 14, 0.6, ("palpitations", "sweating", "sleeplessness"), {"Learning": 1.5}),
    "Addiction": Disease(4, 44, 13, 2.5, ("tremor", "sweating", "sleeplessness", "nausea")),
    "Migraine": Disease(2.5, 34, 12, 0.35, ("headache", "nausea", "flicker")),
    "Epilepsy": Disease(1.2, 22, 20, 1.1, ("seizure", "confusion", "tiredness")),
    "Dementia": Disease(4, 83, 7, 0.8, ("confusion", "memory loss", "restlessness")),
    "Fracture": Disease(8, 45, 60, 1, ("swelling", "pain", "bruise"), {"Trades": 1.8, "Land": 1.6}),
    "Slipped disc": Disease(
        3, 48, 12, 1.2, ("back pain", "numbness", "leg pain"), {"Trades": 2, "Care": 1.6}
    ),
    "Burn": Disease(1.2, 25, 22, 1.4, ("blisters", "pain", "redness"), {"Service": 2.5, "Trades": 1.5}),
    "Contact eczema": Disease(1, 34, 14, 0.7, ("itching", "rash", "redness"), {"Service": 3, "Care": 2}),
    "Concussion": Disease(3, 16, 20, 1.4, ("headache", "nausea", "memory loss")),
    "Diabetes type 1": Disease(1, 16, 12, 1.1, ("thirst", "weight loss", "tiredness")),
    "Diabetes type 2": Disease(6, 66, 12, 1.2, ("thirst", "tiredness", "numbness", "blurred sight")),
    "Asthma": Disease(3, 12, 22, 1.1, ("short breath", "cough", "wheezing")),
    "Gallstones": Disease(3.5, 55, 15, 0.5, ("cramps", "nausea", "jaundice")),
    "Kidney stones": Disease(2.5, 48, 14, 2, ("cramps", "nausea", "bleeding")),
}

GIVEN = {
    "female": (("A", "El", "Mi", "No", "Sa", "Ti", "Li", "Ro"), ("la", "ri", "ne", "vi"), ("na", "ra", "sa")),
    "male": (("Bo", "Da", "Ke", "Mar", "Ol", "Ta", "Jo", "Fen"), ("ri", "lo", "ma", "be"), ("n", "k", "s")),
}
FAMILY = (
    ("Hal", "Bren", "Ost", "Wend", "Kar", "Lun", "Mor", "Tes", "Vel", "Quin", "Rusk", "Eld"),
    ("a", "er", "o", "in", "u"),
    ("berg", "stead", "mann", "sen", "ova", "ley", "dorf", "wick", "ez", "ini"),
)
"""First, middle and last syllables."""

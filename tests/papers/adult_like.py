"""Made-up files in the shape of UCI Adult and of nested trees, for experiments on small data."""

import gzip
import random

WORDS = {
    1: ("workclass", "{Any {Paid {Private} {Public}} {Unpaid}}"),
    3: ("education", "{Any {School {Low} {Middle}} {High}}"),
    5: ("martial-status", "{Any {Married {Here} {Away}} {Single}}"),
    6: ("occupation", "{Any {Desk} {Hands {Craft} {Farm}}}"),
    7: ("relationship", "{Any {Kin {Parent} {Child}} {None}}"),
    8: ("race", "{Any {One} {Others {Two} {Three}}}"),
    9: ("sex", "{Any {F} {M}}"),
    13: ("native-country", "{Any {North {Here} {There}} {South}}"),
}
LEAVES = {
    1: ["Private", "Public", "Unpaid"],
    3: ["Low", "Middle", "High"],
    5: ["Here", "Away", "Single"],
    6: ["Desk", "Craft", "Farm"],
    7: ["Parent", "Child", "None"],
    8: ["One", "One", "One", "Two", "Three"],
    9: ["F", "M"],
    13: ["Here", "Here", "Here", "There", "South"],
}


def write_adult_like(folder, *, first=300, later=260, seed=1):
    """Two gzipped files of rows, a few with missing cells, and one of trees."""
    draw = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("adult.test.gz", first), ("adult.data.gz", later)):
        lines = []
        for i in range(count):
            cells = [draw.choice(LEAVES[j]) if j in LEAVES else "0" for j in range(15)]
            if i % 20 == 19:
                cells[1] = "?"
            lines.append(", ".join(cells))
        with gzip.open(folder / name, "wt", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
    text = "\n".join(f"{name}:discrete:suppression\n{tree}" for name, tree in WORDS.values())
    (folder / "adult_tds.hchy").write_text(f"age:continuous\n{{0-9 {{0-4}} {{5-9}}}}\n{text}\n")

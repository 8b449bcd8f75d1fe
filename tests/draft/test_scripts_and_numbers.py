"""Names and contacts in any script, and personal numbers of many countries, are never quasi-identifiers."""

from __future__ import annotations

import random
from importlib import import_module

import pandas as pd
import pytest

from sfumato.discovery.identifiers import KINDS
from sfumato.table.microdata import Role
from sfumato.workflows.declare import DraftEvidence

ROWS = 240
NAMES = {
    "Cyrillic": ("Иванов Петров Сидоров Кузнецов Смирнов Попов", "Иван Ольга Сергей Мария Дмитрий", " "),
    "Greek": ("Παπαδόπουλος Γεωργίου Ιωάννου Νικολάου Βλάχος", "Γιώργος Μαρία Ελένη Νίκος Κώστας", " "),
    "Arabic": ("محمد أحمد علي فاطمة خالد عمر", "المصري السعيد العلي الشامي حداد", " "),
    "Chinese": ("王 李 张 刘 陈 杨", "伟 芳 小明 志强 秀英", ""),
    "Japanese": ("佐藤 鈴木 高橋 田中 伊藤", "太郎 花子 健一 美咲 翔太", ""),
    "Korean": ("김 이 박 최 정 강", "민준 서연 지훈 수빈 예은", ""),
    "Devanagari": ("राम राजेश सुनीता प्रिया अमित", "शर्मा वर्मा सिंह गुप्ता यादव", " "),
}
OTHERS = {
    "towns": "北京 上海 广州 深圳 成都 杭州",
    "illnesses": "高血压 糖尿病 冠心病 肺炎 哮喘",
    "schools": "초등학교 중학교 고등학교 대학교",
    "places": "Москва Казань Самара Омск Пермь",
    "prefectures": "東京都 大阪府 北海道 福岡県 京都府 石川県",
    "work": "会社員 公務員 学生 主婦 無職",
    "cities": "القاهرة بغداد دمشق عمان",
}
HEADERS = """
    ФИО|телефон|адрес|Ονοματεπώνυμο|τηλέφωνο|اسم المريض|رقم الهوية|患者姓名|电话号码|身份证号|氏名|
    住所|주민등록번호|전화번호|
    पूरा नाम|मोबाइल नंबर
"""


def roles(columns):
    drafted = DraftEvidence.of(pd.DataFrame(columns)).draft()
    return {name: rule.role for name, rule in drafted.columns.items()}


def drawn(values, seed=1):
    return random.Random(seed).choices(values, k=ROWS)


@pytest.mark.parametrize("script", NAMES)
@pytest.mark.parametrize("people", [6, None])
def test_names_are_found_by_their_cells(script, people):
    first, second, gap = NAMES[script]
    every = [f"{one}{gap}{other}" for one in first.split() for other in second.split()]
    random.Random(2).shuffle(every)
    assert roles({"x1": drawn(every[:people]), "age": drawn(range(20, 80))})["x1"] is Role.IDENTIFIER


def test_words_of_other_things_are_no_names():
    found = roles({f"x{i}": drawn(words.split()) for i, words in enumerate(OTHERS.values())})
    assert Role.IDENTIFIER not in found.values()


def test_headers_are_read_in_their_script():
    headers = [header.strip() for header in HEADERS.split("|")]
    found = roles({header: drawn(["q1", "q2", "q7 r"]) for header in headers} | {"age": drawn(range(20, 80))})
    assert {header for header in headers if found[header] is not Role.IDENTIFIER} == set()


def test_numbers_of_households_and_of_samples():
    homes = [1001 + 7 * (i // 2) for i in range(ROWS)]
    names = ["hid", "serial", "idhh", "hhid", "HID_1", "IDHH", "hhserial", "household", "hogar"]
    weights = [round(random.Random(i).gammavariate(3, 500), 3) for i in range(ROWS)]
    found = roles({**dict.fromkeys(names, homes), "wgt": weights, "perwt": weights, "age": drawn(range(90))})
    assert {name for name in names if found[name] is not Role.IDENTIFIER} == set()
    assert found["wgt"] is found["perwt"] is Role.INSENSITIVE


def test_every_rule_of_a_country_is_one_of_the_library():
    for kind in KINDS:
        assert kind.test("nothing") is False or kind.needs_name


@pytest.mark.parametrize(
    ("rule", "start", "length"),
    [
        ("cn.ric", "11010119800101", 17), ("bg.egn", "800101", 9), ("cz.rc", "800101", 9),
        ("dk.cpr", "010180", 9),
        ("kr.rrn", "8001011", 12), ("hr.oib", "1", 10), ("gr.amka", "010180", 10), ("br.cpf", "2", 10),
        ("no.fodselsnummer", "010180", 10), ("ro.cnp", "180010101", 12), ("tr.tckimlik", "1", 10),
        ("in_.aadhaar", "5", 11), ("ch.ssn", "756", 12), ("za.idnr", "8001015", 12), ("be.nn", "80010", 10),
    ],
)  # fmt: skip
def test_personal_numbers_of_few_people_are_found_below_any_header(rule, start, length):
    valid, chance, numbers = import_module(f"stdnum.{rule}").is_valid, random.Random(3), []
    while len(numbers) < 12:
        text = start + "".join(chance.choices("0123456789", k=length - len(start)))
        ends = ("".join((text, one, two)) for one in "0123456789X" for two in ("", *"0123456789"))
        numbers += [one for one in ends if valid(one)][:1]
    for header in ("value", "x1"):
        assert roles({header: drawn(numbers), "age": drawn(range(20, 80))})[header] is Role.IDENTIFIER

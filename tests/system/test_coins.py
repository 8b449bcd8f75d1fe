"""Coins: the same for whoever has the key, and unlike for every purpose."""

from sfumato.system.coins import KEY_BYTES, Coins


def test_a_key_and_a_purpose_draw_the_same_numbers_again():
    assert Coins(b"key").draw("joins", 100).tolist() == Coins(b"key").draw("joins", 100).tolist()


def test_other_keys_and_other_purposes_draw_other_numbers():
    drawn = [
        Coins(b"key").draw("joins", 50),
        Coins(b"kez").draw("joins", 50),
        Coins(b"key").draw("decoys", 50),
        Coins(b"key").of("units of 5").draw("joins", 50),
        Coins(b"key").of("units of 6").draw("joins", 50),
        Coins(b"keyj").draw("oins", 50),
    ]
    assert len({number for numbers in drawn for number in numbers.tolist()}) == 50 * len(drawn)


def test_an_order_has_every_number_once_and_is_fair():
    first = [Coins(bytes([key])).order("people", 4).tolist() for key in range(200)]
    assert all(sorted(order) == [0, 1, 2, 3] for order in first)
    assert all(25 < sum(order[0] == number for order in first) < 80 for number in range(4))


def test_a_fresh_key_is_secret():
    one, other = Coins.fresh(), Coins.fresh()
    assert one.key != other.key
    assert len(one.key) == KEY_BYTES
    assert repr(one.key) not in repr(one)

from __future__ import annotations

import math

import pytest

from app.races.allowances import MAX_ADDRESSES, QUARTER, Allowance, Allowances
from engine.settings import SettingError


def test_what_was_spent_comes_back_after_a_quarter_of_an_hour() -> None:
    now = [0.0]
    allowance = Allowance(100.0, lambda: now[0])
    allowance.spend(30.0)
    now[0] = 600.0
    allowance.spend(80.0)
    assert allowance.left == 0.0
    with pytest.raises(SettingError, match=r"Your 100 seconds .* Try again in 5 minutes"):
        allowance.require()
    now[0] = QUARTER
    assert allowance.left == 20.0
    assert "20 of 100 seconds left" in allowance.note
    allowance.require()
    now[0] = QUARTER + 600.0
    assert allowance.left == 100.0


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "::/64", ""])
def test_a_visitor_on_the_machine_itself_has_no_limit(address: str) -> None:
    allowance = Allowances(1.0).of(address)
    allowance.spend(10.0)
    assert allowance.left == math.inf
    assert allowance.note == ""
    allowance.require()


def test_each_address_has_its_own_and_the_longest_unseen_is_forgotten() -> None:
    allowances = Allowances(1.0)
    allowances.of("192.0.2.1").spend(1.0)
    assert allowances.of("192.0.2.1").left == 0.0
    assert allowances.of("192.0.2.2").left == 1.0
    for number in range(MAX_ADDRESSES - 1):
        allowances.of("192.0.2.1")
        allowances.of(f"10.0.{number // 256}.{number % 256}")
    assert allowances.of("192.0.2.1").left == 0.0
    for number in range(MAX_ADDRESSES):
        allowances.of(f"10.1.{number // 256}.{number % 256}")
    assert allowances.of("192.0.2.1").left == 1.0

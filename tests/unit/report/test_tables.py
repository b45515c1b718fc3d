import math

import numpy as np
import pytest

from tacit.report.tables import cost, duration, number, sideways, table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (math.nan, "—"),
        (math.inf, "∞"),
        (-math.inf, "\N{MINUS SIGN}∞"),
        (-2.5, "\N{MINUS SIGN}2.5"),
        (True, "yes"),
        (False, "no"),
        (20190, "20,190"),
        (1e-6, "1e-6"),
        (2.5e-7, "2.5e-7"),
        (1e20, "1e20"),
        (1 / 3, "0.3333"),
        (np.float64(0.5), "0.5"),
        (np.int64(1000), "1,000"),
        (("a", 2), "a, 2"),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_numbers_as_a_reader_expects_them(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (12.4, "12 s"), (59.9, "1 min 0 s"), (61, "1 min 1 s"), (7265, "2 h 1 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_a_column_has_the_same_decimals_throughout():
    shown = table([{"x": -0.3}, {"x": 0.8512}, {"x": None}, {"x": math.nan}])
    assert shown.rows == (("\N{MINUS SIGN}0.300",), ("0.851",), ("—",), ("—",))
    assert shown.numeric == (True,)


def test_costs_are_rounded_up():
    assert [cost(each) for each in (1.00049, 1e-6, 2, None)] == ["1.001", "1e-6", "2", "—"]
    rows = [{"epsilon": 1.00049, "delta": 1.00049e-6, "x": 1.00049}, {"epsilon": None, "x": 0.5}]
    assert table(rows).rows[0] == ("1.001", "1.001e-6", "1.000")
    assert sideways(rows[:1], "x").rows == (("Epsilon", "1.001"), ("Delta", "1.001e-6"))


def test_decimals_give_way_to_digits_where_sizes_differ():
    assert table([{"x": 0.5}, {"x": 1.25e-5}]).rows == (("0.5",), ("1.25e-5",))
    assert table([{"x": 12345.5}, {"x": 2}]).rows == (("1.235e4",), ("2",))


def test_columns_come_from_all_rows_and_rows_are_capped():
    shown = table([{"a": 1}, {"a": 2, "noise_scale": "x"}, {"a": 3}], most=2)
    assert shown.headings == ("A", "Noise scale")
    assert shown.numeric == (True, False)
    assert shown.rows == (("1", "—"), ("2", "x"))
    assert shown.omitted == 1


def test_an_empty_table():
    assert table([]).rows == ()


def test_sideways_puts_one_row_in_a_column():
    shown = sideways([{"phase": "mix", "charged": 0}, {"phase": "step", "charged": 9}], "phase")
    assert shown.headings == ("Phase", "mix", "step")
    assert shown.rows == (("Times charged", "0", "9"),)
    assert shown.row_headings

"""The charts as plain text: a gap is a gap, an interval is shaded, arms differ by marker, labels are round."""

from __future__ import annotations

import math

from rich.cells import cell_len

from monitor.tui.lines import as_text
from monitor.tui.plot import SHADE, Curve, Point, Rule, Shade, plot
from monitor.tui.scale import Scale, doublings, linear, recent


def chart(
    *curves: Curve, shades: tuple[Shade, ...] = (), rules: tuple[Rule, ...] = (), high: float = 10.0
) -> list[str]:
    scale = Scale(0.0, 10.0, (0.0, 5.0, 10.0))
    rows = plot(curves, x=scale, y=Scale(0.0, high, (0.0, high)), width=26, height=6, shades=shades, rules=rules)
    return as_text(rows).split("\n")


def test_a_straight_line_runs_from_corner_to_corner_with_its_labels() -> None:
    assert chart(Curve(((0.0, 0.0), (10.0, 10.0)), "on")) == [
        "   10┤                ⣀⠤⠒⠉",
        "     │            ⣀⠤⠒⠉",
        "     │        ⣀⠤⠒⠉",
        "     │    ⣀⠤⠒⠉",
        "    0┤⣀⠤⠒⠉",
        "      0         5       10",
    ]


def test_a_missing_value_leaves_a_gap() -> None:
    row = chart(Curve(((0.0, 10.0), (3.0, 10.0), (4.0, None), (7.0, 10.0), (10.0, 10.0)), "on"))[0]
    drawn = row[6:].ljust(20)
    assert " " not in drawn[:6]
    assert drawn[7:13] == " " * 6
    assert " " not in drawn[15:]


def test_an_interval_of_x_is_shaded_from_edge_to_edge() -> None:
    rows = chart(shades=(Shade(4.0, 6.0, vertical=True),))
    assert all(SHADE in row and not row[6:12].count(SHADE) and not row[20:].count(SHADE) for row in rows[:-1])


def test_an_open_edge_shades_to_the_end_of_the_axis() -> None:
    right = chart(shades=(Shade(5.0, None, vertical=True),))[0]
    above = chart(shades=(Shade(5.0, None, vertical=False),))
    assert right.endswith(SHADE)
    assert not right[6:14].count(SHADE)
    assert SHADE in above[0]
    assert SHADE not in above[4]


def test_a_rule_carries_its_label_and_curves_stay_on_top() -> None:
    rows = chart(
        Curve(((0.0, 5.0), (10.0, 5.0)), "on", "■"),
        rules=(Rule(5.0, vertical=True, glyph="┃", label="live 5"),),
    )
    assert rows[0][6:].strip() == "┃"
    assert "┃ live 5" in rows[4]
    assert "┃" not in rows[2]
    assert rows[2].count("■") == 2


def test_a_value_above_the_axis_is_not_drawn_into_another_row() -> None:
    assert all(not row[6:].strip() for row in chart(Curve(((5.0, 99.0),), "on"))[:-1])


def test_rows_have_the_asked_size_and_a_tiny_chart_is_blank() -> None:
    points: tuple[Point, ...] = tuple((float(x), math.sin(x) + 1) for x in range(200))
    curve = Curve(points, "on")
    for width, height in ((14, 3), (40, 7), (200, 50)):
        rows = plot([curve], x=linear([200.0]), y=linear([2.0]), width=width, height=height)
        assert len(rows) == height
        assert all(cell_len(row.text) <= width for row in rows)
    assert as_text(plot([curve], x=linear([200.0]), y=linear([2.0]), width=5, height=2)).strip() == ""


def test_doublings_label_each_power_of_two() -> None:
    scale = doublings([1.0, 2.0, 62.5])
    assert [scale.label(tick) for tick in scale.ticks] == ["1", "2", "4", "8", "16", "32", "64"]
    assert 0 < scale.at(1.0) < scale.at(8.0) < scale.at(62.5) < 1
    assert scale.at(0.0) < 0


def test_linear_ticks_are_round_and_hold_the_largest_value() -> None:
    for top in (0.3, 7.0, 42.0, 999.0, 12_345.0):
        scale = linear([top])
        assert scale.low == 0
        assert scale.high > top
        assert len(scale.ticks) >= 2
        assert scale.ticks[0] == 0
    assert linear([]).high > 0
    assert linear([math.nan, 3.0]).high > 3


def test_time_is_labelled_by_age_and_never_shorter_than_five_minutes() -> None:
    scale = recent(1000.0 - 7200, 1000.0)
    assert [scale.label(tick) for tick in scale.ticks] == ["-2h00m", "-1h00m", "now"]
    assert recent(990.0, 1000.0).low == 700.0

"""Budgets: which one is reached, when it is said that one is near, what is left."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.cost.budget import SCOPES, Budget, as_record, from_record
from reactagent_tui.core.money import CostTotals, Money


class Spending:
    """Totals that a test moves."""

    def __init__(self) -> None:
        self.turn = self.session = self.day = Decimal(0)

    def totals(self) -> CostTotals:
        return CostTotals(
            turn_cost=Money(self.turn, "reported"),
            session_cost=Money(self.session, "estimated"),
            today_cost=Money(self.day, "reported"),
        )


def test_the_one_that_is_used_up_most_counts() -> None:
    spending = Spending()
    budget = Budget(spending.totals, {"turn": Decimal(1), "session": Decimal(2), "day": Decimal(10)})
    assert budget.reached() is None
    spending.turn, spending.session, spending.day = Decimal("0.5"), Decimal("1.9"), Decimal(3)
    tightest = budget.tightest()
    assert tightest is not None
    assert (tightest.scope, tightest.share, tightest.left) == ("session", Decimal("0.95"), Decimal("0.1"))
    assert budget.left() == Decimal("0.1")
    spending.session = Decimal("2.00")
    reached = budget.reached()
    assert reached is not None
    assert (reached.scope, reached.left) == ("session", Decimal(0))


def test_near_is_told_once_and_again_after_a_raise() -> None:
    spending = Spending()
    budget = Budget(spending.totals, {"session": Decimal(1)})
    spending.session = Decimal("0.79")
    assert budget.near() == []
    spending.session = Decimal("0.80")
    assert [standing.scope for standing in budget.near()] == ["session"]
    assert budget.near() == []
    budget.raise_by("session", Decimal(1))
    assert budget.limits == {"session": Decimal(2)}
    spending.session = Decimal("1.7")
    assert [standing.scope for standing in budget.near()] == ["session"]


def test_one_that_is_reached_at_once_is_not_said_to_be_near() -> None:
    spending = Spending()
    budget = Budget(spending.totals, {"turn": Decimal(1)})
    spending.turn = Decimal(3)
    assert budget.near() == []
    assert budget.reached() is not None


def test_a_raise_counts_from_what_is_spent() -> None:
    spending = Spending()
    budget = Budget(spending.totals, {"session": Decimal("0.05")})
    spending.session = Decimal("0.30")
    budget.raise_by("session", Decimal(1))
    assert budget.limits["session"] == Decimal("1.30")
    assert budget.reached() is None


def test_taken_away() -> None:
    budget = Budget(Spending().totals, {"day": Decimal(1)})
    budget.set("day", None)
    assert budget.tightest() is None
    assert budget.left() is None


def test_the_turn_starts_again() -> None:
    spending = Spending()
    budget = Budget(spending.totals, {"turn": Decimal(1)})
    spending.turn = Decimal("0.9")
    assert budget.near()
    budget.begin_turn()
    assert budget.near()


def test_unknown_prices_never_reach_a_limit_but_known_parts_do() -> None:
    totals = CostTotals(turn_cost=Money(None, "unknown"), session_cost=Money(Decimal(2), "unknown"))
    budget = Budget(lambda: totals, {"turn": Decimal(1)})
    assert budget.reached() is None
    budget.set("session", Decimal(1))
    assert budget.reached() is not None


def test_a_day_that_cannot_be_read_is_this_session() -> None:
    for today in (None, Money(None, "unknown")):
        totals = CostTotals(session_cost=Money(Decimal(3), "reported"), today_cost=today)
        assert Budget(lambda totals=totals: totals, {"day": Decimal(1)}).reached() is not None


def test_other_sessions_count_for_the_day() -> None:
    spending = Spending()
    spending.session, spending.day = Decimal("0.1"), Decimal(11)
    reached = Budget(spending.totals, {"session": Decimal(1), "day": Decimal(10)}).reached()
    assert reached is not None
    assert (reached.scope, reached.spent.amount) == ("day", Decimal(11))


@given(st.dictionaries(st.sampled_from(SCOPES), st.decimals(0, 1000, places=4).filter(lambda d: d > 0)))
def test_records_come_back(limits: dict[object, Decimal]) -> None:
    assert from_record(as_record(limits)) == limits  # pyright: ignore[reportArgumentType]


def test_broken_records_are_left_out() -> None:
    assert from_record({"turn": "abc", "session": "1.5", "week": "3", "day": "-1"}) == {"session": Decimal("1.5")}

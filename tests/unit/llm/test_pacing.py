"""Rate limits of one's own: the arithmetic on a clock of the test, the queue, and who shares it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from reactagent_tui.core.llm.pacing import Pacer, Pacers, RateLimit, SlidingWindow


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def test_requests_wait_until_the_oldest_is_a_minute_old() -> None:
    window = SlidingWindow(RateLimit(requests_per_minute=2))
    assert window.delay((0,), 100) == 0
    window.book(0, 100)
    window.book(0, 110)
    assert window.delay((0,), 115) == 45
    assert window.delay((0, 0), 115) == 55  # the second of two has to wait for the second place
    assert window.delay((0, 0, 0), 115) == 105
    assert window.delay((0,), 160) == 0


def test_tokens_wait_for_as_many_as_they_need() -> None:
    window = SlidingWindow(RateLimit(tokens_per_minute=100))
    window.book(60, 0)
    window.book(30, 20)
    assert window.delay((10,), 30) == 0
    assert window.delay((11,), 30) == 30
    assert window.delay((80,), 30) == 50
    assert window.delay((10, 91), 30) == 60  # after the ten that go now


def test_a_call_larger_than_the_limit_goes_alone() -> None:
    window = SlidingWindow(RateLimit(tokens_per_minute=100))
    assert window.delay((5_000,), 0) == 0
    window.book(5_000, 0)
    assert window.delay((1,), 59) == 1
    window.book(1, 60)
    assert window.delay((5_000,), 61) == 59


def test_a_report_corrects_what_was_reserved() -> None:
    window = SlidingWindow(RateLimit(tokens_per_minute=100))
    booking = window.book(90, 0)
    assert window.delay((50,), 10) == 50
    booking.tokens = 40
    assert window.delay((50,), 10) == 0
    booking.tokens = 4_000
    assert window.delay((1,), 10) == 50


def test_first_come_first_served_even_when_a_later_one_would_fit() -> None:
    clock = Clock()
    pacer = Pacer(RateLimit(tokens_per_minute=100), clock=clock)
    first, large, small = pacer.join(80), pacer.join(90), pacer.join(5)
    assert not small.start()
    assert first.start()
    assert (large.start(), small.start()) == (False, False)
    assert (large.left, small.left) == (60, 60)
    clock.now += 60
    assert not small.start()
    assert large.start()
    assert small.start()


def test_slots() -> None:
    pacer = Pacer(RateLimit(concurrent=1), clock=Clock())
    first, second, third = pacer.join(0), pacer.join(0), pacer.join(0)
    assert first.start()
    assert not second.start()
    assert second.left is None
    second.close()  # leaves the queue: the third takes its place
    assert not third.start()
    first.close()
    first.close()
    assert third.start()
    fourth = pacer.join(0)
    assert not fourth.start()
    third.close()
    assert fourth.start()


def test_what_went_out_stays_counted_when_its_call_is_over() -> None:
    clock = Clock()
    pacer = Pacer(RateLimit(requests_per_minute=1), clock=clock)
    first = pacer.join(0)
    assert first.start()
    first.close()
    second = pacer.join(0)
    assert not second.start()
    clock.now += 59
    assert second.left == 1
    clock.now += 1
    assert second.start()


def test_who_never_went_out_is_not_counted() -> None:
    pacer = Pacer(RateLimit(requests_per_minute=1, concurrent=1), clock=Clock())
    gone = pacer.join(0)
    gone.close()
    assert pacer.join(0).start()


def test_one_pacer_for_an_address_and_a_key() -> None:
    pacers = Pacers()
    limit = RateLimit(requests_per_minute=10)
    shared = pacers.at(limit, api_base="http://h/v1", api_key="k")
    assert pacers.at(limit, api_base="http://h/v1/", api_key="k") is shared
    assert pacers.at(limit, api_base="http://h/v1", api_key="other") is not shared
    assert pacers.at(limit, api_base="http://elsewhere/v1", api_key="k") is not shared
    own = pacers.at(limit, api_base="http://h/v1", api_key="k", model="m")
    assert own is not shared
    assert pacers.at(limit, api_base="http://h/v1", api_key="k", model="m") is own


def test_two_entries_for_one_endpoint_keep_both_limits() -> None:
    pacers = Pacers()
    pacer = pacers.at(RateLimit(requests_per_minute=10), api_base="http://h", api_key="k")
    pacers.at(RateLimit(requests_per_minute=20, concurrent=3), api_base="http://h", api_key="k")
    assert pacer.limit == RateLimit(requests_per_minute=10, concurrent=3)


@pytest.mark.parametrize("limit", [RateLimit(), RateLimit(None, None, None)])
def test_no_limit(limit: RateLimit) -> None:
    assert limit.is_none
    assert not RateLimit(concurrent=1).is_none
    assert SlidingWindow(limit).delay([10**9] * 50, 0) == 0

"""Whatever calls come, a paced endpoint never sees more than its limit, and nobody waits for ever."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.llm.pacing import MINUTE, Pacer, RateLimit, Ticket

limits = st.builds(
    RateLimit,
    requests_per_minute=st.none() | st.integers(1, 5),
    tokens_per_minute=st.none() | st.integers(1, 100),
    concurrent=st.none() | st.integers(1, 3),
)
calls = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 150), st.integers(0, 30)), max_size=20)
"""(seconds since the one before, tokens, seconds it runs)"""


@given(limits, calls)
def test_no_window_holds_more_than_the_limit(limit: RateLimit, arrivals: list[tuple[int, int, int]]) -> None:
    now = 0.0
    pacer = Pacer(limit, clock=lambda: now)
    coming = list(arrivals)
    due = float(coming[0][0]) if coming else 0.0
    waiting: list[tuple[Ticket, int]] = []
    running: list[tuple[float, Ticket]] = []
    out: list[tuple[float, int]] = []
    order: list[Ticket] = []
    for _ in range(2_000):
        while coming and due <= now:
            _, tokens, lasts = coming.pop(0)
            ticket = pacer.join(tokens)
            order.append(ticket)
            waiting.append((ticket, lasts))
            due += coming[0][0] if coming else 0
        for entry in [entry for entry in running if entry[0] <= now]:
            entry[1].close()
            running.remove(entry)
        while waiting and waiting[0][0].start():
            ticket, lasts = waiting.pop(0)
            out.append((now, ticket.tokens))
            running.append((now + lasts, ticket))
        assert not any(ticket.start() for ticket, _ in waiting[1:])
        if limit.concurrent is not None:
            assert len(running) <= limit.concurrent
        if not (coming or waiting):
            break
        now += 1.0
    assert (coming, waiting) == ([], [])
    for at, _ in out:
        within = [tokens for other, tokens in out if at <= other < at + MINUTE]
        if limit.requests_per_minute is not None:
            assert len(within) <= limit.requests_per_minute
        if limit.tokens_per_minute is not None and sum(within) > limit.tokens_per_minute:
            assert [tokens for tokens in within if tokens][1:] == []  # too large for any window, so alone


@given(limits, st.lists(st.integers(0, 150), min_size=1, max_size=10), st.floats(0, 200))
def test_the_countdown_is_when_it_goes(limit: RateLimit, sizes: list[int], start: float) -> None:
    """Nothing else happens: after the seconds shown the last of the queue has gone."""
    now = start
    pacer = Pacer(RateLimit(limit.requests_per_minute, limit.tokens_per_minute), clock=lambda: now)
    tickets = [pacer.join(size) for size in sizes]
    left = tickets[-1].left
    assert left is not None
    end = now + left
    for ticket in tickets:
        wait = ticket.left
        assert wait is not None
        now += wait + 1e-6
        assert ticket.start()
    assert abs(now - end) < 0.001

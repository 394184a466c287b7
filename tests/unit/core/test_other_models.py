from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from reactagent_tui.core.config.schema import PriceEntry
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.registry import ModelChoice
from reactagent_tui.core.other_models import SessionModels

NOW = ModelInfo("p", "now", "openai-chat", 32_000)


def choice(name: str, window: int, **more: Any) -> ModelChoice:
    info = replace(NOW, name=name, context_size=window, **more)
    return ModelChoice(name, "p", name, window, info.context_assumed, info=info)


def test_the_cheapest_model_with_room_is_offered() -> None:
    models = [
        choice("now", 32_000),
        choice("small", 40_000),
        choice("unknown", 900_000, context_assumed=True),
        choice("demo", 900_000, api="demo"),
        choice("dear", 200_000),
        choice("cheap", 200_000),
        choice("unpriced", 200_000),
    ]
    prices = PriceBook(
        {name: PriceEntry(input=Decimal(usd), output=Decimal(1)) for name, usd in (("cheap", 1), ("dear", 9))}
    )
    session: Any = SimpleNamespace(list_models=lambda: models, ledger=Ledger("s", prices))
    setup: Any = SimpleNamespace(provider=SimpleNamespace(info=NOW))
    others = SessionModels(session, setup, lambda _provider: None)
    found = others.roomier(100_000)
    assert found is not None
    assert found.name == "cheap"
    assert others.roomier(300_000) is None

"""The models a user has besides the present one, for a run whose request is too long for its model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.price_tag import price_tag
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.llm.base import ChatProvider, ModelInfo
from reactagent_tui.core.llm.presets import DEMO
from reactagent_tui.core.llm.registry import ModelChoice
from reactagent_tui.core.money import Money
from reactagent_tui.core.react.counting import Counters, prompt_room
from reactagent_tui.core.react.state import OtherModel, RunSetup
from reactagent_tui.core.run_ports import ModelUser


class ManyModels(ModelUser, Protocol):
    """A session that knows more models than its own."""

    ledger: Ledger
    list_models: Callable[[], Sequence[ModelChoice]] | None

    @property
    def counters(self) -> Counters: ...


@dataclass
class SessionModels:
    """Implements `OtherModels` for one run."""

    session: ManyModels
    setup: RunSetup
    switch: Callable[[ChatProvider], None]

    def roomier(self, tokens: int) -> OtherModel | None:
        """The cheapest one with a larger window that takes this many tokens."""
        now = self.setup.provider.info
        found = [
            OtherModel(choice.name, choice.info)
            for choice in (self.session.list_models() if self.session.list_models is not None else ())
            if choice.info is not None
            and not choice.context_assumed
            and choice.info.api != DEMO
            and choice.info.context_size > now.context_size
            and prompt_room(choice.info) > tokens
        ]
        return min(found, key=lambda one: self._rank(one.info, tokens), default=None)

    def _rank(self, info: ModelInfo, tokens: int) -> tuple[bool, object, int]:
        """Known prices first, the lowest first."""
        cost = self.cost(info, tokens, 0)
        return (cost.amount is None, cost.amount or 0, info.context_size)

    def cost(self, info: ModelInfo, tokens: int, output: int) -> Money:
        """What a call would cost, with nothing of it cached."""
        return price_tag(self.session.ledger.quote(info), tokens, output).cost

    def borrow(self, name: str) -> RunSetup:
        """This run's setup with another model, counted by its own measure. Raises ConfigError."""
        provider = self._provider(name)
        counter = self.session.counters.of(provider.info)
        return replace(self.setup, provider=provider, counter=counter, fallbacks=None)

    def use(self, name: str) -> None:
        """Raises ConfigError."""
        self.switch(self._provider(name))

    def _provider(self, name: str) -> ChatProvider:
        if self.session.make_provider is None:
            raise ConfigError(name)
        return self.session.make_provider(name)

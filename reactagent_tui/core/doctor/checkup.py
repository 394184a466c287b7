"""The check-up itself: from the configuration to the last probe, telling each finding as soon as it is known."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.doctor import probes
from reactagent_tui.core.doctor.advice import about_failure, about_tools, about_window, shown_address
from reactagent_tui.core.doctor.probes import Reply, ask
from reactagent_tui.core.doctor.report import LIVE, Check, CheckName, Report, Said, State
from reactagent_tui.core.errors import AuthError, ConfigError, ConnectError, ProviderError
from reactagent_tui.core.llm.local_models import LocalChoice, discover, stand_in
from reactagent_tui.core.llm.local_provider import LocalChatProvider
from reactagent_tui.core.llm.local_servers import LocalModel, Patience, discovery_allowed, models_at
from reactagent_tui.core.llm.presets import DEMO, OPENAI_CHAT
from reactagent_tui.core.llm.registry import Resolved, make_provider, resolve_model
from reactagent_tui.core.messages import ThinkingPart

if TYPE_CHECKING:
    from reactagent_tui.core.config.loader import LoadedConfig
    from reactagent_tui.core.llm.base import ChatProvider
    from reactagent_tui.core.llm.http import HttpPool

SMALL_WINDOW = 8_000
"""Tokens; below this instructions and tools leave no room for work."""
_PATIENT = Patience(2.0, 5.0)
_COLOURS = ("red", "crimson", "scarlet", "红")


@dataclass
class Checkup:
    """One run of the doctor. `on_check` gets every finding at once."""

    loaded: LoadedConfig
    http: HttpPool
    on_check: Callable[[Check], None] = lambda _check: None
    seconds: float = probes.SECONDS
    """For one request."""
    _checks: list[Check] = field(default_factory=list[Check])

    async def run(self, model: str | None = None) -> Report:
        """Every check there is; what cannot be tried is told as not tested. Raises nothing but cancellation."""
        self._config()
        local = await self._local(model)
        try:
            resolved = resolve_model(self.loaded, local.name if local is not None else model)
            provider = make_provider(resolved, self.http)
        except ConfigError as error:
            self._tell("key", "failed", Said.error(error), Said("advice.init"))
            return Report(tuple(self._checks))
        ledger = Ledger("doctor", PriceBook.from_config(self.loaded.config))
        await self._probe(resolved, provider, ledger)
        await provider.aclose()
        totals = ledger.totals()
        info = provider.info
        return Report(
            tuple(self._checks),
            provider=info.provider,
            model=info.name,
            api=info.api,
            api_base=shown_address(resolved.endpoint.api_base),
            window=info.context_size,
            window_source=_window_source(resolved, provider),
            calls=totals.calls,
            usage=totals.session_usage,
            cost=totals.session_cost,
        )

    def _tell(self, name: CheckName, state: State, said: Said, advice: Said | None = None) -> None:
        check = Check(name, state, said, advice)
        self._checks.append(check)
        self.on_check(check)

    def _config(self) -> None:
        files = ", ".join(str(path) for path in self.loaded.files)
        warning = self.loaded.warnings[0] if self.loaded.warnings else None
        said = Said("config.files", {"files": files}) if files else Said("config.none")
        self._tell("config", "ok" if files else "unknown", said, None if warning is None else Said.error(warning))

    async def _local(self, model: str | None) -> LocalChoice | None:
        """Tell which servers run here; the model of one of them when nothing else is configured."""
        if not discovery_allowed(self.loaded.config.local_servers, self.loaded.env):
            return None
        servers = await discover(self.loaded, self.http)
        if servers:
            shown = ", ".join(f"{server.title} ({len(server.models)})" for server in servers)
            self._tell("local", "ok", Said("local.running", {"servers": shown}))
        else:
            self._tell("local", "unknown", Said("local.none"))
        try:
            resolve_model(self.loaded, model)
        except ConfigError:
            return await stand_in(self.loaded, self.http)
        return None

    async def _probe(self, resolved: Resolved, provider: ChatProvider, ledger: Ledger) -> None:
        model = provider.info.name
        first = await ask(provider, probes.say_ok(model), ledger, self.seconds)
        self._key(resolved, first.failure)
        if not await self._server_and_stream(resolved, provider, first):
            told = {check.name for check in self._checks}
            for name in LIVE:
                if name not in told:
                    self._tell(name, "unknown", Said("untested"))
            return
        self._usage(first)
        await self._window(resolved, provider)
        replies = [first]
        if provider.info.api == DEMO:  # its scenes are fixed
            for name in ("tools", "parallel"):
                self._tell(name, "unknown", Said("untested"))
        elif provider.info.protocol in ("text", "json"):
            for name in ("tools", "parallel"):
                self._tell(name, "unknown", Said("tools.protocol", {"protocol": provider.info.protocol}))
        else:
            replies.append(await ask(provider, probes.call_twice(model), ledger, self.seconds))
            self._tools(provider, replies[-1])
        image = await self._image(provider, ledger)
        self._thinking([*replies, *([] if image is None else [image])])
        self._image_said(image)

    def _key(self, resolved: Resolved, failure: ProviderError | None) -> None:
        source = resolved.key_source
        if isinstance(failure, AuthError):
            self._tell("key", "failed", Said("key.refused", {"source": source}), Said("advice.key"))
        elif not resolved.endpoint.api_key or source == "none needed":
            self._tell("key", "ok", Said("key.none_needed"))
        else:
            self._tell("key", "ok", Said("key.from", {"source": source}))

    async def _server_and_stream(self, resolved: Resolved, provider: ChatProvider, first: Reply) -> bool:
        """Is there anything to go on with?"""
        info = provider.info
        address = shown_address(first.url or resolved.endpoint.api_base)
        if info.api == DEMO:
            self._tell("server", "ok", Said("server.demo"))
        elif isinstance(first.failure, ConnectError):
            advice = about_failure(first.failure, info, ())
            self._tell("server", "failed", Said.error(first.failure), advice)
            return False
        else:
            self._tell("server", "ok", Said("server.answers", {"address": address, "provider": info.provider}))
        if first.failure is not None:
            served = await self._served(resolved)
            self._tell("stream", "failed", Said.error(first.failure), about_failure(first.failure, info, served))
            return False
        if not first.pieces:
            self._tell("stream", "failed", Said("stream.empty", {"model": info.name}))
            return False
        said = Said("stream.ok", {"model": info.name}) if first.is_stream or first.pieces > 1 else Said("stream.whole")
        self._tell("stream", "ok", said)
        return True

    async def _served(self, resolved: Resolved) -> tuple[str, ...]:
        """Names of the models that the server lists, for the advice about a wrong one."""
        if resolved.info.api != OPENAI_CHAT:
            return ()
        key = resolved.endpoint.api_key
        headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **resolved.endpoint.headers}
        listed = await models_at(self.http, resolved.endpoint.api_base, headers, _PATIENT)
        return tuple(model.name for model in listed or ())

    def _usage(self, first: Reply) -> None:
        if first.usage_told and first.message.usage is not None:
            usage = first.message.usage
            self._tell("usage", "ok", Said("usage.told", {"sent": usage.prompt, "output": usage.output}))
        else:
            self._tell("usage", "failed", Said("usage.none"), Said("advice.usage"))

    async def _window(self, resolved: Resolved, provider: ChatProvider) -> None:
        if isinstance(provider, LocalChatProvider):
            await provider.learn_window()  # loaded by now
        info = provider.info
        served = _served_model(provider)
        source = _window_source(resolved, provider)
        size = {"size": info.context_size}
        advice = about_window(info, None if served is None else served.kind)
        match source:
            case "configured":
                said, state = Said("window.configured", size), "ok"
            case "known":
                said, state = Said("window.known", size), "ok"
            case "assumed":
                said, state = Said("window.assumed", size), "unknown"
            case told_by:
                said, state = Said("window.told", {**size, "by": told_by}), "ok"
        if state == "ok" and info.context_size >= SMALL_WINDOW:
            self._tell("window", "ok", said)
        elif state == "ok":
            self._tell("window", "failed", Said("window.small", size), advice)
        else:
            self._tell("window", "unknown", said, Said("window.other"))

    def _tools(self, provider: ChatProvider, reply: Reply) -> None:
        served = _served_model(provider)
        failure = "" if reply.failure is None else str(reply.failure)
        advice = about_tools(failure, provider.info, None if served is None else served.kind)
        calls = [call for call in reply.message.tool_calls if call.name == probes.CLOCK.name and call.arguments]
        if failure and not calls:
            self._tell("tools", "failed", Said.error(failure), advice)
        elif not calls:
            self._tell("tools", "failed", Said("tools.words"), advice)
        else:
            self._tell("tools", "ok", Said("tools.ok"))
        if len(calls) > 1:
            self._tell("parallel", "ok", Said("parallel.ok", {"n": len(calls)}))
        else:
            self._tell("parallel", "unknown", Said("parallel.one") if calls else Said("untested"))

    def _thinking(self, replies: list[Reply]) -> None:
        if any(reply.thinking_seen for reply in replies):
            came_in = _thinking_field(replies)
            self._tell("thinking", "ok", Said("thinking.in", {"field": came_in}) if came_in else Said("thinking.ok"))
        elif any(reply.message.usage is not None and reply.message.usage.reasoning for reply in replies):
            self._tell("thinking", "ok", Said("thinking.hidden"))
        else:
            self._tell("thinking", "unknown", Said("thinking.none"))

    async def _image(self, provider: ChatProvider, ledger: Ledger) -> Reply | None:
        if not provider.info.rules.supports_images or provider.info.api == DEMO:
            return None
        with tempfile.TemporaryDirectory(prefix="reactagent-") as folder:
            picture = Path(folder) / "picture.png"
            await asyncio.to_thread(picture.write_bytes, probes.red_picture())
            return await ask(provider, probes.name_colour(provider.info.name, picture), ledger, self.seconds)

    def _image_said(self, reply: Reply | None) -> None:
        if reply is None:
            self._tell("image", "unknown", Said("image.none"))
        elif reply.failure is not None:
            self._tell("image", "unknown", Said("image.refused", {"text": str(reply.failure)}))
        elif any(colour in reply.message.text.lower() for colour in _COLOURS):
            self._tell("image", "ok", Said("image.seen"))
        else:
            self._tell("image", "unknown", Said("image.unseen"))


def _served_model(provider: ChatProvider) -> LocalModel | None:
    return provider.served if isinstance(provider, LocalChatProvider) else None


def _window_source(resolved: Resolved, provider: ChatProvider) -> str:
    """configured, known, assumed, or the path with which the server told it."""
    served = _served_model(provider)
    return served.told_by if served is not None and served.window is not None else resolved.window_source


def _thinking_field(replies: list[Reply]) -> str | None:
    """The field of the wire in which thinking came, where the API has several."""
    parts = (part for reply in replies for part in reply.message.parts)
    return next((part.field for part in parts if isinstance(part, ThinkingPart) and part.field), None)


def broken_config(error: ConfigError) -> Report:
    """The report of a configuration that cannot be read."""
    return Report((Check("config", "failed", Said.error(error)),))

"""The seeds' own scenario: compare the weather of two cities with a `get_weather` tool, over every API and protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.config.loader import load_config
from reactagent_tui.core.embed import Agent, RecordingReporter, tool
from reactagent_tui.core.events import TextDelta, ToolFinished
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.registry import make_provider, resolve_model
from reactagent_tui.core.paths import user_paths
from tests.fakes.api_servers.houses import APIS, PROTOCOLS, ApiName, configuration, serve
from tests.fakes.api_servers.minds import COMPARE, compares_weather


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("api", APIS)
async def test_compare_two_cities(tmp_path: Path, api: ApiName, protocol: str) -> None:
    asked: list[str] = []

    @tool
    def get_weather(city: str) -> str:
        """The weather of a city now."""
        asked.append(city)
        return f"{city}: sunny, degrees {({'Beijing': 12, 'Shanghai': 19})[city]}"

    reporter, pool = RecordingReporter(), HttpPool()
    with serve(api, compares_weather) as server:
        config = tmp_path / "config.yaml"
        config.write_text(configuration({api: server}))
        env = {"HOME": str(tmp_path), "REACTAGENT_DISCOVERY": "off"}
        loaded = load_config(explicit=config, env=env, paths=user_paths(env))
        provider = make_provider(resolve_model(loaded, f"{api}-{protocol}"), pool)
        try:
            result = await Agent(provider, [get_weather], reporter).run(COMPARE)
        finally:
            await pool.aclose()
        assert server.complaints == []
        assert (result.reason, result.steps) == ("ANSWER", 2)
        assert result.answer == "Shanghai is warmer: 12 °C against 19 °C."
        assert sorted(asked) == ["Beijing", "Shanghai"]
        assert [event.call.name for event in reporter.events if isinstance(event, ToolFinished)] == ["get_weather"] * 2
        assert result.usage == server.billed
        said = "".join(event.text for event in reporter.events if isinstance(event, TextDelta))
        assert said.endswith(result.answer)
        assert not any(label in said for label in ("Final Answer", "Action", "final_answer"))

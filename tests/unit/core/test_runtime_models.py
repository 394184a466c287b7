"""Models of the runtime: every entry of the configuration is a model of its own, also when two name the same one."""

from __future__ import annotations

from pathlib import Path

from reactagent_tui.core.embed import RecordingReporter
from reactagent_tui.core.react.protocols import Protocols
from reactagent_tui.core.runtime import Options, Runtime

CONFIG = """
provider: deepseek
api_key: sk-planted-key
models:
  quick: {id: deepseek-flash, thinking: false, protocol: text}
  deep: {id: deepseek-flash, thinking: high, protocol: native}
  same: {id: deepseek-flash, thinking: high, protocol: native}
"""


async def test_two_entries_of_one_model_keep_their_own_settings(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    config.chmod(0o600)
    runtime = Runtime.load(RecordingReporter(), Options(config_file=config))
    try:
        quick, deep = runtime.provider("quick"), runtime.provider("deep")
        assert (quick.info.protocol, deep.info.protocol) == ("text", "native")
        assert quick.info.extra["thinking"] != deep.info.extra["thinking"]
        assert runtime.provider("same") is deep
    finally:
        await runtime.close()


async def test_what_is_learned_of_one_entry_does_not_hold_for_the_other(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    config.chmod(0o600)
    runtime = Runtime.load(RecordingReporter(), Options(config_file=config))
    try:
        protocols = Protocols()
        assert protocols.to_json(runtime.provider("quick").info)
        assert protocols.kind(runtime.provider("quick").info) == "json"
        assert protocols.kind(runtime.provider("deep").info) == "native"
    finally:
        await runtime.close()

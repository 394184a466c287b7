from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.config.loader import VARIABLES, LoadedConfig, Overrides, load_config
from reactagent_tui.core.config.schema import Config
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.paths import Paths

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    folder = tmp_path / "config"
    folder.mkdir()
    return Paths(config=folder, state=tmp_path / "state", cache=tmp_path / "cache")


def load(
    paths: Paths, text: str | bytes | None = None, env: dict[str, str] | None = None, flags: Overrides | None = None
) -> LoadedConfig:
    if text is not None:
        (paths.config / "config.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_config(explicit=None, env=env or {}, paths=paths, flags=flags)


def fault(paths: Paths, text: str | bytes, env: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load(paths, text, env)
    return str(caught.value).replace(str(paths.config / "config.yaml"), "FILE")


def test_nothing_set_is_all_defaults(paths: Paths) -> None:
    loaded = load(paths)
    assert loaded.config == Config()
    assert loaded.files == ()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.config.limits.max_steps == 10_000
    assert loaded.config.limits.loop_window == 3


def test_the_order_is_flags_environment_file_defaults(paths: Paths) -> None:
    text = "model: from-file\npermissions: {mode: edits}\nui:\n  language: zh\n  theme: paper\nlimits: {max_steps: 7}\n"
    env = {"REACTAGENT_MODEL": "from-env", "REACTAGENT_MODE": "plan", "REACTAGENT_THEME": "ink"}
    loaded = load(paths, text, env, Overrides(model="from-flag", max_usd=Decimal("1.5"), timeout=30))
    config = loaded.config
    assert (config.model, config.permissions.mode, config.ui.language, config.ui.theme) == (
        "from-flag",
        "plan",
        "zh",
        "ink",
    )
    assert (config.limits.max_steps, config.limits.max_usd, config.limits.timeout) == (7, Decimal("1.5"), 30)
    file = paths.config / "config.yaml"
    assert loaded.origin("model") == "--model"
    assert loaded.origin("permissions.mode") == "env REACTAGENT_MODE"
    assert loaded.origin("ui.language") == f"{file}:4"
    assert loaded.origin("limits.max_usd") == "--max-usd"
    assert loaded.origin("limits.loop_window") == "default"
    assert loaded.files == (file,)


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_reaches_its_key(paths: Paths, name: str) -> None:
    switches = ("REACTAGENT_MEMORY", "REACTAGENT_DATE_AND_GIT")
    special = {"REACTAGENT_MODE": "plan", "REACTAGENT_LANGUAGE": "zh"} | dict.fromkeys(switches, "off")
    value = special.get(name, "value")
    loaded = load(paths, env={name: value})
    assert [key for key, origin in loaded.origins.items() if origin == f"env {name}"] == [".".join(VARIABLES[name])]  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["off", "false", "no", '"off"', "Off"])
def test_memory_is_switched_off_by_one_word(paths: Paths, word: str) -> None:
    assert not load(paths, f"memory: {word}\n").config.memory.enabled
    assert not load(paths, f"memory: {{enabled: {word}, auto: true}}\n").config.memory.enabled
    loaded = load(paths, f"memory: {word}\n", {"REACTAGENT_MEMORY": "on"})
    assert (loaded.config.memory.enabled, loaded.origin("memory.enabled")) == (True, "env REACTAGENT_MEMORY")


def test_memory_off_for_one_run_leaves_the_rest_of_its_section(paths: Paths) -> None:
    memory = load(paths, "memory: {recall: 3, embeddings: off}\n", {"REACTAGENT_MEMORY": "off"}).config.memory
    assert (memory.enabled, memory.recall, memory.embeddings) == (False, 3, "off")
    for word in ("on", "true"):
        assert load(paths, f"memory: {word}\n").config.memory.enabled


@pytest.mark.parametrize("text", ["memory: off", "memory: {enabled: false}", "cost: {budget: 0}", "checkpoints: false"])
def test_a_folder_cannot_switch_off_what_is_the_users_own(paths: Paths, tmp_path: Path, text: str) -> None:
    file = tmp_path / "folder.yaml"
    file.write_text(text + "\n")
    with pytest.raises(ConfigError, match="cannot be set by a folder"):
        load_config(explicit=None, env={}, paths=paths, project=file)
    file.write_text("limits:\nskills: {}\nmemory:\n")  # nothing under it
    assert load_config(explicit=None, env={}, paths=paths, project=file).config == Config()


def test_allow_rules_of_the_command_line_follow_those_of_the_file(paths: Paths) -> None:
    loaded = load(paths, "permissions: {allow: [a]}", flags=Overrides(allow=("b", "c")))
    assert loaded.config.permissions.allow == ("a", "b", "c")
    assert loaded.origin("permissions.allow") == "--allow"


@pytest.mark.parametrize("lower", ["provider: deepseek", "api_base: https://api.deepseek.com", f"api_key: {KEY}"])
def test_another_provider_takes_no_key_from_below(paths: Paths, lower: str) -> None:
    text = f"model: old\n{lower}\n" + ("" if "api_key" in lower else f"api_key: {KEY}\n")
    config = load(paths, text, {"REACTAGENT_PROVIDER": "openai"}).config
    assert (config.provider, config.api_key, config.api_base, config.model) == ("openai", None, None, None)
    same = load(paths, text, {}, Overrides(model="new")).config
    assert same.api_key is not None
    assert same.model == "new"


def test_variables_are_filled_in(paths: Paths) -> None:
    text = 'api_key: ${K}\nmodel: "${M:-fallback}-x"\napi_base: ${E:-http://h}\nlimits:\n  max_steps: ${N:-12}\n'
    config = load(paths, text, {"K": KEY, "E": ""}).config
    assert config.api_key is not None
    assert config.api_key.get_secret_value() == KEY
    assert (config.model, config.api_base, config.limits.max_steps) == ("fallback-x", "http://h", 12)
    rules = load(paths, 'permissions: {allow: ["Bash(echo $HOME $${X} $$)"]}').config.permissions.allow
    assert rules == ("Bash(echo $HOME ${X} $)",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\n\napi_key: ${NOPE}\n", "FILE:3: `api_key`: the variable NOPE is not set"),
        ("permissions:\n  allow:\n    - a\n    - ${NOPE}\n", "FILE:4: `permissions.allow[1]`: the variable NOPE"),
        ("model: ${1X}\n", "FILE:1: `model`: ${1X} is not ${NAME}"),
        ("modle: x\n", "FILE:1: unknown key `modle`; did you mean `model`?"),
        ("limits:\n  max_step: 3\n", "FILE:2: unknown key `limits.max_step`; did you mean `limits.max_steps`?"),
        ("max_usd: 3\n", "FILE:1: unknown key `max_usd`; did you mean `limits.max_usd`?"),
        ("maxsteps: 3\n", "did you mean `limits.max_steps`?"),
        ("tools: {qqq: 3}\n", "unknown key `tools.qqq`; known here: shell_timeout"),
        (
            "providers:\n  a:\n    timeouts:\n      conect: 3\n",
            "FILE:4: unknown key `providers.a.timeouts.conect`",
        ),
        ("models: {m: {price: {inputs: 1, output: 2}}}\n", "did you mean `models.m.price.input`?"),
        ("model: a\n\nmodel: b\n", "FILE:3: `model` is already set in line 1"),
        ("ui:\n  theme: a\n  theme: b\n", "FILE:3: `ui.theme` is already set in line 2"),
        ("ui: {language: fr}\n", "FILE:1: `ui.language` must be 'auto', 'en' or 'zh', not 'fr'"),
        ("limits: {max_steps: many}\n", "`limits.max_steps` must be a valid integer, not 'many'"),
        ("limits: {max_usd: -1}\n", "`limits.max_usd` must be greater than 0, not -1"),
        ("limits: {loop_window: 1}\n", "`limits.loop_window` must be greater than or equal to 2"),
        ("permissions: {allow: Bash}\n", "`permissions.allow` must be a list"),
        ("ui: 3\n", "`ui` must hold `key: value` lines"),
        ('pricing:\n  "gpt-4.1": {output: 2}\n', 'FILE:2: `pricing."gpt-4.1".input` is missing'),
        (
            "pricing: {a: {input: 1, output: 2, windows: [{start: '25:00', end: '1', input: 1, output: 1}]}}\n",
            "windows[0]",
        ),
        ("- a\n", "FILE:1: expected `key: value` lines, found a list"),
        ("just words\n", "FILE:1: expected `key: value` lines, found only a str"),
        ("a: [1\nb: 2\n", "FILE:2: this is not valid YAML"),
        ("limits: {max_steps: ${N}}\n", 'quote variables: "${NAME}"'),
        ("limits:\n\tmax_steps: 3\n", "FILE:2: this is not valid YAML"),
        ("a: 1\n---\nb: 2\n", "this is not valid YAML"),
        ("a: !!python/object:os.system x\n", "this is not valid YAML"),
        ("a: &a [*a]\n", "this is not valid YAML|nested too deeply|more than"),
        ("model: 2026-13-45\n", "FILE:1: `model`: month must be"),
        ("? [a]\n: 1\n", "FILE:1: a key must be a plain word"),
        (b"model: a\nui: \xff\n", "FILE:2: byte 0xff is not UTF-8"),
        ("model: a".encode("utf-16"), "FILE: the file is UTF-16"),
    ],
)
def test_a_fault_is_named_with_file_line_and_nearest_key(paths: Paths, text: str | bytes, says: str) -> None:
    found = fault(paths, text)
    assert any(part in found for part in says.split("|")), found


def test_all_faults_are_told_from_the_top_down(paths: Paths) -> None:
    found = fault(paths, "zzz: 1\nlimits:\n  max_steps: x\nui:\n  density: wide\n").splitlines()
    assert [line.split(" ")[0] for line in found] == ["FILE:1:", "FILE:3:", "FILE:5:"]


def test_faults_of_flags_and_variables_name_them(paths: Paths) -> None:
    with pytest.raises(ConfigError, match=r"^env REACTAGENT_MODE: `permissions.mode` must be"):
        load(paths, "permissions: {mode: ask}", {"REACTAGENT_MODE": "yolo"})
    with pytest.raises(ConfigError, match=r"^--max-steps: `limits.max_steps` must be greater than 0"):
        load(paths, flags=Overrides(max_steps=0))


def test_no_fault_shows_a_key(paths: Paths) -> None:
    text = f"api_key: [{KEY}]\nproviders: {{a: {{api_key: {{x: {KEY}}}, headers: {{X: [{KEY}]}}}}}}\n"
    assert KEY not in fault(paths, text)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_mark_and_line_ends_do_not_matter(paths: Paths, mark: bytes, end: str) -> None:
    text = mark + end.join(["model: 模型", "ui:", "  theme: ink", ""]).encode()
    loaded = load(paths, text)
    assert (loaded.config.model, loaded.config.ui.theme) == ("模型", "ink")
    assert loaded.origin("ui.theme").endswith(":3")


@pytest.mark.parametrize(
    "text", ["", "# only words\n", "---\n", "null\n", "limits:\nui:\nmodels:\npricing:\nproviders:\n"]
)
def test_empty_files_and_sections_are_no_error(paths: Paths, text: str) -> None:
    assert load(paths, text).config == Config()


def test_an_entry_with_nothing_under_it_exists(paths: Paths) -> None:
    assert list(load(paths, "models:\n  gpt-5.2:\n").config.models) == ["gpt-5.2"]


def test_named_files_must_exist(paths: Paths, tmp_path: Path) -> None:
    missing = tmp_path / "nope.yaml"
    with pytest.raises(ConfigError, match="no such file"):
        load_config(explicit=missing, env={}, paths=paths)
    with pytest.raises(ConfigError, match=r"no such file \(named by REACTAGENT_CONFIG\)"):
        load_config(explicit=None, env={"REACTAGENT_CONFIG": str(missing)}, paths=paths)
    with pytest.raises(ConfigError, match="not a regular file"):
        load_config(explicit=tmp_path, env={}, paths=paths)


def test_a_named_file_replaces_the_usual_one(paths: Paths, tmp_path: Path) -> None:
    (paths.config / "config.yaml").write_text("model: usual\n")
    named, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    named.write_text("model: named\n")
    other.write_text("model: other\n")
    env = {"REACTAGENT_CONFIG": str(other)}
    assert load_config(explicit=None, env=env, paths=paths).config.model == "other"
    assert load_config(explicit=named, env=env, paths=paths).config.model == "named"


def test_a_stray_config_in_the_working_folder_is_not_read(paths: Paths, clean_place: Path) -> None:
    (clean_place / "config.yaml").write_text("nonsense: 1\n")
    assert load(paths).files == ()


def test_prices_beside_the_file_lie_below_it(paths: Paths) -> None:
    (paths.config / "pricing.json").write_text(
        '{\n\t"a": {"input": 0.1, "output": 1e-6},\n\t"b": {"input": 2, "output": 2, "per": 1e6}\n}'
    )
    loaded = load(paths, "pricing:\n  b: {input: 3}\n")
    assert loaded.config.pricing["a"].input == Decimal("0.1")
    assert loaded.config.pricing["a"].output == Decimal("0.000001")
    assert (loaded.config.pricing["b"].input, loaded.config.pricing["b"].output) == (3, 2)
    assert loaded.origin("pricing.b.input").endswith("config.yaml:2")
    assert loaded.origin("pricing.b.output").endswith("pricing.json:3")
    assert list(load(paths, "pricing:\n").config.pricing) == ["a", "b"]
    (paths.config / "pricing.json").write_text('{"a": {"inputt": 1, "output": 1}}')
    with pytest.raises(ConfigError, match=r"pricing.json:1: unknown key `pricing.a.inputt`; did you mean"):
        load(paths)


def test_show_masks_keys_headers_and_logins(paths: Paths) -> None:
    text = (
        f"api_key: {KEY}\nproviders:\n  a:\n    api_key: {KEY}\n    headers: {{X-Token: {KEY}}}\n"
        f"    api_base: https://me:{KEY}@h/v1\n    extra: {{auth_token: x1y2z3, user: me}}\n"
    )
    loaded = load(paths, text)
    shown = loaded.masked()
    text = "\n".join(f"{line.key} = {line.value}  ({line.origin})" for line in shown) + repr(loaded)
    assert KEY not in text
    values = {line.key: line.value for line in shown}
    assert values["api_key"] == values["providers.a.api_key"] == values["providers.a.headers.X-Token"] == "********"
    assert values["providers.a.api_base"] == "https://********@h/v1"
    assert (values["providers.a.extra.auth_token"], values["providers.a.extra.user"]) == ("********", "me")
    assert (values["model"], values["ui.reduced_motion"], values["permissions.allow"]) == ("not set", "false", "[]")


def test_a_readable_key_is_warned_about(paths: Paths) -> None:
    file = paths.config / "config.yaml"
    file.write_text(f"model: m\napi_key: {KEY}\n")
    file.chmod(0o644)
    warnings = load(paths).warnings
    assert len(warnings) == 1
    assert f"{file}:2" in warnings[0]
    assert KEY not in warnings[0]
    file.chmod(0o600)
    assert load(paths).warnings == ()
    file.write_text("api_key: ${K}\n")
    file.chmod(0o644)
    assert load(paths, env={"K": KEY}).warnings == ()


def test_a_bomb_of_aliases_is_refused(paths: Paths) -> None:
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    text += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    assert "more than 50,000 values" in fault(paths, text)


def load_or_fault(folder: Path) -> LoadedConfig | str:
    try:
        return load_config(explicit=None, env={}, paths=Paths(folder, folder, folder))
    except ConfigError as error:
        return str(error)


yaml_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
sections = st.sampled_from([*Config.model_fields, "other"])


@settings(max_examples=120, deadline=None)
@given(data=st.dictionaries(sections, yaml_like, max_size=4))
def test_whatever_stands_in_the_file_is_loaded_or_a_config_error(tmp_path_factory: Any, data: dict[str, Any]) -> None:
    import yaml

    folder = tmp_path_factory.mktemp("any")
    (folder / "config.yaml").write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    loaded = load_or_fault(folder)
    assert loaded.masked() if isinstance(loaded, LoadedConfig) else str(folder) in loaded


@settings(max_examples=60, deadline=None)
@given(raw=st.binary(max_size=60))
def test_any_bytes_are_loaded_or_a_config_error(tmp_path_factory: Any, raw: bytes) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "config.yaml").write_bytes(raw)
    loaded = load_or_fault(folder)
    assert isinstance(loaded, LoadedConfig) or str(folder) in loaded


def test_config_package_loads_nothing_by_itself() -> None:
    code = "import sys, reactagent_tui.core.config; print([m for m in ('pydantic', 'yaml') if m in sys.modules])"
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.strip() == "[]"

"""The table of providers: address, key variables, default model and the quirks of the wire, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from reactagent_tui.core.llm.base import WireRules

OPENAI_CHAT = "openai-chat"
ANTHROPIC = "anthropic"
GEMINI = "gemini"
OPENAI_RESPONSES = "openai-responses"
APIS = (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI)
"""What a provider may speak; third parties add their own."""
DEMO = "demo"

ThinkingStyle = Literal["none", "type", "enable", "effort", "reasoning", "template", "claude"]

PLAIN_RULES = WireRules()
_REPLAYS = WireRules(reasoning_replay="tool_turns", reasoning_field="reasoning_content")
_MOONSHOT = replace(
    _REPLAYS,
    empty_content="omit",
    id_pattern=r"[^\s]{1,128}",
    max_tokens_field="max_completion_tokens",
    unsupported=("temperature", "top_p"),
    typed_schemas=True,
)
_PARALLEL = WireRules(parallel_calls=True)
_SELF_HOSTED = WireRules(reasoning_replay="tool_turns")


@dataclass(frozen=True, slots=True)
class Preset:
    """One provider."""

    name: str
    title: str
    api_base: str
    key_variables: tuple[str, ...] = ()
    """Looked up in this order; empty: the server needs no key."""
    base_variables: tuple[str, ...] = ()
    model_variables: tuple[str, ...] = ()
    default_model: str | None = None
    hosts: tuple[str, ...] = ()
    """Host names (and their sub-domains) that are this provider under another name."""
    port: int | None = None
    """Usual port of a local server."""
    api: str = OPENAI_CHAT
    rules: WireRules = PLAIN_RULES
    local: bool = False
    price_provider: str | None = None
    models: tuple[str, ...] = ()
    """Globs of the models that this provider makes."""
    slash_ids: bool = False
    """Model names contain slashes (`openai/gpt-oss-120b`)."""
    thinking: ThinkingStyle = "none"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    aliases: tuple[str, ...] = ()
    moved_by: str = ""
    """Variable with which other tools move this provider's key to another server, over an API we do not speak yet."""
    dummy_key: str = ""
    """Sent when there is none: some local servers want any word."""


PRESETS: tuple[Preset, ...] = (
    Preset(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        ("OPENAI_MODEL",),
        "gpt-5.2",
        hosts=("api.openai.com",),
        rules=WireRules(max_tokens_field="max_completion_tokens"),
        price_provider="openai",
        models=("gpt-[0-9]*", "chatgpt-*", "o[1-9]", "o[1-9]-*"),
        thinking="effort",
    ),
    Preset(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        ("ANTHROPIC_BASE_URL",),
        ("ANTHROPIC_MODEL",),
        "claude-sonnet-4-5",
        hosts=("api.anthropic.com",),
        rules=WireRules(id_pattern=r"[A-Za-z0-9_-]{1,64}"),
        price_provider="anthropic",
        models=("claude-*",),
        api=ANTHROPIC,
        thinking="claude",
        aliases=("claude",),
    ),
    Preset(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
        (),
        ("GEMINI_MODEL",),
        "gemini-2.5-flash",
        hosts=("generativelanguage.googleapis.com",),
        price_provider="google",
        models=("gemini-*", "gemma-*"),
        api=GEMINI,
        thinking="effort",
        aliases=("google",),
    ),
    Preset(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        ("DEEPSEEK_API_KEY",),
        ("DEEPSEEK_BASE_URL", "DEEPSEEK_API_BASE"),
        ("DEEPSEEK_MODEL",),
        "deepseek-flash",
        hosts=("api.deepseek.com",),
        rules=_REPLAYS,
        price_provider="deepseek",
        models=("deepseek-*",),
        thinking="type",
    ),
    Preset(
        "qwen",
        "Qwen (DashScope)",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_API_KEY", "QWEN_API_KEY"),
        ("DASHSCOPE_BASE_URL",),
        (),
        "qwen-plus",
        hosts=("dashscope.aliyuncs.com",),
        rules=_PARALLEL,
        models=("qwen*", "qwq-*"),
        thinking="enable",
        aliases=("dashscope", "alibaba", "aliyun"),
    ),
    Preset(
        "qwen-intl",
        "Qwen (DashScope international)",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_INTL_API_KEY", "DASHSCOPE_API_KEY"),
        default_model="qwen-plus",
        hosts=("dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"),
        rules=_PARALLEL,
        thinking="enable",
        aliases=("dashscope-intl",),
    ),
    Preset(
        "moonshot",
        "Moonshot Kimi",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY", "KIMI_API_KEY"),
        ("MOONSHOT_BASE_URL", "KIMI_BASE_URL"),
        ("KIMI_MODEL_NAME",),
        "kimi-k2.6",
        hosts=("api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"),
        rules=_MOONSHOT,
        price_provider="moonshotai",
        models=("kimi-*", "moonshot-*"),
        thinking="type",
        aliases=("kimi",),
    ),
    Preset(
        "moonshot-cn",
        "Moonshot Kimi (api.moonshot.cn)",
        "https://api.moonshot.cn/v1",
        ("MOONSHOT_CN_API_KEY", "MOONSHOT_API_KEY"),
        default_model="kimi-k2.6",
        rules=_MOONSHOT,
        price_provider="moonshotai",
        thinking="type",
        aliases=("kimi-cn",),
    ),
    Preset(
        "zai",
        "Z.ai GLM",
        "https://api.z.ai/api/paas/v4",
        ("ZAI_API_KEY", "Z_AI_API_KEY"),
        ("ZAI_BASE_URL",),
        (),
        "glm-4.7",
        hosts=("api.z.ai",),
        rules=replace(_REPLAYS, tool_stream=True),
        price_provider="zai",
        models=("glm-*",),
        thinking="type",
    ),
    Preset(
        "glm",
        "GLM (open.bigmodel.cn)",
        "https://open.bigmodel.cn/api/paas/v4",
        ("ZHIPUAI_API_KEY", "ZHIPU_API_KEY", "BIGMODEL_API_KEY"),
        default_model="glm-4.7",
        hosts=("open.bigmodel.cn",),
        rules=replace(_REPLAYS, tool_stream=True),
        price_provider="zhipuai",
        thinking="type",
        aliases=("zhipu", "zhipuai", "bigmodel"),
    ),
    Preset(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        ("MISTRAL_BASE_URL",),
        (),
        "mistral-large-latest",
        hosts=("api.mistral.ai",),
        rules=WireRules(id_pattern=r"[A-Za-z0-9]{9}", usage_in_stream=False, assistant_after_tool=True),
        price_provider="mistral",
        models=("mistral-*", "magistral-*", "ministral-*", "codestral-*", "devstral-*"),
    ),
    Preset(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        ("GROQ_BASE_URL",),
        (),
        "openai/gpt-oss-120b",
        hosts=("api.groq.com",),
        rules=WireRules(max_tokens_field="max_completion_tokens"),
        price_provider="groq",
        slash_ids=True,
        thinking="effort",
    ),
    Preset(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        ("XAI_API_KEY",),
        ("XAI_BASE_URL",),
        (),
        "grok-4",
        hosts=("api.x.ai",),
        rules=WireRules(unsupported=("stop", "presence_penalty", "frequency_penalty")),
        price_provider="x-ai",
        models=("grok-*",),
        aliases=("x-ai", "grok"),
    ),
    Preset(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        ("OPENROUTER_BASE_URL",),
        ("OPENROUTER_MODEL",),
        "openrouter/auto",
        hosts=("openrouter.ai",),
        rules=WireRules(
            reasoning_replay="always",
            # Gemini pays for each new mark as for the whole prompt: only what never changes is worth one
            cache_marks=(("anthropic/*", "moving"), ("google/gemini*", "system")),
        ),
        price_provider="openrouter",
        slash_ids=True,
        thinking="reasoning",
        headers={"X-Title": "ReactAgent TUI"},
    ),
    Preset(
        "ollama",
        "Ollama",
        "http://localhost:11434/v1",
        base_variables=("OLLAMA_BASE_URL",),
        port=11434,
        rules=WireRules(reasoning_replay="tool_turns", reasoning_field="reasoning"),
        local=True,
        slash_ids=True,
        thinking="effort",
        dummy_key="ollama",
    ),
    Preset(
        "llamacpp",
        "llama.cpp",
        "http://localhost:8080/v1",
        base_variables=("LLAMACPP_BASE_URL",),
        port=8080,
        rules=replace(_SELF_HOSTED, prompt_progress=True),
        local=True,
        slash_ids=True,
        thinking="template",
        aliases=("llama.cpp", "llama-cpp"),
    ),
    Preset(
        "vllm",
        "vLLM",
        "http://localhost:8000/v1",
        base_variables=("VLLM_BASE_URL",),
        port=8000,
        rules=_SELF_HOSTED,
        local=True,
        slash_ids=True,
        thinking="template",
    ),
    Preset(
        "lmstudio",
        "LM Studio",
        "http://localhost:1234/v1",
        base_variables=("LMSTUDIO_BASE_URL",),
        port=1234,
        rules=_SELF_HOSTED,
        local=True,
        slash_ids=True,
        aliases=("lm-studio",),
    ),
    Preset(
        "sglang",
        "SGLang",
        "http://localhost:30000/v1",
        base_variables=("SGLANG_BASE_URL",),
        port=30000,
        rules=_SELF_HOSTED,
        local=True,
        slash_ids=True,
        thinking="template",
    ),
    Preset(DEMO, "Demo (no network, no cost)", "", default_model=DEMO, api=DEMO, local=True),
)
"""In the order in which a key in the environment is taken when nothing names a provider."""

CUSTOM = Preset("custom", "OpenAI-compatible server", "", slash_ids=True)
"""An address that belongs to no known provider."""

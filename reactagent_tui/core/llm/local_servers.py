"""Model servers on this machine: which of the usual ones answer, what they serve, how large their windows are.

Only loopback is asked, and only what answers like a model server is taken for one: other programs like the ports
8000 and 8080 as well.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit, urlunsplit

from reactagent_tui.core.errors import ProviderError
from reactagent_tui.core.llm.catalog import is_loopback
from reactagent_tui.core.llm.presets import PRESETS

if TYPE_CHECKING:
    from reactagent_tui.core.llm.http import Fetched, HttpPool

DISCOVERY_VARIABLE = "REACTAGENT_DISCOVERY"
_OFF = ("off", "0", "false", "no")
_MOST_MODELS = 200
_LONGEST_NAME = 200
_NOT_CHAT = ("embed", "rerank", "bge-", "minilm", "whisper", "clip-", "tts")

Kind = Literal["ollama", "llamacpp", "lmstudio", "vllm", "sglang"]
_KIND_OF_OWNER: Mapping[str, Kind] = {
    "library": "ollama",
    "llamacpp": "llamacpp",
    "organization_owner": "lmstudio",
    "vllm": "vllm",
    "sglang": "sglang",
}
"""What these servers say under `owned_by` in their lists of models."""
Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LocalModel:
    """One model of a server."""

    name: str
    window: int | None = None
    """Tokens that the server gives it; None: not told, or not before the model is loaded."""
    told_by: str = ""
    """The path that told the window: `/api/ps`."""
    most: int | None = None
    """Tokens that the model itself was made for; the server may give it less."""
    is_loaded: bool = False
    kind: Kind | None = None
    """The program that serves it, when it says so."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that answered."""

    name: str
    """Its preset."""
    title: str
    base: str
    models: tuple[LocalModel, ...] = ()


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds to wait for a server of this machine."""

    connect: float = 0.1
    answer: float = 0.18


IMPATIENT = Patience()


def discovery_allowed(setting: bool, env: Mapping[str, str]) -> bool:
    """May servers of this machine be looked for: by `local_servers:` and the variable REACTAGENT_DISCOVERY."""
    return setting and env.get(DISCOVERY_VARIABLE, "").strip().lower() not in _OFF


def patience_of(env: Mapping[str, str]) -> Patience:
    """How long to wait: REACTAGENT_DISCOVERY may be a number of seconds, for slow machines."""
    try:
        seconds = float(env.get(DISCOVERY_VARIABLE, ""))
    except ValueError:
        return IMPATIENT
    return Patience(seconds, seconds) if 0 < seconds <= 60 else IMPATIENT


def usual_addresses(env: Mapping[str, str]) -> dict[str, str]:
    """Preset -> address on this machine: the usual port, or what the preset's variable says."""
    found: dict[str, str] = {}
    for preset in PRESETS:
        if preset.port is None:
            continue
        base = next((env[name].strip() for name in preset.base_variables if env.get(name, "").strip()), preset.api_base)
        base = base if "://" in base else f"http://{base}"
        try:
            near = is_loopback((urlsplit(base).hostname or "").lower())
        except ValueError:
            continue
        if near:
            found[preset.name] = base
    return found


async def find_servers(
    http: HttpPool, addresses: Mapping[str, str], patience: Patience = IMPATIENT
) -> tuple[LocalServer, ...]:
    """The model servers at these addresses, asked all at once, in the order given. Never raises for what they do."""
    is_open = await asyncio.gather(*(_is_open(base, patience.connect) for base in addresses.values()))
    if not any(is_open):
        return ()
    http.ready()
    waiting = [
        _server(http, name, base, patience)
        for (name, base), open_ in zip(addresses.items(), is_open, strict=True)
        if open_
    ]
    found = await asyncio.gather(*waiting)
    return tuple(server for server in found if server is not None)


async def with_windows(
    http: HttpPool, servers: Iterable[LocalServer], patience: Patience = IMPATIENT
) -> tuple[LocalServer, ...]:
    """The servers with the window of every model, as far as they tell."""

    async def asked(server: LocalServer) -> LocalServer:
        windows = [_with_window(http, server.base, model, {}, patience) for model in server.models]
        return replace(server, models=tuple(await asyncio.gather(*windows)))

    return tuple(await asyncio.gather(*(asked(server) for server in servers)))


async def served_model(
    http: HttpPool, base: str, name: str, headers: Mapping[str, str], patience: Patience = IMPATIENT
) -> LocalModel | None:
    """What the server at `base` says of one of its models; None when it does not know it or says nothing."""
    listed = await models_at(http, base, headers, patience)
    if listed is None:
        return None
    wanted = (name, f"{name}:latest")
    model = next((model for model in listed if model.name in wanted), None)
    if model is None and len(listed) == 1:
        model = replace(listed[0], name=name)  # llama.cpp serves its one model under any name
    return None if model is None else await _with_window(http, base, model, headers, patience)


async def models_at(
    http: HttpPool, base: str, headers: Mapping[str, str], patience: Patience
) -> list[LocalModel] | None:
    """The list of models that a server gives; None when what answers is no model server."""
    data = await _get(http, f"{root_of(base)}/v1/models", headers, patience)
    if data is None or "data" not in data:
        return None
    rows = data["data"]
    if rows is None and data.get("object") == "list":
        return []  # Ollama without a model
    if not isinstance(rows, list):
        return None
    models = [_model(row) for row in cast("list[object]", rows)[:_MOST_MODELS]]
    if data.get("object") != "list" and not (models and all(models)):
        return None
    return [model for model in models if model is not None]


def chat_models(servers: Sequence[LocalServer]) -> list[tuple[LocalServer, LocalModel]]:
    """The models that talk, those that are loaded first, else in the order of the servers."""
    pairs = [
        (server, model)
        for server in servers
        for model in server.models
        if not any(word in model.name.lower() for word in _NOT_CHAT)
    ]
    return sorted(pairs, key=lambda pair: not pair[1].is_loaded)


def root_of(base: str) -> str:
    """The address of the server itself, without `/v1` and what may follow it."""
    parts = urlsplit(base)
    path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/").removesuffix("/v1").rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


# Asking


async def _is_open(base: str, seconds: float) -> bool:
    """Does anything listen there? Spares building a client for nobody."""
    parts = urlsplit(base)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except (OSError, TimeoutError, ValueError):
        return False
    writer.close()
    return True


async def _server(http: HttpPool, name: str, base: str, patience: Patience) -> LocalServer | None:
    listed = await models_at(http, base, {}, patience)
    if listed is None:
        return None
    if name == "ollama" and listed:
        loaded = await _ollama_loaded(http, root_of(base), {}, patience)
        listed = [replace(model, is_loaded=model.name in loaded) for model in listed]
    preset = next(preset for preset in PRESETS if preset.name == name)
    return LocalServer(name, preset.title, base, tuple(listed))


def _model(row: object) -> LocalModel | None:
    fields = _fields(row)
    name = fields.get("id")
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME:
        return None
    window = _tokens(fields.get("max_model_len"))
    return LocalModel(
        name,
        window,
        "/v1/models" if window else "",
        _tokens(_fields(fields.get("meta")).get("n_ctx_train")),
        kind=_KIND_OF_OWNER.get(str(fields.get("owned_by"))),
    )


async def _with_window(
    http: HttpPool, base: str, model: LocalModel, headers: Mapping[str, str], patience: Patience
) -> LocalModel:
    """The model with its window, asked in the way of its server; an unknown one is asked in every way."""
    if model.window is not None or model.kind in ("vllm", "sglang"):
        return model
    root = root_of(base)
    ways = {"ollama": _of_ollama, "llamacpp": _of_llamacpp, "lmstudio": _of_lmstudio}
    chosen = [ask for kind, ask in ways.items() if model.kind in (None, kind)]
    answers = await asyncio.gather(*(ask(http, root, model, headers, patience) for ask in chosen))
    told = next((answer for answer in answers if answer.window is not None), None)
    return told or next((answer for answer in answers if answer != model), model)


async def _of_llamacpp(
    http: HttpPool, root: str, model: LocalModel, headers: Mapping[str, str], patience: Patience
) -> LocalModel:
    props = await _get(http, f"{root}/props", headers, patience) or {}
    window = _tokens(_fields(props.get("default_generation_settings")).get("n_ctx"))
    return model if window is None else replace(model, window=window, told_by="/props", is_loaded=True)


async def _of_ollama(
    http: HttpPool, root: str, model: LocalModel, headers: Mapping[str, str], patience: Patience
) -> LocalModel:
    """A loaded model has a window; before that only a `num_ctx` of its own says what it will get."""
    loaded, shown = await asyncio.gather(
        _ollama_loaded(http, root, headers, patience),
        _post(http, f"{root}/api/show", {"model": model.name}, headers, patience),
    )
    if shown is not None:
        sizes = [value for key, value in _fields(shown.get("model_info")).items() if key.endswith(".context_length")]
        model = replace(model, most=_tokens(sizes[0]) if sizes else None)
    for name in (model.name, f"{model.name}:latest"):
        if name in loaded:
            window = loaded[name]
            model = replace(model, is_loaded=True)
            return model if window is None else replace(model, window=window, told_by="/api/ps")
    window = _num_ctx(str((shown or {}).get("parameters") or ""))
    if window is None:
        return model
    return replace(model, window=min(window, model.most or window), told_by="/api/show")


async def _ollama_loaded(
    http: HttpPool, root: str, headers: Mapping[str, str], patience: Patience
) -> dict[str, int | None]:
    """Name -> window of what is loaded now."""
    data = await _get(http, f"{root}/api/ps", headers, patience) or {}
    rows = data.get("models")
    found: dict[str, int | None] = {}
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        fields = _fields(row)
        found[str(fields.get("name") or fields.get("model"))] = _tokens(fields.get("context_length"))
    return found


def _num_ctx(parameters: str) -> int | None:
    """`num_ctx` of a Modelfile, as /api/show prints its parameters: one a line."""
    for line in parameters.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "num_ctx" and words[1].isdecimal():
            return int(words[1]) or None
    return None


async def _of_lmstudio(
    http: HttpPool, root: str, model: LocalModel, headers: Mapping[str, str], patience: Patience
) -> LocalModel:
    data = await _get(http, f"{root}/api/v0/models", headers, patience) or {}
    rows = data.get("data")
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        fields = _fields(row)
        if fields.get("id") != model.name:
            continue
        window = _tokens(fields.get("loaded_context_length"))
        return replace(
            model,
            window=window,
            told_by="/api/v0/models" if window else "",
            most=_tokens(fields.get("max_context_length")),
            is_loaded=fields.get("state") == "loaded",
        )
    return model


async def _get(http: HttpPool, url: str, headers: Mapping[str, str], patience: Patience) -> Json | None:
    try:
        return _document(await http.get(url, headers=headers, seconds=patience.answer))
    except ProviderError:
        return None


async def _post(http: HttpPool, url: str, body: Json, headers: Mapping[str, str], patience: Patience) -> Json | None:
    try:
        raw = json.dumps(body).encode()
        return _document(await http.post(url, body=raw, headers=headers, seconds=patience.answer))
    except ProviderError:
        return None


def _document(fetched: Fetched) -> Json | None:
    """The JSON object of a good answer."""
    if fetched.status != 200:
        return None
    try:
        value: object = json.loads(fetched.body)
    except (ValueError, RecursionError):
        return None
    return cast("Json", value) if isinstance(value, dict) else None


def _fields(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _tokens(value: object) -> int | None:
    """A believable window."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 < value <= 100_000_000 else None

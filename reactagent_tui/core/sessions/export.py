"""A session as a document: Markdown, HTML or JSON. Pure; every text is redacted first, as in the logs.

HTML holds no script, loads nothing and escapes every character that came from anywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from reactagent_tui.core.display import clean
from reactagent_tui.core.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.sessions.forking import record_of
from reactagent_tui.core.sessions.store import SessionFile

Format = Literal["md", "html", "json"]
FORMATS: tuple[Format, ...] = ("md", "html", "json")
Kind = Literal["user", "note", "answer", "thinking", "call", "result"]
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_SHOWN_ORIGINS = ("user", "steer", "follow_up", "skill")
_STYLE = """
:root{color-scheme:light dark;--text:#1f2328;--dim:#656d76;--back:#fff;--tint:#f3f4f6;--user:#0969da;--bad:#b42318}
@media(prefers-color-scheme:dark){:root{--text:#d6dae0;--dim:#8b949e;--back:#111418;--tint:#1b2027;--user:#79b8ff;--bad:#ff8f85}}
body{margin:0 auto;max-width:54rem;padding:2rem 1.25rem;background:var(--back);color:var(--text);
font:15px/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.3rem;margin:0 0 .3rem}.facts{color:var(--dim);margin:0 0 2rem}
section{margin:0 0 1.1rem;padding-left:1rem;border-left:3px solid transparent}
.user{border-color:var(--user)}.text{white-space:pre-wrap;margin:0}
.thinking,.note{color:var(--dim)}.failed summary{color:var(--bad)}
pre{background:var(--tint);border-radius:4px;padding:.6rem .8rem;margin:.4rem 0;overflow-x:auto;white-space:pre-wrap;
font:13px/1.45 ui-monospace,monospace}
summary{cursor:pointer;color:var(--dim)}summary b{color:var(--text)}
""".strip()
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that was said or done."""

    kind: Kind
    text: str
    name: str = ""
    """Of the tool."""
    failed: bool = False


def export(file: SessionFile, wanted: Format, t: Callable[..., str], redact: Callable[[str], str]) -> str:
    """The whole document."""
    match wanted:
        case "json":
            return json.dumps(_redacted(record_of(file), redact), ensure_ascii=False, indent=1) + "\n"
        case "md":
            return _markdown(file, t, redact)
        case "html":
            return _html(file, t, redact)


def pieces(file: SessionFile) -> Iterator[Piece]:
    """The history in order, without what the program said in the user's place."""
    for message in file.messages:
        match message:
            case UserMessage(origin=origin):
                text = message.shown or message.text
                files = "".join(f"\n[{attachment.path}]" for attachment in message.attachments)
                yield Piece("user" if origin in _SHOWN_ORIGINS else "note", text + files)
            case AssistantMessage():
                for part in message.parts:
                    match part:
                        case TextPart():
                            yield Piece("answer", part.text)
                        case ThinkingPart():
                            yield Piece("thinking", part.text)
                        case ToolCall():
                            yield Piece("call", _arguments(part), part.name)
            case ToolResult():
                yield Piece("result", message.text, message.name, message.status != "done")


def _arguments(call: ToolCall) -> str:
    if call.arguments is None:
        return call.arguments_raw
    return json.dumps(dict(call.arguments), ensure_ascii=False, indent=1)


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    match value:
        case str():
            return redact(value)
        case dict():
            return {key: _redacted(inner, redact) for key, inner in value.items()}  # type: ignore[misc]
        case list() | tuple():
            return [_redacted(inner, redact) for inner in value]  # type: ignore[misc]
        case _:
            return value


def _shown(file: SessionFile, redact: Callable[[str], str]) -> Iterator[Piece]:
    for piece in pieces(file):
        text = clean(redact(piece.text))
        if text.strip():
            yield Piece(piece.kind, text, clean(piece.name), piece.failed)


def _facts(file: SessionFile) -> str:
    header = file.header
    return " · ".join(clean(fact) for fact in (header.id, header.created, header.model, header.workdir) if fact)


def _title(file: SessionFile, redact: Callable[[str], str]) -> str:
    return " ".join(clean(redact(file.header.title or file.id)).split())


# -- Markdown ---------------------------------------------------------------------------------


def fenced(text: str, language: str = "") -> str:
    """The text in a fence that nothing inside it can close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def closed(text: str) -> str:
    """Markdown of a model, with the code block closed that it left open."""
    open_fence = ""
    for match in _FENCE.finditer(text):
        fence = match[1]
        if not open_fence:
            open_fence = fence
        elif fence[0] == open_fence[0] and len(fence) >= len(open_fence) and match[0].strip() == fence:
            open_fence = ""
    return f"{text}\n{open_fence}" if open_fence else text


def _markdown(file: SessionFile, t: Callable[..., str], redact: Callable[[str], str]) -> str:
    title = re.sub(r"([\\`*_\[\]<>#])", r"\\\1", _title(file, redact))
    blocks = [f"# {title}", fenced(_facts(file))]
    before = ""
    for piece in _shown(file, redact):
        side = "user" if piece.kind == "user" else "agent"
        if side != before and piece.kind != "note":
            blocks.append(f"## {t('export.user') if side == 'user' else t('export.agent')}")
            before = side
        match piece.kind:
            case "answer":
                blocks.append(closed(piece.text))
            case "user":
                blocks.append(fenced(piece.text, "text"))
            case "thinking" | "note":
                blocks.append("\n".join(f"> {line}".rstrip() for line in piece.text.split("\n")))
            case "call":
                blocks += [f"**{_plain(piece.name)}**", fenced(piece.text, "json")]
            case "result":
                label = t("export.failed") if piece.failed else t("export.result")
                blocks += [f"{label} · {_plain(piece.name)}", fenced(piece.text, "text")]
    return "\n\n".join(blocks) + "\n"


def _plain(name: str) -> str:
    return re.sub(r"[^\w.:-]", " ", name).replace("_", "\\_")


# -- HTML -------------------------------------------------------------------------------------


def _html(file: SessionFile, t: Callable[..., str], redact: Callable[[str], str]) -> str:
    title = escape(_title(file, redact))
    body = "\n".join(_section(piece, t) for piece in _shown(file, redact))
    return (
        "<!doctype html>\n<html><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><h1>{title}</h1>"
        f"<p class='facts'>{escape(_facts(file))}</p>\n{body}\n</body></html>\n"
    )


def _section(piece: Piece, t: Callable[..., str]) -> str:
    text = escape(piece.text)
    match piece.kind:
        case "user" | "note":
            return f"<section class='{piece.kind}'><p class='text'>{text}</p></section>"
        case "answer":
            return f"<section class='answer'>{_with_code(piece.text)}</section>"
        case "thinking":
            return _folded("thinking", escape(t("export.thinking")), f"<p class='text'>{text}</p>")
        case "call":
            return f"<section class='call'><b>{escape(piece.name)}</b><pre>{text}</pre></section>"
        case "result":
            label = t("export.failed") if piece.failed else t("export.result")
            kind = "result failed" if piece.failed else "result"
            return _folded(kind, f"{escape(label)} <b>{escape(piece.name)}</b>", f"<pre>{text}</pre>")


def _folded(kind: str, summary: str, inner: str) -> str:
    return f"<section class='{kind}'><details><summary>{summary}</summary>{inner}</details></section>"


def _with_code(text: str) -> str:
    """An answer as text, its fenced code as code."""
    out: list[str] = []
    held: list[str] = []
    fence = ""

    def flush(tag: str) -> None:
        inner = escape("\n".join(held).strip("\n"))
        if inner.strip():
            out.append(f"<pre>{inner}</pre>" if tag == "pre" else f"<p class='text'>{inner}</p>")
        held.clear()

    for line in text.split("\n"):
        match = _FENCE.fullmatch(line)
        if match and not fence:
            flush("p")
            fence = match[1]
        elif match and match[1][0] == fence[:1] and len(match[1]) >= len(fence) and line.strip() == match[1]:
            flush("pre")
            fence = ""
        else:
            held.append(line)
    flush("pre" if fence else "p")
    return "".join(out)

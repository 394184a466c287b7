"""Sessions of any length as files: prompts, answers, calls and tool output as a working day leaves them behind."""

from __future__ import annotations

import json
import random
from pathlib import Path

from reactagent_tui.core.paths import folder_slug
from reactagent_tui.core.sessions.records import Record, encode

_STEMS = ("time", "clock", "cart", "test", "file", "index", "window", "token", "price", "model", "stream", "cache")
_TAILS = ("", "s", "_id", "er", "ing", "_map", "List", "2", "_at", "Port")
_CHINESE = ("会话", "索引", "搜索", "时钟", "测试", "错误", "修复", "价格", "模型", "缓存")
STAMP = "2026-11-30T10:00:00.000Z"


def vocabulary(seed: int, words: int = 3000) -> list[str]:
    """Words of one project: a few everywhere, most of them rare."""
    dice = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    rare = ["".join(dice.choices(letters, k=dice.randint(4, 10))) for _ in range(words)]
    return [stem + tail for stem in _STEMS for tail in _TAILS] + [*_CHINESE, *rare]


def session_bytes(messages: int, workdir: Path, session_id: str, *, seed: int = 0, needle: str = "") -> bytes:
    """A finished session of about `messages` messages; `needle` stands in the tool output of one in the middle."""
    dice, words = random.Random(seed), vocabulary(seed % 5)
    header = {"id": session_id, "workdir": str(workdir), "created": "2026-11-30T10:00:00Z", "model": "m", "mode": "ask"}
    lines = [encode(Record("header", 1, STAMP, {"header": header}))]

    def add(message: dict[str, object]) -> None:
        lines.append(encode(Record("message", len(lines) + 1, STAMP, {"message": message})))

    def text(low: int, high: int) -> str:
        return " ".join(dice.choices(words, k=dice.randint(low, high)))

    turn = 0
    while len(lines) <= messages - 4:
        add({"role": "user", "text": f"{text(4, 20)}?"})
        for step in range(dice.randint(1, 3)):
            call_id = f"c{turn}-{step}"
            arguments = {"path": f"src/{text(1, 1)}.py"}
            call = {"type": "tool_call", "id": call_id, "name": "read_file", "arguments_raw": json.dumps(arguments)}
            part = {"type": "text", "text": text(3, 25)}
            add({"role": "assistant", "parts": [part, call | {"arguments": arguments}], "stop_reason": "tool_calls"})
            output = "\n".join(text(3, 12) for _ in range(dice.randint(1, 8)))
            if needle and len(lines) > messages // 2:
                output, needle = f"{output}\n{needle}", ""
            add({"role": "tool", "call_id": call_id, "name": "read_file", "text": output, "status": "done"})
        answer = f"## {text(2, 4)}\n\n{text(10, 60)}\n\n- {text(3, 9)}\n- `{text(1, 2)}`\n"
        add({"role": "assistant", "parts": [{"type": "text", "text": answer}], "stop_reason": "stop"})
        turn += 1
    lines.append(encode(Record("event", len(lines) + 1, STAMP, {"name": "run_ended", "reason": "ANSWER"})))
    return b"".join(lines)


def write_session(
    root: Path, workdir: Path, messages: int, *, number: int = 0, needle: str = "", title: str = ""
) -> Path:
    """Below the folder of all sessions; returns the file."""
    session_id = f"20261130-{number:06d}-{number:04x}"
    path = root / folder_slug(workdir) / session_id / "session.jsonl"
    path.parent.mkdir(parents=True)
    data = session_bytes(messages, workdir, session_id, seed=number, needle=needle)
    if title:
        data += encode(Record("title", messages + 9, STAMP, {"title": title}))
    path.write_bytes(data)
    return path

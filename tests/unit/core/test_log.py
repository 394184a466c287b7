from __future__ import annotations

import json
import logging
import stat
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.log import (
    HIDDEN,
    DebugLog,
    JsonLines,
    RedactingFilter,
    Redactor,
    close_log,
    open_debug_log,
    open_log,
)

PLANTED = "zq7-planted-Key/with+odd=chars"
LOOKALIKES = (
    "sk-proj-abcDEF123456789xyz",
    "gsk_abcdefghijklmnop1234",
    "AIza" + "Sy0123456789abcdefghijklmnopqrstuv",
    "ghp_abcdefghijklmnopqrstuvwxyz0123",
    "AKIAABCDEFGHIJKLMNOP",
)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    "text",
    [
        f"key {PLANTED} used",
        "zq7-planted-Key%2Fwith%2Bodd%3Dchars",
        f"Authorization: Bearer {PLANTED}",
        "authorization=Bearer abcdefgh12345678",
        'x-api-key: "abcdefgh12345678"',
        '{"api_key": "abcdefgh12345678"}',
        json.dumps(json.dumps({"OPENAI_API_KEY": "abcdefgh12345678"})),
        "GET https://host/v1?key=abcdefgh12345678&alt=sse",
        "proxy http://user:abcdefgh12345678@proxy:3128",
        "export DEEPSEEK_API_KEY=abcdefgh12345678",
        *(f"found {key} in a file" for key in LOOKALIKES),
    ],
)
def test_no_key_survives_in_text(text: str) -> None:
    clean = Redactor([PLANTED]).text(text)
    assert HIDDEN in clean
    for secret in (PLANTED, "zq7-planted", "abcdefgh12345678", *LOOKALIKES):
        assert secret not in clean


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens: 4096, total_tokens=12",
        "the ollama server has no key",
        "sk-short",
        "a basic idea, and the bearer of news",
        "https://example.com/path?q=1#frag",
        "def key(self): return self.cache_key",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor(["ok"]).text(text) == text


@pytest.mark.parametrize(
    "unit", ["字", "a", "a-", "_", "\\", " ", "://", "api_key", "sk-", "http://a:", "key=", "bearer "]
)
def test_a_megabyte_of_anything_takes_no_minutes(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert Redactor([PLANTED]).text(f"{text} {PLANTED}").endswith(HIDDEN)


def test_data_is_cleaned_by_name_and_by_value() -> None:
    redactor = Redactor([PLANTED])
    clean = redactor.data(
        {
            "headers": {"Authorization": "Token 1234", "x-api-key": "1234", "Accept": "text/event-stream"},
            "messages": [{"content": f"my key is {PLANTED}"}],
            "usage": {"total_tokens": 12, "cost": 0.5},
            "flag": True,
            "path": Path("/x"),
        }
    )
    assert clean["headers"] == {"Authorization": HIDDEN, "x-api-key": HIDDEN, "Accept": "text/event-stream"}
    assert clean["messages"] == [{"content": f"my key is {HIDDEN}"}]
    assert clean["usage"] == {"total_tokens": 12, "cost": 0.5}
    assert clean["flag"] is True
    assert clean["path"] == "/x"


def planted_exception() -> None:
    raise ValueError(f"server refused {PLANTED}")


def fill(logger: logging.Logger) -> None:
    logger.info("plain %s", PLANTED)
    logger.info("data %s", {"api_key": PLANTED})
    logger.warning("fields", extra={"body": {"messages": [PLANTED]}, "authorization": PLANTED, "session": "s1"})
    try:
        planted_exception()
    except ValueError:
        logger.exception("failed with %s", LOOKALIKES[0])
    logger.info("stack", stack_info=True, extra={"note": f"Bearer {PLANTED}"})


def test_no_handler_writes_a_planted_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    redactor = Redactor([PLANTED])
    path = tmp_path / "logs" / "reactagent.log"
    logger = open_log(path, redactor)
    screen = logging.StreamHandler()
    screen.addFilter(RedactingFilter(redactor))
    logger.addHandler(screen)
    fill(logger)
    close_log(logger)
    written = path.read_text("utf-8")
    for text in (written, capsys.readouterr().err):
        assert HIDDEN in text
        for secret in (PLANTED, "zq7-planted", *LOOKALIKES):
            assert secret not in text
    records = lines(path)
    assert [record["level"] for record in records] == ["info", "info", "warning", "error", "info"]
    assert records[2]["session"] == "s1"
    assert "ValueError" in records[3]["error"]
    assert "planted_exception" in records[3]["error"]


def test_wrong_format_arguments_lose_nothing_and_raise_nothing(tmp_path: Path) -> None:
    logger = open_log(tmp_path / "a.log", Redactor())
    logger.info("%s and %s", "one")
    close_log(logger)
    assert "one" in lines(tmp_path / "a.log")[0]["event"]


def test_log_rotates_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    logger = open_log(path, Redactor(), max_bytes=2_000, backups=2)
    for number in range(100):
        logger.info("record %d %s", number, "x" * 100)
    close_log(logger)
    assert sorted(file.name for file in tmp_path.glob("a.log*")) == ["a.log", "a.log.1", "a.log.2"]
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in tmp_path.glob("a.log*"))
    assert all(file.stat().st_size <= 2_000 for file in tmp_path.glob("a.log*"))
    assert lines(path)[-1]["event"].startswith("record 99 ")


def test_levels_and_the_root_logger_are_left_alone(tmp_path: Path) -> None:
    before = list(logging.getLogger().handlers)
    logger = open_log(tmp_path / "a.log", Redactor(), level="warning")
    logger.info("unheard")
    assert not (tmp_path / "a.log").exists()
    logger.warning("heard")
    close_log(logger)
    assert [record["event"] for record in lines(tmp_path / "a.log")] == ["heard"]
    assert logging.getLogger().handlers == before


def test_debug_log_keeps_whole_requests(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "agent.log"
    debug = open_debug_log(path, Redactor([PLANTED]), session="s9")
    assert debug.enabled
    body = {"messages": [{"role": "user", "content": "字" * 50_000}], "tools": [{"name": "echo"}]}
    debug.request(turn=1, step=2, model="m", url="http://h/v1", body=body)
    debug.response(turn=1, step=2, body=["data: 1", f"key {PLANTED}"], status=200, usage={"input": 3}, message="kept")
    debug.tool_result(turn=1, step=2, tool="echo", call_id="c1", status="done", seconds=0.5)
    request, response, result = lines(path)
    assert request["body"] == body
    assert (request["session"], request["turn"], request["step"]) == ("s9", 1, 2)
    assert response["body"] == ["data: 1", f"key {HIDDEN}"]
    assert response["message_"] == "kept"
    assert (result["event"], result["tool"], result["seconds"]) == ("tool_result", "echo", 0.5)


def test_debug_log_that_is_off_does_nothing() -> None:
    debug = DebugLog()
    assert not debug.enabled
    debug.request(turn=1, step=1, model="m", body={})


def test_lone_surrogates_do_not_break_the_log(tmp_path: Path) -> None:
    logger = open_log(tmp_path / "a.log", Redactor())
    logger.info("half \ud83d of an emoji")
    close_log(logger)
    assert "half ? of an emoji" in lines(tmp_path / "a.log")[0]["event"]


def test_json_lines_of_a_foreign_record() -> None:
    record = logging.makeLogRecord({"name": "x", "levelno": 20, "levelname": "INFO", "msg": "hi", "step": 3})
    assert json.loads(JsonLines().format(record))["step"] == 3


def test_a_key_is_hidden_between_chinese_letters_too() -> None:
    text = Redactor().text("密钥是sk-abcdefghijklmnop1234和头bearer abcdef123456。")
    assert text == f"密钥是{HIDDEN}和头bearer {HIDDEN}。"

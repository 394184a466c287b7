"""What looks like a secret is not stored; ordinary facts about passwords and keys are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.memory.secrets import holds_known, looks_secret
from tests.unit.memory import heldout_set
from tests.unit.memory.retrieval_set import CROSSING, DISTINCT, SHARED, distractors

LETTERS = r"[A-Za-z0-9]"
FORMS = (
    r"sk-[a-f0-9]{32}",  # DeepSeek, Moonshot, Qwen
    rf"sk-(?:proj-|ant-api03-|or-v1-)?{LETTERS}{{24,40}}",
    rf"(?:gsk|sk_live|rk_live)_{LETTERS}{{24}}",
    rf"(?:xai|nvapi|pypi)-{LETTERS}{{32}}",
    rf"AIza{LETTERS}{{35}}",
    rf"(?:hf|ghp|gho|ghs|npm)_{LETTERS}{{30,36}}",
    rf"github_pat_{LETTERS}{{40}}",
    rf"glpat-{LETTERS}{{20}}",
    r"xoxb-[0-9]{12}-[A-Za-z0-9]{24}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    rf"SG\.{LETTERS}{{22}}\.{LETTERS}{{22}}",
    rf"ya29\.{LETTERS}{{30}}",
    r"[a-f0-9]{32}\.[A-Za-z0-9]{16}",  # Zhipu
    rf"[0-9]{{10}}:AA{LETTERS}{{33}}",  # a Telegram bot
    rf"eyJ{LETTERS}{{16}}\.eyJ{LETTERS}{{24}}\.{LETTERS}{{20}}",
    rf"-----BEGIN (?:RSA |EC |OPENSSH |)PRIVATE KEY----- {LETTERS}{{40}}",
    r"(?:postgres|redis|https|amqp)://[a-z]{0,6}:[a-z0-9]{6,12}@[a-z]{3,8}/x",
    r"(?:DB_|MYSQL_|)(?:PASSWORD|PASSWD|PWD)=[a-z]{6,12}",
    r"(?:password|passwd|pwd|secret|api_key|access_token) ?= ?[\"']?[a-z]{3,8}[0-9]{1,4}",
    r"--(?:password|token)[ =][a-z]{6,10}[0-9]",
    r"(?:pin|password)=[0-9]{4,8}",
    r"password: [a-z]{4,8}[0-9]{2}",
    r"Bearer [A-Za-z0-9]{12,30}",
    r"(?:密码|口令|密钥|令牌)(?:是|为|：|:|=)[a-z]{3,8}[0-9]{1,4}",
    r"密码(?:是|：)[0-9]{6}",
)
BEFORE = ("", "the key is ", "use ", "请记住：", "生产环境的密钥是", "令牌", "登录时用", "（", "「", "key:", "\u200b")
AFTER = ("", " please", "。", "，不要外传", "不要告诉别人", "）", "」和别的", ", and more", "\u3000", ".")


@given(
    st.sampled_from(FORMS).flatmap(lambda form: st.from_regex(form, fullmatch=True)),
    *map(st.sampled_from, (BEFORE, AFTER)),
)
def test_no_form_of_secret_is_stored_whatever_stands_around_it(secret: str, before: str, after: str) -> None:
    assert looks_secret(f"{before}{secret}{after}")


@given(st.from_regex(r"sk-[a-z0-9]{20}", fullmatch=True))
def test_full_width_letters_hide_nothing(secret: str) -> None:
    wide = "".join(chr(ord(char) + 0xFEE0) for char in secret)
    assert looks_secret(f"密钥是{wide}，")


@pytest.mark.parametrize(
    "text",
    [
        "The key is sk-abcdefghijklmnop1234",
        "use ghp_abcdefghijklmnopqrstuvwx to push",
        "AWS: AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "Authorization: Bearer abcdef123456",
        "the password is hunter2",
        "Password for staging: pa$$word",
        "DB_PASSWORD=correcthorse",
        "密码是abc12345",
        "生产库口令：Zx9!kk",
        "生产库密码＝ｈｕｎｔｅｒ２",
        "postgres://app:secretword@db/shop",
        "redis://:letmein@cache:6379",
        "-----BEGIN RSA PRIVATE KEY-----",
        "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
        "session 8f14e45fceea167a5a36dedd4bea2543",
        "xoxb-123456789012-abcdefghij",
        "our code word is mellon-4711",
        "暗号就是mellon-4711哦",
    ],
)
def test_secrets(text: str) -> None:
    assert looks_secret(text, ["mellon-4711"])


def test_facts_are_none() -> None:
    facts = [item.fact for item in (*SHARED, *DISTINCT, *CROSSING)] + distractors(400)
    facts += [item.fact for item in (*heldout_set.SHARED, *heldout_set.DISTINCT, *heldout_set.CROSSING)]
    facts += ["The token is valid for 12 hours.", "The API key is required in every request.", "密码是必填项。"]
    facts += [
        "The password is stored in the vault",
        "The secret is rotated weekly.",
        "Set max_tokens=4000 for summaries.",
    ]
    facts += ["Write `password=$DB_PASSWORD`, never the value.", "`token = get_token()` is called once per run."]
    facts += [
        "密钥由运维保管，问老王。",
        "Pin numpy==2.3.1, newer ones break the build.",
        "`api_key=<yours>` goes into .env",
    ]
    facts += ["The class is HttpClientFactoryBuilderV2 in src/main/java/com/acme/http2/HttpClient.java"]
    facts += ["The docs are at https://docs.example.com:8443/guide/v2 and git@github.com:acme/shop.git"]
    assert [fact for fact in facts if looks_secret(fact)] == []


def test_what_the_program_itself_keeps_secret_is_told_from_what_only_looks_like_it() -> None:
    assert holds_known("say mellon-4711 to enter", ["mellon-4711"])
    assert not holds_known("commit 8f14e45fceea167a5a36dedd4bea2543", ["mellon-4711"])

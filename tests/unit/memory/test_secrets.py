"""What looks like a secret is not stored; ordinary facts about passwords and keys are."""

from __future__ import annotations

import pytest

from reactagent_tui.core.memory.secrets import looks_secret
from tests.unit.memory.retrieval_set import CROSSING, DISTINCT, SHARED, distractors


@pytest.mark.parametrize(
    "text",
    [
        "The key is sk-abcdefghijklmnop1234",
        "use ghp_abcdefghijklmnopqrstuvwx to push",
        "AWS: AKIAIOSFODNN7EXAMPLE",
        "Authorization: Bearer abcdef123456",
        "the password is hunter2",
        "Password for staging: pa$$word",
        "DB_PASSWORD=correcthorse",
        "密码是abc12345",
        "生产库口令：Zx9!kk",
        "postgres://app:secretword@db/shop",
        "-----BEGIN RSA PRIVATE KEY-----",
        "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
        "session 8f14e45fceea167a5a36dedd4bea2543",
        "xoxb-123456789012-abcdefghij",
        "our code word is mellon-4711",
    ],
)
def test_secrets(text: str) -> None:
    assert looks_secret(text, ["mellon-4711"])


def test_facts_are_none() -> None:
    facts = [item.fact for item in (*SHARED, *DISTINCT, *CROSSING)] + distractors(400)
    facts += ["The token is valid for 12 hours.", "The API key is required in every request.", "密码是必填项。"]
    facts += ["The password is stored in the vault", "The secret is rotated weekly."]
    assert [fact for fact in facts if looks_secret(fact)] == []

"""A turn that belongs to a skill which asks nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.skills.expand import expand_skill_command
from reactagent_tui.core.skills.models import Skill
from reactagent_tui.core.tools.ask_user import AskUser
from reactagent_tui.core.tools.base import ToolContext
from reactagent_tui.core.tools.unasked import Unasked

SILENT = Skill("deep-dig", "digs", Path("/s/deep-dig"), "Dig.", never_ask=True)


async def test_ask_user_says_that_it_is_not_available(file_ctx: ToolContext) -> None:
    file_ctx.unasked.begin("deep-dig")
    outcome = await AskUser().run({"question": "Which?"}, file_ctx)
    assert outcome.text.startswith("not available: infer it")
    assert "deep-dig" in outcome.text
    assert not outcome.is_error


@pytest.mark.parametrize("mode", ["reference", "inline"])
def test_the_command_of_such_a_skill_begins_it_and_the_next_prompt_ends_it(mode: str) -> None:
    state = Unasked()
    state.begin_turn(expand_skill_command(replace(SILENT, invoke="inline" if mode == "inline" else "reference"), "x"))
    assert state.skill == "deep-dig"
    state.begin_turn(None)
    assert state.skill == "deep-dig"
    state.heed([UserMessage("hurry up", origin="steer")])
    assert state.skill == "deep-dig"
    state.begin_turn(UserMessage("thanks"))
    assert (state.skill, state.answer) == ("", None)


def test_a_skill_that_joins_a_turn_counts_too() -> None:
    state = Unasked()
    state.begin_turn(UserMessage("hi"))
    state.heed([replace(expand_skill_command(SILENT), origin="steer")])
    assert state.skill == "deep-dig"


def test_other_skills_and_words_of_the_user_do_not() -> None:
    state = Unasked()
    state.begin_turn(expand_skill_command(replace(SILENT, never_ask=False)))
    assert state.answer is None
    state.begin_turn(UserMessage(expand_skill_command(SILENT).text))
    assert state.answer is None

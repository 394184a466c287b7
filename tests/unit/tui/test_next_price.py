"""The price tag on the screen: beside the input, in the list of models, in the list of sessions."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from reactagent_tui.core.cost.price_tag import PriceTag
from reactagent_tui.core.display import block_to_text
from reactagent_tui.core.llm.registry import ModelChoice
from reactagent_tui.core.money import Money
from reactagent_tui.locales import Translator
from reactagent_tui.tui.screens.next_price import model_detail, price_text, price_words
from reactagent_tui.tui.screens.picker import PickerScreen
from reactagent_tui.tui.screens.sessions import SessionsScreen
from tests.fakes.chat_kit import ChatKit, chat_app
from tests.fakes.scripted import forever, say

T = Translator("en")


def shown(kit: ChatKit) -> str:
    """The status line."""
    return kit.chat.status.paint(118, 1)[0].plain


def tokens(kit: ChatKit) -> int:
    tag = kit.chat.status._next
    return 0 if tag is None else tag.tokens


async def test_the_tag_follows_the_draft_and_hides_while_a_turn_runs(clean_place: Path) -> None:
    async with chat_app(clean_place, [[forever], say("done")]) as kit:
        await kit.until(lambda: "next ≈" in shown(kit))
        before = tokens(kit)
        assert before > 500
        assert "$" not in shown(kit)  # the scripted model runs here: tokens, no money
        kit.chat.prompt.insert_typed("please look at this again " * 100)
        await kit.until(lambda: tokens(kit) > before + 300)
        kit.chat.prompt.restore("")
        await kit.until(lambda: tokens(kit) == before)
        await kit.send("go")
        await kit.until(lambda: kit.chat.running and "next" not in shown(kit))
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.running and "next ≈" in shown(kit))


async def test_a_command_in_the_prompt_is_not_counted(clean_place: Path) -> None:
    async with chat_app(clean_place, [say("ok")]) as kit:
        await kit.until(lambda: tokens(kit) > 0)
        before = tokens(kit)
        asked: list[str] = []
        real = kit.chat.next_price._ask

        def ask() -> None:
            asked.append(kit.chat.prompt.text)
            real()

        kit.chat.next_price._ask = ask  # type: ignore[method-assign]
        await kit.type("!ls " + "x" * 30)
        await kit.until(lambda: asked and asked[-1].endswith("x" * 30))
        await kit.until(lambda: not [w for w in kit.chat.workers if w.group == "price" and w.is_running])
        assert tokens(kit) == before


async def test_models_and_sessions_say_what_choosing_them_costs(clean_place: Path) -> None:
    def shown(kit: ChatKit) -> list[str]:
        screen = kit.app.screen
        assert isinstance(screen, PickerScreen)
        if isinstance(screen, SessionsScreen):
            return [block_to_text(block) for block in screen._blocks(screen._all[0])]
        return [item.detail for item in screen._all]

    def priced(kit: ChatKit) -> bool:
        return any("≈" in text and " in " in text and "local" in text for text in shown(kit))

    async with chat_app(clean_place, [say("an answer")]) as kit:
        await kit.turn("a first question")
        for command in ("/model", "/sessions"):
            await kit.send(command)
            await kit.until(lambda: isinstance(kit.app.screen, PickerScreen))
            await kit.until(lambda: priced(kit))
            await kit.pilot.press("escape")
            await kit.until(lambda: kit.app.screen is kit.chat)


def test_details_stand_in_columns() -> None:
    choice = ModelChoice("p/m", "p", "m", 128_000, False)
    tags = [
        PriceTag(41_200, 0, 300, Money(Decimal("0.103"), "estimated")),
        PriceTag(900, 0, 300, Money(None, "unknown")),
        PriceTag(1_200_000, 0, 300, Money(Decimal(0), "free")),
        PriceTag(41_200, 0, 300, Money(Decimal("0.02"), "notional")),
    ]
    assert [model_detail(choice, tag, T) for tag in tags] == [
        "≈  41.2k in       $0.103    128k",
        "≈    900 in                 128k",
        "≈  1.20M in        local    128k",
        "≈  41.2k in  $0.020 plan    128k",
    ]
    assert price_text(tags[0], T) == "≈  41.2k in       $0.103"
    assert price_text(None, T) == ""
    assert price_words(tags[0], T) == "≈ 41.2k in · $0.103"
    assert price_words(None, T) == ""
    assert model_detail(ModelChoice("x", "", "x", 1, True, "no key"), None, T) == "no key"

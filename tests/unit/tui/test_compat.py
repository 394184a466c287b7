"""The private parts of Textual we stand on are there and behave as assumed. Fails first on a new version."""

from __future__ import annotations

import asyncio
import gc
import inspect
import itertools
from collections.abc import Iterator

import pytest
import textual
from textual import events, messages
from textual import timer as timer_module
from textual._time import get_time
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.content import Content
from textual.drivers.linux_driver import LinuxDriver
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import OptionList, TextArea

from reactagent_tui.tui.compat import StockParser, fire_single_timers, key_name, start_with_theme
from reactagent_tui.tui.esc_gate import EscGate


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """Python 3.11's compiler fails (`AST constructor recursion depth`) when coroutines are collected while it works."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_pinned_version() -> None:
    assert textual.__version__ == "8.2.8"


def test_stock_parser_decodes_whole_sequences() -> None:
    parser = StockParser()
    assert [key.key for key in parser._sequence_to_key_events("\x1b[13;2u")] == ["shift+enter"]
    assert list(parser._sequence_to_key_events("\x1b[?9q")) == []
    assert isinstance(parser.parse_mouse_code("\x1b[<0;3;4M"), events.MouseDown)
    assert parser.parse_mouse_code("\x1b[<NaN;3;4M") is None
    for name in ("mouse_pixels", "terminal_size", "terminal_pixel_size"):
        assert hasattr(parser, name)
    assert StockParser is XTermParser


def test_driver_hooks() -> None:
    for name in (
        "run_input_thread",
        "process_message",
        "start_application_mode",
        "stop_application_mode",
        "suspend_application_mode",
        "resume_application_mode",
        "disable_input",
        "close",
        "send_message",
    ):
        assert callable(getattr(LinuxDriver, name)), name
    source = inspect.getsource(LinuxDriver)
    for name in ("self._file", "self.exit_event", "self.fileno", "self.input_tty", "self._mouse_pixels"):
        assert name in source, name
    assert "WriterThread(self._file)" in source
    assert "self._must_signal_resume" in source


def test_text_area_hooks() -> None:
    for name in (
        "_render_line",
        "_delete_via_keyboard",
        "_replace_via_keyboard",
        "_build_highlight_map",
        "_validate_selection",
        "_draw_cursor",
        "gutter_width",
        "get_line",
        "get_cursor_left_location",
    ):
        assert hasattr(TextArea, name), name
    assert "_build_highlight_map" in inspect.getsource(TextArea.edit)
    assert "self.gutter_width" in inspect.getsource(TextArea.wrap_width.fget)  # type: ignore[attr-defined]
    assert "_on_key" in TextArea.__dict__


def test_parent_of_a_pump() -> None:
    assert "_parent" in inspect.getsource(MessagePump.__init__)


def test_marks_travel_with_the_event() -> None:
    event = events.Key("escape", "\x1b")
    gate = EscGate()
    gate.esc_target = "RUN"
    assert not gate.was_used(event)
    gate.escape(event)
    event._set_forwarded()
    assert gate.was_used(event)


def test_a_theme_chosen_before_the_start_is_what_setting_it_makes() -> None:
    class Early(App[None]):
        def get_css_variables(self) -> dict[str, str]:
            if not self.has_class("-theme-nord"):
                start_with_theme(self, "nord")
            return super().get_css_variables()

    early, set_later = Early(), App[None]()
    set_later.theme = "nord"
    assert early.theme == "nord"
    assert early.theme_variables == set_later.get_css_variables()
    assert early.classes == {"-theme-nord", "-dark-mode"}
    assert len(early._next_callbacks) == 0  # nothing will be styled again
    assert len(set_later._next_callbacks) > 0


def test_the_first_resume_does_what_the_stock_handler_does() -> None:
    lines = [line.strip() for line in inspect.getsource(Screen._on_screen_resume).splitlines()]
    assert "self.stack_updates += 1" in lines
    assert "self._update_auto_focus()" in lines
    assert "self._refresh_layout(size)" in lines
    assert "if self.stack_updates and self.is_attached:" in inspect.getsource(Screen._screen_resized)
    for name in ("_on_update", "_on_layout"):
        assert name in Screen.__dict__, name
    assert messages.Update(Widget()).time <= get_time()
    assert "self._repaint_required = False" in inspect.getsource(Widget._check_refresh)
    assert "self._layout_required = False" in inspect.getsource(Widget._check_refresh)
    assert inspect.getsource(App._init_mode).count("events.ScreenResume()") == 2


def test_the_first_layout_says_that_the_app_is_ready() -> None:
    source = inspect.getsource(Screen._refresh_layout)
    assert source.index("self._compositor_refresh()") < source.index("events.Ready()")


def test_key_names() -> None:
    assert key_name("/") == "slash"
    assert key_name("a") == "a"


def test_content_is_not_markup() -> None:
    assert Content("[/foo]").plain == "[/foo]"


def test_our_names_do_not_collide_with_textuals() -> None:
    """An attribute of ours that a base class already uses silently breaks it (`_running` once did)."""
    import ast

    from reactagent_tui.tui import driver
    from reactagent_tui.tui.widgets import completion, prompt_area, prompt_input

    meant = {
        (TextArea, "cursor_blink"),
        (TextArea, "match_cursor_bracket"),
        (TextArea, "border_title"),
        (TextArea, "placeholder"),
        (OptionList, "highlighted"),
        (OptionList, "display"),
        (LinuxDriver, "exit_event"),
        (LinuxDriver, "_file"),
        (LinuxDriver, "_must_signal_resume"),
    }
    for module, base in (
        (prompt_area, TextArea),
        (prompt_input, TextArea),
        (completion, OptionList),
        (driver, LinuxDriver),
    ):
        source = "".join(inspect.getsource(cls) for cls in base.__mro__ if cls.__module__.startswith("textual"))
        ours = [
            cls
            for cls in vars(module).values()
            if inspect.isclass(cls) and cls.__module__ == module.__name__ and issubclass(cls, base)
        ]
        assert ours
        for node in (node for cls in ours for node in ast.walk(ast.parse(inspect.getsource(cls)))):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in targets:
                if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)):
                    continue
                if target.value.id == "self" and (base, target.attr) not in meant:
                    assert f"self.{target.attr} " not in source, target.attr
                    assert f"self.{target.attr}:" not in source, target.attr


@pytest.mark.parametrize("late", [0.0, 1.0])
async def test_a_single_timer_fires_however_late_it_begins(monkeypatch: pytest.MonkeyPatch, late: float) -> None:
    """A stock one that stands still for longer than its delay, between its start and its first look, never does."""
    fire_single_timers()
    async with App[None]().run_test() as pilot:
        now = itertools.count(0.0, late)
        fired: list[str] = []
        with monkeypatch.context() as patch:
            patch.setattr(timer_module._time, "get_time", lambda: next(now))
            await Timer(pilot.app, 0.001, callback=lambda: fired.append("x"), repeat=0)._run()
        assert fired == ["x"]


async def test_a_repeated_timer_still_leaves_out_what_is_past(monkeypatch: pytest.MonkeyPatch) -> None:
    fire_single_timers()
    async with App[None]().run_test() as pilot:
        timer = Timer(pilot.app, 10.0, callback=lambda: None)
        task = asyncio.ensure_future(timer._run())
        await asyncio.sleep(0)
        assert timer._skip
        task.cancel()

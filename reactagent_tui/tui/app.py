"""The application: theme, driver, screens, life and death. What the chat does lives in `screens/chat.py`."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events
from textual.app import App
from textual.driver import Driver
from textual.theme import Theme

from reactagent_tui.core.display import clean_line
from reactagent_tui.core.paths import Paths, data_dir
from reactagent_tui.locales import Translator, detect_language
from reactagent_tui.tui.boot import Boot, config_sources, write_boot
from reactagent_tui.tui.bridge import AgentStart, Bridge
from reactagent_tui.tui.compat import DriverOptions, choose_driver, fire_single_timers, start_with_theme
from reactagent_tui.tui.esc_gate import EscGate
from reactagent_tui.tui.keymap import Keymap, build_keymap
from reactagent_tui.tui.lean_imports import complete_asyncio
from reactagent_tui.tui.palette import palette_provider
from reactagent_tui.tui.quiet_collector import QuietCollector
from reactagent_tui.tui.screens.chat import ChatScreen
from reactagent_tui.tui.screens.early_look import look_early
from reactagent_tui.tui.theme import FIRST_PAINT, VARIABLE_DEFAULTS
from reactagent_tui.tui.transcript.styles import TRANSCRIPT_VARIABLES

if TYPE_CHECKING:
    from reactagent_tui.core.runtime import Runtime
    from reactagent_tui.core.tools.jobs import Keep
    from reactagent_tui.tui.start import Start

log = logging.getLogger(__name__)

QUIET = 0.3
"""Seconds without a key from which imports that can wait do not wait any longer."""
_LEAVING_KEYS = ("quit", "clear_or_copy_or_stop_or_quit")
AGENT_DELAY = 0.04
"""Seconds from the first frame to everything else: keys typed during the start are drawn before."""


class ReactAgentApp(App[int]):
    """One app, one bridge, one chat screen; other screens are pushed over it."""

    CSS_PATH: ClassVar = ["styles/app.tcss", "styles/panels.tcss"]
    COMMANDS: ClassVar = {palette_provider}
    BINDINGS: ClassVar = []
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+underscore_unused"
    ESCAPE_TO_MINIMIZE = False

    def __init__(self, start: Start, boot: Boot, paths: Paths, t: Translator) -> None:
        self.esc_gate = EscGate(self._interrupt_now)
        self.boot = boot
        self.paths = paths
        self.t = t
        self.started_with = start
        self.failure = ""
        """A configuration fault: printed after the screen closed, exit code 2."""
        self.crash = ""
        self.farewell = ""
        self._themed = False
        self._noting = False
        """Leaving, while the model still notes facts."""
        self._early: list[events.Key | events.Paste] | None = []
        self._typed = time.monotonic()
        fire_single_timers()
        super().__init__()
        self.keymap: Keymap = build_keymap(boot.keymap, boot.keys)[0]
        self.bridge = Bridge(
            AgentStart(
                workdir=Path(start.workdir),
                make_options=start.make_options,
                t=t,
                resume=start.resume,
                fork=start.fork,
                after_load=self._after_load,
                when_idle=lambda: _warm(self._collector),
            ),
            self._drain,
        )

    # -- first frame ------------------------------------------------------------------------

    def get_css_variables(self) -> dict[str, str]:
        """The theme's colours. First asked while Textual's constructor runs: from then on the theme is the user's."""
        if not self._themed:
            self._themed = True
            for theme in FIRST_PAINT:
                self.register_theme(theme)
            start_with_theme(self, self._boot_theme())
        return super().get_css_variables()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {**VARIABLE_DEFAULTS, **TRANSCRIPT_VARIABLES}

    def get_driver_class(self) -> type[Driver]:
        delay = self.boot.esc_delay_ms
        options = DriverOptions(
            esc_gate=self.esc_gate,
            stderr_log=self.paths.logs / "screen.log",
            escape_delay=None if delay is None else delay / 1000,
        )
        return choose_driver(super().get_driver_class(), options)

    def get_default_screen(self) -> ChatScreen:
        return ChatScreen(self.started_with.prompt)

    def on_mount(self) -> None:
        self._install_signals()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._on_loop_error)
        self._collector = QuietCollector(loop, lambda: self._typed, lambda: self.chat.running)

    async def on_event(self, event: events.Event) -> None:
        """Keys that come before the prompt is there wait for it: type-ahead is not lost. At the end one is heard."""
        if self._noting and isinstance(event, (events.Key, events.Paste)):
            if isinstance(event, events.Key) and self.keymap.action("screen", event.key) in _LEAVING_KEYS:
                self.bridge.hurry()
            return
        if isinstance(event, (events.Key, events.Paste)) and not event.is_forwarded:
            self._typed = time.monotonic()
            if self._early is not None:
                self._early.append(event)
                return
        await super().on_event(event)

    def on_ready(self) -> None:
        """The first frame is on the screen: what was typed is drawn next; then the agent is imported in its thread."""
        self._release_early_keys()
        self.set_timer(AGENT_DELAY, self._after_first_paint)

    async def _after_first_paint(self) -> None:
        """Everything that is not the first frame: hidden widgets, and the agent, imported in its thread."""
        if self._exit:
            return
        await look_early(self.chat)
        await self.chat.mount_hidden()
        complete_asyncio()
        if not self._exit:
            self.bridge.start()

    def _release_early_keys(self) -> None:
        """The prompt has the focus: it gets what was typed since the start."""
        early, self._early = self._early or [], None
        for event in early:
            if isinstance(event, events.Key) and event.key == "ctrl+j":
                event = events.Key("enter", "\r")  # Enter, typed while the terminal still turned it into a line feed
            (self.focused or self.screen)._forward_event(event)

    def _install_signals(self) -> None:
        if not self.is_headless:
            from reactagent_tui.tui.driver import install_signal_handlers

            install_signal_handlers(cast("App[object]", self), lambda _number: self.chat.leaving())

    # -- configuration, once it is there ----------------------------------------------------

    def _after_load(self, runtime: Runtime) -> None:
        """In the agent's thread: read themes, remember settings for the next start, tell the screen."""
        from reactagent_tui.tui.theme import load_themes, theme_to_fields

        runtime.servers.is_quiet = lambda: time.monotonic() - self._typed > QUIET
        ui = runtime.loaded.config.ui
        loaded = load_themes([data_dir("themes"), self.paths.config / "themes"])
        problems = list(loaded.problems)
        themes = {theme.name: theme for theme in loaded.themes}
        before = self.boot
        theme = ui.theme if ui.theme != "auto" else before.chosen_theme or "auto"
        language = ui.language if ui.language != "auto" else before.chosen_language or "auto"
        chosen = themes.get(theme)
        boot = replace(
            before,
            theme=theme,
            theme_fields=theme_to_fields(chosen) if chosen is not None else None,
            language=language,
            keymap=ui.keymap,
            keys=dict(ui.keys),
            esc_delay_ms=ui.esc_delay_ms,
            density=ui.density,
            sidebar=ui.sidebar,
            reduced_motion=ui.reduced_motion,
            notifications=ui.notifications,
        )
        explicit = Path(self.started_with.config_file) if self.started_with.config_file else None
        write_boot(self.paths, config_sources(self.paths, explicit, os.environ), boot)
        loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(self._settings_loaded, boot, tuple(themes.values()), problems)

    def _settings_loaded(self, boot: Boot, themes: tuple[Theme, ...], problems: list[Any]) -> None:
        changed, language = boot != self.boot, self.boot.language
        self.boot = boot
        for theme in themes:
            self.register_theme(theme)
        if changed:
            self.keymap, key_problems = build_keymap(boot.keymap, boot.keys)
            self.theme = self._boot_theme()
            self.chat.settings_changed()
            if boot.language != language:
                self._speak(boot.language)
            for problem in key_problems:
                self.chat.warn_later(self.t(problem.reason, setting=problem.setting, near=problem.near))
        if boot.theme not in ("auto", *self.available_themes):
            self.chat.warn_later(self.t("theme.unknown", name=boot.theme))
        for problem in problems:
            self.chat.warn_later(self.t("theme.problem", file=problem.file, key=problem.key, reason=problem.reason))

    def _boot_theme(self) -> str:
        """Name of the theme that the settings ask for, registered; the present one when it cannot be had."""
        boot = self.boot
        name = boot.theme
        if name == "auto":
            name = "reactagent-dark" if boot.dark else "reactagent-light"
        elif boot.theme_fields is not None and name not in self.available_themes:
            from reactagent_tui.tui.theme import theme_from_fields

            theme = theme_from_fields({**boot.theme_fields, "name": name}, "boot.json")
            if isinstance(theme, Theme):
                self.register_theme(theme)
        return name if name in self.available_themes else self.theme

    # -- events -----------------------------------------------------------------------------

    @property
    def chat(self) -> ChatScreen:
        """The chat screen, also while another one lies over it."""
        screen = self.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        return screen

    def _drain(self) -> None:
        if self.is_running and self.screen_stack:
            self.chat.drain()

    def _interrupt_now(self) -> None:
        """In the input thread: ESC means stop for sure."""
        self.bridge.interrupt()

    # -- small settings of the screen --------------------------------------------------------

    app_focus_now = True
    """The terminal window has the focus, as far as it tells."""

    def on_app_focus(self) -> None:
        self.app_focus_now = True

    def on_app_blur(self) -> None:
        self.app_focus_now = False

    def remember(self, **settings: Any) -> None:
        """Keep a choice made on the screen for the next start."""
        self.boot = replace(self.boot, **settings)
        explicit = Path(self.started_with.config_file) if self.started_with.config_file else None
        write_boot(self.paths, config_sources(self.paths, explicit, os.environ), self.boot)

    def use_language(self, language: str) -> None:
        """Speak another language from now on; what is written already stays."""
        self.remember(language=language, chosen_language="" if language == "auto" else language)
        self._speak(language)

    def _speak(self, language: str) -> None:
        self.t.use(detect_language(os.environ, language))
        self.chat.prompt.speak()
        self.refresh(layout=True)
        for widget in self.chat.query("*"):
            widget.refresh()

    def set_tab_title(self, title: str) -> None:
        """Name the terminal's tab."""
        driver = self._driver
        if driver is not None and not self.is_headless and not self.is_web:
            driver.write(f"\x1b]0;{clean_line(title)[:80]}\x07")

    # -- leaving ----------------------------------------------------------------------------

    def action_help_quit(self) -> None:
        """Ctrl+C where no widget takes it (another screen is open): the same ladder as in the chat."""
        self.run_worker(partial(self.chat.do, "clear_or_copy_or_stop_or_quit"), exit_on_error=False)

    async def action_quit(self) -> None:
        """Stop everything and leave; the user says what becomes of jobs that run and of work in a worktree."""
        from reactagent_tui.tui.screens.quitting import leave_asking

        if self.bridge.notes_at_end:
            # not awaited: while notes are made this loop must hear the key that leaves without them
            self.run_worker(leave_asking(self.chat), exit_on_error=False)
        else:
            await leave_asking(self.chat)

    async def leave(self, code: int, *, keep_jobs: Keep = "kept") -> None:
        """Stop the run, close the session, end what tools left behind, restore the terminal."""
        self.chat.leaving()
        self._noting = self.bridge.notes_at_end
        kept = list(self.chat.running_jobs.values()) if keep_jobs == "all" else []
        await self.bridge.close(keep_jobs=keep_jobs)
        lines = [self.t("jobs.kept", id=job.id, command=clean_line(job.command), log=job.log) for job in kept]
        self.farewell = "\n".join(filter(None, [*lines, self.chat.farewell()]))
        self.exit(code, return_code=code)

    def fail(self, text: str) -> None:
        """The configuration cannot be used: close and say why."""
        self.failure = text
        self.exit(2, return_code=2)

    def _on_loop_error(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        log.error("error in the screen's loop: %s", context.get("message"), exc_info=error)
        if self.is_running and self.screen_stack:
            self.chat.warn(self.t("crash.notice", error=f"{type(error).__name__}: {error}"))

    def _handle_exception(self, error: Exception) -> None:
        log.error("the screen failed", exc_info=error)
        if self._exit:
            return  # the screens are being taken down: what still runs in them finds its widgets gone
        self.crash = f"{type(error).__name__}: {error}"
        super()._handle_exception(error)


def _warm(collector: QuietCollector) -> None:
    """Import what the first turn needs, so that it neither waits nor holds the screen; then collect garbage again."""
    from reactagent_tui.core.cost.pricing import PriceBook
    from reactagent_tui.tui.transcript import highlight, markdown

    try:
        markdown.warm()
        highlight.warm()
        PriceBook.warm()
    finally:
        if not gc.isenabled():
            collector.start()

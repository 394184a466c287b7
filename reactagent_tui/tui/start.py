"""Starts the full screen: settings for the first frame, terminal guard, app, exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reactagent_tui.core.runtime import Options


class Start(NamedTuple):
    """What the command line asks of the screen."""

    workdir: str
    prompt: str = ""
    resume: str | None = None
    fork: bool = False
    make_options: Callable[[], Options | int] = lambda: 0
    config_file: str | None = None
    demo: bool = False


def run_screen(start: Start) -> int:
    """Run the app until it is left; returns the exit code. The terminal is restored whatever happens."""
    os.environ.setdefault("TEXTUAL_FPS", "120")
    sys.setswitchinterval(0.001)
    from reactagent_tui.tui.lean_imports import import_textual

    import_textual()
    from reactagent_tui.core.paths import user_paths
    from reactagent_tui.locales import Translator, detect_language
    from reactagent_tui.tui.boot import config_sources, read_boot

    paths = user_paths()
    explicit = Path(start.config_file) if start.config_file else None
    boot = read_boot(paths, config_sources(paths, explicit, os.environ))
    t = Translator(detect_language(os.environ, os.environ.get("REACTAGENT_LANGUAGE") or boot.language))

    from reactagent_tui.tui.app import ReactAgentApp
    from reactagent_tui.tui.tty_guard import TtyGuard

    try:
        paths.logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.stderr.write(f"reactagent: cannot write {paths.logs}: {error.strerror or error}; set XDG_STATE_HOME\n")
        return 1
    app = ReactAgentApp(start, boot, paths, t)
    with TtyGuard():
        app.run()
        app.bridge.end()
    if app.failure:
        sys.stderr.write(f"reactagent: {app.failure}\n")
    elif app.crash:
        sys.stderr.write(t("crash.line", error=app.crash, log=str(paths.logs / "screen.log")) + "\n")
    elif app.farewell:
        sys.stdout.write(app.farewell + "\n")
    return app.return_code or 0

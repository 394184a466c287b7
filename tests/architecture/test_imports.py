"""What an import brings along, seen in a fresh process."""

from __future__ import annotations

import subprocess
import sys

import grimp
import pytest

CHAT = "reactagent_tui.tui.screens.chat"
KNOWN_CIRCLES = {f"{CHAT} -> {CHAT}_actions", f"{CHAT}_actions -> {CHAT}"}
"""Waits for a move of one small function; nothing joins it."""
CORE_FOR_FIRST_PAINT = {"messages", "events", "reporter", "usage", "display", "money", "errors", "paths"}


def modules_after(statements: str) -> set[str]:
    """Names in sys.modules of a new interpreter after these statements."""
    program = f"{statements}\nimport sys\nsys.stderr.write('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stderr.split())


@pytest.mark.parametrize(
    "module", ["core.runtime", "core.embed", "core.llm.registry", "core.llm.openai_chat", "headless.runner"]
)
def test_core_and_headless_load_no_screen(module: str) -> None:
    loaded = modules_after(f"import reactagent_tui.{module}")
    assert f"reactagent_tui.{module}" in loaded
    assert {name for name in loaded if name.split(".")[0] in ("textual", "rich", "click")} == set()
    assert {name for name in loaded if name.startswith("reactagent_tui.tui")} == set()


FIRST_FRAME = "from reactagent_tui.tui.lean_imports import *\nimport_textual()\nimport reactagent_tui.tui.app"


def test_the_first_frame_waits_for_nothing_heavy() -> None:
    loaded = modules_after(FIRST_FRAME)
    assert {"ssl", "textual.types", "textual.widgets._select", "argparse"} & loaded == set()
    heavy = {"httpx", "pydantic", "yaml", "mcp", "tiktoken", "markdown_it", "genai_prices", "json_repair"}
    assert heavy & loaded == set()
    # tree_sitter itself comes with Textual's text area (2 ms); our grammar must not
    assert "tree_sitter_bash" not in loaded
    core = {name.split(".")[2] for name in loaded if name.startswith("reactagent_tui.core.")}
    assert core <= CORE_FOR_FIRST_PAINT


def test_what_was_left_out_is_there_afterwards() -> None:
    program = f"""{FIRST_FRAME}
complete_asyncio()
import asyncio, ssl, subprocess, sys, textual.types
from asyncio import base_events, selector_events, sslproto
assert base_events.ssl is selector_events.ssl is sslproto.ssl is ssl
assert textual.types.SelectType
stock = "import asyncio.sslproto, sys; sys.stdout.write(' '.join(sorted(vars(asyncio.sslproto))))"
names = subprocess.run([sys.executable, "-c", stock], capture_output=True, text=True, check=True).stdout
assert names.split() == sorted(vars(sslproto))
before = sslproto.SSLProtocol
complete_asyncio()
assert sslproto.SSLProtocol is before"""
    assert "ssl" in modules_after(program)


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_loads_nothing_of_the_program(flag: str) -> None:
    loaded = modules_after(
        f"from reactagent_tui.cli import main\ntry:\n    main(['{flag}'])\nexcept SystemExit as end:\n"
        "    assert end.code == 0"
    )
    assert {name for name in loaded if name.startswith("reactagent_tui.")} == {"reactagent_tui.cli"}
    assert {"textual", "rich", "asyncio"} & loaded == set()


def test_no_import_at_run_time_goes_in_a_circle() -> None:
    """Modules, not packages; imports for types do not count, those inside functions do."""
    graph = grimp.build_graph("reactagent_tui", exclude_type_checking_imports=True, cache_dir=None)
    circles = {
        f"{module} -> {imported}"
        for module in sorted(graph.modules)
        for imported in sorted(graph.find_modules_directly_imported_by(module))
        if graph.find_shortest_chain(importer=imported, imported=module)
    }
    assert circles - KNOWN_CIRCLES == set()

"""All panels around an empty chat area with sample data, on a fixed clock: for pictures and widget tests."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.theme import Theme
from textual.widgets import Static

import reactagent_tui.tui
from reactagent_tui.core.display import CommandBlock, DiffBlock
from reactagent_tui.core.events import QueuedMessage, UsageUpdated
from reactagent_tui.core.messages import ToolCall
from reactagent_tui.core.money import CostTotals, Money
from reactagent_tui.core.reporter import ApprovalQuestion, ChoiceQuestion
from reactagent_tui.core.usage import Usage
from reactagent_tui.locales import Translate, Translator
from reactagent_tui.tui.screens.help import HelpEntry, HelpSection
from reactagent_tui.tui.screens.ledger import LedgerLine
from reactagent_tui.tui.screens.picker import PickerItem
from reactagent_tui.tui.theme import FIRST_PAINT, VARIABLE_DEFAULTS
from reactagent_tui.tui.widgets.approval_dock import ApprovalDock
from reactagent_tui.tui.widgets.header_bar import HeaderBar
from reactagent_tui.tui.widgets.queue_list import QueueList
from reactagent_tui.tui.widgets.status_bar import NextCall, Running, StatusBar
from reactagent_tui.tui.widgets.tool_sidebar import ToolSidebar
from reactagent_tui.tui.widgets.usage_panel import UsagePanel

STYLES = Path(reactagent_tui.tui.__file__).parent / "styles"


class Clock:
    """Seconds that move only when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def usage_event(step: int = 4, cost: str = "0.184", *, used: int = 27_100, final: bool = True) -> UsageUpdated:
    """Totals as in the picture of the main screen."""
    return UsageUpdated(
        run_id="r",
        step=step,
        model_call_id=f"c{step}",
        call_usage=Usage(input=3000, cache_read=25_000, output=300),
        call_cost=Money(Decimal("0.004") * (step % 5 + 1), "reported"),
        totals=CostTotals(
            turn_usage=Usage(input=1200, cache_read=9000, output=400),
            turn_cost=Money(Decimal("0.031"), "estimated"),
            session_usage=Usage(input=3200, cache_read=38_000, output=1300, reasoning=400),
            session_cost=Money(Decimal(cost), "reported"),
            calls=step,
        ),
        context_used=used,
        context_size=128_000,
        context_assumed=False,
        tokens_per_second=84,
        final=final,
    )


def call(number: int, name: str, **arguments: str) -> ToolCall:
    """A tool call with parsed arguments."""
    return ToolCall(f"t{number}", name, "{}", arguments)


EDIT = ApprovalQuestion(
    tool="edit_file",
    subject="src/clock.py",
    blocks=(
        DiffBlock(
            "src/clock.py",
            (
                "@@ -11,3 +11,5 @@",
                " def today():",
                "-    return date.today()",
                "+    now = datetime.now(timezone.utc)",
                "+    return now.date()",
                " ",
            ),
            added=2,
            removed=1,
        ),
    ),
    reason="asks.writes",
    pattern="edit_file(src/**)",
    risk=("changes 1 file inside the workspace", "can be undone with /rewind"),
)
DANGEROUS = ApprovalQuestion(
    tool="run_shell_command",
    subject="rm -rf build && git push --force",
    blocks=(CommandBlock("rm -rf build && git push --force"),),
    reason="asks.dangerous",
    risk=("rm -rf build: deletes a folder", "git push --force: rewrites a remote branch"),
    dangerous=True,
    agent="reviewer",
)
CHOICE = ChoiceQuestion("budget", ("+ $1", "+ $5", "finish this step and summarise", "stop"), "The budget is spent.")


class Gallery(App[None]):
    """The main screen without its chat."""

    CSS_PATH = [STYLES / "panels.tcss", STYLES / "screens.tcss"]
    CSS = """
    #chat { height: 1fr; }
    #prompt { height: 3; border: round $border; padding: 0 1; color: $foreground; background: $background; }
    Screen { background: $background; }
    """

    def __init__(self, t: Translate | None = None, themes: tuple[Theme, ...] = FIRST_PAINT) -> None:
        super().__init__()
        self.clock = Clock()
        self.t = t or Translator("en")
        self.header = HeaderBar(self.t)
        self.usage = UsagePanel(self.t, clock=self.clock)
        self.tools = ToolSidebar(self.t, clock=self.clock)
        self.queue = QueueList(self.t)
        self.dock = ApprovalDock(self.t, clock=self.clock)
        self.status = StatusBar(self.t, clock=self.clock)
        self.messages: list[object] = []
        self.start_theme = "reactagent-dark"
        for theme in themes:
            self.register_theme(theme)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(VARIABLE_DEFAULTS)

    def compose(self) -> ComposeResult:
        yield self.header
        with Horizontal():
            with Vertical():
                yield Container(id="chat")
                yield self.queue
                yield self.dock
                yield Static(Content("> "), id="prompt")
            with Vertical(id="sidebar"):
                yield self.usage
                yield self.tools
        yield self.status

    def on_mount(self) -> None:
        self.theme = self.start_theme
        self.fold_sidebar(self.size.width)

    def on_resize(self, event: events.Resize) -> None:
        self.fold_sidebar(event.size.width)

    def fold_sidebar(self, width: int) -> None:
        self.query_one("#sidebar").display = width >= 100
        self.status.show_usage(width < 100)

    def fill(self) -> None:
        """Sample data as in the picture of the main screen."""
        self.header.set_title("fix the flaky test")
        self.header.set_model("deepseek-chat")
        self.header.set_place("~/src/shop", "main", 2)
        self.clock.now -= 60
        self.usage.update_usage(usage_event(0, "0.140"))
        self.clock.now += 60
        for step in range(1, 8):
            self.usage.update_usage(usage_event(step))
        self.status.update_usage(usage_event())
        self.usage.set_budget(Decimal(2))
        read = call(1, "read_file", path="tests/test_cart.py")
        log = call(2, "run_shell_command", command="git log -5 --oneline -- tests")
        bad = call(4, "mcp__github__search_issues", query="flaky test_cart on CI")
        for done, status, seconds in ((read, "done", 0.04), (log, "done", 0.1), (bad, "failed", 1.4)):
            self.tools.tool_started(done)
            self.tools.tool_finished(done, status=status, seconds=seconds)
        self.tools.tool_started(call(3, "run_shell_command", command="TZ=UTC pytest tests/test_cart.py -q"))
        self.queue.update_queue((QueuedMessage("q", "then open a PR", "follow_up"),))
        self.status.show_activity(Running(4, self.clock.now - 12))
        self.status.set_next(NextCall(28_000, 25_000, Money(Decimal("0.009"), "estimated")))
        self.clock.now += 3.2
        self.status.tick(self.clock.now)
        self.tools.tick(self.clock.now)

    def on_approval_dock_answered(self, message: ApprovalDock.Answered) -> None:
        self.messages.append(message.answer)

    def on_tool_sidebar_selected(self, message: ToolSidebar.Selected) -> None:
        self.messages.append(message.call_id)


MODELS = [
    PickerItem("a", "deepseek-chat", "$0.27 / $1.10", "DeepSeek", current=True),
    PickerItem("b", "deepseek-reasoner", "$0.55 / $2.19", "DeepSeek"),
    PickerItem("c", "claude-sonnet", "$3.00 / $15.00", "Anthropic"),
    PickerItem("d", "本地模型 qwen", "local", "Ollama"),
]
HELP = [
    HelpSection("Prompt", (HelpEntry("enter", "send"), HelpEntry("ctrl+j", "new line"), HelpEntry("tab", "queue"))),
    HelpSection("Screen", (HelpEntry("ctrl+b", "sidebar"), HelpEntry("f4", "ledger"))),
    HelpSection("Commands", (HelpEntry("/model", "change the model", "Takes a name or opens a list."),)),
]
LEDGER = [
    LedgerLine(
        "14:03:21", "main", "step", "deepseek-chat", 12_300, 0, 420, Money(Decimal("0.0042"), "reported"), "reported"
    ),
    LedgerLine(
        "14:03:40",
        "main",
        "step",
        "deepseek-chat",
        27_100,
        25_000,
        1300,
        Money(Decimal("0.031"), "reported"),
        "reported",
    ),
    LedgerLine(
        "14:04:02",
        "explorer",
        "sub-agent",
        "claude-sonnet",
        8100,
        0,
        900,
        Money(Decimal("0.118"), "estimated"),
        "interrupted",
    ),
    LedgerLine("14:04:30", "main", "compaction", "house-model", 41_000, 0, 700, Money(None, "unknown"), "unknown"),
    LedgerLine("14:05:00", "main", "title", "qwen-local", 300, 0, 8, Money(Decimal(0), "free"), "free"),
]

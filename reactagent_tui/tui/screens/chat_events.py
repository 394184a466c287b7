"""The one `match` over the agent's events: what each of them changes on the chat screen.

Imported with the first events, not with the screen: the first frame needs none of these classes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from reactagent_tui.core.events import (
    AgentEvent,
    BudgetChanged,
    BudgetReached,
    JobChanged,
    MessageFinished,
    ModeChanged,
    ModelChanged,
    Notice,
    PlanProposed,
    QuestionAsked,
    QuestionClosed,
    QueueChanged,
    RetryScheduled,
    RunEnded,
    RunStarted,
    SandboxChanged,
    ServerStateChanged,
    SessionChanged,
    StepStarted,
    TextDelta,
    TextReclassified,
    ThinkingDelta,
    TitleChanged,
    TodayChanged,
    TodoChanged,
    ToolCallDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    UsageUpdated,
    UserMessageAdded,
    WaitProgress,
)
from reactagent_tui.core.money import budget_line
from reactagent_tui.core.reporter import Question
from reactagent_tui.tui.bridge import AgentFailed, AgentReady, FromAgent
from reactagent_tui.tui.presenter import format_money, format_seconds
from reactagent_tui.tui.screens import chat_agents, chat_others
from reactagent_tui.tui.screens.chat_jobs import job_changed
from reactagent_tui.tui.screens.chat_plan import plan_changed
from reactagent_tui.tui.screens.chat_servers import server_changed
from reactagent_tui.tui.screens.transcript_events import add_event
from reactagent_tui.tui.widgets.status_bar import Retrying, WaitingForServer

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.chat import ChatScreen


_ARRIVING = (TextDelta, ThinkingDelta, ToolCallDelta, MessageFinished)
"""What ends the waiting for the server."""


def apply_all(chat: ChatScreen, found: Sequence[FromAgent]) -> None:
    """Apply events in order; neighbouring deltas of one message are merged."""
    for event in merged(found):
        chat_others.heard(chat, event)
        _apply(chat, event)
    chat_agents.show_changes(chat)


def _apply(chat: ChatScreen, event: FromAgent) -> None:
    match event:
        case AgentReady(demo=demo, warnings=warnings):
            chat.agent_ready(demo, warnings)
        case AgentFailed(text=text):
            chat.home.fail(text)
        case SessionChanged():
            chat.show_session(event)
            chat_agents.session_shown(chat, event)
        case JobChanged():
            job_changed(chat, event)
        case _ if chat_agents.take(chat, event):
            pass  # an agent's: in the tree, on its row, in its own view
        case _ if event.session_id and chat.session_id and event.session_id != chat.session_id:
            pass  # another session's run goes on unseen
        case (
            TextDelta()
            | ThinkingDelta()
            | TextReclassified()
            | ToolCallDelta()
            | MessageFinished()
            | ToolStarted()
            | ToolOutput()
            | ToolFinished()
            | UserMessageAdded()
        ):
            _apply_to_transcript(chat, event)
        case _:
            _apply_to_screen(chat, event)


def _apply_to_transcript(chat: ChatScreen, event: AgentEvent) -> None:
    if isinstance(event, _ARRIVING) and isinstance(chat.status.activity, WaitingForServer):
        chat.show_activity()
    add_event(chat.transcript, event)
    match event:
        case ToolStarted(call=call, waiting=waiting):
            chat.tools.tool_started(call, waiting=waiting)
        case ToolFinished(call=call, status=status):
            chat.tools.tool_finished(call, status=status, seconds=event.seconds)
        case _:
            pass


def _apply_to_screen(chat: ChatScreen, event: AgentEvent) -> None:
    match event:
        case RunStarted():
            _run_started(chat, event)
        case StepStarted():
            chat.step = event.step
            chat.transcript.begin_message(event.model_call_id or "")
            chat.show_activity()
        case RunEnded():
            _run_ended(chat, event)
        case QuestionAsked(question_id=question_id, question=question):
            _question_asked(chat, question_id, question)
        case QuestionClosed(question_id=question_id):
            chat.dock.close(question_id)
            chat.question_changed()
        case RetryScheduled(attempt=attempt, attempts=attempts, delay=delay, reason=reason, fallback=fallback):
            key = chat.home.keymap.label("fallback")
            instead = chat.t("status.retry_fallback", key=key, model=fallback) if fallback else ""
            chat.status.show_activity(Retrying(attempt, attempts, time.monotonic() + delay, reason, instead))
        case WaitProgress() if not chat.stopping:
            now = time.monotonic()
            until = None if event.left is None else now + event.left
            chat.status.show_activity(WaitingForServer(event.kind, now - event.seconds, event.share, until))
        case QueueChanged(items=items):
            chat.queue_list.update_queue(items)
            chat.prompt.set_queued(len(items))
        case ServerStateChanged():
            server_changed(chat, event)
        case Notice(key=key, params=params, level=level, blocks=blocks):
            chat.transcript.add_notice(chat.t(key, **params), level=level, blocks=blocks)
        case _:
            _apply_to_panels(chat, event)


def _apply_to_panels(chat: ChatScreen, event: AgentEvent) -> None:
    match event:
        case UsageUpdated():
            chat.usage = event
            chat.usage_panel.update_usage(event)
            chat.status.update_usage(event)
        case BudgetChanged(limit=limit, scope=scope, spent=spent):
            chat.usage_panel.set_budget(limit, scope, spent.amount or Decimal(0))
        case TodayChanged(cost=cost, other=other):
            chat.usage_panel.update_today(cost, other)
        case BudgetReached():
            chat.usage_panel.update_budget(event)
            chat.transcript.add_notice(budget_line(chat.t, event), level="warn")
        case ModeChanged(mode=mode):
            chat.mode = mode
            chat.next_price.changed()
            chat.prompt.set_mode(mode, chat.sandbox_note)
        case SandboxChanged(sandbox=kind):
            chat.show_sandbox(kind)
        case ModelChanged():
            _model_changed(chat, event)
        case TitleChanged(title=title):
            chat.set_title(title)
        case TodoChanged(items=items):
            chat.todo.update_todo(items)
            chat.todo_line.update_todo(items)
        case PlanProposed():
            plan_changed(chat, event)
        case _:
            pass  # StepFinished, CompactionDone: nothing of theirs is on this screen


def _question_asked(chat: ChatScreen, question_id: str, question: Question) -> None:
    chat.question_open_since = time.monotonic()
    chat.dock.open(question_id, question)
    chat.question_changed()
    chat.notify_user("needs_you")


def _model_changed(chat: ChatScreen, event: ModelChanged) -> None:
    chat.model = event.model
    chat.next_price.changed()
    chat.header.set_model(event.model if event.provider in ("", event.model) else f"{event.provider}/{event.model}")
    totals = chat.totals if chat.usage is None else chat.usage.totals
    used = chat.context_used if chat.usage is None else chat.usage.context_used
    chat.usage_panel.show_totals(totals, used, event.context_size, assumed=event.context_assumed)


def _run_started(chat: ChatScreen, event: RunStarted) -> None:
    stopping = chat.home.bridge.run_seen()
    if event.prompt is not None:
        prompt = event.prompt
        chat.transcript.add_user(prompt.text, origin=prompt.origin, shown=prompt.shown, attachments=prompt.attachments)
    chat.begin_run()
    chat_agents.turn_began(chat)
    if stopping:
        chat.show_stopping()


def _run_ended(chat: ChatScreen, event: RunEnded) -> None:
    chat.home.bridge.stop_seen()
    chat_agents.run_ended(chat)
    chat.end_run(can_resume=event.reason in ("INTERRUPTED", "PAUSED"))
    for line, level in end_lines(chat, event):
        if level == "summary":
            chat.transcript.add_turn_summary(line)
        else:
            chat.transcript.add_notice(line, level=level)
    chat.notify_user("done" if event.reason == "ANSWER" else "failed" if event.reason == "ERROR" else "")
    chat.after_run()


def end_lines(chat: ChatScreen, event: RunEnded) -> Iterator[tuple[str, Any]]:
    """What to say after a run: why it ended when that is not plain, files, time, money."""
    t = chat.t
    if event.reason == "INTERRUPTED":
        stop = event.stop
        parts = [t("stopped.title")]
        if event.error == "abandoned":
            parts.append(t("stopped.abandoned"))
        if stop is not None and stop.commands_killed:
            parts.append(t("stopped.killed", n=stop.commands_killed))
        if stop is not None and stop.calls_skipped:
            parts.append(t("stopped.skipped", n=stop.calls_skipped))
        yield f"{' · '.join(parts)}   {t('stopped.resume', key=chat.home.keymap.label('pause_resume'))}", "warn"
    elif event.reason == "ERROR":
        yield t("ended.ERROR", error=event.error or ""), "error"
    elif event.reason != "ANSWER":
        yield t(f"ended.{event.reason}", detail=event.error or ""), "warn"
    facts: list[str] = []
    if event.files_created:
        facts.append(t("turn.created", n=len(event.files_created)))
    if event.files_changed:
        facts.append(t("turn.changed", n=len(event.files_changed)))
    if event.files_deleted:
        facts.append(t("turn.deleted", n=len(event.files_deleted)))
    facts.append(format_seconds(event.seconds))
    if event.cost.state != "free":
        facts.append(format_money(event.cost))
    if event.seconds >= 0.05 or event.files_created or event.files_changed or event.files_deleted:
        yield " · ".join(facts), "summary"


def merged(found: Sequence[FromAgent]) -> Iterator[FromAgent]:
    """The same events with neighbouring text of one reply, and output of one call, joined."""
    held: TextDelta | ThinkingDelta | ToolOutput | None = None
    pieces: list[str] = []
    for event in found:
        if isinstance(event, (TextDelta, ThinkingDelta, ToolOutput)):
            if held is not None and _same_stream(held, event):
                pieces.append(event.text)
                continue
            if held is not None:
                yield _joined(held, pieces)
            held, pieces = event, [event.text]
            continue
        if held is not None:
            yield _joined(held, pieces)
            held = None
        yield event
    if held is not None:
        yield _joined(held, pieces)


def _same_stream(one: AgentEvent, other: AgentEvent) -> bool:
    return (
        type(one) is type(other)
        and one.model_call_id == other.model_call_id
        and one.tool_call_id == other.tool_call_id
        and one.run_id == other.run_id
    )


def _joined(event: TextDelta | ThinkingDelta | ToolOutput, pieces: list[str]) -> FromAgent:
    if len(pieces) == 1:
        return event
    return type(event)(
        text="".join(pieces),
        session_id=event.session_id,
        run_id=event.run_id,
        parent_run_id=event.parent_run_id,
        parent_call_id=event.parent_call_id,
        step=event.step,
        model_call_id=event.model_call_id,
        tool_call_id=event.tool_call_id,
        seq=event.seq,
    )

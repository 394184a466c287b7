"""What an event adds to a transcript: the same for the conversation and for an agent's view."""

from __future__ import annotations

from collections.abc import Callable

from reactagent_tui.core.events import (
    AgentEvent,
    MessageFinished,
    Notice,
    RunEnded,
    RunStarted,
    StepStarted,
    TextDelta,
    TextReclassified,
    ThinkingDelta,
    ToolCallDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    UserMessageAdded,
)
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.tui.boards.agent_log import AgentLog
from reactagent_tui.tui.transcript.widget import Transcript


def add_event(transcript: Transcript, event: AgentEvent) -> None:
    """Streamed text, tool calls, messages. Other events change nothing."""
    key = event.model_call_id or ""
    match event:
        case TextDelta(text=text):
            transcript.append_text(key, text)
        case ThinkingDelta(text=text):
            transcript.append_thinking(key, text)
        case TextReclassified():
            transcript.reclassify_text_as_thinking(key)
        case ToolCallDelta(index=index, name=name, size=size):
            transcript.tool_delta(key, index, name, size)
        case MessageFinished(message=message):
            transcript.finish_message(key, message)
        case ToolStarted(call=call, waiting=waiting):
            transcript.tool_started(call, waiting=waiting)
        case ToolOutput(text=text):
            transcript.tool_output(event.tool_call_id or "", text)
        case ToolFinished(call=call, status=status):
            transcript.tool_finished(
                call.id,
                status=status,
                text=event.text,
                blocks=event.blocks,
                is_error=event.is_error,
                summary=event.summary,
                seconds=event.seconds,
            )
        case UserMessageAdded(message=message):
            transcript.add_user(
                message.text, origin=message.origin, shown=message.shown, attachments=message.attachments
            )
        case _:
            pass


def add_agent_event(transcript: Transcript, event: AgentEvent, t: Callable[..., str]) -> None:
    """The same for a view of its own, where the run's beginning and end show as well."""
    match event:
        case RunStarted(prompt=UserMessage() as message):
            transcript.add_user(message.text, origin=message.origin, shown=message.shown)
        case StepStarted():
            transcript.begin_message(event.model_call_id or "")
        case Notice(key=key, params=params, level=level, blocks=blocks):
            transcript.add_notice(t(key, **params), level=level, blocks=blocks)
        case RunEnded():
            transcript.end_run()
        case _:
            add_event(transcript, event)


def show_log(transcript: Transcript, log: AgentLog) -> None:
    """All that a log holds, in place of what was there; what arrives now goes on from it."""
    transcript.load(list(log.messages))
    if log.arriving:
        transcript.begin_message(log.key)
        for kind, pieces in log.arriving:
            append = transcript.append_text if kind == "text" else transcript.append_thinking
            append(log.key, "".join(pieces))
    for call, waiting in log.running.values():
        transcript.tool_started(call, waiting=waiting)
        if call.id in log.output:
            transcript.tool_output(call.id, log.output[call.id])
    transcript.flush()

"""What the caller of a sub-agent reads: a line for a file, the answer otherwise, all there is of a stopped one."""

from __future__ import annotations

from reactagent_tui.core.tools.agent_task import AgentResult, AgentTask
from reactagent_tui.core.tools.truncate import truncate

LINE = 160
"""Characters of a task or an answer on one line."""

_WHY = {
    "INTERRUPTED": "it was cancelled",
    "MAX_STEPS": "it reached its limit of steps",
    "BUDGET": "it reached its limit of money",
    "TIMEOUT": "its time was over",
    "REPETITION": "it made the same step again and again",
    "REFUSED": "the model refused",
    "PAUSED": "it was paused",
    "BLOCKED": "a hook stopped it",
}


def done_line(result: AgentResult, task: AgentTask) -> str:
    """What the caller gets of an agent whose result is a file."""
    return f"subagent_done: 写入 {result.output_file} ({result.written} 字节) | 任务: {one_line(task.task)}"


def summary_of(result: AgentResult, task: AgentTask) -> str:
    """One line for people."""
    if result.output_file is not None:
        return done_line(result, task)
    return one_line(result.text if result.is_done else result.error or result.text or result.reason)


def report(result: AgentResult, task: AgentTask) -> str:
    """The text for the caller's model."""
    if result.is_done:
        text = done_line(result, task) if result.output_file is not None else truncate(result.text).text
        return text or "The sub-agent gave an empty answer."
    why = _WHY.get(result.reason, "it failed")
    if result.error:
        why += f": {result.error}"
    lines = [f"subagent_stopped: {result.name}, {why} | 任务: {one_line(task.task)}"]
    lines.append(f"It made {result.steps} steps. What it had found so far:" if result.text else "It had said nothing.")
    if result.text:
        lines.append(truncate(result.text).text)
    if result.files:
        lines.append("Files it created or changed: " + ", ".join(result.files))
    if result.log is not None:
        lines.append(f"All of it: {result.log}")
    return "\n".join(lines)


def one_line(text: str) -> str:
    """The text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LINE else line[: LINE - 1] + "…"

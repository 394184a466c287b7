"""The one exception tools raise inside themselves; `ToolBase.run` turns it into an outcome."""

from __future__ import annotations

from reactagent_tui.core.errors import ReactAgentError


class ToolFailure(ReactAgentError):
    """A call cannot do what it was asked. `text` is for the model, `kind` for the one-line hint on screen."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


def os_failure(error: OSError, shown: str) -> ToolFailure:
    """What went wrong with the file named `shown`, in words."""
    match error:
        case FileNotFoundError():
            return ToolFailure("not_found", f"{shown}: no such file or directory.")
        case PermissionError():
            return ToolFailure("permission", f"{shown}: permission denied by the operating system.")
        case IsADirectoryError():
            return ToolFailure("not_a_file", f"{shown} is a directory.")
        case NotADirectoryError():
            return ToolFailure("not_found", f"{shown}: a part of the path is a file, not a directory.")
        case _:
            return ToolFailure("os_error", f"{shown}: {error.strerror or error}.")

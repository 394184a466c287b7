"""Sending a prompt that names images: they are read first, and the draft comes back when one cannot go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactagent_tui.core.messages import UserMessage
from reactagent_tui.tui.history import Draft

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.chat import ChatScreen


async def send_with_images(chat: ChatScreen, message: UserMessage, draft: Draft, kind: Any) -> None:
    """Attach, then send; an image that cannot go is told, and nothing was sent."""
    from reactagent_tui.core.attaching import AttachmentError, with_images

    async def attach(agent: Any) -> UserMessage | AttachmentError:
        try:
            return await with_images(agent.session, message)
        except AttachmentError as error:
            return error

    made = await chat.home.bridge.query(attach)
    if isinstance(made, AttachmentError):
        chat.warn(chat.t(made.key, **made.params))
        if not chat.prompt.text:  # else the next prompt is being written: Up brings this one back
            chat.prompt.restore(draft)
        return
    chat.send(made, kind)

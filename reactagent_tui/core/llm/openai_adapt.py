"""What a 400 of a chat-completions server asks to send differently: the changed request, the changed model. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ReasoningReplay, WireRules
from reactagent_tui.core.llm.openai_payload import to_payload
from reactagent_tui.core.messages import UserMessage

Adapted: TypeAlias = tuple[ModelRequest, ModelInfo]
_Rule: TypeAlias = Callable[[str, ModelRequest, ModelInfo], Adapted | None]

_OLD_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"
_NEW_LIMIT_REFUSED = re.compile(
    r"(?:unrecogni[sz]ed|unknown|unsupported|unexpected|invalid|extra)[^.]{0,60}max_completion_tokens"
    r"|max_completion_tokens\W{0,3} ?(?:is not|extra inputs)",
    re.IGNORECASE,
)
_OPTIONAL = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "parallel_tool_calls", "tool_stream")
"""What is left out once a refusal has named it."""
_NOT_TAKEN = re.compile(
    r"not (?:\w+ )?(?:support|permit|allow|accept|compatible)|n't support|unsupported|unrecogni[sz]ed|unknown"
    r"|unexpected|extra inputs|invalid|only .{0,20}allowed|must be\b|not a valid",
    re.IGNORECASE,
)
_MOST = re.compile(
    r"valid range of max_tokens is \[\d+, ?(\d+)\]|supports at most (\d+) completion tokens"
    r"|max_(?:completion_)?tokens\D{0,60}(?:less than or equal to|<=|at most|maximum (?:value )?(?:is|of))\W{0,3}(\d+)",
    re.IGNORECASE,
)
_OVER_WINDOW = re.compile(
    r"maximum context length (?:is|of) (?P<limit>\d+).{0,120}?"
    r"\((?P<asked>\d+) in the (?:messages|prompt)\D+\d+ in the completion"
    r"|maximum context length (?:is|of) (?P<limit2>\d+) tokens and your request has (?P<asked2>\d+) input tokens",
    re.IGNORECASE | re.DOTALL,
)
_SMALLEST_REPLY = 256
"""Tokens; for less room than this an answer is not asked for."""
_NO_ROLE = (
    r"{role}.{{0,10}}(?:role|message|prompt|instruction)s?.{{0,30}}not (?:be )?(?:support|allow|enabl)"
    r"|does not support .{role}. with|role.{{0,12}}{role}.{{0,40}}(?:not support|invalid)|.{role}. is not one of"
)
_NO_DEVELOPER = re.compile(_NO_ROLE.format(role="developer"), re.IGNORECASE | re.DOTALL)
_NO_SYSTEM = re.compile(
    _NO_ROLE.format(role="system")
    + r"|developer instruction is not|only user(?:,| and) assistant(?:,? and tool)? roles are supported",
    re.IGNORECASE | re.DOTALL,
)
_AFTER_TOOL = re.compile(r"(?:unexpected )?role .user. after role .tool.", re.IGNORECASE)
_ALTERNATE = re.compile(r"roles must alternate|alternate user/assistant", re.IGNORECASE)
_NO_IMAGES = re.compile(
    r"unknown variant .?image_url|image_url.{0,60}(?:not support|invalid|unsupported|only .{0,20}text)"
    r"|(?:not|n't) (?:\w+ )?(?:support|accept|enabl\w+).{0,40}(?:image|vision|multi-?modal)"
    r"|image(?:s| input| content)?.{0,40}(?:not support|unsupported|not enabled|not allowed)"
    r"|invalid type: sequence, expected a string|content.{0,40}(?:should|must) be a (?:valid )?string"
    r"|no endpoints found that support image|is not a multimodal model|mmproj",
    re.IGNORECASE | re.DOTALL,
)
_REASONING = re.compile(r"reasoning(?:_content)?\b|thinking is enabled")
_MISSED = re.compile(r"must be (?:passed|provided|included)|missing", re.IGNORECASE)


def adapted(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    """What to send instead after this refusal; None when nothing of what was sent can be changed here.

    What is true of the model is changed in `info`, what is true of this request only in the request.
    """
    sent = to_payload(request, info)
    for rule in _RULES:
        changed = rule(said, request, info)
        if changed is not None and (to_payload(*changed) != sent or _drops_images(changed[1], info)):
            return changed
    return None


def _drops_images(changed: ModelInfo, info: ModelInfo) -> bool:
    """The images of a request are read elsewhere: its payload here never shows them."""
    return changed.rules.supports_images is not info.rules.supports_images


def _without_stream_usage(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    if not info.rules.usage_in_stream or not re.search(r"stream_options|include_usage", said):
        return None
    return request, _ruled(info, replace(info.rules, usage_in_stream=False))


def _without_cache_marks(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    if not info.rules.cache_marks or "cache_control" not in said:
        return None
    return request, _ruled(info, replace(info.rules, cache_marks=()))


def _other_limit_name(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    """The output limit has two names, and every server knows one that it takes."""
    if _MOST.search(said) or _NEW_LIMIT not in said:
        return None
    wanted = _OLD_LIMIT if _NEW_LIMIT_REFUSED.search(said) else _NEW_LIMIT
    if wanted == info.rules.max_tokens_field:
        return None
    return request, _ruled(info, replace(info.rules, max_tokens_field=wanted))


def _shorter_reply(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    """The limit itself is too high: the server names the highest it takes."""
    match = _MOST.search(said)
    most = int(next(number for number in match.groups() if number)) if match else 0
    if request.max_output is None or not 0 < most < request.max_output:
        return None
    return replace(request, max_output=most), replace(info, max_output=most)


def _reply_beside_prompt(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    """The prompt fits the window, the room that was asked for the answer does not."""
    match = _OVER_WINDOW.search(said)
    if match is None:
        return None
    limit, asked = int(match["limit"] or match["limit2"]), int(match["asked"] or match["asked2"])
    room = limit - asked
    if room < _SMALLEST_REPLY or (request.max_output is not None and room >= request.max_output):
        return None
    return replace(request, max_output=room), info


def _without_parameter(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    if not _NOT_TAKEN.search(said):
        return None
    known = info.rules.unsupported
    names = tuple(name for name in _OPTIONAL if name not in known and re.search(rf"\b{name}\b", said))
    return (request, _ruled(info, replace(info.rules, unsupported=(*known, *names)))) if names else None


def _free_choice(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    """Forcing a call is what many thinking models cannot do."""
    if request.tool_choice != "required" or "tool_choice" not in said:
        return None
    return replace(request, tool_choice="auto"), info


def _system_for_the_user(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    """A developer becomes the system, and a system the beginning of what the user says."""
    match info.rules.system_role:
        case "developer" if _NO_DEVELOPER.search(said):
            return request, _ruled(info, replace(info.rules, system_role="system"))
        case "system" if _NO_SYSTEM.search(said):
            return request, _ruled(info, replace(info.rules, system_role="user"))
        case _:
            return None


def _strict_roles(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    if not (_AFTER_TOOL.search(said) or _ALTERNATE.search(said)):
        return None
    return request, _ruled(info, replace(info.rules, merge_users=True, assistant_after_tool=True))


def _without_images(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    """Words in the place of the images: with them in its history the session could never go on with this model."""
    has_images = any(isinstance(message, UserMessage) and message.attachments for message in request.messages)
    if not has_images or not info.rules.supports_images or not _NO_IMAGES.search(said):
        return None
    return request, _ruled(info, replace(info.rules, supports_images=False))


def _other_replay(said: str, request: ModelRequest, info: ModelInfo) -> Adapted | None:
    if not _REASONING.search(said):
        return None
    policy = _other_policy(info.rules.reasoning_replay, said)
    return None if policy is None else (request, _ruled(info, replace(info.rules, reasoning_replay=policy)))


def _other_policy(current: ReasoningReplay, said: str) -> ReasoningReplay | None:
    """The replay policy that a refusal asks for, None when it asks for the one we have."""
    if _MISSED.search(said):
        stricter: dict[ReasoningReplay, ReasoningReplay] = {"never": "tool_turns", "tool_turns": "always"}
        return stricter.get(current)
    return None if current == "never" else "never"


def _ruled(info: ModelInfo, rules: WireRules) -> ModelInfo:
    return replace(info, rules=rules)


_RULES: tuple[_Rule, ...] = (
    _without_stream_usage,
    _without_cache_marks,
    _other_limit_name,
    _shorter_reply,
    _reply_beside_prompt,
    _free_choice,
    _without_parameter,
    _system_for_the_user,
    _strict_roles,
    _without_images,
    _other_replay,
)

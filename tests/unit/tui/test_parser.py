"""What each byte sequence of a terminal becomes."""

from __future__ import annotations

import pytest
from textual import events
from textual.message import Message

from reactagent_tui.tui.terminal_parser import TerminalParser, TerminalReply


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def parsed(*reads: str, settle: bool = True, escape_delay: float = 0.008) -> list[Message]:
    clock = Clock()
    parser = TerminalParser(clock=clock, escape_delay=escape_delay)
    out: list[Message] = []
    for read in reads:
        out += parser.feed(read)
    while settle and (wait := parser.wait()) is not None:
        clock.now += wait
        out += parser.tick()
    return out


def keys(*reads: str) -> list[str]:
    return [event.key for event in parsed(*reads) if isinstance(event, events.Key)]


@pytest.mark.parametrize(
    ("sequence", "key"),
    [
        ("\r", "enter"),
        ("\n", "ctrl+j"),
        ("\t", "tab"),
        ("\x7f", "backspace"),
        ("\x08", "backspace"),
        ("\x1b\r", "alt+enter"),
        ("\x1b\n", "alt+enter"),
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[13;3u", "alt+enter"),
        ("\x1b[13;5u", "ctrl+enter"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[27;5;13~", "ctrl+enter"),
        ("\x1b[27;3;13~", "alt+enter"),
        ("\x1b[27;2;9~", "shift+tab"),
        ("\x1b[Z", "shift+tab"),
        ("\x1b[27;5;112~", "ctrl+p"),
        ("\x1b[112;5u", "ctrl+p"),
        ("\x1b\x7f", "alt+backspace"),
        ("\x1bb", "alt+b"),
        ("\x1bf", "alt+f"),
        ("\x1bz", "alt+z"),
        ("\x1bZ", "alt+shift+z"),
        ("\x1b[122;3u", "alt+z"),
        ("\x1b.", "alt+full_stop"),
        ("\x1b1", "alt+1"),
        ("\x1b[1;3A", "alt+up"),
        ("\x1b\x1b[A", "alt+up"),
        ("\x1b\x1bOA", "alt+up"),
        ("\x1b[A", "up"),
        ("\x1bOA", "up"),
        ("\x1b[1;5F", "ctrl+end"),
        ("\x1b[3$", "shift+delete"),
        ("\x1b[7^", "ctrl+end"),
        ("\x1bOP", "f1"),
        ("\x1b[[A", "f1"),
        ("\x1b[11~", "f1"),
        ("\x1b[27u", "escape"),
        ("\x1b", "escape"),
        ("\x1f", "ctrl+underscore"),
        ("\x1b[45;5u", "ctrl+underscore"),
        ("\x1b[127;2u", "backspace"),
        ("\x1b[97:65;5:1u", "ctrl+a"),
        ("\x1b[1;3:1A", "alt+up"),
        ("\x1b[", "alt+left_square_bracket"),
        ("\x1bO", "alt+shift+o"),
        ("\x1b]", "alt+right_square_bracket"),
        ("\x1b\x01", "alt+ctrl+a"),
    ],
)
def test_key(sequence: str, key: str) -> None:
    assert keys(sequence) == [key]


@pytest.mark.parametrize("character", ["a", "A", "/", "é", "你", "🙂", " ", "~"])
def test_text_is_typed(character: str) -> None:
    (event,) = parsed(character)
    assert isinstance(event, events.Key)
    assert event.character == character
    assert event.is_printable


@pytest.mark.parametrize("sequence", ["\x1bz", "\x1bf", "\x1b.", "\x1b\x1b[A", "\x1b[122;3u", "\x1b ", "\x1b\r"])
def test_alt_keys_type_nothing(sequence: str) -> None:
    (event,) = parsed(sequence)
    assert isinstance(event, events.Key)
    assert not event.is_printable


@pytest.mark.parametrize(
    ("sequence", "typed"),
    [("\x1b[97;;97u", "a"), ("\x1b[0;;20320:22909u", "你好"), ("\x1b[27;2;65~", "A"), ("\x1b[97;2u", "A")],
)
def test_sequences_that_carry_text(sequence: str, typed: str) -> None:
    assert "".join(event.character or "" for event in parsed(sequence) if isinstance(event, events.Key)) == typed


@pytest.mark.parametrize(
    "noise",
    [
        "\x1b[97;1:3u",  # a key release
        "\x1b[<NaN;NaN;NaNM",
        "\x1b[<35;NaN;4M",
        "\x1b[<35;1.5;4M",
        "\x1b[?62;22c",
        "\x1b[?0u",
        "\x1b[>1;10;0c",
        "\x1b[M !!",
        "\x1b[201~",
        "\x1b[99999999999;5u",
        "\ufffd",
        "\x9b",
        "\x1b[32;10;10M",
    ],
)
def test_noise_is_dropped_and_the_next_key_is_intact(noise: str) -> None:
    assert keys(noise + "x") == ["x"]


def test_a_sequence_broken_off_by_another_is_dropped() -> None:
    assert keys("\x1b[1;\x1b[A") == ["up"]
    assert keys("\x1b[<35;\x1b[B") == ["down"]


def test_escape_then_text_over_two_reads_is_escape_only_after_the_delay() -> None:
    clock = Clock()
    parser = TerminalParser(clock=clock, escape_delay=0.008)
    assert parser.feed("\x1b") == []
    assert parser.wait() == pytest.approx(0.008)
    clock.now += 0.005
    assert parser.tick() == []
    assert parser.wait() == pytest.approx(0.003)
    clock.now += 0.003
    assert [event.key for event in parser.tick() if isinstance(event, events.Key)] == ["escape"]
    assert parser.wait() is None
    assert [event.key for event in parser.feed("[") if isinstance(event, events.Key)] == ["left_square_bracket"]


def test_two_escapes_are_two_presses() -> None:
    assert keys("\x1b\x1b") == ["escape", "escape"]
    assert keys("\x1b", "\x1b") == ["escape", "escape"]


def test_escape_before_wide_text_is_escape() -> None:
    assert keys("\x1b你") == ["escape", "你"]


def test_replies_of_the_terminal_are_not_typed() -> None:
    for terminator in ("\x07", "\x1b\\"):
        (reply,) = parsed(f"\x1b]11;rgb:1111/1111/1111{terminator}")
        assert isinstance(reply, TerminalReply)
        assert reply.text == "11;rgb:1111/1111/1111"
    (reply,) = parsed("\x1bP>|xterm(390)\x1b\\")
    assert isinstance(reply, TerminalReply)


def test_focus_mouse_and_resize() -> None:
    focus, blur, press, resize = parsed("\x1b[I\x1b[O\x1b[<0;5;7M\x1b[48;40;120;800;1200t")
    assert isinstance(focus, events.AppFocus)
    assert isinstance(blur, events.AppBlur)
    assert isinstance(press, events.MouseDown)
    assert (press.x, press.y) == (4, 6)
    assert isinstance(resize, events.Resize)
    assert resize.size == (120, 40)


def pastes(*reads: str) -> list[str]:
    return [event.text for event in parsed(*reads) if isinstance(event, events.Paste)]


def test_paste_keeps_text_and_normalises_lines() -> None:
    assert pastes("\x1b[200~a\r\nb\rc\n\td\x00\x1b[31m\x1b[201~") == ["a\nb\nc\n\td\x1b[31m"]


def test_an_embedded_end_marker_cannot_let_text_escape() -> None:
    events_ = parsed("\x1b[200~ls\x1b[201~\rrm -rf x\r\x1b[201~")
    assert [type(event) for event in events_] == [events.Paste]
    events_ = parsed("\x1b[200~ls\x1b[201~", "\rrm\r", "\x1b[200~z\x1b[20", "1~")
    assert [event.text for event in events_ if isinstance(event, events.Paste)] == ["ls\nrm\nz"]
    assert len(events_) == 1


def test_a_key_right_behind_a_paste_is_a_key() -> None:
    paste, enter = parsed("\x1b[200~hello\x1b[201~\r")
    assert isinstance(paste, events.Paste)
    assert isinstance(enter, events.Key)
    assert enter.key == "enter"


def test_a_paste_without_an_end_is_delivered_in_the_end() -> None:
    assert pastes("\x1b[200~lost") == ["lost"]
    assert pastes("\x1b[200~") == []


def test_a_megabyte_of_paste_is_one_event() -> None:
    line = "x" * 99 + "\r\n"
    text = "\x1b[200~" + line * 10_000 + "\x1b[201~"
    reads = [text[start : start + 4096] for start in range(0, len(text), 4096)]
    assert pastes(*reads) == [("x" * 99 + "\n") * 10_000]


def test_lines_pasted_without_brackets_never_send() -> None:
    events_ = parsed("one\rtwo\rthree\r")
    assert [event.text for event in events_ if isinstance(event, events.Paste)] == ["one\ntwo\nthree\n"]
    assert len(events_) == 1
    assert len(parsed("one\rtwo\r", "three\r")) == 1


@pytest.mark.parametrize("report", ["\x1b[<35;5;7M", "\x1b[I", "\x1b[48;40;120;800;1200t", "\x1b]11;x\x07"])
def test_escape_right_before_a_report_is_not_lost(report: str) -> None:
    for reads in ((f"\x1b{report}",), ("\x1b", report), ("\x1b" + report[:3], report[3:])):
        escape, other = parsed(*reads)
        assert isinstance(escape, events.Key)
        assert escape.key == "escape"
        assert not isinstance(other, events.Key)


def test_escape_right_before_a_paste_is_not_lost() -> None:
    assert keys("\x1b\x1b[200~x\x1b[201~") == ["escape"]
    assert pastes("\x1b\x1b[200~x\x1b[201~") == ["x"]


def test_text_and_enter_in_one_read_is_typed() -> None:
    assert keys("s\rne") == ["s", "enter", "n", "e"]
    assert keys("hi\r") == ["h", "i", "enter"]
    assert keys("a\nb\r") == ["a", "ctrl+j", "b", "enter"]


def test_a_long_line_and_enter_in_one_read_is_a_paste_and_enter() -> None:
    paste, enter = parsed("y" * 2000 + "\r")
    assert isinstance(paste, events.Paste)
    assert isinstance(enter, events.Key)
    assert enter.key == "enter"


def test_control_keys_in_one_read_stay_keys_in_order() -> None:
    assert keys("q\x7fw") == ["q", "backspace", "w"]
    assert keys("abc\x1b[D\x1b[DZ") == ["a", "b", "c", "left", "left", "Z"]

"""Bytes of a file to text and back, so that what an edit does not touch keeps every byte.

Pure. `decode` finds byte order mark and encoding; `TextForm.encode` writes the same form again.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from reactagent_tui.core.errors import ReactAgentError

SAMPLE = 1 << 20
"""Bytes that are enough to tell the encoding of a file."""

_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"BM", "BMP image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (or an Office document)"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"\x7fELF", "ELF program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg media"),
    (b"fLaC", "FLAC audio"),
    (b"\x00asm", "WebAssembly module"),
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MAX_CONTROLS = 0.1
_SHORT_MAGIC = 3
"""Beginnings of at most this length also occur in text."""
_CANDIDATES = ["gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1252", "cp1251", "koi8_r"]
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_VALID_UTF8 = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}|\xe0[\xa0-\xbf][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{3}"
)


class BinaryFileError(ReactAgentError):
    """The bytes are no text; the message says what they look like."""


class UnencodableError(ReactAgentError):
    """The text has a character that the file's encoding cannot hold; the message names both."""


@dataclass(frozen=True, slots=True)
class TextForm:
    """How a text lies on disk."""

    encoding: str = "utf-8"
    mark: bytes = b""
    """Byte order mark in front."""
    lossless_errors: str = "strict"
    """Codec error handler that keeps what is not valid: surrogateescape, surrogatepass or strict."""

    @property
    def label(self) -> str:
        """Name for people and models, `UTF-8 with BOM`."""
        name = self.encoding.upper().replace("UTF_", "UTF-")
        if self.lossless_errors == "surrogateescape":
            name += " with some invalid bytes"
        return f"{name} with BOM" if self.mark else name

    @property
    def is_plain(self) -> bool:
        """UTF-8 without anything special: not worth a word."""
        return self == TextForm()

    def encode(self, text: str) -> bytes:
        """The bytes of a whole file. Raises UnencodableError."""
        try:
            return self.mark + text.encode(self.encoding, self.lossless_errors)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise UnencodableError(
                f"the character {character!a} (U+{ord(character):04X}) does not exist in {self.label}"
            ) from error


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of a file, without its mark, and its form."""

    text: str
    form: TextForm


def decode(data: bytes) -> Decoded:
    """The text of these bytes; encoding it again gives the same bytes. Raises BinaryFileError."""
    form = detect(data)
    text = data[len(form.mark) :].decode(form.encoding, form.lossless_errors)
    if form.encoding != "utf-8" and form.encode(text) != data:
        form = TextForm("utf-8", b"", "surrogateescape")
        text = data.decode("utf-8", "surrogateescape")
    return Decoded(text, form)


def detect(data: bytes, *, is_whole: bool = True) -> TextForm:
    """The form of a file from its bytes, or from its first ones (`is_whole` false). Raises BinaryFileError."""
    if not is_whole:
        data = _at_line_end(data)
    for mark, encoding in _MARKS:
        if data.startswith(mark) and (encoding == "utf-8" or _decodes(data[len(mark) :], encoding)):
            return _marked(data, mark, encoding)
    if kind := binary_kind(data):
        raise BinaryFileError(kind)
    if _decodes(data, "utf-8"):
        return TextForm()
    return _without_mark(data)


def binary_kind(data: bytes) -> str | None:
    """What binary bytes look like (`PNG image`), or None for text without a mark."""
    if not data:
        return None
    is_binary = b"\0" in data or len(_CONTROLS.findall(data[:65536])) > _MAX_CONTROLS * min(len(data), 65536)
    magic, named = next((entry for entry in _MAGIC if data.startswith(entry[0])), (b"", ""))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        named = "WebP image"
    if is_binary:
        return named or "binary data"
    return named if len(magic) > _SHORT_MAGIC and not _decodes(data, "utf-8") else None


def decode_loose(data: bytes) -> str:
    """Text of a stray line for reading only: UTF-8, else GB18030, else with replacement characters."""
    for encoding in ("utf-8", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace")


def _marked(data: bytes, mark: bytes, encoding: str) -> TextForm:
    if encoding != "utf-8":
        return TextForm(encoding, mark, "surrogatepass")
    if b"\0" in data:
        raise BinaryFileError("binary data")
    is_valid = _decodes(data[len(mark) :], "utf-8")
    return TextForm("utf-8", mark, "strict" if is_valid else "surrogateescape")


def _without_mark(data: bytes) -> TextForm:
    """Not UTF-8: damaged UTF-8, a double-byte encoding, or a single-byte one."""
    damaged = TextForm("utf-8", b"", "surrogateescape")
    good = len(_VALID_UTF8.findall(data))
    bad = _bad_bytes(data)
    if good > bad:
        return damaged
    runs = [len(run) for run in _HIGH_RUN.findall(data)]
    if max(runs) == 1 and not _is_gb(data):
        return TextForm("cp1252") if _decodes(data, "cp1252") else damaged
    guess = _best_guess(data)
    return damaged if guess is None else TextForm(guess)


def _bad_bytes(data: bytes) -> int:
    return sum("\udc80" <= char <= "\udcff" for char in data.decode("utf-8", "surrogateescape"))


def _is_gb(data: bytes) -> bool:
    """Chinese by the strict GB2312 table, where every high byte has a high partner."""
    return _decodes(data, "gb2312")


def _best_guess(data: bytes) -> str | None:
    from charset_normalizer import from_bytes

    sample = _at_line_end(data[:65536]) if len(data) > 65536 else data
    matches = list(from_bytes(sample, cp_isolation=_CANDIDATES))
    least = min((match.chaos for match in matches), default=0.0)
    names = [match.encoding for match in matches if match.chaos == least]
    names.sort(key=lambda name: name != "gb18030")
    return next((name for name in [*names, "cp1252"] if _decodes(data, name)), None)


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding, "surrogatepass" if encoding.startswith(("utf-16", "utf-32")) else "strict")
    except UnicodeDecodeError:
        return False
    return True


def _at_line_end(sample: bytes) -> bytes:
    """The sample without its last, probably torn line."""
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return sample[: len(sample) // 4 * 4]
    end = max(sample.rfind(b"\n"), sample.rfind(b"\r"))
    if end > 0:
        return sample[: end + 1]
    for cut in range(4):
        if _decodes(sample[: len(sample) - cut], "utf-8"):
            return sample[: len(sample) - cut]
    return sample

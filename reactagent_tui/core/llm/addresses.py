"""Makes what people paste as an address or a key usable, or says what is wrong with it."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from reactagent_tui.core.errors import ConfigError

_QUOTES = "\"'`“”‘’ \t\r\n"


def clean_base(text: str, *, where: str) -> str:
    """The address with a scheme and without quotes, spaces or a final slash. Raises ConfigError naming `where`.

    Without a scheme an address of this machine, a bare IP or one with a port is http, everything else https.
    """
    base = text.strip(_QUOTES).rstrip("/")
    if not base or base.lower() in ("http:", "https:"):
        raise ConfigError(f"{where}: the address is empty")
    if re.search(r"\s", base):
        raise ConfigError(f"{where}: the address contains a space or a line break")
    base = re.sub(r"^(https?):/{0,2}(?=[^/])", r"\1://", base, flags=re.IGNORECASE)
    if "://" not in base:
        base = _with_scheme(base)
    try:
        parts = urlsplit(base)
        host = parts.hostname
        _ = parts.port
    except ValueError as error:
        raise ConfigError(f"{where}: {_hide_login(base)} is not an address: {error}") from error
    if parts.scheme.lower() not in ("http", "https"):
        raise ConfigError(f"{where}: {_hide_login(base)} must start with http:// or https://")
    if not host:
        raise ConfigError(f"{where}: {_hide_login(base)} names no host")
    return base


def clean_key(text: str, *, where: str) -> str:
    """The key without quotes, line breaks or a leading `Bearer`. Raises ConfigError that never shows the key."""
    key = re.sub(r"^bearer\s+", "", text.strip(_QUOTES), flags=re.IGNORECASE).strip(_QUOTES)
    if re.search(r"\s", key):
        raise ConfigError(f"{where}: the key contains a space or a line break")
    if not key.isascii() or not key.isprintable():
        raise ConfigError(f"{where}: the key contains a character that no key has; copy it again")
    return key


def is_private(host: str) -> bool:
    """An address that only this machine or its own network can reach."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host == "localhost" or host.endswith((".local", ".localhost", ".lan", ".internal"))


def _with_scheme(base: str) -> str:
    host, slash, path = base.partition("/")
    if host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    name = (urlsplit(f"//{host}").hostname or "") if host.count("[") == host.count("]") else ""
    plain = host.rpartition("]")[2].count(":") > 0 and not host.endswith(":443")
    scheme = "http" if plain or is_private(name) else "https"
    return f"{scheme}://{host}{slash}{path}"


def _hide_login(base: str) -> str:
    return re.sub(r"//[^/@]*@", "//********@", base)

"""Credentials and region for Amazon's web services, as its own programs find them.

An access key comes from the environment, or from a profile in `~/.aws/credentials` or `~/.aws/config`. The
region comes from the environment or the profile. `aws_login` requests temporary keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from groundwire.credentials.secret import sendable
from groundwire.errors import ConfigError
from groundwire.providers.aws_signature import AwsKeys

REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")


class FoundKeys(NamedTuple):
    """An access key, and where it was found."""

    keys: AwsKeys
    origin: str


def find_region(env: Mapping[str, str], home: str) -> str:
    """The region; empty if none is set."""
    for name in REGION_VARIABLES:
        if region := env.get(name, "").strip():
            return region
    return _profile(_config_file(env, home), _config_section(env)).get("region", "").strip()


def find_keys(env: Mapping[str, str], home: str) -> FoundKeys | None:
    """An access key; None if there is none. Raises `ConfigError` for a file that cannot be read."""
    variables = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    if keys := _keys(*(env.get(name, "") for name in variables)):
        return FoundKeys(keys, "environment AWS_ACCESS_KEY_ID")
    name = _profile_name(env)
    places = (
        (_credentials_file(env, home), name),
        (_config_file(env, home), _config_section(env)),
    )
    profiles = [(path, _profile(path, section)) for path, section in places]
    fields = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    for path, profile in profiles:
        if keys := _keys(*(profile.get(field, "") for field in fields)):
            return FoundKeys(keys, f"{path} ({name})")
    return None


def profile_named(env: Mapping[str, str], home: str, section: str = "") -> tuple[str, Mapping[str, str]]:
    """The name of the profile, and its fields in the configuration file, or those of another section."""
    return _profile_name(env), _profile(_config_file(env, home), section or _config_section(env))


def _keys(key_id: str, secret: str, token: str) -> AwsKeys | None:
    key_id = key_id.strip()
    if not key_id or not (key := sendable(secret)):
        return None
    return AwsKeys(key_id, key, sendable(token))


def _profile_name(env: Mapping[str, str]) -> str:
    return env.get("AWS_PROFILE", "").strip() or "default"


def _config_section(env: Mapping[str, str]) -> str:
    """In the configuration file, the name of a section other than `default` begins with `profile`."""
    name = _profile_name(env)
    return name if name == "default" else f"profile {name}"


def _credentials_file(env: Mapping[str, str], home: str) -> Path:
    return Path(env.get("AWS_SHARED_CREDENTIALS_FILE", "") or f"{home}/.aws/credentials")


def _config_file(env: Mapping[str, str], home: str) -> Path:
    return Path(env.get("AWS_CONFIG_FILE", "") or f"{home}/.aws/config")


def _profile(path: Path, section: str) -> Mapping[str, str]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        raise _unreadable(path) from None
    from configparser import ConfigParser, Error  # noqa: PLC0415  slow to import, and few machines have a file

    parser = ConfigParser(interpolation=None, strict=False, default_section="")
    try:
        parser.read_string(text)
    except Error:
        raise _unreadable(path) from None
    return dict(parser[section]) if parser.has_section(section) else {}


def _unreadable(path: Path) -> ConfigError:
    return ConfigError(f"{path} cannot be read as a configuration of AWS")

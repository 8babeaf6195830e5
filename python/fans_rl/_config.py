"""Configs: where their files are, and options as Python writes them."""

from __future__ import annotations

import difflib
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

from ._library import FOLDER, check, ffi, lib

Settings = Mapping[str, Any]
Path = Union[str, "os.PathLike[str]"]

CONFIGS = FOLDER / "configs"


def config_names() -> list[str]:
    """The configs that come with the package, such as 'pendulum_flip'."""
    return sorted(path.stem for path in CONFIGS.glob("*.ini"))


def find_config(config: Path) -> pathlib.Path:
    """The file of a config: a path, or the name of one that comes with the package."""
    path = pathlib.Path(config)
    if path.is_file():
        return path
    own = CONFIGS / f"{path}.ini"
    if own.is_file():
        return own
    close = difflib.get_close_matches(str(config), config_names(), 1)
    raise FileNotFoundError(f"{config}: no such file, nor a config of the package{_hint(close)}")


def _hint(close: Sequence[str]) -> str:
    return f"; did you mean '{close[0]}'?" if close else ""


def settings(options: Settings | None) -> Iterator[tuple[str, str]]:
    """Options as text. {"sac.lr": 1e-3} and {"sac": {"lr": 1e-3}} say the same."""
    for key, value in (options or {}).items():
        if isinstance(value, Mapping):
            yield from settings({f"{key}.{name}": one for name, one in value.items()})
        else:
            yield key, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence):
        return ", ".join(map(_text, value))
    return repr(value.item() if hasattr(value, "item") else value)


def new_config(ini: Path | None, preset: str | None, options: Settings | None) -> Any:
    """The library's config of a file, a preset and options."""
    out = ffi.new("fans_config **")
    check(lib.fans_config_new(out, _bytes(ini), _bytes(preset)))
    config = ffi.gc(out[0], lib.fans_config_free)
    for key, value in settings(options):
        check(lib.fans_config_set(config, key.encode(), value.encode()))
    return config


def _bytes(text: Path | None) -> Any:
    return ffi.NULL if text is None else os.fsencode(text)

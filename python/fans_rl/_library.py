"""The library: where it is, what CPU it needs, and how its calls fail."""

from __future__ import annotations

import atexit
import logging
import os
import pathlib
import platform
from typing import Any

FOLDER = pathlib.Path(__file__).parent


# ---- the CPU ------------------------------------------------------------------------------------

# What x86-64-v3 adds, by the kernel's names. A CPU without them would die at the first call.
NEEDED = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}


def missing_instructions(cpuinfo: str) -> set[str]:
    """Those that the text of /proc/cpuinfo lacks; none where it lists no flags."""
    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), None)
    return NEEDED - set(flags.split()) if flags else set()


def _check_cpu() -> None:
    if platform.machine() != "x86_64" or not os.path.exists("/proc/cpuinfo"):
        return
    lacks = missing_instructions(pathlib.Path("/proc/cpuinfo").read_text())
    if lacks:
        raise ImportError(f"fans_rl needs a CPU of x86-64-v3 (Haswell, Zen or later); this one lacks {', '.join(sorted(lacks))}")


_check_cpu()

from ._declarations import ffi as _declared  # noqa: E402  (an older CPU gets its line first)

ffi: Any = _declared

# LOCAL: nothing of it becomes global. NODELETE: as Python exits, handles may outlive this module.
lib: Any = ffi.dlopen(str(FOLDER / "libfans.so"), os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_NODELETE)


# ---- errors -------------------------------------------------------------------------------------


class Error(Exception):
    """What the library refused, in one line. Each code is also the Python exception it resembles."""


class InvalidError(Error, ValueError):
    """A value is out of range, a name is unknown, shapes disagree."""


class MemoryRanOutError(Error, MemoryError):
    """Memory ran out."""


class FileError(Error, OSError):
    """A file could not be read or written."""


class FormatError(Error, ValueError):
    """A file is not what it should be."""


class NumericError(Error, ArithmeticError):
    """A value became NaN or infinite."""


class UnsupportedError(Error, NotImplementedError):
    """This build, this machine or this environment cannot do it."""


_BY_CODE = {
    lib.FANS_EINVAL: InvalidError, lib.FANS_ENOMEM: MemoryRanOutError, lib.FANS_EIO: FileError,
    lib.FANS_EFORMAT: FormatError, lib.FANS_ENUMERIC: NumericError, lib.FANS_ENOSUP: UnsupportedError,
}


def check(rc: int) -> None:
    """Raises what a call returned, with the library's line."""
    if rc < 0:
        raise _BY_CODE.get(rc, Error)(ffi.string(lib.fans_error()).decode())


version: str = ffi.string(lib.fans_version()).decode()


# ---- what it logs -------------------------------------------------------------------------------

_LEVELS = {lib.FANS_LOG_DEBUG: logging.DEBUG, lib.FANS_LOG_INFO: logging.INFO, lib.FANS_LOG_WARNING: logging.WARNING}
_logger = logging.getLogger("fans_rl")


def _log(user: Any, level: int, line: Any) -> None:
    _logger.log(_LEVELS.get(level, logging.INFO), "%s", ffi.string(line).decode(errors="replace"))


_sink = ffi.callback("fans_log_sink", _log)
lib.fans_log_to(_sink, ffi.NULL)
atexit.register(lib.fans_log_to, ffi.NULL, ffi.NULL)

"""fans_rl._library: the header's declarations, the CPU it asks for, and errors as exceptions."""

import pathlib
import re

import fans_rl
from fans_rl import _library

HEADER = pathlib.Path(__file__).parents[2] / "include" / "fans" / "fans.h"


def test_every_public_function_can_be_called(build):
    names = re.findall(r"^FANS_API [^(;]*?(fans_\w+)\(", HEADER.read_text(), flags=re.M)
    assert len(names) >= 4, names
    for name in names:
        assert _library.ffi.typeof(getattr(_library.lib, name)).kind == "function", name


def test_version_is_the_headers(build):
    parts = re.findall(r"define FANS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", HEADER.read_text())
    assert fans_rl.__version__ == ".".join(parts)


def test_an_older_cpu_is_named(build):
    everything = " ".join(sorted(_library.NEEDED))
    assert _library.missing_instructions(f"model name : x\nflags\t\t: sse {everything}\n") == set()
    assert _library.missing_instructions(f"flags : {everything.replace('avx2', '')}") == {"avx2"}
    assert _library.missing_instructions("nothing is known") == set()


def test_errors_have_the_librarys_line(build):
    lib, ffi = _library.lib, _library.ffi
    like = {lib.FANS_EINVAL: ValueError, lib.FANS_ENOMEM: MemoryError, lib.FANS_EIO: OSError,
            lib.FANS_EFORMAT: ValueError, lib.FANS_ENUMERIC: ArithmeticError, lib.FANS_ENOSUP: NotImplementedError}
    for code, kind in like.items():
        try:
            _library.check(lib.fans_fail(code, b"wind = %s: too strong", ffi.new("char[]", b"99")))
        except fans_rl.Error as error:
            assert isinstance(error, kind) and str(error) == "wind = 99: too strong", repr(error)
        else:
            raise AssertionError(f"{code} raised nothing")
    _library.check(0)

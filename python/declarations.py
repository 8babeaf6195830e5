"""declarations.py HEADER OUT - cuts the declarations out of fans.h and writes them as a Python module.

cffi loads the module without a compiler or a parser. It is written by every build of the package,
so it cannot disagree with the header.
"""

import pathlib
import re
import sys

import cffi


def declarations(header: str) -> str:
    """What cffi should read: no comments, no preprocessor but plain numbers, no attributes."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)+", "", text)
    lines = [line for line in text.splitlines() if keeps(line)]
    return re.sub(r"\bFANS_API\b", "", "\n".join(lines))


def keeps(line: str) -> bool:
    return not line.startswith("#") or re.fullmatch(r"#define\s+\w+\s+\d+\s*", line) is not None


def main(header: str, out: str) -> None:
    ffi = cffi.FFI()
    ffi.set_source("fans_rl._declarations", None)
    ffi.cdef(declarations(pathlib.Path(header).read_text()))
    pathlib.Path(out).parent.mkdir(parents=True, exist_ok=True)
    ffi.emit_python_code(out)


if __name__ == "__main__":
    main(*sys.argv[1:])

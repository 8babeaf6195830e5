"""run.py BUILD - runs every test_*.py of a folder, in the format of ./dev test.

A test is a function test_*(build), where build is the folder with the tool, libfans.so and the
parity_* programs. It fails by raising, and is skipped by raising Skip("why").
"""

import argparse
import importlib.util
import pathlib
import sys
import time
import traceback


class Skip(Exception):
    """Raised by a test that cannot run here."""


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name, test, build):
    """Runs one test and says how it went: 'passed', 'failed' or 'skipped'."""
    start = time.perf_counter()
    try:
        test(build)
    except Skip as why:
        print(f"skipped: {name}: {why}")
        return "skipped"
    except Exception:
        traceback.print_exc()
        print(f"FAILED  {name}")
        return "failed"
    print(f"passed  {name}  {time.perf_counter() - start:.2f} s")
    return "passed"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--tests", type=pathlib.Path, default=pathlib.Path(__file__).parent, help="their folder")
    parser.add_argument("--counts", help="write 'passed failed skipped' to this file")
    args = parser.parse_args()
    sys.modules["run"] = sys.modules["__main__"]  # so that tests say `from run import Skip`
    sys.path.insert(0, str(args.tests.resolve()))  # and `from common import …`

    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in sorted(args.tests.glob("test_*.py")):
        try:
            module = load(path)
        except Exception:
            traceback.print_exc()
            print(f"FAILED  {path.stem}: cannot be loaded")
            counts["failed"] += 1
            continue
        for name, test in list(vars(module).items()):
            if name.startswith("test_") and callable(test):
                counts[run(f"{path.stem}.{name}", test, args.build.resolve())] += 1

    if args.counts:
        pathlib.Path(args.counts).write_text("{passed} {failed} {skipped}\n".format(**counts))
    return counts["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())

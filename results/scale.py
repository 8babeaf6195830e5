"""What many runs need: a plan of tiny runs is made, trained, looked at again, listed and reported.

    python3 results/scale.py build/fans OUT --runs 10000 > results/scale/runs.csv

Prints a CSV: for each command, seconds, seconds of a core, and the most memory in MB; then what it left, in MB and files.
"""
import argparse
import os
import subprocess
import sys
import time
from pathlib import Path


def measured(name, command, out):
    """Runs a command and prints what it took."""
    begin = time.monotonic()
    with open(out / f"{name}.log", "w") as log:
        child = subprocess.Popen(command, stdout=log, stderr=log)
        _, status, used = os.wait4(child.pid, 0)
    seconds = time.monotonic() - begin
    if status:
        sys.exit(f"{' '.join(map(str, command))} failed: see {out / name}.log")
    print(f"{name},{seconds:.2f},{used.ru_utime + used.ru_stime:.2f},{used.ru_maxrss / 1024:.0f}", flush=True)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("fans")
    args.add_argument("out", type=Path, help="a new folder")
    args.add_argument("--runs", type=int, default=10000)
    args.add_argument("--config", default="configs/pendulum_flip.ini")
    args = args.parse_args()
    args.out.mkdir(parents=True)
    plan, runs, page = (str(args.out / name) for name in ("plan.csv", "runs", "report.html"))
    print("command,seconds,core_seconds,memory_mb")
    measured("sweep", [args.fans, "sweep", args.config, "--algo", "random,null", "--seeds", str(args.runs // 2),
                       "--steps", "200", "--plan", plan, "--out", runs], args.out)
    for name in ("work", "work-again"):
        measured(name, [args.fans, "work", plan, "--quiet", "--threads", "1", "--device", "cpu"], args.out)
    measured("runs", [args.fans, "runs", runs], args.out)
    measured("report", [args.fans, "report", runs, "--out", page], args.out)
    files = [path for path in Path(runs).rglob("*") if path.is_file()]
    print("\nwhat,megabytes,files")
    for name, paths in (("plan", [Path(plan)]), ("runs", files), ("report", [Path(page)])):
        print(f"{name},{sum(path.stat().st_size for path in paths) / 1e6:.1f},{len(paths)}")


if __name__ == "__main__":
    main()

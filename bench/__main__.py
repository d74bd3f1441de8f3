"""`python -m bench [name ...]`: take every figure, or those of the named files, and print the table and the machine."""

from __future__ import annotations

import importlib
import os
import platform
import statistics
import sys
import tempfile
from pathlib import Path

from bench.measure import Taken, judged, take

_NOT_FIGURES = {"__init__", "__main__", "fleets", "measure", "pane", "writer"}
_TITLES = f"{'figure':50} {'ours':>10} {'bare':>10} {'judged':>10}  {'middle half':21} {'target':>13}"


def main() -> None:
    """Take and print the figures."""
    names = sys.argv[1:] or sorted(
        path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in _NOT_FIGURES
    )
    with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get("TMPDIR", "/tmp")) as folder:
        print(_machine(folder))
        print(_TITLES)
        for name in names:
            for figure in importlib.import_module(f"bench.{name}").figures(Path(folder, name)):
                print(_line(take(figure)), flush=True)
        print(f"load at the end {os.getloadavg()[0]:.1f}")


def _line(taken: Taken) -> str:
    found = judged(taken)
    ours = _sample(taken.ours, found.unit)
    bare = _sample(taken.bare, found.unit) if taken.bare else ""
    spread = f"{found.low:.2f} – {found.high:.2f}{found.unit}"
    judged_as = f"{found.judged:.2f}{found.unit}"
    judgement = "ok" if found.met else "MISSED"
    target = taken.figure.target
    return f"{taken.figure.name:50} {ours:>10} {bare:>10} {judged_as:>10}  {spread:21} {target:>13}  {judgement}"


def _sample(samples: list[float], unit: str) -> str:
    """Return the median of some samples: a share, a count, or a time."""
    middle = statistics.median(samples)
    if unit == " %":
        return f"{middle * 100:.2f} %"
    if unit not in {" ms", "×"}:
        return f"{middle:.0f}"
    return f"{middle * 1e6:.0f} µs" if middle < 1e-3 else f"{middle * 1e3:.2f} ms"


def _machine(folder: str) -> str:
    """Return one line on what the figures were taken with."""
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), cpu)
    except OSError:
        pass  # not Linux: the processor's name as Python knows it
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"{cpu}, {os.cpu_count()} cores, {system}, load {os.getloadavg()[0]:.1f}, in {folder}"


if __name__ == "__main__":
    main()

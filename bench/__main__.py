"""`python -m bench [name ...]`: take every figure, or those of the named files, and print the table and the machine.

With `--write` all of it goes to docs/bench.md, with the spread of each figure.
"""

from __future__ import annotations

import importlib
import os
import platform
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import Taken, judged, take

if TYPE_CHECKING:
    from collections.abc import Sequence

_NOT_FIGURES = {"__init__", "__main__", "fleets", "measure", "pane", "writer"}
_LINE = "{:50} {:>10} {:>10} {:>10}  {:21} {:>13}  {}"
_TITLES = _LINE.format("figure", "ours", "bare", "judged", "middle half", "target", "").rstrip()
_ABOUT = """# The figures

Written by `make bench`; do not edit. One run, ours and the bare loop in turn. What is judged is the median of the
rounds, or the quantile that the target names; beside it stands the middle half of them. `×` is a ratio.

"""
_DOCUMENT = Path(__file__).parent.parent / "docs" / "bench.md"


def main() -> None:
    """Take and print the figures."""
    names = [word for word in sys.argv[1:] if not word.startswith("-")] or sorted(
        path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in _NOT_FIGURES
    )
    with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get("TMPDIR", "/tmp")) as folder:
        machine, rows = _machine(folder), []
        print(machine)
        print(_TITLES)
        for name in names:
            for figure in importlib.import_module(f"bench.{name}").figures(Path(folder, name)):
                cells = _cells(take(figure))
                rows.append(cells)
                print(_LINE.format(*cells), flush=True)
        end = f"load at the end {os.getloadavg()[0]:.1f}"
        print(end)
    if "--write" in sys.argv:
        _DOCUMENT.write_text(_document(machine.partition(", in ")[0], rows, end), encoding="utf-8")


def _document(machine: str, rows: Sequence[Sequence[str]], end: str) -> str:
    """Return the table as the document shows it."""
    head = (
        "| figure | ours | bare | judged | middle half | target | |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |\n"
    )
    return f"{_ABOUT}{machine}; {end}.\n\n{head}" + "".join(
        f"| {' | '.join(cell.strip() for cell in row)} |\n" for row in rows
    )


def _cells(taken: Taken) -> tuple[str, ...]:
    found = judged(taken)
    ours = _sample(taken.ours, found.unit)
    bare = _sample(taken.bare, found.unit) if taken.bare else ""
    spread = f"{found.low:.2f} – {found.high:.2f}{found.unit}"
    judged_as = f"{found.judged:.2f}{found.unit}"
    judgement = "ok" if found.met else "MISSED"
    return taken.figure.name, ours, bare, judged_as, spread, taken.figure.target, judgement


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

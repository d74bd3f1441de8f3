#!/usr/bin/env python3
"""Put the commands of this environment onto the person's search path, and take them from it: `make install`.

    tools/links.py install [FOLDER]      link sot-tui and sotd into FOLDER (~/.local/bin)
    tools/links.py uninstall [FOLDER]    remove exactly these links

A link is ours when it leads to the command beside this interpreter. Anything else of that name is left as it is: the
install ends with 1 before it makes a link, and the uninstall passes it over.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

COMMANDS = ("sot-tui", "sotd")
FOLDER = "~/.local/bin"


def main(words: list[str]) -> int:
    """Link or unlink; the exit code is 0, 1 (something else has the name) or 2 (usage)."""
    if words[:1] not in (["install"], ["uninstall"]) or len(words) > 2:
        print((__doc__ or "").split("\n\n")[1], file=sys.stderr)
        return 2
    folder = Path(words[1] if len(words) > 1 else FOLDER).expanduser().absolute()
    links = {folder / name: Path(sys.executable).absolute().with_name(name) for name in COMMANDS}
    return _install(folder, links) if words[0] == "install" else _uninstall(links)


def _install(folder: Path, links: dict[Path, Path]) -> int:
    foreign = [link for link, own in links.items() if os.path.lexists(link) and not _is_ours(link, own)]
    if foreign:
        for link in foreign:
            print(f"{link} is not ours, so nothing was linked; move it away first", file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    for link, own in links.items():
        if not os.path.lexists(link):
            link.symlink_to(own)
        print(f"{link} -> {own}")
    if str(folder) not in os.environ.get("PATH", os.defpath).split(os.pathsep):
        told = "$HOME" + str(folder)[len(str(Path.home())) :] if folder.is_relative_to(Path.home()) else str(folder)
        print(f'  it is not on your search path; in your shell\'s profile: export PATH="{told}:$PATH"')
    return 0


def _uninstall(links: dict[Path, Path]) -> int:
    for link, own in links.items():
        if _is_ours(link, own):
            link.unlink()
            print(f"removed {link}")
        elif os.path.lexists(link):
            print(f"{link} is not ours, and stays", file=sys.stderr)
    return 0


def _is_ours(link: Path, own: Path) -> bool:
    return link.is_symlink() and os.readlink(link) == str(own)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

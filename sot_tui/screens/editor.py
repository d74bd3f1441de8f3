"""The person's own editor, on a private file, in the dashboard's place on the terminal.

The command of the settings, `$VISUAL` or `$EDITOR` is split into words and run without a shell. The engine goes on
meanwhile (its stamps, its counts), so nothing here blocks, and nothing is painted until the terminal is back. Ctrl+Z in
the editor stops the editor alone, which is woken again at once: stopping the dashboard would stop the engine with it.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Iterator

    from textual.app import App

WAKE_SECS = 0.2
"""Seconds between two looks whether the editor was stopped."""


def words_of(command: str) -> list[str] | str:
    """Return the words of an editor's command, or why it is none."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"the editor's command cannot be split into words ({error}): {command}"
    return words or "no editor is named: set VISUAL or EDITOR, or the key `editor` of the settings"


async def edit(app: App[None], command: str, path: str) -> str:
    """Open a file in the editor and wait for its end; return what went wrong, or nothing."""
    words = words_of(command)
    if isinstance(words, str):
        return words
    try:
        # Nothing is painted meanwhile: the driver has no one who writes, and would wait for one for ever.
        with _unmoved(), app.batch_update(), app.suspend():
            terminal = _terminal()
            fault = await _run([*words, path], terminal)
            if terminal is not None and _is_gone(terminal):
                app.exit()  # the signal that says so went to the editor
            return fault
    except SuspendNotSupported:
        return "an editor needs a terminal, and this one cannot be lent"


async def _run(words: list[str], terminal: int | None) -> str:
    try:
        process = await asyncio.create_subprocess_exec(*words, process_group=0 if terminal is not None else None)
    except (OSError, ValueError) as error:
        return f"{words[0]} could not be started: {getattr(error, 'strerror', None) or error}"
    try:
        if terminal is not None:
            _give(terminal, process.pid)
        watch = asyncio.ensure_future(_keep_awake(process))
        try:
            code = await process.wait()
        finally:
            watch.cancel()
    except BaseException:
        with suppress(ProcessLookupError):
            process.terminate()
        raise
    finally:
        if terminal is not None:
            _give(terminal, os.getpgrp())
    return "" if code == 0 else f"{words[0]} ended with {code}" if code > 0 else f"{words[0]} was ended by a signal"


@contextmanager
def _unmoved() -> Iterator[None]:
    """Go on at SIGQUIT: just before and after the editor has the terminal, that key of it signals us.

    A handler and not SIG_IGN, which the editor would inherit. SIGINT ends the dashboard cleanly, whenever it comes.
    """
    was = signal.signal(signal.SIGQUIT, _go_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGQUIT, was)


def _go_on(*_: object) -> None:
    """Do nothing."""


def _terminal() -> int | None:
    """Return the descriptor of our terminal, None where there is none to hand over."""
    for descriptor in (0, 2):
        with suppress(OSError):
            if os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp():
                return descriptor
    return None


def _is_gone(terminal: int) -> bool:
    try:
        os.tcgetpgrp(terminal)
    except OSError:
        return True
    return False


def _give(terminal: int, group: int) -> None:
    """Make a process group the one that the terminal's keys go to."""
    # Who is not that group itself would be stopped by asking.
    was = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with suppress(OSError):  # the editor has ended already
            os.tcsetpgrp(terminal, group)
    finally:
        signal.signal(signal.SIGTTOU, was)


async def _keep_awake(process: Process) -> None:
    """Wake the editor whenever it is stopped: by Ctrl+Z, or because it read before the terminal was its own."""
    while True:
        await asyncio.sleep(WAKE_SECS)
        _wake(process.pid)


def _wake(pid: int) -> None:
    with suppress(OSError):  # it has ended
        if os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG) is not None:
            os.killpg(pid, signal.SIGCONT)

"""What the dashboard keeps for the person: which messages were opened, the drafts, and the sheets an editor works on.

All of it is ours alone and lies under the state root, in `tui/`, in one folder for each comm home (product, Mail);
nothing of it enters a comm home. Folders are 0700, files 0600. A draft is one file, replaced in one step, so that two
dashboards do not take each other's. A mark names a line by its number and its hash, so that a new or a cut-back inbox
never passes a stranger off as opened; a mark that is lost only shows a message as new again.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from sot_tui.comm import jsonline, waiting
from sot_tui.comm.clock import stamp
from sot_tui.comm.jsonline import NotStrict
from sot_tui.comm.waiting import Waits
from sot_tui.engine.client import Body, Drafts, KeptDraft, Kind, Sheet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sot_tui.comm.home import Home
    from sot_tui.engine.client import Letter

MARKS_LIMIT = 20_000
"""Marks that are kept, the newest ones; about a mebibyte."""
DRAFT_CHARS = 1_000_000
"""Characters of a draft that can be kept; what is longer belongs in a file that a session can read."""
DRAFTS_LIMIT = 500
"""Drafts that are read; a person has a few."""
SHEET_BYTES = 1 << 22
"""Bytes of a sheet that are taken back from an editor."""
_FILE_BYTES = 1 << 23
"""Bytes of a file of ours that are read; each sign of a draft may be six of them."""
_SHEET = "message.txt"


class DeskStore:
    """The folder of one comm home. Its methods block, and each may be called from any thread."""

    def __init__(self, home: Home, own_state: str) -> None:
        self._home = home
        self._disk = home.disk
        self._base = own_state
        self.folder = f"{own_state}/{_key(home)}"
        self._lock = threading.Lock()
        self._marks: dict[tuple[str, int, str], None] | None = None
        self._waiting: dict[str, dict[tuple[int, str], Waits]] | None = None
        self._waiting_stamp: tuple[int, ...] = ()
        self._swept = False
        self.only_looks = False
        """Whether nothing may be written, not even tidied."""

    # -- which messages were opened ----------------------------------------------------------------------------------

    def is_opened(self, inbox: str, line: int, mark: str) -> bool:
        """Tell whether the person has opened a message."""
        with self._lock:
            return (inbox, line, mark) in self._loaded_marks()

    def mark_opened(self, letter: Letter) -> str:
        """Mark a message as opened; return what went wrong, or nothing. The mark holds here in either case."""
        key = (letter.inbox, letter.line, letter.mark)
        with self._lock:
            marks = self._loaded_marks()
            if key in marks:
                return ""
            marks[key] = None
            self._change_waiting(letter.inbox, (), (Waits(letter.line, letter.mark, letter.at),))
            try:
                self._make_folder(self.folder)
                self._append(f"{self.folder}/opened", _mark_line(key))
                if len(marks) > 2 * MARKS_LIMIT:
                    self._write_marks(marks)
            except OSError as error:
                return f"that this message was opened could not be kept: {error.strerror}"
        return ""

    # -- which messages to the person were listed, and not opened ------------------------------------------------------

    def waiting(self, handle: str) -> tuple[Waits, ...]:
        """Return the messages to a handle that were listed and are not opened, in the order of their lines."""
        with self._lock:
            return tuple(self._loaded_waiting().get(handle, {}).values())

    def let_wait(self, handle: str, letters: Iterable[Letter]) -> str:
        """Keep that these messages are listed, where they are to the person and not opened; return what went wrong."""
        with self._lock:
            marks = self._loaded_marks()
            fresh = [
                Waits(one.line, one.mark, one.at)
                for one in letters
                if one.kind is Kind.DIRECTED and (one.inbox, one.line, one.mark) not in marks
            ]
            return self._change_waiting(handle, fresh, ())

    def let_wait_no_more(self, handle: str, gone: Iterable[Waits]) -> str:
        """Forget messages that are not in the inbox any more, or that the cursor has not passed after all."""
        with self._lock:
            return self._change_waiting(handle, (), gone)

    def _change_waiting(self, handle: str, fresh: Iterable[Waits], gone: Iterable[Waits]) -> str:
        """Change what waits for a handle, and keep it; where it cannot be kept it holds here all the same."""
        whole = self._loaded_waiting()
        was = whole.get(handle, {})
        rows = was | {(one.line, one.mark): one for one in fresh}
        for one in gone:
            rows.pop((one.line, one.mark), None)
        if rows.keys() == was.keys():
            return ""
        whole[handle] = dict(sorted(rows.items()))
        fault = waiting.write(self._home, self._base, {name: list(each.values()) for name, each in whole.items()})
        self._waiting_stamp = self._stamp_of(f"{self._base}/{waiting.FILE}")
        return f"which messages you have not opened could not be kept: {fault}" if fault else ""

    def _loaded_waiting(self) -> dict[str, dict[tuple[int, str], Waits]]:
        """Return what waits; when another dashboard has written it since, as it stands now."""
        found = self._stamp_of(f"{self._base}/{waiting.FILE}")
        if self._waiting is None or found != self._waiting_stamp:
            kept = waiting.read(self._home, self._base)
            self._waiting = {name: {(row.line, row.mark): row for row in rows} for name, rows in kept.items()}
            self._waiting_stamp = found
        return self._waiting

    def _stamp_of(self, path: str) -> tuple[int, ...]:
        try:
            found = self._disk.stat(path)
        except OSError:
            return ()
        return (found.st_ino, found.st_size, found.st_mtime_ns)

    def _loaded_marks(self) -> dict[tuple[str, int, str], None]:
        if self._marks is None:
            data = self._read(f"{self.folder}/opened")
            found = [key for line in data.decode("utf-8", "replace").split("\n") if (key := _mark_of(line))]
            self._marks = dict.fromkeys(found)
            untidy = len(found) > MARKS_LIMIT or (data and not data.endswith(b"\n"))
            if untidy and not self.only_looks:
                with suppress(OSError):  # too many, or a torn last line: it stays so until the next start
                    self._write_marks(self._marks)
        return self._marks

    def _write_marks(self, marks: dict[tuple[str, int, str], None]) -> None:
        for old in list(marks)[: max(0, len(marks) - MARKS_LIMIT)]:
            del marks[old]
        self._replace(f"{self.folder}/opened", "".join(_mark_line(key) for key in marks).encode())

    # -- drafts --------------------------------------------------------------------------------------------------------

    def drafts(self) -> Drafts:
        """Return every draft that is kept, the oldest first; a file that is none is named and left alone."""
        folder = f"{self.folder}/drafts"
        try:
            names = sorted(name for name in self._disk.listdir(folder) if name.endswith(".json"))
        except FileNotFoundError:
            return Drafts()
        except OSError as error:
            return Drafts(faults=(f"the drafts in {folder} could not be read: {error.strerror}",))
        found: list[KeptDraft] = []
        faults: list[str] = []
        for name in names[:DRAFTS_LIMIT]:
            draft = _draft_of(self._read(f"{folder}/{name}"))
            if draft is None:
                faults.append(f"{folder}/{name} holds no draft that could be read; it is left alone")
            else:
                found.append(draft)
        if len(names) > DRAFTS_LIMIT:
            faults.append(f"{folder} holds {len(names)} drafts; {DRAFTS_LIMIT} of them are shown")
        return Drafts(tuple(sorted(found, key=lambda draft: (draft.at, draft.slot))), tuple(faults))

    def keep(self, draft: KeptDraft) -> str:
        """Keep a draft in the place of the one of its slot; return what went wrong, or nothing."""
        if len(draft.text) > DRAFT_CHARS:
            return f"this draft is not kept: it is longer than {DRAFT_CHARS} characters"
        said = {
            "slot": draft.slot,
            "to": draft.to,
            "text": draft.text,
            "about": draft.about,
            "refused": draft.refused,
            "to_all": draft.to_all,
            "left": list(draft.left),
            "at": stamp(self._home.clock.now()),
        }
        try:
            self._make_folder(f"{self.folder}/drafts")
            self._replace(self._draft_path(draft.slot), json.dumps(said).encode("ascii"))
        except OSError as error:
            return f"this draft could not be kept ({error.strerror}); it is lost when the dashboard closes"
        return ""

    def drop(self, slot: str) -> str:
        """Remove the draft of a slot; return what went wrong, or nothing."""
        try:
            self._disk.unlink(self._draft_path(slot))
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"the draft could not be removed ({error.strerror}); it will be there at the next start"
        return ""

    def _draft_path(self, slot: str) -> str:
        return f"{self.folder}/drafts/{_hash(slot)}.json"

    # -- sheets for an editor ------------------------------------------------------------------------------------------

    def lay_out(self, data: bytes) -> Sheet:
        """Write a private file for an editor, in a folder of its own: what an editor leaves beside it goes with it."""
        sheets = f"{self.folder}/sheets"
        try:
            self._make_folder(sheets)
            self._sweep(sheets)
            folder = f"{sheets}/{self._home.procs.pid()}-{self._home.procs.serial()}"
            self._disk.mkdir(folder)
            self._disk.put(f"{folder}/{_SHEET}", data)
        except OSError as error:
            return Sheet(fault=f"there is no file to open an editor with: {error.strerror}")
        return Sheet(f"{folder}/{_SHEET}")

    def take_up(self, sheet: Sheet) -> Body:
        """Return what an editor left in a sheet, and remove the sheet; one that cannot be taken back stays."""
        path = os.path.normpath(sheet.path)
        if path != sheet.path or os.path.dirname(os.path.dirname(path)) != os.path.normpath(f"{self.folder}/sheets"):
            # It names a folder that is removed, and may come from another process.
            return Body(fault=f"this is no sheet of this engine: {sheet.path}")
        try:
            descriptor = self._disk.open(sheet.path, os.O_RDONLY)
            try:
                data = self._disk.read_at(descriptor, SHEET_BYTES + 1, 0)
            finally:
                self._disk.close(descriptor)
        except OSError as error:
            return Body(fault=f"what the editor wrote could not be read ({error.strerror}): {sheet.path}")
        if len(data) > SHEET_BYTES:
            return Body(fault=f"what the editor wrote is longer than {SHEET_BYTES} bytes; it stays in {sheet.path}")
        self._remove(os.path.dirname(sheet.path))
        text = data.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n")
        return Body(text, len(text))

    def _sweep(self, sheets: str) -> None:
        """Remove, once, the sheets of dashboards that are gone."""
        if self._swept:
            return
        self._swept = True
        for name in self._disk.listdir(sheets):
            pid = name.partition("-")[0]
            if pid.isdecimal() and self._home.procs.start_of(int(pid)) is None:
                self._remove(f"{sheets}/{name}")

    def _remove(self, folder: str) -> None:
        with suppress(OSError):  # a folder that an editor made in it stays, closed
            for name in self._disk.listdir(folder):
                self._disk.unlink(f"{folder}/{name}")
            self._disk.rmdir(folder)

    # -- files ---------------------------------------------------------------------------------------------------------

    def _make_folder(self, path: str) -> None:
        """Make a folder and those above it, each 0700."""
        try:
            self._disk.mkdir(path)
        except FileExistsError:
            return
        except FileNotFoundError:
            self._make_folder(os.path.dirname(path))
            with suppress(FileExistsError):  # another dashboard was first
                self._disk.mkdir(path)
        if path == self.folder:
            self._replace(f"{self.folder}/comm-home", f"{self._home.path}\n".encode(errors="surrogateescape"))

    def _read(self, path: str) -> bytes:
        """Return what a file of ours holds; nothing when there is none, or it cannot be read."""
        try:
            descriptor = self._disk.open(path, os.O_RDONLY)
            try:
                return self._disk.read_at(descriptor, _FILE_BYTES, 0)
            finally:
                self._disk.close(descriptor)
        except OSError:
            return b""

    def _append(self, path: str, line: str) -> None:
        descriptor = self._disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            self._disk.write(descriptor, line.encode())
        finally:
            self._disk.close(descriptor)

    def _replace(self, path: str, data: bytes) -> None:
        draft = f"{path}.{self._home.procs.pid()}.{self._home.procs.serial()}"
        self._disk.replace(draft, path, data)


def _key(home: Home) -> str:
    """Return the name of a comm home's folder: two ways to the same home are one home."""
    return _hash(home.disk.real_path(home.path))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _mark_line(key: tuple[str, int, str]) -> str:
    return f"{key[0]} {key[1]} {key[2]}\n"


def _mark_of(line: str) -> tuple[str, int, str] | None:
    inbox, _, rest = line.partition(" ")
    number, _, mark = rest.partition(" ")
    return (inbox, int(number), mark) if inbox and mark and number.isdecimal() and len(number) < 19 else None


def _draft_of(data: bytes) -> KeptDraft | None:
    try:
        said = jsonline.decode_object(data)
    except NotStrict:
        return None
    left = said.get("left")
    texts = [said.get(name) for name in ("slot", "to", "text", "about", "refused", "at")]
    if not all(isinstance(text, str) for text in texts) or not isinstance(left, list):
        return None
    slot, to, text, about, refused, at = (str(text) for text in texts)
    return KeptDraft(slot, to, text, about, refused, said.get("to_all") is True, tuple(map(str, left)), at)

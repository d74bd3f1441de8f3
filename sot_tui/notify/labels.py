"""The names of sessions: a few words on what a session is about, made with a push and kept from one to the next.

Contract, Failure semantics: "Pi composition is daemon-only and attempted at most once per accepted reliable
completion", and a name comes with it or not at all. Each session has one small file in a private folder; what is not
exactly as this module writes it is left untouched and counts as unavailable, never as absent. Only a completion writes;
whoever merely looks makes nothing. A name never decides whether or how urgently a push goes.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from threading import Lock

from sot_tui.comm import jsonline, paths
from sot_tui.comm.errors import Refused
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import event as events, generated, text

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.notify.event import Event

FOLDER = "session-labels"
"""The folder's name in the state folder."""
FILE_BYTES = 4096
"""A record is never longer."""
REFRESH_AFTER = 4
"""A label is asked for anew this many exchanges after the last one: at 1, 5, 9 and so on."""
MOST = 2**64 - 1
"""Counters are 64 bits without a sign; one that is full counts no further."""

_VERSION = 1
_HEX = frozenset("0123456789abcdef")


class Unavailable(Refused):
    """The labels cannot be read or written safely; nothing was changed."""

    def __init__(self) -> None:
        super().__init__("labels unavailable")


class Record(NamedTuple):
    """What is kept of one session, in the order of the file."""

    version: int
    harness: str
    session: str
    label: str
    """Empty until there is one."""
    source_generation: int
    """Counts the completions."""
    latest_completion_id: str
    exchange_count: int
    last_successful_refresh_exchange: int
    """At which exchange the label was given; 0 for none."""
    last_attempted_material_fingerprint: str
    """Of what the last attempt was made from, so that the same words are not tried twice."""


class Plan(NamedTuple):
    """What a composition is to be asked for."""

    label: str = ""
    """The session's name so far."""
    refresh: bool = False
    """Whether a name is asked for."""
    record: Record | None = None
    """What stands in the file; None when that is unavailable."""


def digest(first: str, second: str) -> str:
    """Return the name of a pair of texts, in hex: no two pairs run into one another."""
    made = hashlib.sha256()
    for part in (first.encode(), second.encode()):
        made.update(len(part).to_bytes(8, "big"))
        made.update(part)
    return made.hexdigest()


def look(home: Home, base: str, harness: str, session: str) -> Record | None:
    """Return what is kept of a session, None for nothing; raise Unavailable. Nothing is made or touched."""
    try:
        if not _stands(home, base, f"{base}/{FOLDER}"):
            return None
        descriptor = home.disk.open(_path(base, harness, session), os.O_RDONLY | os.O_NOFOLLOW)
        try:
            found = home.disk.open_stat(descriptor)
            if stat.S_IMODE(found.st_mode) != 0o600 or found.st_uid != os.getuid():
                raise Unavailable
            data = home.disk.read_all(descriptor, FILE_BYTES)
        finally:
            home.disk.close(descriptor)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable from error
    return _decoded(data, harness, session)


class Labels:
    """The labels as a daemon keeps them: planned before a composition, finished after it."""

    def __init__(self, home: Home, base: str) -> None:
        self._home = home
        self._base = base
        # Held for a reading and a writing, never while a program composes.
        self._lock = Lock()

    def of(self, event: Event) -> str:
        """Return the label of an event's session, empty for none; raise Unavailable. Nothing is written."""
        if not event.session_id:
            return ""
        found = look(self._home, self._base, event.harness, event.session_id)
        return found.label if found else ""

    def plan(self, event: Event) -> Plan:
        """Count a completion, and return what its composition is asked for; raise Unavailable.

        The same completion once more counts nothing and asks for nothing.
        """
        with self._lock:
            was = look(self._home, self._base, event.harness, event.session_id)
            if was is not None and was.latest_completion_id == event.completion_id:
                return Plan(was.label, False, was)
            material = digest(*text.shared(event.user, event.assistant))
            count = was.exchange_count if was else 0
            if count >= MOST:
                raise Unavailable
            count += 1
            label, given, tried = (
                (was.label, was.last_successful_refresh_exchange, was.last_attempted_material_fingerprint)
                if was
                else ("", 0, "")
            )
            refresh = material != tried and (not label or count - given >= REFRESH_AFTER)
            record = Record(
                version=_VERSION,
                harness=event.harness,
                session=event.session_id,
                label=label,
                source_generation=count,
                latest_completion_id=event.completion_id,
                exchange_count=count,
                last_successful_refresh_exchange=given,
                last_attempted_material_fingerprint=material if refresh else tried,
            )
            self._write(record)
            return Plan(label, refresh, record)

    def finish(self, plan: Plan, label: str) -> str:
        """Keep the label that a composition gave, the one so far when it gave none; return it, or raise Unavailable.

        When a later completion was planned since, nothing is written: its own composition says what the name is.
        """
        label = label or plan.label
        planned = plan.record
        if planned is None:
            raise Unavailable
        with self._lock:
            now = look(self._home, self._base, planned.harness, planned.session)
            if now is not None and _same_completion(now, planned):
                self._write(now._replace(label=label, last_successful_refresh_exchange=planned.exchange_count))
        return label

    def _write(self, record: Record) -> None:
        disk, procs = self._home.disk, self._home.procs
        folder = f"{self._base}/{FOLDER}"
        data = json.dumps(record._asdict(), ensure_ascii=False, separators=(",", ":")).encode()
        try:
            paths.make_folder(disk, folder)
            if not _stands(self._home, self._base, folder):
                raise Unavailable
            draft = f"{folder}/.{procs.pid() & 0xFFFFFFFF:08x}{procs.serial() & 0xFFFFFFFF:08x}.tmp"
            disk.replace(draft, _path(self._base, record.harness, record.session), data)
            disk.flush_folder(folder)
        except OSError as error:
            raise Unavailable from error


def _same_completion(one: Record, other: Record) -> bool:
    return (one.source_generation, one.latest_completion_id) == (other.source_generation, other.latest_completion_id)


def _path(base: str, harness: str, session: str) -> str:
    return f"{base}/{FOLDER}/{digest(harness, session)}.json"


def _stands(home: Home, base: str, folder: str) -> bool:
    """Tell whether there is a folder of labels; raise Unavailable for one that is not private, or no folder of ours."""
    try:
        if not stat.S_ISDIR(home.disk.stat(base).st_mode):
            raise Unavailable
        found = home.disk.stat(folder)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(found.st_mode) or stat.S_IMODE(found.st_mode) != 0o700 or found.st_uid != os.getuid():
        raise Unavailable
    return True


def _decoded(data: bytes, harness: str, session: str) -> Record:
    try:
        said = jsonline.decode_object(data, unique_keys=True)
    except jsonline.NotStrict as error:
        raise Unavailable from error
    if said.keys() != set(Record._fields):
        raise Unavailable
    record = Record(**said)
    if not (_has_types(record) and (record.harness, record.session) == (harness, session) and _is_sound(record)):
        raise Unavailable
    return record


def _has_types(record: Record) -> bool:
    numbers = (record.source_generation, record.exchange_count, record.last_successful_refresh_exchange)
    words = (record.label, record.latest_completion_id, record.last_attempted_material_fingerprint)
    return (
        all(type(value) is int and 0 <= value <= MOST for value in numbers)
        and all(isinstance(value, str) for value in words)
        and (type(record.version), record.version) == (int, _VERSION)
    )


def _is_sound(record: Record) -> bool:
    given, tried = record.last_successful_refresh_exchange, record.last_attempted_material_fingerprint
    return (
        events.is_identifier(record.session)
        and events.is_identifier(record.latest_completion_id)
        and 1 <= record.source_generation == record.exchange_count
        and given <= record.exchange_count
        and len(tried) == 64
        and _HEX.issuperset(tried)
        and bool(record.label) == bool(given)
        and (not record.label or generated.is_label(record.label))
    )

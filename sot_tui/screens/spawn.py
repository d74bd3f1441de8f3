"""The form of a new row: a folder, an agent, a label, an account or a command, and a first task.

The engine rules on all of it; a refusal stands in the form in its own words, the field that it is about has the keys,
and the form is kept, also when it is closed. What is typed in the folder's field is completed from the disk, in a
thread; with nothing typed the recent projects are listed. An account is asked for where there is more than one. The
first task is mail like any other: a draft that is sent once a session has joined in the row.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import on, work
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, TextArea

from sot_tui.engine.client import CreateRow, Folders, ListFolders, Outcome
from sot_tui.screens import show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.compose import Writing
from sot_tui.screens.place import Dialog
from sot_tui.screens.widgets.bars import KeyLine
from sot_tui.screens.widgets.complete import Completion
from sot_tui.screens.widgets.field import Field
from sot_tui.screens.widgets.lines import Lines, Piece
from sot_tui.screens.widgets.pick import Option, Pick

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sot_tui.screens.desk import Desk

AGENTS = (
    Option("claude", "Claude Code"),
    Option("codex", "Codex"),
    Option("none", "shell"),
    Option("command", "a command"),
)
"""What a row may run, as a person is asked for it."""
_KNOWN_LINES = 6
_LOW_KNOWN_LINES = 3
"""Folders that are listed at once, and where the window is low."""
_FIELDS = ("folder", "label", "account", "command")
_ABOUT = {
    "no_such_path": "folder",
    "not_a_directory": "folder",
    "duplicate_root": "folder",
    "state_root_inside_project": "folder",
    "handle_in_use": "folder",
    "task_named_label": "label",
    "label_in_use": "label",
    "bad_agent": "agent",
    "unsupported_agent_on_this_host": "agent",
    "unknown_account": "account",
}
"""Which field a refusal is about, by its kind (daemon wire 3.8); what is about none leaves the keys where they are."""
_NO_TASK = "a shell reads no mail: leave the first task empty, or choose an agent"


class Missing(NamedTuple):
    """Why nobody can be asked for a row yet."""

    field: str
    """The field that it is about."""
    words: str


@dataclass(slots=True)
class Form:
    """What a person has filled in."""

    folder: str = ""
    agent: str = "claude"
    label: str = ""
    account: str = ""
    command: str = ""
    task: str = ""

    def wish(self) -> CreateRow | Missing:
        """Return the row that is asked for, or why nobody can be asked."""
        command: tuple[str, ...] = ()
        if not self.folder.strip():
            return Missing("folder", "not started: say first in which folder")
        if self.agent == "command":
            try:
                command = tuple(shlex.split(self.command))
            except ValueError as error:
                return Missing("command", f"not started: the command cannot be taken apart: {error}")
            if not command:
                return Missing("command", "not started: say first which command")
        if self.agent == "none" and self.task.strip():
            return Missing("task", f"not started: {_NO_TASK}")
        return CreateRow(
            self.label.strip(),
            self.folder.strip().rstrip("/") or "/",
            "none" if self.agent == "command" else self.agent,
            task=self.task,
            account=self.account.strip() if self.agent == "claude" else "",
            command=command,
        )


class SpawnScreen(Dialog[str]):
    """One form, until its row is started or it is closed; it is dismissed with the id of the row, "" without one."""

    WHERE = Where.SPAWN
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.SPAWN)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._form = desk.form = desk.form or Form()
        self._folders = Folders()
        self._listed: str | None = None
        """What stood in the folder's field when those folders were asked for."""
        self._completes = ""
        """What stood there when a person wanted it completed, and nothing was known yet."""
        self._starting = False
        self._fault = ""

    def compose(self) -> ComposeResult:
        """Lay out the fields, the result, and the buttons."""
        form = self._form
        with Vertical(id="spawn"):
            yield show.Words(Content.styled("start a row", "b"), id="spawn-title")
            with Horizontal(classes="spawn-line"):
                yield show.Words(Content("folder"), classes="spawn-label")
                yield Field(form.folder, "/ or ~ …", id="spawn-folder", compact=True)
            with Horizontal(classes="spawn-line", id="spawn-known-line"):
                yield show.Words(classes="spawn-label")
                yield Lines(self._paint_known, id="spawn-known")
            with Horizontal(classes="spawn-line"):
                yield show.Words(Content("agent"), classes="spawn-label")
                yield Pick(AGENTS, form.agent, self._agent_chosen, self._go_on, id="spawn-agent")
            with Horizontal(classes="spawn-line"):
                yield show.Words(Content("label"), classes="spawn-label")
                yield Field(form.label, "the repository's name", id="spawn-label", compact=True)
            with Horizontal(classes="spawn-line", id="spawn-account-line"):
                yield show.Words(Content("account"), classes="spawn-label")
                yield Field(form.account, "default", id="spawn-account", compact=True)
            with Horizontal(classes="spawn-line", id="spawn-accounts-line"):
                yield show.Words(classes="spawn-label")
                yield Lines(self._paint_known, id="spawn-accounts")
            with Horizontal(classes="spawn-line", id="spawn-command-line"):
                yield show.Words(Content("command"), classes="spawn-label")
                yield Field(form.command, "a program and its arguments", id="spawn-command", compact=True)
            yield Writing(form.task, id="spawn-task", show_line_numbers=False)
            yield show.Words(id="spawn-result")
            with Horizontal(id="spawn-buttons"):
                yield Button(Content("Start"), id="spawn-start", variant="primary", compact=True)
                yield Button(Content("Close, keep the form"), id="spawn-close", compact=True)
            yield KeyLine(Where.SPAWN)

    def on_mount(self) -> None:
        """Show the form as it was left, and give the keys to the folder."""
        for name in _FIELDS:
            field = self.piece(f"spawn-{name}", Field)
            field.keys, field.ending = frozenset({"tab", "enter"}), self._next_field
        folder = self.piece("spawn-folder", Field)
        folder.keys, folder.ending = frozenset({"tab", "enter", "up", "down"}), self._listed_key
        account = self.piece("spawn-account", Field)
        account.keys, account.ending = folder.keys, self._listed_key
        self._known_folders = Completion(
            folder, self.piece("spawn-known", Lines), self._folder_taken, self.piece("spawn-known-line", Horizontal)
        )
        self._known_accounts = Completion(
            account,
            self.piece("spawn-accounts", Lines),
            self._account_taken,
            self.piece("spawn-accounts-line", Horizontal),
        )
        self.piece("spawn-task", Writing).border_title = Content("first task, as mail")
        self.set_focus(folder)
        self._show_fields()
        self._show_result()
        self._list(folder.value)

    def on_resize(self) -> None:
        """List as many folders as there is room for."""
        self._show_known()

    # -- the folder ----------------------------------------------------------------------------------------------------

    @work(group="folders", exclusive=True, exit_on_error=False)
    async def _list(self, typed: str) -> None:
        self._folders = await self.desk.client.do(ListFolders(typed))
        self._listed = typed
        if self.is_open:
            self._show_fields()
            self._show_known()
            if self._completes and self._completes == self.piece("spawn-folder", Field).value:
                self._complete()

    def _known(self) -> tuple[str, ...]:
        """Return the folders that what stands in the field may mean."""
        typed = self.piece("spawn-folder", Field).value.strip()
        found = self._folders.names if typed else self._folders.recent
        return () if found == (typed.rstrip("/"),) else found

    def _show_known(self) -> None:
        if not self.is_open:
            return
        most = _LOW_KNOWN_LINES if self.app.size.height < 30 else _KNOWN_LINES
        self._known_folders.show(self._known(), most)
        self._known_accounts.show(self._accounts(), most)
        self._show_result()

    def _paint_known(self, folder: str, width: int, chosen: bool) -> tuple[Piece, ...]:
        text = show.plain(folder)
        if show.width(text) > width - 3:  # its end tells it from the others
            while show.width(text) > width - 4:
                text = text[1:]
            text = show.ELLIPSIS + text
        return (Piece("▌ " if chosen else "  ", "bar"), Piece(show.fit(text, width - 3), "strong" if chosen else ""))

    def _listed_key(self, key: str) -> bool:
        """Answer a key that ends the typing where things are listed below a field, or marks one of them."""
        match key:
            case "up":
                self.action_known_up()
            case "down":
                self.action_known_down()
            case "tab":
                self.action_complete()
            case _:
                if not self.piece("spawn-folder", Field).value.strip():
                    self._known_folders.take()
                self._go_on()
        return True

    @property
    def _completion(self) -> Completion:
        """Return the list of the field that has the keys, or of the folder's."""
        return self._known_accounts if self.piece("spawn-account", Field).has_focus else self._known_folders

    def action_known_up(self) -> None:
        """Mark the one above."""
        self._completion.up()

    def action_known_down(self) -> None:
        """Mark the one below."""
        self._completion.down()

    def action_complete(self) -> None:
        """Take the marked one, as soon as it is known; where there is none, go to the next field."""
        folder = self.piece("spawn-folder", Field)
        self._completes = folder.value if folder.has_focus and self._listed != folder.value else ""
        if not self._completes:
            self._complete()

    def _complete(self) -> None:
        self._completes = ""
        if not self._completion.take():
            self._go_on()

    def _folder_taken(self, folder: str) -> str:
        """Return a folder as it is typed on: what is taken next lies in it."""
        self._form.folder = folder.rstrip("/") + "/"
        return self._form.folder

    @on(Lines.Clicked, "#spawn-known")
    def _known_clicked(self) -> None:
        self._known_folders.take_clicked()

    # -- the account ---------------------------------------------------------------------------------------------------

    def _accounts(self) -> list[str]:
        """Return the accounts that what stands in the field may mean."""
        typed = self.piece("spawn-account", Field).value.strip()
        found = [name for name in self._folders.accounts if name.startswith(typed)]
        return [] if found == [typed] else found

    def _account_taken(self, account: str) -> str:
        self._form.account = account
        return account

    @on(Lines.Clicked, "#spawn-accounts")
    def _account_clicked(self) -> None:
        self._known_accounts.take_clicked()

    @on(Input.Changed, "#spawn-folder")
    def _folder_changed(self, event: Input.Changed) -> None:
        self._form.folder = event.value
        self._say_fault("")
        self._list(event.value)

    def on_descendant_focus(self) -> None:
        """List the folders while their field has the keys, and mark the name of the field that has them."""
        self._show_known()
        for line in self.query(".spawn-line"):
            here = self.focused is not None and self.focused in line.children
            line.query_one(".spawn-label").set_class(here, "here")

    # -- the other fields ----------------------------------------------------------------------------------------------

    def _next_field(self, key: str) -> bool:
        del key
        self._go_on()
        return True

    def _go_on(self) -> None:
        """Give the keys to the field behind the one that has them, also when it is shown only now."""
        own = [name for name in ("account", "command") if self.piece(f"spawn-{name}-line", Horizontal).display]
        order = [f"spawn-{name}" for name in ("folder", "agent", "label", *own, "task")]
        at = order.index(self.focused.id) if self.focused is not None and self.focused.id in order else -1
        if at + 1 < len(order):
            self.set_focus(self.query_one(f"#{order[at + 1]}"))
        else:
            self.focus_next()

    def _agent_chosen(self, agent: str) -> None:
        self._form.agent = agent
        self._say_fault("")
        self._show_fields()

    def _show_fields(self) -> None:
        """Show the fields that this agent has, that of the account where there is more than one to choose from."""
        chooses = len(self._folders.accounts) > 1 or bool(self._form.account)
        self.piece("spawn-account-line", Horizontal).display = self._form.agent == "claude" and chooses
        self.piece("spawn-command-line", Horizontal).display = self._form.agent == "command"

    @on(Input.Changed, "#spawn-label")
    def _label_changed(self, event: Input.Changed) -> None:
        self._form.label = event.value

    @on(Input.Changed, "#spawn-account")
    def _account_changed(self, event: Input.Changed) -> None:
        self._form.account = event.value
        self._show_known()

    @on(Input.Changed, "#spawn-command")
    def _command_changed(self, event: Input.Changed) -> None:
        self._form.command = event.value

    @on(TextArea.Changed, "#spawn-task")
    def _task_changed(self, event: TextArea.Changed) -> None:
        self._form.task = event.text_area.text

    # -- starting ------------------------------------------------------------------------------------------------------

    def _say_fault(self, fault: str) -> None:
        self._fault = fault
        self._show_result()

    def _refuse(self, words: str, field: str) -> None:
        """Say why no row was started, and give the keys to the field that it is about."""
        self._say_fault(words)
        if field:
            self.set_focus(self.query_one(f"#spawn-{field}"))

    def _show_result(self) -> None:
        result = self.piece("spawn-result", show.Words)
        listing = self._folders.fault if self.piece("spawn-folder", Field).has_focus else ""
        result.display = self._starting or bool(self._fault or listing)
        if self._starting:
            result.say(Content.styled("starting …", "$foreground 60%"))
        elif self._fault:
            result.say(show.words(self._fault, "b $error"))
        else:
            result.say(show.words(listing, "$warning"))

    @on(Button.Pressed, "#spawn-start")
    async def _start_pressed(self) -> None:
        await self.action_act("start")

    @on(Button.Pressed, "#spawn-close")
    def _close_pressed(self) -> None:
        self.action_back()

    def action_back(self) -> None:
        """Close; what was filled in is kept."""
        self.dismiss("")

    def action_start(self) -> None:
        """Start the row, once."""
        if self._starting:
            return
        wish = self._form.wish()
        if isinstance(wish, Missing):
            self._refuse(wish.words, wish.field)
            return
        self._starting = True
        self._say_fault("")
        # A worker of the app: a row that was made must not lose its first task because this window was closed.
        self.app.run_worker(self._start(wish), group="spawn", exit_on_error=False)

    async def _start(self, wish: CreateRow) -> None:
        try:
            done = await self.desk.client.do(wish)
        finally:
            self._starting = False
        if done.good:
            self.desk.form = None
            await self._keep_task(done.row, wish.task)
            self.desk.say(Outcome(done.good, done.sentence))
            if self.is_open:
                self.dismiss(done.row)
        elif self.is_open:
            about = _ABOUT.get(done.code, "")
            self._refuse(done.sentence, "command" if about == "agent" and wish.command else about)
        else:
            self.desk.say(Outcome(done.good, done.sentence))

    async def _keep_task(self, row: str, task: str) -> None:
        """Keep the first task as a draft; it is sent once a session has joined in the row."""
        if task.strip():
            seen = self.desk.fleet.rows.get(row)
            await self.desk.drafts.keep(self.desk.drafts.wait_for_session(row, seen.handle if seen else "", task))

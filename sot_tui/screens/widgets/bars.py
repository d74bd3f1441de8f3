"""The two lines at the foot of a screen: what was said last, and which keys work here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from sot_tui.comm.clock import age_text
from sot_tui.screens import actions, show

if TYPE_CHECKING:
    from sot_tui.screens.desk import Desk


class MessageLine(show.Words):
    """The outcome of the last action, else what is wrong with a duty of the engine, else nothing."""

    DEFAULT_CSS = """
    MessageLine { height: auto; max-height: 3; padding: 0 1; color: $foreground; }
    MessageLine.bad { color: $error; text-style: bold; }
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(id="message")
        self._desk = desk

    def on_mount(self) -> None:
        """Say what there is to say."""
        self.tell()

    def tell(self) -> None:
        """Show the newest outcome, or that there is none."""
        standing = self._desk.standing()
        self.set_class(standing is not None and not standing.good, "bad")
        self.say(show.words(standing.sentence) if standing is not None else Content(" "))


class LockBanner(show.Words):
    """What every screen says above its list while the registry lock is held too long; a click opens the dialog."""

    DEFAULT_CSS = "LockBanner { max-height: 4; }"

    def __init__(self, desk: Desk) -> None:
        super().__init__(id="lock-banner", classes="banner")
        self._desk = desk

    def on_mount(self) -> None:
        """Say it at once where there is something to say."""
        self.tell()

    def tell(self) -> None:
        """Say who holds the lock and what can be done, or be away."""
        lock, now = self._desk.fleet.lock, self._desk.now()
        self.display = lock.wedged
        if lock.wedged:
            words = "[b]registry lock $grip for $age$who[/] — $verdict\n$what"
            what = "^r or a click here: recover it" if lock.dead else "^r or a click here: what can be done"
            who = f" by {lock.holder}" if lock.holder else ""
            verdict = lock.verdict or lock.phase.value
            age = age_text(lock.held_s(now))
            self.say(show.ours(words, grip=lock.grip, age=age, who=who, verdict=verdict, what=what))

    async def on_click(self) -> None:
        """Look at the lock, to recover it."""
        await self.screen.run_action("act('recover')")


class KeyLine(show.Words):
    """The keys that work here, as many as fit; each can be clicked."""

    DEFAULT_CSS = """
    KeyLine {
        height: 1; padding: 0 1; background: $panel;
        link-style: none; link-color: $foreground 80%; link-background: transparent;
        link-style-hover: bold; link-color-hover: $foreground; link-background-hover: $primary 30%;
    }
    """

    def __init__(self, where: actions.Where) -> None:
        super().__init__(id="keys")
        everywhere = () if where in _WITHOUT_GENERAL_KEYS else actions.of(actions.Where.EVERYWHERE)
        if where in _WITH_FIELDS:
            everywhere = tuple(action for action in everywhere if action.keys[0].startswith("ctrl+"))
        self._all = [action for action in (*actions.of(where), *everywhere) if action.label]
        self._shown = self._all

    def leave_out(self, names: frozenset[str]) -> None:
        """Show no key for these actions: there is nothing that they could do now."""
        self._show([action for action in self._all if action.name not in names])

    def while_typing(self, where: actions.Where) -> None:
        """Show what works while a field has the keys: what ends the typing, and no letter."""
        general = (action for action in self._all if action.where is actions.Where.EVERYWHERE)
        self._show([*actions.of(where), *(action for action in general if action.keys[0].startswith("ctrl+"))])

    def _show(self, wanted: list[actions.Action]) -> None:
        if wanted != self._shown:
            self._shown = wanted
            self.on_resize()

    def on_resize(self) -> None:
        """Show what fits."""
        parts: list[Content] = []
        for action in self._fitting(self.content_size.width):
            key = actions.shown_key(action)
            scope = "app" if action.where is actions.Where.EVERYWHERE else "screen"
            # Every word of this markup is ours: it comes from the table of actions.
            link = f"[@click={scope}.{actions.call(action)}][b $accent]{key}[/] {action.label}[/]"
            parts.append(Content.from_markup(link))
        self.say(Content(" " * _GAP).join(parts))

    def _fitting(self, room: int) -> list[actions.Action]:
        """Return what fits, in the table's order; what leads out of here is kept before anything else."""
        left = room + _GAP
        kept: set[int] = set()
        for at in sorted(range(len(self._shown)), key=lambda at: _rank(self._shown[at])):
            action = self._shown[at]
            needed = show.width(f"{actions.shown_key(action)} {action.label}") + _GAP
            if needed > left:
                break  # what is wanted less is not shown in the place of what is wanted more
            left -= needed
            kept.add(at)
        return [action for at, action in enumerate(self._shown) if at in kept]


def _rank(action: actions.Action) -> int:
    """Return how soon an action is left out: the help and the end last, and the way back before them."""
    return 0 if action.where is actions.Where.EVERYWHERE else 1 if action.name == "back" else 2


_GAP = 2
_WITH_FIELDS = frozenset({actions.Where.SPAWN})
"""Where a letter is typed into whichever field has the keys, so no letter is promised to do anything else."""
_WITHOUT_GENERAL_KEYS = frozenset(
    {actions.Where.COMPOSE, actions.Where.CONFIRM, actions.Where.RECOVER, actions.Where.HELP}
)

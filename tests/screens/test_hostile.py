"""Hostile strings in every place that a file can put them: nothing crashes, nothing is raw, columns stay columns."""

from __future__ import annotations

import ast
import unicodedata
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from sot_tui import screens
from sot_tui.comm.fleet import Fault, Fleet, LockPhase, LockState, Mail, MailCount, Reading, RegistryState
from sot_tui.comm.text import ACTING
from sot_tui.engine.client import (
    Body,
    Drafts,
    Found,
    KeptDraft,
    Kind,
    Letter,
    LoadDrafts,
    OpenMail,
    Outcome,
    Page,
    ReadLetter,
    Search,
    Send,
)
from sot_tui.screens.app import SotApp
from sot_tui.screens.found import SearchScreen
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import NOW, FakeClient, agents, entry, fleet
from tests.unit.test_show import HOSTILE

if TYPE_CHECKING:
    from textual.pilot import Pilot

WIDTHS = (120, 80, 50)


def hostile_fleet() -> Fleet:
    entries: dict[str, dict[str, object]] = {}
    for at, text in enumerate(HOSTILE):
        handle = f"{at:02d}{text}"
        entries[handle] = entry(
            host=text, state="blocked", summary=text, dialog=text, root=text, workspace_id=text, repo=text
        )
        entries[f"{at:02d}-plain"] = entry(at=8, state="working", summary=text, floor=text)
    entries["operator-box"] = entry(at=None)
    mail = {handle: Mail(MailCount.FAULT, words=HOSTILE[3]) for handle in entries}
    return fleet(agents=agents(entries), mail=MappingProxyType(mail))


def painted(pilot: Pilot[None]) -> list[str]:
    """Return the screen's lines as they go to the terminal, after checking that nothing in them acts on it."""
    lines = [strip.text for strip in pilot.app.screen._compositor.render_strips()]
    for line in lines:
        for char in line:
            assert unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}, repr(line)
        assert cell_len(line) == pilot.app.size.width, repr(line)
    return lines


@pytest.mark.parametrize("width", WIDTHS)
async def test_nav_when_everything_is_hostile_then_columns_stay_aligned(width: int) -> None:
    client = FakeClient(hostile_fleet())
    app = SotApp(client)
    async with app.run_test(size=(width, 50)) as pilot:
        await pilot.pause()
        assert isinstance(app.screen, NavScreen)
        for _ in HOSTILE:
            await pilot.press("j")
            painted(pilot)
        listed = app.screen.query_one("#fleet", Lines)
        texts = [listed.render_line(y).text for y in range(listed.size.height)]
        ages = [text for text in texts if "8s" in text]
        assert len(ages) >= 20
        assert len({cell_len(text[: text.rindex("8s")]) for text in ages}) == 1, "the ages stand in one column"
        assert app.is_running


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_mail_when_everything_is_hostile_then_nothing_acts(text: str) -> None:
    letters = (
        Letter(1, Kind.DIRECTED, text, text, text, text, text, read=False),
        Letter(2, Kind.UNPARSED, "", "", "", text, "", read=True),
    )
    client = FakeClient(fleet())
    client.answers[OpenMail] = Page("Docs-box", letters, 2, notes=(text,))
    app = SotApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        painted(pilot)
        await pilot.press("j", "r")
        await pilot.pause()
        painted(pilot)
        assert app.is_running


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_search_sent_and_threads_when_everything_is_hostile_then_nothing_acts(text: str) -> None:
    letters = (
        Letter(1, Kind.DIRECTED, text, text, text, text, text, read=False, inbox=text, mark="1-1", chars=len(text)),
        Letter(2, Kind.BROADCAST, text, "", text, text, text, read=True, inbox="operator-box", mark="2-2"),
        Letter(3, Kind.DIRECTED, "operator-box", text, text, text, text, read=True, inbox=text, mark="3-3"),
    )
    client = FakeClient(fleet())
    client.answers[Search] = Found(letters, notes=(text,))
    client.answers[ReadLetter] = Body(text, 10 * len(text) + 1, fault=text)
    app = SotApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        for keys in (("s",), ("t",), ("enter",), ("escape", "slash", "x")):
            await pilot.press(*keys)
            await pilot.pause()
            painted(pilot)
        while Search(("x",)) not in client.asked:
            await pilot.pause(0.05)
        await pilot.press("enter", "j", "y")
        await pilot.pause()
        painted(pilot)
        assert isinstance(app.screen, SearchScreen)
        assert app.screen.query_one("#index", Lines).keys


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_drafts_when_everything_is_hostile_then_nothing_acts(text: str) -> None:
    client = FakeClient(fleet())
    kept = (
        KeptDraft("a", text, f"x{text}", text, text, at=text),
        KeptDraft("b", "", f"x{text}", to_all=True, left=(text,)),
    )
    client.answers[LoadDrafts] = Drafts(kept, (text,))
    app = SotApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("u")
        await pilot.pause()
        painted(pilot)
        assert len(app.screen.query_one("#index", Lines).keys) == 2
        for key in ("j", "delete"):
            await pilot.press(key)
            await pilot.pause()
            painted(pilot)
        # What is written on is the person's own, down to signs whose width nobody agrees on; nothing in it acts.
        for keys in (("escape", "enter"), ("escape", "k", "enter")):
            await pilot.press(*keys)
            await pilot.pause()
            written = "".join(strip.text for strip in app.screen._compositor.render_strips())
            assert ACTING.isdisjoint(map(ord, written))
        assert app.is_running


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_sentences_when_everything_is_hostile_then_nothing_acts(text: str) -> None:
    """Banners, dialog and message line quote records, paths and faults."""
    lock = LockState(
        LockPhase.HELD,
        record=text,
        holder=text,
        age_s=9,
        dead=True,
        verdict=text,
        recovery=text,
        looks=3,
        looked_at=NOW,
    )
    client = FakeClient(
        fleet(
            lock=lock,
            home=text,
            host=text,
            registry=RegistryState(Reading.UNREADABLE, NOW - 9, why=text, version=text),
            faults=(Fault(text, text, NOW),),
        )
    )
    client.answers[Send] = Outcome(good=False, sentence=f"FAILED -> @x: {text}")
    app = SotApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        painted(pilot)
        app.desk.say(Outcome(good=False, sentence=text))
        await pilot.press("l")
        await pilot.pause()
        painted(pilot)
        client.show(client.fleet._replace(lock=lock._replace(dead=False)))
        await pilot.pause()
        painted(pilot)
        await pilot.press("escape", "question_mark")
        await pilot.pause()
        painted(pilot)
        assert app.is_running


def _says_no_markup(call: ast.Call) -> bool:
    """Tell whether a call says `markup=False`."""
    return any(
        word.arg == "markup" and isinstance(word.value, ast.Constant) and word.value.value is False
        for word in call.keywords
    )


SCREENS = Path(screens.__file__).parent
OUR_MARKUP = {"show.py", "bars.py", "pick.py", "nav.py"}
"""Where markup of our own is made content; each puts foreign text in as values, or has none."""


@pytest.mark.parametrize("path", sorted(SCREENS.rglob("*.py")), ids=lambda path: path.name)
def test_module_when_it_shows_text_then_only_content_reaches_a_widget(path: Path) -> None:
    """One module makes content of text; a string handed to a widget is parsed as markup (style, The dashboard)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    as_written = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and _says_no_markup(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "textual.widgets":
            assert path.name == "show.py" or not {"Static", "Label"} & {name.name for name in node.names}
        elif isinstance(node, ast.Attribute):
            assert node.attr != "notify" or id(node) in as_written
            assert node.attr != "from_markup" or path.name in OUR_MARKUP
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Button":
            assert isinstance(node.args[0], ast.Call), "a button's label is a Content"
        elif isinstance(node, ast.Assign):
            # What a person has typed into a form is kept as it is: `_form.label` is no widget's.
            named = {
                target.attr
                for target in node.targets
                if isinstance(target, ast.Attribute) and not ast.unparse(target).startswith("self._form.")
            }
            titled = named & {"border_title", "border_subtitle", "label"}
            assert not titled or isinstance(node.value, ast.Call), "a title is a Content"

"""What is wrong with the settings: the engine tells every warning, each once, and the message line hides none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sot_tui.comm import paths
from sot_tui.comm.home import Home
from sot_tui.engine.client import ReadEvents, What
from sot_tui.engine.service import Engine, LocalClient
from sot_tui.screens.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

WRONG = {"colour": "'colour' is not known", "sound": "'sound' is not known", "mouse": "'mouse' is not true or false"}


def settings(text: str) -> None:
    path = paths.settings_file(os.environ)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


async def test_settings_when_several_keys_are_wrong_then_each_is_told_once(comm_home: Path) -> None:
    settings('colour = 1\nsound = true\nmouse = "yes"\n')
    async with Engine(Home(str(comm_home)), os.environ) as engine:
        told = [line.text for line in (await engine.do(ReadEvents(0))).lines if line.what is What.DUTY]
        stand = [fault.sentence for fault in engine.fleet.faults]
        for words in WRONG.values():
            assert len([line for line in told if words in line]) == 1, told
            assert len([fault for fault in stand if words in fault]) == 1, stand
        said = Desk(LocalClient(engine), "vi").standing()
        assert said is not None
        assert said.sentence.endswith("2 more: e lists them")


async def test_settings_when_one_key_is_wrong_then_it_alone_is_said(comm_home: Path) -> None:
    settings("colour = 1\n")
    async with Engine(Home(str(comm_home)), os.environ) as engine:
        said = Desk(LocalClient(engine), "vi").standing()
        assert said is not None
        assert said.sentence.startswith("settings: ")
        assert said.sentence.endswith("the key 'colour' is not known")

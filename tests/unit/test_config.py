"""The person's settings: every key by its table, and every fault of the file one warning."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sot_tui.comm import config
from sot_tui.comm.config import KEYS, Config, Kind, Source

ROOT = Path(__file__).resolve().parents[2]


def said(text: str | bytes, **environ: str) -> Config:
    """Return the settings of a file that holds `text`."""
    folder = Path(os.environ["XDG_CONFIG_HOME"], "sot")
    folder.mkdir(exist_ok=True)
    folder.joinpath("tui.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return config.read(os.environ | environ)


def path() -> str:
    return f"{os.environ['XDG_CONFIG_HOME']}/sot/tui.toml"


def test_settings_when_there_is_no_file_then_every_default_and_no_warning() -> None:
    found = config.read(os.environ | {"VISUAL": "", "EDITOR": ""})
    assert found == Config(
        path(), {key.name: key.default for key in KEYS}, dict.fromkeys((key.name for key in KEYS), Source.DEFAULT)
    )
    assert not Path(path()).parent.exists()


def test_settings_when_the_file_sets_every_key_then_each_is_of_the_file() -> None:
    found = said(
        'operator = "anna"\ntheme = "nord"\nascii = true\nmouse = false\ndoubt_secs = 12.5\neditor = "ed"\n'
        'on_leave = "never"\nquiet_hours = "22:00-07:30"\nquiet_blocked = true\n'
        'osc = "777"\nbell = true\n',
        EDITOR="x",
    )
    assert found.warnings == ()
    assert set(found.sources.values()) == {Source.FILE}
    assert (found.of("operator"), found.of("theme"), found.of("editor")) == ("anna", "nord", "ed")
    assert found.of("on_leave") == "never"
    assert (found.hours("quiet_hours"), found.switch("quiet_blocked")) == ((1320, 450), True)
    assert (found.of("osc"), found.switch("bell")) == ("777", True)
    assert (found.switch("ascii"), found.switch("mouse"), found.seconds("doubt_secs")) == (True, False, 12.5)
    assert set(found.values) == {key.name for key in KEYS}


@pytest.mark.parametrize(
    ("environ", "editor", "source"),
    [
        ({"VISUAL": "emacs -nw", "EDITOR": "ed"}, "emacs -nw", Source.ENVIRONMENT),
        ({"VISUAL": "", "EDITOR": "ed"}, "ed", Source.ENVIRONMENT),
        ({"VISUAL": "", "EDITOR": ""}, "vi", Source.DEFAULT),
    ],
)
def test_editor_when_the_file_names_none_then_the_environment_does(
    environ: dict[str, str], editor: str, source: Source
) -> None:
    found = config.read(os.environ | environ)
    assert (found.of("editor"), found.sources["editor"]) == (editor, source)


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("operator = 5", "'operator' is not a text"),
        ("theme = ['a']", "'theme' is not a text"),
        ("mouse = 1", "'mouse' is not true or false"),
        ("ascii = 'yes'", "'ascii' is not true or false"),
        ("doubt_secs = true", "'doubt_secs' is not a number of seconds from 1 to 86400"),
        ("doubt_secs = '5'", "'doubt_secs' is not a number of seconds from 1 to 86400"),
        ("doubt_secs = 0", "'doubt_secs' is not a number of seconds from 1 to 86400"),
        ("doubt_secs = 86401", "'doubt_secs' is not a number of seconds from 1 to 86400"),
        ("doubt_secs = nan", "'doubt_secs' is not a number of seconds from 1 to 86400"),
        ("doubt_secs = inf", "'doubt_secs' is not a number of seconds from 1 to 86400"),
        ("on_leave = 'sometimes'", "'on_leave' is not one of rows, always, never"),
        ("on_leave = true", "'on_leave' is not one of rows, always, never"),
        ("them = 'nord'", "the key 'them' is not known; perhaps 'theme' is meant"),
        ("[colours]\nx = 1", "the key 'colours' is not known"),
    ],
)
def test_settings_when_a_line_makes_no_sense_then_one_warning_and_the_default(line: str, warning: str) -> None:
    found = said(f"{line}\n")
    assert found.warnings == (f"{path()}: {warning}",)
    assert found.values == config.read({"HOME": "/nowhere"}).values


def test_settings_when_one_key_is_wrong_then_the_others_still_count() -> None:
    found = said("mouse = 1\ntheme = 'nord'\nwrong = 1\n")
    assert found.of("theme") == "nord"
    assert len(found.warnings) == 2


@pytest.mark.parametrize(
    "data",
    [b"theme = ", b"\xff\xfe", b"theme = 'a'\ntheme = 'b'", b"a = " + b"[" * 100_000, b"doubt_secs = " + b"9" * 5001],
    ids=["cut", "no-utf8", "twice", "deep", "long-number"],
)
def test_settings_when_the_file_is_no_toml_then_one_warning_and_the_defaults(data: bytes) -> None:
    found = said(data)
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith(f"{path()} is not used: ")
    assert found.of("theme") == "sot-dark"


def test_settings_when_the_file_begins_with_a_byte_order_mark_then_it_is_passed_over() -> None:
    assert said(b"\xef\xbb\xbftheme = 'nord'\n").of("theme") == "nord"


@pytest.mark.parametrize("kind", ["a folder", "a pipe"])
def test_settings_when_the_path_is_no_file_then_one_warning_and_no_wait(kind: str) -> None:
    Path(path()).parent.mkdir()
    if kind == "a folder":
        Path(path()).mkdir()
    else:
        os.mkfifo(path())
    found = config.read(os.environ)
    assert len(found.warnings) == 1
    assert found.of("theme") == "sot-dark"


def test_keys_when_listed_then_every_default_is_of_its_kind_and_every_help_one_sentence() -> None:
    for key in KEYS:
        assert config._fitting(key, key.default) == key.default
        assert key.help.endswith(".")
        assert key.kind is not Kind.SWITCH or isinstance(key.default, bool)
    assert len({key.name for key in KEYS}) == len(KEYS)


def test_page_when_compared_with_the_table_then_it_says_the_same() -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "tools" / "config_doc.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "")


@pytest.mark.parametrize(
    "said_hours", ["22-7", "22:00", "22:00-22:00", "24:00-07:00", "22:60-07:00", "22:00-07:0", "-", "2²:00-07:00", 22]
)
def test_quiet_hours_when_they_are_no_span_then_a_warning_and_none(said_hours: str | int) -> None:
    found = said(f"quiet_hours = {said_hours!r}\n")
    assert found.hours("quiet_hours") is None
    assert found.warnings == (f"{path()}: 'quiet_hours' is not a span of hours like 22:00-07:00, or an empty text",)


def test_quiet_hours_when_the_text_is_empty_then_none_and_no_warning() -> None:
    found = said('quiet_hours = ""\n')
    assert (found.hours("quiet_hours"), found.warnings) == (None, ())


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 3000) + " = 1",
        " \t.\t ".join(['"a b"'] * 3000) + " = 1",
        "[" + ".".join(["'a'", "b-c"] * 1500) + "]",
        'x = """\n"""\n' + ".".join(["a"] * (config.PARTS_LIMIT + 1)) + " = 1",
    ],
    ids=["key", "quoted", "table", "after a text"],
)
def test_toml_when_a_key_has_thousands_of_parts_then_it_is_refused_before_the_reader_sees_it(text: str) -> None:
    """The reader's time grows with the square of the parts: a whole file of them would hold it for hours."""
    with pytest.raises(ValueError, match="more than 32 parts"):
        config.parse_toml(text)


@pytest.mark.parametrize(
    "value",
    ['"%s"', "'%s'", '"""\n%s\n"""', "'''%s'''", '"\\"%s"', "1 # %s", '"""\\"""%s"""', "1 # '''\n# %s"],
)
def test_toml_when_a_text_or_a_comment_has_many_dots_then_they_are_no_key(value: str) -> None:
    assert "x" in config.parse_toml("x = " + value % ("a.b." * 200))


def test_toml_when_it_is_nested_past_the_readers_stack_then_it_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        config.parse_toml("x = " + "[" * 5000)


@pytest.mark.parametrize("seconds", [1, 86_400])
def test_seconds_when_they_are_just_within_the_bounds_then_they_count(seconds: int) -> None:
    found = said(f"doubt_secs = {seconds}\n")
    assert (found.of("doubt_secs"), found.warnings) == (str(seconds), ())

"""The colours: a dark, a light, a 16-colour and a colourless theme of ours, beside those that Textual brings.

A state's colour is a variable of its own, so that a theme may choose it and any other theme still has one. Colour is
never the only sign: shapes and words say the same. The 16-colour theme takes the terminal's own colours, whatever
ground they are made for; the colourless one says everything by bold, dim and reverse, and is used for `NO_COLOR`.
"""

from __future__ import annotations

from textual.theme import Theme

DEFAULT = "sot-dark"
"""The theme when the configuration names none."""
ANSI = "sot-ansi"
"""The theme of a terminal of 16 colours, when the configuration names none."""
MONO = "sot-mono"
"""The theme without any colour, for `NO_COLOR`."""

STATE_DEFAULTS = {
    "state-blocked": "$error",
    "state-done": "$success",
    "state-working": "$primary",
    "state-waiting": "$warning",
    "state-idle": "$foreground 70%",
    "state-silent": "$foreground 60%",
    "state-you": "$secondary",
    "state-ended": "$foreground 60%",
    "state-stale": "$foreground 45%",
}
"""What a theme that knows nothing of our states shows them in."""

_DARK = Theme(
    name="sot-dark",
    dark=True,
    primary="#6cb2f7",
    secondary="#b79df2",
    accent="#f2b45c",
    warning="#e5c07b",
    error="#ff6b6b",
    success="#7fd48a",
    foreground="#d8dee9",
    background="#12151b",
    surface="#171b22",
    panel="#1f2530",
    variables={
        "state-blocked": "#ff6b6b",
        "state-done": "#7fd48a",
        "state-working": "#6cb2f7",
        "state-waiting": "#e5c07b",
        "state-idle": "#9aa5b4",
        "state-silent": "#8791a0",
        "state-you": "#b79df2",
        "state-ended": "#8791a0",
        "state-stale": "#7a8491",
        "footer-key-foreground": "#f2b45c",
    },
)
_LIGHT = Theme(
    name="sot-light",
    dark=False,
    primary="#1c5fa8",
    secondary="#6a45b5",
    accent="#9a5b00",
    warning="#8a6100",
    error="#b3261e",
    success="#1f7a34",
    foreground="#22272e",
    background="#fbfbf9",
    surface="#f3f3ef",
    panel="#e6e6e0",
    variables={
        "state-blocked": "#b3261e",
        "state-done": "#1f7a34",
        "state-working": "#1c5fa8",
        "state-waiting": "#8a6100",
        "state-idle": "#59636e",
        "state-silent": "#6b7480",
        "state-you": "#6a45b5",
        "state-ended": "#6b7480",
        "state-stale": "#717a85",
        "footer-key-foreground": "#9a5b00",
    },
)
_ANSI = Theme(
    name="sot-ansi",
    ansi=True,
    primary="ansi_blue",
    secondary="ansi_magenta",
    accent="ansi_yellow",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={
        "state-blocked": "ansi_red",
        "state-done": "ansi_green",
        "state-working": "ansi_cyan",
        "state-waiting": "ansi_yellow",
        "state-idle": "ansi_default",
        "state-silent": "ansi_default",
        "state-you": "ansi_magenta",
        "state-ended": "ansi_default",
        "state-stale": "ansi_default",
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "block-cursor-foreground": "ansi_black",
        "block-cursor-background": "ansi_cyan",
        "border": "ansi_blue",
        "border-blurred": "ansi_default",
        "scrollbar": "ansi_blue",
        "scrollbar-background": "ansi_default",
        "footer-key-foreground": "ansi_yellow",
    },
)
_MONO = Theme(
    name=MONO,
    ansi=True,
    primary="ansi_default",
    secondary="ansi_default",
    accent="ansi_default",
    warning="ansi_default",
    error="ansi_default",
    success="ansi_default",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables=dict.fromkeys(
        (
            *STATE_DEFAULTS,
            "ansi-background",
            "ansi-foreground",
            "border",
            "border-blurred",
            "scrollbar",
            "scrollbar-hover",
            "scrollbar-active",
            "scrollbar-background",
            "scrollbar-background-hover",
            "scrollbar-background-active",
            "block-cursor-background",
            "block-cursor-foreground",
            "input-cursor-background",
            "input-selection-background",
            "link-color",
            "link-color-hover",
            "link-background-hover",
            "footer-key-foreground",
        ),
        "ansi_default",
    ),
)
OURS = (_DARK, _LIGHT, _ANSI, _MONO)
"""The themes that are registered beside Textual's own."""

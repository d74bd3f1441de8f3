"""The colours: one dark and one light theme of ours, beside those that Textual brings.

A state's colour is a variable of its own, so that a theme may choose it and any other theme still has one. Colour is
never the only sign: with `NO_COLOR`, or on a terminal of 16 colours, shapes and words say the same.
"""

from __future__ import annotations

from textual.theme import Theme

DEFAULT = "sot-dark"
"""The theme when the configuration names none."""

STATE_DEFAULTS = {
    "state-blocked": "$error",
    "state-done": "$success",
    "state-working": "$primary",
    "state-waiting": "$warning",
    "state-idle": "$foreground 70%",
    "state-silent": "$foreground 60%",
    "state-you": "$secondary",
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
        "state-stale": "#6b7480",
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
        "state-stale": "#818a95",
        "footer-key-foreground": "#9a5b00",
    },
)
OURS = (_DARK, _LIGHT)
"""The themes that are registered beside Textual's own."""

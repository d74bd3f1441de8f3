"""The names of sessions against a model of them: any order of completions, repeats and outcomes, in real files."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, strategies as st

from sot_tui.comm.home import Home
from sot_tui.notify import labels
from sot_tui.notify.labels import Labels, Plan
from tests.notify.pieces import PI_TURN

NAMES = ("Fix the parser", "Write the docs", "Trace a leak now")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), st.integers(0, 3), st.integers(0, 2)),  # which words, and which completion again
        st.tuples(st.just("end"), st.sampled_from(("", *NAMES)), st.integers(0, 2)),  # with which name, of which plan
    ),
    max_size=30,
)


class Model:
    """What is to stand: no file, one label, and when it came."""

    def __init__(self) -> None:
        self.completion, self.count = "", 0
        self.label, self.given, self.tried = "", 0, -1

    def turn(self, completion: str, words: int) -> tuple[str, bool]:
        if completion == self.completion:
            return self.label, False
        self.completion, self.count = completion, self.count + 1
        is_due = self.count - self.given >= 4 if self.label else True
        refresh = is_due and words != self.tried
        if refresh:
            self.tried = words
        return self.label, refresh

    def end(self, completion: str, at: int, label: str) -> None:
        if (completion, at) == (self.completion, self.count):
            self.label, self.given = label, at


@given(STEPS)
def test_labels_when_turns_come_and_end_in_any_order_then_they_stand_as_the_model_says(
    steps: list[tuple[str, int | str, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = str(Path(folder) / "base")
        home, model, number = Home("/nowhere"), Model(), 0
        waiting: list[tuple[Plan, str, int]] = []
        for kind, what, which in steps:
            store = Labels(home, base)  # a daemon that begins anew knows no less
            if kind == "turn":
                assert isinstance(what, int)
                number += which != 2
                event = PI_TURN._replace(completion_id=f"c{number}", user=f"words {what}")
                plan = store.plan(event)
                assert plan[:2] == model.turn(event.completion_id, what)
                if plan.refresh:
                    waiting.append((plan, event.completion_id, model.count))
            elif waiting:
                plan, completion, at = waiting.pop(which % len(waiting))
                label = str(what) or plan.label or NAMES[0]
                assert store.finish(plan, label) == label
                model.end(completion, at, label)
            assert store.of(PI_TURN) == model.label
            record = labels.look(home, base, "pi", "session-1")
            if record is not None:
                assert (record.exchange_count, record.last_successful_refresh_exchange) == (model.count, model.given)

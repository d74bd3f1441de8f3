"""A topic for each test that sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.notify import ntfy

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def topic() -> Iterator[ntfy.Ntfy]:
    with ntfy.serving() as served:
        yield served

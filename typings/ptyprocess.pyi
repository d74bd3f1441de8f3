from collections.abc import Callable
from io import BufferedRWPair
from typing import Self

class PtyProcess:
    pid: int
    fd: int
    fileobj: BufferedRWPair
    closed: bool
    @classmethod
    def spawn(
        cls,
        argv: list[str],
        cwd: str | None = ...,
        env: dict[str, str] | None = ...,
        *,
        preexec_fn: Callable[[], None] | None = ...,
        dimensions: tuple[int, int] = ...,
    ) -> Self: ...
    def close(self, force: bool = ...) -> None: ...

from typing import Self

class PtyProcess:
    pid: int
    fd: int
    @classmethod
    def spawn(
        cls,
        argv: list[str],
        cwd: str | None = ...,
        env: dict[str, str] | None = ...,
        *,
        dimensions: tuple[int, int] = ...,
    ) -> Self: ...
    def close(self, force: bool = ...) -> None: ...

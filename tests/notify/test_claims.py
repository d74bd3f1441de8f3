"""Reference, section 7: what is claimed, for how long, and who may give it back."""

from __future__ import annotations

from threading import Barrier, Thread

from sot_tui.notify.claims import Claims, Key, key_of
from tests.notify.pieces import PI_TURN
from tests.seams import JumpingClock

HOUR = 3600.0
K = Key("pi", "s1", "completion", "x")


def test_claim_when_a_day_has_passed_then_admitted_anew_and_a_duplicate_refreshes_nothing() -> None:
    """Contract, claims: "Claims expire 24 hours after their first claim." """
    clock = JumpingClock()
    claims = Claims(clock)
    first = claims.claim(K)
    assert first
    clock.pass_(23.9 * HOUR)
    assert claims.claim(K) is None
    clock.pass_(0.1 * HOUR)
    second = claims.claim(K)
    assert second
    assert second != first
    clock.pass_(24 * HOUR)
    assert claims.claim(K)


def test_release_when_the_token_is_the_claims_own_then_the_key_is_free_with_a_new_time() -> None:
    """Contract, claims: "A final Sender failure releases only that job's ownership token"."""
    clock = JumpingClock()
    claims = Claims(clock)
    first = claims.claim(K)
    assert first is not None
    claims.release(K, first)
    clock.pass_(HOUR)
    second = claims.claim(K)
    assert second is not None
    claims.release(K, first)
    assert claims.claim(K) is None
    clock.pass_(23.9 * HOUR)
    assert claims.claim(K) is None
    clock.pass_(0.1 * HOUR)
    assert claims.claim(K)


def test_claim_when_full_then_the_oldest_goes_and_a_duplicate_made_nothing_younger() -> None:
    """Contract, claims: "at most 10,000 claims and evicts the oldest first"."""
    clock = JumpingClock()
    claims = Claims(clock)
    keys = [K._replace(completion_id=str(number)) for number in range(10_001)]
    for key in keys[:2]:
        assert claims.claim(key)
        clock.pass_(HOUR)
    assert claims.claim(keys[0]) is None
    for key in keys[2:]:
        assert claims.claim(key)
    assert len(claims) == 10_000
    assert claims.claim(keys[1]) is None
    assert claims.claim(keys[0])
    assert len(claims) == 10_000


def test_claim_when_session_or_harness_differs_then_independent() -> None:
    """Contract, claims: "Different completion IDs, harnesses, or sessions remain independent."."""
    claims = Claims(JumpingClock())
    others = [K, K._replace(session_id="s2"), K._replace(harness="claude-code"), K._replace(completion_id="y")]
    assert all(claims.claim(key) for key in others)


def test_key_when_only_the_text_differs_then_the_same() -> None:
    """Contract, claims: "message text is not part of it"."""
    assert key_of(PI_TURN) == key_of(PI_TURN._replace(assistant="else", user="", cwd="/"))


def test_claim_when_many_race_on_one_key_then_exactly_one_wins() -> None:
    claims = Claims(JumpingClock())
    start, won = Barrier(8), []

    def race() -> None:
        start.wait()
        if claims.claim(K):
            won.append(1)

    threads = [Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1

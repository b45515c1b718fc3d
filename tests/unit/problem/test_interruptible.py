"""Calls beside the main thread: its settings, their errors, and interrupts."""

import contextvars
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import jax
import pytest

from tacit.problem import interruptible as module
from tacit.problem.interruptible import interruptible

pytestmark = pytest.mark.not_quick

PLACE = contextvars.ContextVar("place", default="nowhere")


def nothing() -> Any:
    return False


def test_a_call_finds_the_settings_of_its_caller() -> None:
    def found() -> tuple[Any, ...]:
        settings = [getattr(jax.config, f"jax_{name}") for name in module._SETTINGS]
        return threading.current_thread() is threading.main_thread(), PLACE.get(), settings

    PLACE.set("here")
    device = jax.devices()[0]
    with jax.enable_x64(True), jax.default_device(device), jax.debug_nans(True):
        main, *here = found()
        elsewhere, *there = interruptible(found, nothing, nothing)
    assert here == there
    assert main and not elsewhere


def test_errors_are_raised_here() -> None:
    def wrong() -> None:
        raise ValueError("a call")

    def unsettled() -> None:
        raise KeyError("what it left")

    with pytest.raises(ValueError, match="a call"):
        interruptible(wrong, nothing, nothing)
    with pytest.raises(KeyError, match="what it left"):
        interruptible(wrong, nothing, unsettled)


@pytest.fixture
def hears() -> Iterator[None]:
    """A shell that runs tests in the background hands on that interrupts are ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_after(seconds: float) -> None:
    threading.Timer(seconds, signal.raise_signal, (signal.SIGINT,)).start()


@pytest.mark.usefixtures("hears")
def test_an_interrupt_ends_a_call_before_it_is_raised() -> None:
    ended, happened = threading.Event(), list[str]()

    def call() -> None:
        interrupt_after(0.2)
        ended.wait(60.0)
        happened.append("over")

    def end() -> bool:
        happened.append("end")
        ended.set()
        return True

    with pytest.raises(KeyboardInterrupt):
        interruptible(call, end, lambda: happened.append("settled"))
    assert happened == ["end", "over", "settled"]


@pytest.mark.usefixtures("hears")
def test_a_call_that_does_not_end_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.3)
    free, happened = threading.Event(), list[str]()

    def call() -> None:
        interrupt_after(0.2)
        free.wait(60.0)

    def end() -> bool:
        happened.append("end")
        return False

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interruptible(call, end, lambda: happened.append("settled"))
    assert time.monotonic() - began < 30.0
    assert len(happened) > 1 and set(happened) == {"end"}
    free.set()
    for thread in threading.enumerate():
        if thread.name == "tacit run":
            thread.join(60.0)
    assert happened[-1] == "settled"


@pytest.mark.usefixtures("hears")
def test_compiling_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would abort if it ended meanwhile."""
    monkeypatch.setattr(module, "_PATIENCE", 0.1)
    happened = list[str]()

    def compiling() -> None:
        interrupt_after(0.1)
        time.sleep(0.8)
        happened.append("over")

    with pytest.raises(KeyboardInterrupt):
        interruptible(compiling, lambda: True, lambda: happened.append("settled"))
    assert happened == ["over", "settled"]

"""What a method does with private data, phase by phase, in words."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Any

import numpy as np

from tacit.method.phase import AbstractMethod, Phase
from tacit.privacy.query import AbstractQuery
from tacit.study._described.catalogue import Entry
from tacit.study._grammar.arguments import REQUIRED, Argument

WHO = {"peer": "each site", "client": "each site", "server": "the coordinator"}
TO_WHOM = {"peer": "its neighbours", "client": "every site", "server": "the coordinator"}


def asked(query: AbstractQuery | None) -> str:
    """What a query computes from private data, from the first line of its docstring."""
    if query is None:
        return "nothing"
    text = (inspect.getdoc(type(query)) or type(query).__name__).splitlines()[0]
    text = text.replace("`", "")
    clip = getattr(query, "clip", None)
    if clip is None:
        return text
    sizes = np.atleast_1d(clip)
    shown = (
        f"{sizes[0]:g}" if len(set(sizes.tolist())) == 1 else f"{sizes.min():g} to {sizes.max():g}"
    )
    return f"{text} Clip: {shown} in the l{query.clip_norm} norm."


def document(entry: Entry) -> dict[str, Any]:
    """All facts that `tacit describe` prints about a method, as plain values."""
    method = entry.default()
    return {
        "format": "tacit-method-1",
        "name": entry.name,
        "summary": entry.summary,
        "about": _about(method),
        "when": entry.when,
        "privacy": entry.protection.value,
        "status": entry.status,
        "traits": asdict(entry.traits),
        "oracle": method.oracle.value,
        "topology": "coordinator" if entry.coordinated else "peers",
        "phases": [phase_row(phase) for phase in method.phases()],
        "parameters": [parameter(argument) for argument in entry.parameters],
    }


def parameter(argument: Argument) -> dict[str, Any]:
    """A key of a section, as plain values."""
    required = argument.default is REQUIRED
    return {
        "name": argument.name,
        "required": required,
        "default": None if required else argument.default,
        "meaning": argument.text,
    }


def phase_row(phase: Phase) -> dict[str, Any]:
    """One line of the algorithm box: sender, private input, what leaves, and receiver."""
    private = phase.query is not None and phase.release is not None
    return {
        "phase": phase.name,
        "when": phase.rounds.words,
        "once": phase.rounds.single,
        "sender": WHO[phase.sender.value],
        "private": asked(phase.query),
        "evaluations_in_10_dimensions": (
            phase.repeat * phase.query.evaluations(10) if phase.query is not None else 0
        ),
        "leaves": phase.release.name
        if private and phase.release is not None
        else "nothing private",
        "protected_by": _mechanism(phase),
        "receiver": "nobody" if phase.receiver is None else TO_WHOM[phase.receiver.value],
    }


def _mechanism(phase: Phase) -> str:
    if phase.release is None or phase.query is None:
        return "needs no protection"
    mechanism = phase.release.mechanism
    return f"{mechanism.name}: {mechanism.words}"


def _about(method: AbstractMethod) -> str:
    """The docstring, up to its arguments."""
    text = inspect.getdoc(type(method)) or ""
    return text.split("\nArgs:")[0].strip()

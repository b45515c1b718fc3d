"""`tacit methods` and `tacit describe`."""

from __future__ import annotations

from typing import Any

from tacit import checks
from tacit.cli.console import emit, guarded, say, table
from tacit.errors import ConfigError
from tacit.kinds import Unit
from tacit.privacy.digits import rounded_up
from tacit.study._described.catalogue import METHODS
from tacit.study._described.cost import cost_example, takes_costs
from tacit.study._described.describe import document, parameter
from tacit.study._described.traits import HEADINGS, OWN_MASKS, TABLES
from tacit.study._grammar.arguments import arguments, summary
from tacit.study._output.files import jsonable
from tacit.study._sections.network import SECTIONS, PeerSection
from tacit.study.parts import FAMILIES, Family, Part, foreign, method, published

_OF_OTHERS = ("name", "distribution", "version", "target")
_ORACLES = {"value": "value", "gradient": "gradient", "prox": "proximal map"}
_NEAR = 0.8
"""Similarity from which on a part is meant by a name."""

_PROTECTED = {"record": "record", "agent": "cost"}

_PROTECTION = {"required": "yes", "optional": "with [privacy]", "none": "no"}


def show_methods(*, json: bool) -> int:
    """One row per method."""

    def command() -> int:
        documents = [document(entry) for entry in METHODS.values()]
        if json:
            keys = ("name", "summary", "oracle", "topology", "privacy", "status", "when", "traits")
            rows = [{key: one[key] for key in keys} for one in documents]
            others = [_of(part) for part in (*published().values(), *foreign())]
            emit({"format": "tacit-methods-1", "methods": rows, "parts": others})
            return 0
        table(
            ["Name", "Private", "Choose it when"],
            [[one["name"], _PROTECTION[one["privacy"]], one["when"]] for one in documents],
        )
        for columns in TABLES.values():
            table(
                ["Name", *(HEADINGS[column] for column in columns)],
                [[one["name"], *(one["traits"][c] for c in columns)] for one in documents],
            )
        say("As published, for comparison; their papers' claims are not proved:")
        table(
            ["Name", "Choose it when"],
            [[each.name, each.build.when] for each in published().values()],
        )
        if others := foreign():
            say("Parts from other packages, which studies name like tacit's own:")
            table(
                ["Part", "Name", "Package", "Version"],
                [[p.family.word, p.name, p.distribution, p.version] for p in others],
            )
        say(
            "`tacit describe NAME` shows what is asked of private data, what is released, and what "
            "that costs."
        )
        return 0

    return guarded(command, as_json=json)


def show_method(name: str, *, json: bool) -> int:
    """Everything about one method, or about a part that another package declares."""

    def command() -> int:
        part = next(iter(foreign([name])), published().get(name))
        if part is not None and part.family.word != "method":
            return _show_part(part, json=json)
        family = None if name in METHODS else next((f for f in FAMILIES[1:] if f.has(name)), None)
        if part is None and family is not None:
            return _show_own(family, name, json=json)
        if part is None and name in SECTIONS:
            return _show_section(name, json=json)
        _check_parts(name)
        entry = method(name, besides=_others())
        found = document(entry)
        if part is not None:
            found["part"] = _of(part)
        if (cost := cost_example(entry)) is not None:
            found["cost_example"] = cost
        found["takes_costs"] = takes_costs(entry)
        if (whole := cost_example(entry, unit=Unit.AGENT)) is not None:
            found["cost_example_whole"] = whole
        if json:
            emit(jsonable(found))
        else:
            _print(found)
        return 0

    return guarded(command, as_json=json)


def _check_parts(name: str) -> None:
    """Say which graph, loss or other part is meant where that is closer than any method."""
    parts = [each for family in FAMILIES[1:] for each in family.own_names()]
    parts += SECTIONS
    near = checks.close(name, parts, _NEAR)
    if near and not checks.close(name, METHODS, _NEAR):
        raise ConfigError(f"{name!r} is unknown; did you mean {near[0]!r}?")


def _others() -> str:
    """The names of tacit's other parts, by family."""
    listed = {family.word: list(family.own_names()) for family in FAMILIES[1:]}
    listed["graph"] += SECTIONS
    return "; ".join(f"as {word}: {', '.join(names)}" for word, names in listed.items())


def _of(part: Part) -> dict[str, str]:
    return {"family": part.family.word, **{key: getattr(part, key) for key in _OF_OTHERS}}


def _show_part(part: Part, *, json: bool) -> int:
    found = {
        "format": "tacit-part-1",
        **_of(part),
        "summary": summary(part.build),
        "parameters": [parameter(each) for each in part.keys],
    }
    if json:
        emit(jsonable(found))
        return 0
    say(f"{part.name}")
    say(found["summary"])
    _print_origin(found)
    _print_keys(found)
    return 0


def _show_own(family: Family, name: str, *, json: bool) -> int:
    """A graph, loss or other part of tacit."""
    build = family.own(name)
    table = family.at[0] if len(family.at) == 2 else ".".join(family.at[:-1])
    found = {
        "format": "tacit-part-1",
        "family": family.word,
        "name": name,
        "summary": summary(build),
        "parameters": [
            parameter(each)
            for each in arguments(build, leave_out=(*family.leave_out, "agents", "weights"))
        ],
    }
    if json:
        emit(jsonable(found))
        return 0
    say(f"{name}")
    say(found["summary"])
    say(f'{family.word.capitalize()} of a study: {family.at[-1]} = "{name}" in [{table}].')
    if found["parameters"]:
        _print_keys(found)
    return 0


def _show_section(name: str, *, json: bool) -> int:
    """A network that is no graph of the registry: edges, a sequence or a coordinator."""
    section = SECTIONS[name]
    fields = {
        key: field
        for key, field in section.model_fields.items()
        if key != "graph" and key not in PeerSection.model_fields
    }
    keys = [
        {
            "name": key,
            "required": field.is_required(),
            "default": None if field.is_required() else field.default,
            "meaning": field.description,
        }
        for key, field in fields.items()
    ]
    words = (section.__doc__ or "").splitlines()[0]
    found = {
        "format": "tacit-part-1",
        "family": "graph",
        "name": name,
        "summary": words,
        "parameters": keys,
    }
    if json:
        emit(jsonable(found))
        return 0
    say(f"{name}")
    say(words)
    say(f'Graph of a study: graph = "{name}" in [network].')
    _print_keys(found)
    return 0


def _print_origin(part: dict[str, Any]) -> None:
    say(
        f"{part['family'].capitalize()} {part['target']} of {part['distribution']} "
        f"{part['version']}."
    )


def _print_keys(found: dict[str, Any]) -> None:
    table(
        ["Key", "Default", "Meaning"],
        [[p["name"], _default(p), p["meaning"]] for p in found["parameters"]],
    )


def _default(parameter: dict[str, Any]) -> Any:
    if parameter["required"]:
        return "(required)"
    return "(none)" if parameter["default"] is None else parameter["default"]


def _masks(taken: str) -> str:
    if taken == "no":
        return "not supported; the method releases no sum at a point that every site knows."
    if taken == OWN_MASKS:
        return "built in, set by the keys below; leave masks out of [privacy]."
    where = "" if taken == "yes" else f", {taken}"
    return (
        f"supported{where}; with masks = {{ coalition = 1 }} in [privacy] the coordinator reads "
        "sums only, and the mean has nearly as little noise as with central noise."
    )


def _print(found: dict[str, Any]) -> None:
    say(f"{found['name']}")
    for paragraph in found["about"].split("\n\n"):
        formula = paragraph.startswith("    ")
        for line in paragraph.splitlines() if formula else [" ".join(paragraph.split())]:
            say(line)
    say()
    if "part" in found:
        _print_origin(found["part"])
    say(f"Choose it when {found['when']}.")
    say(f"Guarantee: {found['status']}.")
    if found["privacy"] != "none":
        say(f"Secure aggregation: {_masks(found['traits']['masks'])}")
    table(
        ["Phase", "Sender", "Asked of private data", "Released", "Protected by", "Receiver"],
        [
            [
                row["phase"],
                row["sender"],
                row["private"],
                row["leaves"],
                row["protected_by"],
                row["receiver"],
            ]
            for row in found["phases"]
        ],
    )
    for row in found["phases"]:
        if row["evaluations_in_10_dimensions"] and found["oracle"] != "rows":
            unit = "record or whole cost" if found["takes_costs"] else "record"
            each = ", once," if row["once"] else " and round"
            count = row["evaluations_in_10_dimensions"]
            said = f"{count:,} {_ORACLES[found['oracle']]}{'' if count == 1 else 's'}"
            say(f"Phase {row['phase']} evaluates {said} per {unit}{each} in 10 dimensions.")
    if "cost_example" in found:
        _print_cost(found["cost_example"], f"sites of {found['cost_example']['records']:,} records")
    if "cost_example_whole" in found:
        _print_cost(found["cost_example_whole"], "sites of one whole cost each")
    _print_keys(found)


def _print_cost(cost: dict[str, Any], sites: str) -> None:
    say(
        f"The cost of privacy, for example: with {cost['sites']} {sites}, "
        f"{cost['rounds']} rounds, clip {cost['clip']:g}, epsilon = "
        f"{rounded_up(cost['epsilon'])} and delta = {rounded_up(cost['delta'])},"
    )
    for row in cost["releases"]:
        often = "once" if row["times"] == 1 else f"{row['times']} times"
        scale = f"{row['noise_scale']:.3g}"
        if row["first"] is not None:
            scale = f"{row['first']:.3g} in the first round to {row['last']:.3g} in the last"
        moved = f"{row['sensitivity']:.3g}"
        if row["sensitivity_range"] is not None:
            moved = "{:.3g} in the first round and {:.3g} in the last".format(
                *row["sensitivity_range"]
            )
        unit = _PROTECTED[cost["unit"]]
        say(
            f"phase {row['phase']} releases {often}; one {unit} changes the answer by at "
            f"most {moved}, and every coordinate gets {row['mechanism']} noise of "
            f"{'standard deviation' if 'Gaussian' in row['mechanism'] else 'scale'} {scale}."
        )

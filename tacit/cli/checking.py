"""`tacit check`: the number of records that an owner declares before anybody signs."""

from __future__ import annotations

from pathlib import Path

from tacit.cli.console import WRONG, emit, guarded, say
from tacit.cli.hinting import KEPT, of_codes, of_spellings
from tacit.cli.swapped import check_places
from tacit.data.columns import as_map
from tacit.deploy.agreement.declare import count
from tacit.deploy.identity.parts import admit_pinned
from tacit.study._grammar import toml
from tacit.study.read import Source, read_study
from tacit.study.reading import key_of


def check(study: Path, data: Path, *, json: bool) -> int:
    """See `tacit check --help`."""

    def command() -> int:
        check_places(study, "tacit check", data)
        found = count(_source(study, data), data)
        code = WRONG if found.unfit else 0
        if json:
            emit({"format": "tacit-check-1", **vars(found)})
            return code
        say(f"Declare {found.declare:,}: `tacit manifest new ... --agent CARD={found.declare}`.")
        if found.cost:
            say("Each site has one cost, which counts as one record.")
            say(f"{found.unfit}" if found.unfit else "The simulator can be started.")
            return code
        if found.exact:
            say("This is the number of complete records. It has to be exact, and it is public.")
        else:
            say(
                f"The number of records ({found.records:,}) is private here; declare an upper "
                "bound. This is the next power of two; choose a larger one if more "
                "records may follow."
            )
        if found.dropped:
            say(
                f"{found.dropped:,} of {found.records + found.dropped:,} records lack a value and "
                f"are dropped: {', '.join(f'{name} {n:,}' for name, n in found.lacking.items())}."
            )
        if found.moved:
            each = ", ".join(f"{name} {count:,}" for name, count in found.moved.items())
            say(f"Values beyond their declared bounds are moved to them: {each}.")
            if outside := [name for name, count in found.moved.items() if count >= found.records]:
                say(
                    f"NOTE: no value of {', '.join(outside)} lies between the bounds, so nothing "
                    "of it is left: correct the unit of the values, or agree on other bounds."
                )
        for name in found.repeated:
            say(
                f"NOTE: several records have the same {name}. What the study protects is one "
                "record; for everything about a person at a site, it needs records_per_person in "
                "[privacy]."
            )
        for name, numbers in found.far.items():
            coded = "missing_values = [" + ", ".join(f'"{each}"' for each in numbers) + "]"
            say(f"NOTE: {of_codes(name, numbers)}: {coded} in [data] of the study")
        for name, alike in found.spellings.items():
            say(
                f"NOTE: {of_spellings(name, alike)}: map = {as_map(alike)} in "
                f"[data.features.{key_of(name)}] of the study, or correct them"
            )
        if found.far or found.spellings:
            say(KEPT)
        say(f"{found.unfit}" if found.unfit else "Every record fits the study.")
        say("Share only the number to declare; everything else here is private.")
        return code

    return guarded(command, as_json=json)


def _source(path: Path, data: Path) -> Source:
    """The study, also of a manifest."""
    try:
        said = toml.parse(toml.read_bytes(path), path.name).get("format")
    except OSError:
        said = None  # reported by read_study
    if isinstance(said, str) and said.startswith("tacit-manifest"):
        # keys and signatures need an extra, which a study does not
        from tacit.deploy.agreement.manifest import read_manifest

        return read_manifest(path).source(data.parent)
    # an owner counts records for a study of others, before there is a manifest
    return read_study(path, admit_pinned)

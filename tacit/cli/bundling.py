"""`tacit bundle` and `tacit verify`: a signed file that shows what a run guaranteed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import Force, Json
from tacit.cli.writing import check_free

BUNDLE_EPILOG = """\b
Examples:
  tacit bundle north-state --keys north
  tacit verify north-state.tacit.zip --fingerprint "ABCD EFGH ..."
"""

VERIFY_EPILOG = """\b
Exit codes:
  0    verified: signatures hold, and the guarantee follows from the signed study
  1    tampered: something was changed, another signed it, or the guarantee does not follow
  2    an option is wrong, or the file is not a bundle
  6    not recomputed: signatures hold, and the guarantee could not be computed again here (parts
       of other packages that are not installed or pinned, another version of tacit)
"""


def bundle(
    state: Annotated[
        Path, typer.Argument(metavar="DIR", help="The --state directory of a finished member.")
    ],
    keys: Annotated[
        Path, typer.Option(metavar="DIR", help="Keys of the member, which sign the bundle.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            show_default=False,
            help="Bundle to write.  [default: DIR.tacit.zip]",
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Ledger that the run was charged to.  [default: where the run had it]",
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a signed bundle that shows what a run guaranteed.

    Study, manifest, guarantee, ledger extract, versions, dates, report and answer, for a privacy
    officer to verify with `tacit verify`. It holds no record.
    """
    from tacit.cli.console import emit, guarded, say
    from tacit.deploy.agreement.manifest import REHEARSAL
    from tacit.deploy.operate.bundle import write_bundle

    def command() -> int:
        from tacit.deploy.operate.finished import read_finished

        path = output or Path(f"{state.resolve().parent / state.resolve().name}.tacit.zip")
        written = write_bundle(state, keys, path, ledger=ledger, force=force)
        signer = read_finished(state)  # its card may have been renewed since
        fingerprint = signer.manifest.members[signer.number].card.fingerprint()
        if json:
            found = {"file": str(written), "bytes": written.stat().st_size}
            emit({"format": "tacit-bundle-written-1", **found, "fingerprint": fingerprint})
            return 0
        say(f"Wrote {written} ({written.stat().st_size / 1e6:.1f} MB).")
        if signer.manifest.rehearsal:
            say(REHEARSAL)
        say("Send it, and tell the fingerprint over another channel:")
        say(f'tacit verify {written.name} --fingerprint "{fingerprint}"', "  ")
        return 0

    raise typer.Exit(guarded(command, as_json=json))


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="Bundle that `tacit bundle` wrote.")
    ],
    fingerprint: Annotated[
        str | None,
        typer.Option(show_default=False, help="Fingerprint that the signer told you."),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="The signer's card.toml instead."),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Your own copy of the manifest."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Write the report there as it is made here of the other files.",
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Verify a signed bundle of a run between sites.

    Checks digests, signatures, the agreement of all members, guarantee, report and answer (computed
    again) and what the ledger was charged. Nothing is unpacked to disk.
    """
    from tacit.cli.console import FAILED, UNCHECKED, emit, guarded, say

    def command() -> int:
        from tacit.deploy.agreement.manifest import read_manifest
        from tacit.deploy.identity.keys import read_card
        from tacit.deploy.operate.verify import Verdict, verify_bundle

        if report is not None:
            given = {"the bundle": file, "the card": card, "the manifest": manifest}
            read = {what: each for what, each in given.items() if each is not None}
            check_free("report", report, force=force, read=read)
        found = verify_bundle(
            file,
            fingerprint=fingerprint,
            card=None if card is None else read_card(card),
            manifest=None if manifest is None else read_manifest(manifest),
        )
        code = {Verdict.TAMPERED: FAILED, Verdict.NOT_RECOMPUTED: UNCHECKED}.get(found.verdict, 0)
        if report is not None and found.sound:
            found.write_report(report)
        if json:
            emit(
                {
                    "format": "tacit-verify-1",
                    "file": str(file),
                    "verdict": found.verdict.value,
                    "problem": found.problem,
                    "checked": list(found.checked),
                    "open": list(found.open),
                    "member": found.member,
                    "fingerprint": found.fingerprint,
                    "run": found.run,
                    "guarantee": None if found.guarantee is None else found.guarantee.to_dict(),
                }
            )
            return code
        say(f"{file}: {found.verdict.value if found.sound else found.verdict.value.upper()}")
        for line in found.checked:
            say(f"ok      {line}", "  ")
        if not found.sound:
            say(f"{'wrong' if code == FAILED else 'not  '}   {found.problem}", "  ")
        for line in found.open:
            say(f"open    {line}", "  ")
        if found.guarantee is not None:
            say(found.guarantee.sentence())
        if report is not None and found.sound:
            say(f"Wrote {report}.")
        return code

    raise typer.Exit(guarded(command, as_json=json))

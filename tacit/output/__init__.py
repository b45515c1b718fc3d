"""Results directories: what is written, in which formats, and what of it a guarantee covers."""

from tacit.output.directory import Destination
from tacit.output.files import result_document, write

__all__ = ["Destination", "result_document", "write"]

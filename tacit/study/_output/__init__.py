"""The output of a study: its directory, files, page and printed words."""

from tacit.study._output.directory import Destination
from tacit.study._output.files import result_document, write

__all__ = ["Destination", "result_document", "write"]

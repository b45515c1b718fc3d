"""Settings of the documentation site: `make docs`."""

from importlib.metadata import version

project = "tacit"
author = "The tacit maintainers"
copyright = "the tacit maintainers, Apache-2.0"
release = version("tacit")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
source_suffix = {".md": "markdown"}
nitpicky = False
default_role = "literal"  # docstrings write `x` for code

myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # fields of data classes are not documented twice

html_theme = "furo"
html_title = "tacit"
html_static_path = []
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"footer_icons": []}
# Formulae are rare and are written so that they read well as text: no script from elsewhere.
mathjax_path = ""

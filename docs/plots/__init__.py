"""The plots of the documentation, made of real runs: `make plots`.

One function a page of `docs/methods`, a program of `docs/examples.md` and the first page; that of a
method takes the problem of the page's own worked example. The pictures are checked in, so that the
site is built fast.
"""

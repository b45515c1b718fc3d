"""The plots of the documentation, made of real runs: `make plots`.

One function a page of `docs/methods` and a program of `docs/examples.md`; each takes the problem of
the page's own worked example. The pictures are checked in, so that the site is built fast.
"""

"""The checkout's stand-in for the package: a wheel has real folders here (ADR 0001)."""

from os.path import dirname

__path__ = [dirname(dirname(dirname(__file__)))]

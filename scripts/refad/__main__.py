"""Lets `python3 scripts/refad ...` run the package without installing it."""
import os
import sys

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from refad.cli import main

sys.exit(main(sys.argv[1:]))

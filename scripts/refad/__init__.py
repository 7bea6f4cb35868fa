"""refad: a small reference generator of adjoints for a clean subset of C. See README.md."""

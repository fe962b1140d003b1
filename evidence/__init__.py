"""Evidence for what README and docs state: each study is one command, and each sentence is checked against its data.

`python -m evidence` (`make evidence`) makes the studies (`studies/`). The full data of a study goes to
`evidence/data`, which a release carries and the repository does not. The figures that pages state go to its record in
`docs/evidence`, so that `python -m evidence --pages` (part of `make docs`) needs no data. Not shipped.
"""

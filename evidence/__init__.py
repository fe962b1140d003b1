"""Evidence for what README and docs state: every figure measured again by one command, every sentence checked.

`python -m evidence` (`make evidence`) runs the stages (`stages/`) and writes their results into docs/evidence;
`python -m evidence --docs` (part of `make docs`) makes the pages of `pages/` from it. Not shipped.
"""

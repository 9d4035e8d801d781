"""What runs on each node of a multi-node job: rendezvous, launch, supervision, all-reduce and verdict.

Standard library only (torch only in the workers), Python 3.9 or later, so that it runs in any image with `python3`.
"""

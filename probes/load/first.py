"""Cuts the first answer of each client to a share of its length, so that a load is even from its start; pure.

A client that joins a load in full swing would find every other one somewhere in the middle of its answer. The shares
stand for what is left of those: even steps up to a whole answer, so that first answers end, and all later requests
begin, evenly over one request's time as it is at this very load. Answers of one length never get out of step by
themselves: clients that begin together stay together for good, and prompts that come in a wave make all of them wait.

The client that starts first has the shortest answer, so that its place in the row of starts only adds to its share:
however long the starts take, first answers end one after the other. In a scattered order some would end together
wherever one starts as much later as its answer is shorter.
"""

from __future__ import annotations


def first_answer(max_tokens: int, number: int, clients: int) -> int:
    """Most tokens of request `number`, from 0: of each client's first one its share, at least one; later ones whole."""
    return max_tokens if number >= clients else max(1, -(-max_tokens * (number + 1) // clients))


def is_cut(number: int, clients: int) -> bool:
    """Whether the answer to request `number` is less than a whole one, and no evidence of how long answers are.

    A request that was lost with its worker has no number (-1).
    """
    return number >= 0 and number + 1 < clients

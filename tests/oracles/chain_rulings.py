"""The judge of chains with the evidence that releases and audits hand it."""

from sfumato.models.continuous.evidence import evidence_of
from sfumato.verify.chain.ruling import ChainCase


def evidence_for(question, k):
    """What is handed over about worlds; nothing where nothing is asked."""
    if question is None:
        return None
    q = question
    return evidence_of(q.start, q.sums, q.total, q.component, q.kind, q.target, k)


def judge_chain(documents, k, settled=()):
    case = ChainCase(documents, k, settled)
    return case.rule(evidence_for(case.question, k))

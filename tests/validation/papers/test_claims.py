"""Claims of papers that are written as data."""

import numpy as np

from edrp.report.estimates import Estimate
from edrp.report.formatting import NUMBER
from edrp.report.statements import Finding
from edrp.validation.papers.claims import Requirement, claim_records, judged, positive


def each(samples):
    return samples.items()


def test_a_claim_is_judged_in_all_places_that_have_samples():
    samples = {"here": np.array([1.0, 1.1, 0.9]), "there": np.array([2.0, 2.1, 2.2]), "nowhere": np.zeros(0)}
    claims = [
        ("§1", "it is positive", positive(each, lambda _, values: values, NUMBER, printed=lambda values: float(values[0]))),
        ("§2", "it is at most 1.5", Requirement(each, lambda _, values: values, NUMBER, maximum=1.5)),
        ("§3", "it is 3", Requirement(each, lambda _, values: Estimate(3.0, 3.0, 3.0), NUMBER, 3.0, 3.0)),
        ("§4", "something else holds", lambda _: [Finding("apart", Estimate(1.0, 0.9, 1.1), NUMBER, maximum=2.0)]),
        ("§5", "nothing is known", Requirement(lambda _: [], lambda _, values: values, NUMBER)),
    ]
    statements = judged(claims, samples)
    assert [(one.section, one.verdict, len(one.findings)) for one in statements] == [
        ("§1", "holds", 2),
        ("§2", "does not hold", 2),
        ("§3", "holds", 3),
        ("§4", "holds", 1),
    ]
    assert [finding.printed for finding in statements[0].findings] == [1.0, 2.0]
    assert statements[1].decisive.where == "there"
    assert claim_records(statements)[3] == {
        "statement": "something else holds",
        "verdict": "holds",
        "found": "1 of 1; decided by apart: 1 (0.9 to 1.1)",
    }

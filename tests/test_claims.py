"""Verdicts come from comparisons alone, and a check that could not fail is refused."""

import json
from dataclasses import asdict
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foldnet import claims
from foldnet.claims import MIME, Bound, Claim, at_least, at_most, between, check, evaluate


def known(id, **fields):
    return Claim(id, "S3", "splines/sample", "theorem", "A title", "p. 1", "It says so.", **fields)


PUBLISHED = {
    "S3-free": None,
    "S3-half": 0.5,
    "S3-three": 3,
    "S3-list": [1, 2],
    "S3-pair": {"a": 1, "b": 0.5},
    "S3-words": "convex",
}


@pytest.fixture(autouse=True)
def few_claims(monkeypatch):
    entries = {id: known(id, published=value) for id, value in PUBLISHED.items()}
    monkeypatch.setattr(claims, "claims", lambda: entries)


# ---- verdicts ----------------------------------------------------------------------------------------------------------


def verdict(*args, **kwargs):
    return evaluate("S3-free", "what", *args, **kwargs).verdict


def test_agreement_is_reproduced():
    assert verdict(0.501, 0.5, tol=0.01) == "reproduced"
    assert verdict(102.0, 100, rtol=0.05) == "reproduced"
    assert verdict(3, 3) == "reproduced"
    assert verdict("convex", "convex") == "reproduced"
    assert verdict(True, True) == "reproduced"
    assert verdict(Fraction(1, 3), Fraction(1, 3)) == "reproduced"


def test_disagreement_with_the_source_alone_is_corrected():
    assert verdict(0.25, 0.5, tol=0.01, corrected=0.25) == "corrected"
    assert verdict(4, 3, corrected=4) == "corrected"
    assert verdict(False, True, corrected=False) == "corrected"


def test_disagreement_with_both_differs():
    assert verdict(0.3, 0.5, tol=0.01, corrected=0.25) == "differs"
    assert verdict(0.3, 0.5, tol=0.01) == "differs"
    assert verdict(5, 3, corrected=4) == "differs"


def test_a_correction_never_turns_agreement_into_corrected():
    record = evaluate("S3-free", "what", 0.5, 0.5, tol=0.01, corrected=0.25)
    assert record.verdict == "reproduced"
    assert record.corrected is None


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6).flatmap(lambda t: st.tuples(st.just(t), st.floats(1e-9, t / 2))))
def test_the_verdict_is_the_comparison(measured, target_and_tol):
    target, tol = target_and_tol
    claims_now = claims.claims
    claims.claims = lambda: {"S3-free": known("S3-free")}
    try:
        expected = "reproduced" if abs(measured - target) <= tol else "differs"
        assert verdict(measured, target, tol=tol) == expected
    finally:
        claims.claims = claims_now


def test_nothing_but_a_number_agrees_with_a_number():
    for nothing in (np.nan, np.inf, -np.inf):
        assert verdict(nothing, 0.5, tol=0.1) == "differs"
        assert verdict(nothing, 0.5, tol=0.1, corrected=0.7) == "differs"
        assert verdict(nothing, 0.5, rtol=0.1) == "differs"
    assert verdict(np.nan, at_most(1)) == "differs"
    assert verdict(np.nan, at_least(1)) == "differs"
    assert verdict([0.5, np.nan], [0.5, 0.5], tol=0.1) == "differs"
    assert verdict(True, 1) == "differs"
    assert verdict(None, 0.5, tol=0.1) == "differs"
    assert verdict(3, "3") == "differs"


def test_arrays_tensors_and_scalars_are_compared_entry_by_entry():
    assert verdict(np.array([0.1, 0.2]), [0.1, 0.2], tol=0.01) == "reproduced"
    assert verdict(torch.tensor([0.1, 0.2], requires_grad=True), (0.1, 0.2), tol=0.01) == "reproduced"
    assert verdict(np.array([0.1, 0.3]), [0.1, 0.2], tol=0.01) == "differs"
    assert verdict(np.int64(3), 3) == "reproduced"
    assert verdict(np.array([1, 2]), [1, 2]) == "reproduced"
    assert verdict(np.float32(0.5), 0.5, tol=1e-3) == "reproduced"
    assert verdict(np.bool_(True), True) == "reproduced"


def test_bounds():
    assert verdict(0.9, at_most(1)) == "reproduced"
    assert verdict(1.1, at_most(1)) == "differs"
    assert verdict(1.1, at_least(1)) == "reproduced"
    assert verdict(np.array([0.2, 0.4]), between(0, 0.5)) == "reproduced"
    assert verdict(np.array([0.2, 0.6]), between(0, 0.5)) == "differs"
    assert verdict([], at_most(1)) == "differs"
    assert verdict(1.5, at_most(1), corrected=at_most(2)) == "corrected"


@pytest.mark.parametrize("sides", [(), (2.0, 1.0), (float("nan"), 1.0), (-np.inf, np.inf)])
def test_a_bound_that_bounds_nothing_is_refused(sides):
    with pytest.raises(ValueError, match="at least one finite side"):
        Bound(*sides)


def test_mappings_are_compared_key_by_key():
    target = {"mean": 0.5, "count": 3, "share": at_least(0.9)}
    good = {"mean": 0.51, "count": 3, "share": 0.95}
    assert verdict(good, target, tol={"mean": 0.02}) == "reproduced"
    assert verdict(good | {"count": 4}, target, tol={"mean": 0.02}) == "differs"
    assert verdict(good | {"share": 0.8}, target, tol={"mean": 0.02}) == "differs"
    assert verdict(good | {"mean": 0.6}, target, tol={"mean": 0.02}, corrected=target | {"mean": 0.6}) == "corrected"
    with pytest.raises(ValueError, match="needs the keys"):
        verdict({"mean": 0.5}, target, tol=0.02)
    with pytest.raises(ValueError, match="tolerance"):
        verdict(good, target)
    assert (
        evaluate("S3-free", "what", {"a": 0.5, "b": 9.0}, {"a": 0.5, "b": 10.0}, tol={"a": 0.01}, rtol={"b": 0.2}).verdict
        == "reproduced"
    )
    assert (
        evaluate("S3-free", "what", {"a": 0.5, "b": 9.0}, {"a": 0.5, "b": 10.0}, tol={"a": 0.01}, rtol=0.2).verdict
        == "reproduced"
    )


# ---- refusals ----------------------------------------------------------------------------------------------------------


def test_an_unknown_id_is_refused_with_its_neighbours():
    with pytest.raises(ValueError, match=r"no claim 'S3-hlaf'; did you mean S3-half"):
        evaluate("S3-hlaf", "what", 1, 1)
    with pytest.raises(ValueError, match=r"no claim 'zzz'$"):
        evaluate("zzz", "what", 1, 1)


@pytest.mark.parametrize("kind", ["tol", "rtol"])
def test_a_tolerance_that_accepts_zero_is_refused(kind):
    with pytest.raises(ValueError, match="would accept zero"):
        verdict(0.1, 0.5, **{kind: 1.0})
    with pytest.raises(ValueError, match="would accept zero"):
        verdict([0.1, 0.1], [0.5, 0.4], **{kind: 1.0})
    assert verdict(1e-4, 0.0, tol=1e-3) == "reproduced"


def test_floats_without_a_tolerance_are_refused():
    for measured, target in [(0.5, 1), (1, 0.5), ([1, 0.5], [1, 2]), (np.float64(1), 1)]:
        with pytest.raises(ValueError, match="need a tolerance"):
            verdict(measured, target)


def test_a_tolerance_compares_numbers():
    for measured, target in [("convex", 0.5), (0.5, "convex"), ({"a": 1.0}, 0.5), ([[1.0], [1.0, 2.0]], [1.0, 2.0])]:
        with pytest.raises(ValueError, match="compares numbers"):
            verdict(measured, target, tol=0.01)
    with pytest.raises(ValueError, match="compares numbers"):
        verdict("convex", at_most(1))
    for bad in (-0.1, float("nan")):
        with pytest.raises(ValueError, match="not negative"):
            verdict(0.5, 0.5, tol=bad)
        with pytest.raises(ValueError, match="not negative"):
            verdict(0.5, 0.5, rtol=bad)


def test_shapes_must_fit():
    with pytest.raises(ValueError, match="shapes"):
        verdict([0.1, 0.2], [0.1, 0.2, 0.3], tol=0.01)
    with pytest.raises(ValueError, match="shapes"):
        verdict(np.full(3, 0.5), 0.5, tol=0.01)
    with pytest.raises(ValueError, match="shapes"):
        verdict([], [], tol=0.01)


def test_what_is_published_is_published():
    assert evaluate("S3-half", "what", 0.5, tol=0.01).published == "0.5"
    assert evaluate("S3-half", "what", 0.5, 0.5, tol=0.01).verdict == "reproduced"
    assert evaluate("S3-list", "what", [1, 2]).verdict == "reproduced"
    assert evaluate("S3-list", "what", [1, 2], np.array([1, 2])).verdict == "reproduced"
    assert evaluate("S3-pair", "what", {"a": 1, "b": 0.5}, tol={"b": 0.1}).verdict == "reproduced"
    for id, other in [("S3-half", 0.6), ("S3-three", 4), ("S3-list", [1, 3]), ("S3-pair", {"a": 1, "b": 0.6}), ("S3-pair", 1)]:
        with pytest.raises(ValueError, match="is published as"):
            evaluate(id, "what", other, other, tol=0.01)
    assert evaluate("S3-words", "what", 0, 0).verdict == "reproduced"  # words are put in numbers by the check
    with pytest.raises(ValueError, match="has no published value"):
        evaluate("S3-free", "what", 1)


# ---- what is shown -----------------------------------------------------------------------------------------------------


def test_text_is_rounded_to_what_the_tolerance_can_tell():
    noise = 1e-9
    for measured, kwargs in [(0.5123456, dict(tol=0.01)), (0.5123456, dict(rtol=0.1)), (512.3456, dict(tol=30))]:
        target = measured * 1.01
        texts = {evaluate("S3-free", "what", measured + e, target, **kwargs).measured for e in (-noise, 0.0, noise)}
        assert len(texts) == 1
    assert evaluate("S3-free", "what", 0.5123456, 0.5, tol=0.02).measured == "0.51"
    assert evaluate("S3-free", "what", -1e-9, 0, tol=0.01).measured == "0"
    assert evaluate("S3-free", "what", 0.5123456, 0.5, tol=0.02, digits=4).measured == "0.5123"
    assert evaluate("S3-free", "what", 3.3e-14, at_most(1e-8)).measured == "below 1e-9"
    assert evaluate("S3-free", "what", np.linspace(0, 1, 9), np.linspace(0, 1, 9), tol=0.01).measured == "9 values from 0 to 1"
    assert evaluate("S3-free", "what", True, True).measured == "yes"


def test_the_record_says_everything_and_survives_json():
    record = evaluate("S3-free", "the mean", 0.25, 0.5, tol=0.01, corrected=0.25, note="a slip")
    assert asdict(record) == {
        "id": "S3-free",
        "what": "the mean",
        "verdict": "corrected",
        "measured": "0.25",
        "published": "0.5",
        "corrected": "0.25",
        "tolerance": "±0.01",
        "note": "a slip",
        "parts": None,
    }
    assert json.loads(json.dumps(asdict(record))) == asdict(record)
    assert evaluate("S3-free", "x", 99.0, 100, rtol=0.05).tolerance == "±5 %"
    assert evaluate("S3-free", "x", 3, 3).tolerance == "exact"
    assert evaluate("S3-free", "x", 3, at_most(4)).tolerance == "bound"
    every = [np.float32(1.5), torch.tensor(1.5), np.array([1.5, 2.5]), {"a": np.float64(1.5)}]
    for value in every:
        json.dumps(asdict(evaluate("S3-free", "x", value, value, tol=0.1)))


def test_a_mapping_shows_each_value_beside_what_it_was_held_against(capsys):
    measured, published = {"mean": 1.02, "bound": 0.3}, {"mean": 2.0, "bound": at_most(0.5)}
    check("S3-free", "both", measured, published, tol={"mean": 0.05}, corrected={"mean": 1.0, "bound": at_most(0.5)})
    assert "mean 1.02 (source 2; true 1; ±0.05); bound 0.3 (source at most 0.5; true at most 0.5)" in capsys.readouterr().out
    record = evaluate("S3-free", "both", measured, published, tol={"mean": 0.05})
    assert record.verdict == "differs"
    assert (record.measured, record.published) == ("mean: 1.02; bound: 0.3", "mean: 2; bound: at most 0.5")


def test_outside_a_notebook_a_line_is_printed(capsys):
    assert check("S3-free", "the mean", 0.25, 0.5, tol=0.01, corrected=0.25, note="A slip") is None
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    for part in ("corrected", "S3-free", "the mean", "0.25", "0.5", "±0.01", "A slip"):
        assert part in line


def test_in_a_notebook_text_html_and_record_are_shown(monkeypatch):
    import IPython
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython, "get_ipython", lambda: object())
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append(bundle))
    check("S3-free", "a < b & c", 5, 3, note="<b>")
    (bundle,) = shown
    assert set(bundle) == {"text/plain", "text/html", MIME}
    assert bundle["text/plain"].startswith("differs")
    assert 'class="foldnet-check foldnet-differs" id="claim-S3-free"' in bundle["text/html"]
    assert "a &lt; b &amp; c" in bundle["text/html"]
    assert "&lt;b&gt;" in bundle["text/html"]
    assert bundle[MIME]["verdict"] == "differs"

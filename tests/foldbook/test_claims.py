"""Verdicts come from comparisons alone, and a check that could not fail is refused."""

import json
from dataclasses import asdict, replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from foldbook import claims
from foldbook.claims import (
    MIME,
    RISING,
    Bound,
    Claim,
    at_least,
    at_most,
    between,
    check,
    evaluate,
    from_json,
    judged,
    problems,
    shown,
    strength,
)


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
    assert "true" not in shown(record)["text/plain"]


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6).flatmap(lambda t: st.tuples(st.just(t), st.floats(1e-9, t / 2))))
def test_the_verdict_is_the_comparison(measured, target_and_tol):
    target, tol = target_and_tol
    assume(abs(abs(measured - target) - tol) > 1e-6 * tol)  # a tolerance is kept to seven digits
    claims_now = claims.claims
    claims.claims = lambda: {"S3-free": known("S3-free")}
    try:
        expected = "reproduced" if abs(measured - target) <= tol else "differs"
        assert verdict(measured, target, tol=tol) == expected
    finally:
        claims.claims = claims_now


def test_nothing_but_a_number_agrees_with_a_number():
    for nothing in (np.inf, -np.inf):
        assert verdict(nothing, 0.5, tol=0.1) == "differs"
        assert verdict(nothing, 0.5, tol=0.1, corrected=0.7) == "differs"
        assert verdict(nothing, 0.5, rtol=0.1) == "differs"
    assert verdict(True, 1) == "differs"
    assert verdict(None, 0.5, tol=0.1) == "differs"
    assert verdict(3, "3") == "differs"


def test_nan_is_no_verdict():
    for measured, target in ((np.nan, 0.5), (np.nan, at_most(1)), ([0.5, torch.nan], [0.5, 0.5]), ({"a": np.nan}, {"a": 1.0})):
        with pytest.raises(ValueError, match="NaN in the measurement, and NaN has no verdict"):
            verdict(measured, target, tol=0.1)
    for name, more in [
        ("target", {"expected": np.nan}),
        ("correction", {"corrected": np.nan}),
        ("rivals", {"rivals": {"none": np.nan}}),
        ("twins", {"twins": {"another": [np.nan]}}),
    ]:
        with pytest.raises(ValueError, match=f"NaN in the {name}, and NaN has no verdict"):
            verdict(0.1, **{"expected": 0.2, "tol": 0.01, **more})


def test_a_source_and_its_correction_that_say_the_same_are_told_apart_by_nothing():
    assert verdict(0.7, 0.5, tol=0.01, corrected=0.7) == "corrected"
    with pytest.raises(ValueError, match="say the same here"):
        verdict(0.5, 0.5, tol=0.01, corrected=0.5)


def test_where_a_setting_of_the_source_is_changed_there_is_no_verdict():
    same = evaluate("S3-half", "what", 0.5, tol=0.1, setting={"σ": (10.0, 10.0), "n": ((1, 2), [1, 2])})
    assert same.verdict == "reproduced"
    assert "changed" not in shown(same)[MIME]
    other = evaluate("S3-half", "what", 0.9, tol=0.1, setting={"σ": (3.0, 10.0), "n": (5, 5)})
    assert other.verdict == "open"
    assert shown(other)["text/plain"] == (
        "open S3-half | what: 0.9 (printed 0.5). No verdict, since the setting was changed: σ is 3 and not 10"
    )
    assert judged(from_json(shown(other)[MIME])) == other
    assert any("another setting" in p for p in problems(claims.claim("S3-half"), shown(other)))


def test_arrays_tensors_and_scalars_are_compared_entry_by_entry():
    assert verdict(np.array([0.1, 0.2]), [0.1, 0.2], tol=0.01) == "reproduced"
    assert verdict(torch.tensor([0.1, 0.2], requires_grad=True), (0.1, 0.2), tol=0.01) == "reproduced"
    assert verdict(np.array([0.1, 0.3]), [0.1, 0.2], tol=0.01) == "differs"
    assert verdict(np.int64(3), 3) == "reproduced"
    assert verdict(np.array([1, 2]), [1, 2]) == "reproduced"
    assert verdict(np.float32(0.5), 0.5, tol=1e-3) == "reproduced"
    assert verdict(np.bool_(True), True) == "reproduced"


def test_bounds():
    assert verdict(0.9, at_most(1)) == "consistent"
    assert verdict(1.1, at_most(1)) == "differs"
    assert verdict(1.1, at_least(1)) == "consistent"
    assert verdict(np.array([0.2, 0.4]), between(0, 0.5)) == "consistent"
    assert verdict(np.array([0.2, 0.6]), between(0, 0.5)) == "differs"
    assert verdict([], at_most(1)) == "differs"
    assert verdict(1.5, at_most(1), corrected=at_most(2)) == "corrected"


@pytest.mark.parametrize("sides", [(), (2.0, 1.0), (float("nan"), 1.0), (-np.inf, np.inf)])
def test_a_bound_that_bounds_nothing_is_refused(sides):
    with pytest.raises(ValueError, match="at least one finite side"):
        Bound(*sides)


def test_an_order_without_direction_is_refused():
    with pytest.raises(ValueError, match="'rising' or 'falling'; got 'up'"):
        claims.Order("up")


def test_mappings_are_compared_key_by_key():
    target = {"mean": 0.5, "count": 3, "share": at_least(0.9)}
    good = {"mean": 0.51, "count": 3, "share": 0.95}
    assert verdict(good, target, tol={"mean": 0.02}) == "consistent"  # 0.9 is ours
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
    with pytest.raises(ValueError, match=r"0.4 would accept zero for 0.3"):
        verdict([0.5, 0.3], [0.5, 0.3], tol=0.4)
    assert verdict([0.5, 0.3], [0.5, 0.3], tol=[0.4, 0.1]) == "reproduced"
    assert verdict([0.5, 0.0], [0.5, 0.0], tol=0.4) == "reproduced"
    assert verdict([0.5, 0.0], [0.5, np.sin(np.pi)], tol=0.4) == "reproduced"
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
    assert evaluate("S3-half", "what", 0.5, tol=0.01).points[0].target == 0.5
    assert evaluate("S3-half", "what", 0.5, 0.5, tol=0.01).verdict == "reproduced"
    assert evaluate("S3-list", "what", [1, 2]).verdict == "reproduced"
    assert evaluate("S3-list", "what", [1, 2], np.array([1, 2])).verdict == "reproduced"
    assert evaluate("S3-pair", "what", {"a": 1, "b": 0.5}, tol={"b": 0.1}).verdict == "reproduced"
    for id, other in [("S3-half", 0.6), ("S3-three", 4), ("S3-list", [1, 3]), ("S3-pair", {"a": 1, "b": 0.6}), ("S3-pair", 1)]:
        with pytest.raises(ValueError, match="is published as"):
            evaluate(id, "what", other, other, tol=0.01)
    assert evaluate("S3-words", "what", 0, 0).verdict == "reproduced"  # words are put in numbers by the check
    with pytest.raises(ValueError, match="neither a published value nor a criterion"):
        evaluate("S3-free", "what", 1)


# ---- what is shown -----------------------------------------------------------------------------------------------------


def point(*args, **kwargs):
    (found,) = evaluate("S3-free", "what", *args, **kwargs).points
    return found


def text(*args, **kwargs):
    line = shown(evaluate("S3-free", "what", *args, **kwargs))["text/plain"]
    return line.removeprefix("reproduced S3-free | what: ").removeprefix("consistent S3-free | what: ")


def test_what_is_stored_is_rounded_to_what_the_tolerance_can_tell():
    noise = 1e-9
    for measured, kwargs in [(0.5123456, dict(tol=0.01)), (0.5123456, dict(rtol=0.1)), (512.3456, dict(tol=30))]:
        target = measured * 1.01
        assert len({point(measured + e, target, **kwargs).measured for e in (-noise, 0.0, noise)}) == 1
    assert point(0.5123456, 0.5, tol=0.02).measured == 0.51
    assert point(-1e-9, 0, tol=0.01).measured == 0
    assert point(0.5123456, 0.5, tol=0.02, digits=4).measured == 0.5123
    assert point(1 / 3, 1 / 3, tol=1e-9).measured == {"within": 1e-9}
    assert point([3e-14, -2.0], at_most(1e-8)).measured == {"within": 1e-8}


def test_rounding_never_crosses_the_line_that_decides():
    assert verdict(1.0449, at_most(1.04)) == "differs"
    assert point(1.0449, at_most(1.04)).measured > 1.04
    assert verdict(0.51489, 0.5, tol=0.0149) == "reproduced"
    assert point(0.51491, 0.5, tol=0.0149).measured - 0.5 > 0.0149


def test_a_bound_is_never_made_tighter_by_storing_it():
    assert verdict(0.1 + 1e-12, at_most(0.1 + 1e-9)) == "consistent"
    assert verdict(-0.1 - 1e-12, at_least(-0.1 - 1e-9)) == "consistent"
    assert point(0.3, at_least(1 / 3 - 0.1)).target == {"at_least": 0.2333333}
    assert point(0.3, at_most(1 / 3)).target == {"at_most": 0.3333334}
    assert point(0.3, at_most(1e-9), note="x").target == {"at_most": 1e-9}


def test_lines_are_for_people():
    assert text(3, 3) == "3 (as implied)"
    assert text(616126, 616126) == "616,126 (as implied)"
    assert text(0.51, 0.5, tol=0.02) == "0.51 (implied 0.5, within 0.02)"
    assert text(99.0, 100, rtol=0.05) == "99 (implied 100, within 5 %)"
    assert text(3, at_most(4)) == "3 (implied: at most 4)"
    assert text(20.0, between(1, 30)) == "20 (implied: at least 1, at most 30)"
    assert text(3.3e-14, at_most(1e-8)) == "below 10⁻⁸"
    assert text(1 / 3, 1 / 3, tol=1e-9) == "0.333333 (as implied, up to rounding)"
    assert "another the same, which passes too" in text(1 / 3, 1 / 3, tol=1e-9, rivals={"another": 1 / 3})
    assert text(2.84e-8, 2.8e-8, rtol=0.1) == "2.84·10⁻⁸ (implied 2.8·10⁻⁸, within 10 %)"
    assert text(True, True) == "yes (as implied)"
    assert text([1.0] * 7, [1.0] * 7, tol=0.1) == "1 in all 7 (as implied)"
    long = np.linspace(0, 1, 15)
    assert text(long + 0.1, long + 0.101, tol=0.002) == "all 15 values (as implied, within 0.002)"
    assert text(list(range(15)), list(range(15))) == "all 15 values (as implied)"
    wrong = text(list(range(15)), [*range(14), 20], note="x")
    assert wrong == "differs S3-free | what: 1 of 15 values off, the first 14 instead of 20 (as implied it is not). x"
    assert text([1.0, 2.0], RISING) == "[1, 2] (implied: rising)"


def test_the_record_says_everything_and_survives_json():
    record = evaluate("S3-free", "the mean", 0.25, 0.5, tol=0.01, corrected=0.25, note="a slip")
    assert asdict(record) == {
        "id": "S3-free",
        "what": "the mean",
        "verdict": "corrected",
        "evidence": "statement",
        "points": (
            {
                "name": None,
                "verdict": "corrected",
                "against": "statement",
                "measured": 0.25,
                "target": 0.5,
                "corrected": 0.25,
                "tol": 0.01,
                "rtol": None,
                "rivals": (),
                "twins": (),
            },
        ),
        "note": "a slip",
        "stored": None,
        "live": None,
        "selected": None,
        "says": None,
        "changed": None,
    }
    every = [np.float32(1.5), torch.tensor(1.5), np.array([1.5, 2.5]), {"a": np.float64(1.5)}, {"a": Fraction(3, 2)}]
    for value in every:
        record = evaluate("S3-free", "x", value, value, tol=None if "Fraction" in repr(value) else 0.1)
        assert from_json(json.loads(json.dumps(asdict(record)))) == record


@given(
    st.one_of(st.floats(allow_nan=False), st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12)),
    st.one_of(st.floats(-1e6, 1e6), st.tuples(st.floats(-10, 0), st.floats(0, 10))),
    st.floats(1e-14, 1e3),
    st.booleans(),
)
def test_a_stored_record_gives_its_verdict_and_its_line_again(measured, target, tol, relative):
    """Whatever is measured: after a journey through a sorted JSON file, verdict, line and box are computed from it once more."""
    claims_now = claims.claims
    claims.claims = lambda: {"S3-free": known("S3-free", evidence="shape")}
    try:
        expected = (
            between(*target) if isinstance(target, tuple) else target if isinstance(measured, float) else [target] * len(measured)
        )
        rivals = {"z": measured, "a": measured}
        record = evaluate("S3-free", "x", measured, expected, rivals=rivals, **{"rtol" if relative else "tol": tol})
    except ValueError as error:
        assert "accept zero" in str(error)  # noqa: PT017
        return
    finally:
        claims.claims = claims_now
    again = from_json(json.loads(json.dumps(asdict(record), sort_keys=True)))
    assert judged(again) == record
    assert shown(again) == shown(record)


def test_a_mapping_shows_each_value_beside_what_it_was_held_against(capsys):
    measured, stated = {"mean": 1.02, "bound": 0.3}, {"mean": 2.0, "bound": at_most(0.5)}
    check("S3-free", "both", measured, stated, tol={"mean": 0.05}, corrected={"mean": 1.0})
    line = "corrected S3-free | both: ✎ mean: 1.02 (implied 2; true 1, within 0.05); ≈ bound: 0.3 (implied: at most 0.5)\n"
    assert capsys.readouterr().out == line
    record = evaluate("S3-free", "both", measured, stated, tol={"mean": 0.05})
    assert record.verdict == "differs"
    assert [p.verdict for p in record.points] == ["differs", "consistent"]


def test_outside_a_notebook_a_line_is_printed(capsys):
    assert check("S3-free", "the mean", 0.25, 0.5, tol=0.01, corrected=0.25, note="A slip") is None
    assert capsys.readouterr().out == "corrected S3-free | the mean: 0.25 (implied 0.5; true 0.25, within 0.01). A slip\n"


# ---- rules of evidence -------------------------------------------------------------------------------------------------


def by(evidence, *args, published=None, criterion=None, **kwargs):
    entry = known("S3-x", evidence=evidence, published=published, criterion=criterion)
    claims.claims()["S3-x"] = entry
    return evaluate("S3-x", "what", *args, **kwargs)


def test_a_definition_is_used():
    assert by("definition", 3, 3).verdict == "used"
    assert by("definition", 4, 3, corrected=4).verdict == "corrected"
    assert by("definition", 5, 3, corrected=4).verdict == "differs"


def test_a_shape_is_consistent_until_every_rival_fails():
    assert by("shape", 2.0, at_least(1.5)).verdict == "consistent"
    assert by("shape", 2.0, at_least(1.5), rivals={"null": 1.0}).verdict == "reproduced"
    both = by("shape", 2.0, at_least(1.5), rivals={"null": 1.0, "baseline": 1.7})
    assert both.verdict == "consistent"
    assert "null 1, excluded; baseline 1.7, which passes too" in shown(both)["text/plain"]
    assert by("shape", 1.0, at_least(1.5), rivals={"null": 1.0}).verdict == "differs"
    assert by("shape", [1, 2, 3], RISING, rivals={"opposite": [3, 2, 1]}).verdict == "reproduced"


def test_a_rival_that_passes_weakens_a_statement_too():
    assert by("statement", 0, 0, rivals={"null": 0}).verdict == "consistent"
    assert by("statement", 0, 0, rivals={"null": 7}).verdict == "reproduced"


def test_rivals_are_judged_at_each_point():
    demands = {"up": at_least(1.5), "down": at_most(0.5)}
    record = by("shape", {"up": 2.0, "down": 0.1}, demands, rivals={"null": {"up": 1.0}})
    assert [p.verdict for p in record.points] == ["reproduced", "consistent"]
    assert record.verdict == "consistent"
    with pytest.raises(ValueError, match="same points"):
        by("shape", {"up": 2.0, "down": 0.1}, demands, rivals={"null": {"sideways": 1.0}})


def test_a_claim_is_as_good_as_its_weakest_point():
    record = by("statement", {"a": 1, "b": 5, "c": 9}, {"a": 1, "b": 2, "c": 3}, corrected={"b": 5})
    assert [p.verdict for p in record.points] == ["reproduced", "corrected", "differs"]
    assert record.verdict == "differs"


def test_what_is_asked_beyond_printed_numbers_counts_like_any_other_point():
    beyond = {"p": at_least(0.01)}
    record = by("number", {"count": 53, "p": 0.8}, beyond, published={"count": 53})
    assert record.verdict == "consistent"
    assert [p.against for p in record.points] == ["printed", "criterion"]
    judged_too = {"null": {"p": 0.001}}
    assert by("number", {"count": 53, "p": 0.8}, beyond, published={"count": 53}, rivals=judged_too).verdict == "reproduced"
    assert by("number", {"count": 53, "p": 0.001}, beyond, published={"count": 53}).verdict == "differs"
    shape = by("shape", {"runs": 20, "gain": 2.0}, {"gain": at_least(1.5)}, published={"runs": 20})
    assert shape.verdict == "consistent"


def test_a_bound_that_the_source_does_not_print_is_ours():
    assert by("statement", 0.5, at_most(0.6)).verdict == "consistent"
    assert by("statement", [1, 2, 3], RISING).verdict == "consistent"
    assert by("statement", 0.5, at_most(0.6), rivals={"null": 0.9}).verdict == "reproduced"
    assert by("statement", 0.5, at_most(0.6), published="at most 0.6").verdict == "reproduced"
    assert by("statement", 1e-9, at_most(1e-7)).verdict == "reproduced"  # rounding
    assert by("statement", 0, at_most(0)).verdict == "reproduced"  # none at all
    assert by("statement", 0.3, at_least(0)).verdict == "reproduced"  # a sign


def test_a_false_twin_must_be_missed():
    refuted = by("statement", 2.001, 2.0, tol=0.01, twins={"exponent 3": 3.0})
    assert refuted.verdict == "reproduced"
    assert "exponent 3 would be 3, refuted" in shown(refuted)["text/plain"]
    met = by("statement", 2.001, 2.0, tol=0.01, twins={"exponent 2.005": 2.005})
    assert met.verdict == "consistent"
    assert "which it is too" in shown(met)["text/plain"]
    exact = by("statement", 0.25 + 1e-9, 0.25, tol=1e-7, twins={"a half": 0.5})
    assert (exact.verdict, exact.points[0].measured) == ("reproduced", {"within": 1e-7})
    ours = by("statement", {"a": 0.5, "b": 3}, {"a": at_most(0.6), "b": 3}, twins={"twice": {"a": at_most(0.4), "b": 6}})
    assert ours.verdict == "reproduced"
    again = from_json(json.loads(json.dumps(shown(ours)[MIME])))
    assert judged(again) == ours == again
    with pytest.raises(ValueError, match="same points"):
        by("statement", {"a": 1}, {"a": 1}, twins={"far": {"z": 2}})


def test_strength_is_read_off_the_record():
    assert strength(by("statement", 3, 3)) == "exact"
    assert strength(by("statement", 1e-9, at_most(1e-7))) == "exact"
    assert strength(by("statement", 0.501, 0.5, tol=0.01)) == "sampled"
    assert strength(by("statement", 3, 3, stored="race", live="all")) == "sampled"
    assert strength(by("statement", 3, 3, selected="best of 24")) == "one setting"
    after = {"demands": {"ratio": "at least 1.3"}, "reason": "r", "fixed": "after"}
    assert strength(by("shape", {"ratio": 2.0}, criterion=after)) == "one setting"
    assert set(claims.STRENGTHS) == {"exact", "sampled", "one setting"}


def test_a_criterion_stands_in_the_entry_and_cannot_be_talked_away():
    criterion = {"demands": {"ratio": "at least 1.3"}, "reason": "r", "fixed": "before"}
    assert by("shape", {"ratio": 2.0}, criterion=criterion).verdict == "consistent"
    assert by("shape", {"ratio": 1.2}, criterion=criterion).verdict == "differs"
    with pytest.raises(ValueError, match=r"to be judged by ratio: at least 1\.3"):
        by("shape", {"ratio": 1.2}, {"ratio": at_least(1.1)}, criterion=criterion)
    assert by("number", 120.0, published="at least 100").verdict == "reproduced"
    with pytest.raises(ValueError, match="published as at least 100"):
        by("number", 60.0, at_least(50), published="at least 100")


def test_a_stored_run_says_how_much_was_run_again():
    with pytest.raises(ValueError, match="live="):
        by("statement", 3, 3, stored="race")
    with pytest.raises(ValueError, match="live="):
        by("statement", 3, 3, live="3 of 600 cells")
    line = shown(by("statement", 3, 3, stored="race", live="3 of 600 cells", selected="best of 24 setups"))["text/plain"]
    assert line.endswith(". Rests on the stored run race; run again here: 3 of 600 cells. Selected: best of 24 setups")


def test_a_record_changed_by_hand_is_found():
    claims.claims()["S3-x"] = entry = known("S3-x", published={"a": 1, "b": 2}, evidence="number")
    good = json.loads(json.dumps(shown(evaluate("S3-x", "what", {"a": 1, "b": 5}, note="tried"))))
    assert problems(entry, good) == []

    def changed(change):
        data = json.loads(json.dumps(good))
        change(data, data[MIME], data[MIME]["points"][1])
        return " ".join(problems(entry, data))

    assert "its numbers make it differs" in changed(lambda d, r, p: r.update(verdict="reproduced"))
    assert "its numbers make it differs" in changed(lambda d, r, p: p.update(verdict="reproduced"))
    assert "shows another text/plain" in changed(
        lambda d, r, p: d.update({"text/plain": d["text/plain"].replace("differs", "fits")})
    )
    assert "shows another text/html" in changed(lambda d, r, p: d.update({"text/html": ""}))
    assert "shows another text/plain" in changed(lambda d, r, p: p.update(measured=6))
    assert "as published" in changed(lambda d, r, p: p.update(target=5))
    assert "evidence" in changed(lambda d, r, p: r.update(evidence="statement"))
    assert "by its entry" in changed(lambda d, r, p: p.update(against="statement"))


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


def test_a_sentence_makes_a_verdict_one_line_that_opens():
    record = evaluate("S3-free", "largest gap", 1e-9, at_most(1e-7), says="Bends are <rare> far out.")
    html, plain = shown(record)["text/html"], shown(record)["text/plain"]
    assert html.startswith(
        '<details class="foldnet-verdict foldnet-reproduced" id="claim-S3-free"><summary><b>✓</b> Bends are &lt;rare'
    )
    assert "largest gap" in html
    assert plain.startswith("✓ Bends are <rare> far out. reproduced S3-free | largest gap")
    assert shown(record)[MIME]["says"] == "Bends are <rare> far out."
    assert "says" not in shown(replace(record, says=None))[MIME]

"""Random mutants: what is changed and what is not, and whether tests that notice and tests that do not are told apart."""

import ast
import tomllib

from tools import mutants

SOURCE = '''"""A module with 3 words."""

from __future__ import annotations

LIMIT: tuple[int, 3] = (4, 0.5)


def clipped(x: float, low: float = -1.0) -> float:
    """At least 1."""
    if not x < 9 or x == 2:
        raise ValueError(f"{x + 1} is more than {8}" + "!" * 7)
    return max(x, low) + sum([1, 2, 3][: len("ab")])
'''


def small(root):
    """A tree with one module, a test of it that notices what `loud` does, and one for the folder that notices nothing."""
    for folder in ("package/part", "tests/package/part"):
        (root / folder).mkdir(parents=True)
    (root / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["."]\nmarkers = ["browser", "install", "course", "print"]\n'
    )
    (root / "package/part/one.py").write_text("def loud(x):\n    return x + 7\n\n\ndef silent(x):\n    return x * x\n")
    test = "from package.part.one import loud, silent\n\n\ndef test_loud():\n    assert loud(1) == 8\n"
    test += "\n\ndef test_that_fails_by_itself():\n    assert silent(3) == 3\n"
    (root / "tests/package/part/test_one.py").write_text(test)
    (root / "tests/package/part/test_two.py").write_text("def test_nothing():\n    pass\n")
    return root


def test_code_is_changed_and_no_type_no_text_and_no_sentence_of_an_error(tmp_path):
    (tmp_path / "one.py").write_text(SOURCE)
    found = mutants.mutants_of(tmp_path, "one.py")
    changes = {(m.before, m.after) for m in found}
    assert changes == {
        *(("4", "(5)"), ("4", "(3)"), ("0.5", "(1.0)"), ("-1.0", "(1.0)"), ("1.0", "(2.0)")),
        *(
            ("not x < 9 or x == 2", "(not x < 9 and x == 2)"),
            ("not x < 9", "(x < 9)"),
            ("x < 9", "(x <= 9)"),
            ("x == 2", "(x != 2)"),
        ),
        *(("9", "(10)"), ("9", "(8)"), ("2", "(3)"), ("2", "(1)"), ("1", "(2)"), ("1", "(0)"), ("3", "(4)"), ("3", "(2)")),
        *(("max", "min"), ("sum", "mean"), (': len("ab")', ":len('ab') + 1")),
        ('max(x, low) + sum([1, 2, 3][: len("ab")])', "(max(x, low) - sum([1, 2, 3][:len('ab')]))"),
    }
    for mutant in found:
        ast.parse(mutant.applied(SOURCE.encode()))
        assert SOURCE.encode()[mutant.start : mutant.end].decode() == mutant.before


def test_each_kind_takes_its_turn_and_a_seed_draws_the_same():
    first, again, other = (mutants.drawn(mutants.ROOT, "foldnet/growth", 24, seed) for seed in (1, 1, 2))
    assert first == again != other
    kinds = [mutant.kind for mutant in first]
    assert {kinds.count(kind) for kind in kinds} == {3}
    all_of_it = mutants.drawn(mutants.ROOT, "foldnet/geometry", 10**6, 1)
    assert not any(mutant.file.endswith("_kernel.py") for mutant in all_of_it)


def test_survivors_are_told_a_killed_run_goes_on_and_the_tree_stays(tmp_path, capsys):
    root, rows = small(tmp_path / "tree"), tmp_path / "rows.jsonl"
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert mutants.targets(root, "package/part/one.py") == [
        ("tests/package/part/test_one.py",),
        ("tests/package/part/test_two.py",),
    ]
    asked = ["--package", "package", "--count", "4", "--rows", str(rows)]
    mutants.main(asked, root)
    told = capsys.readouterr().out
    assert "not asked: tests/package/part/test_one.py::test_that_fails_by_itself\n" in told
    assert "SURVIVED package/part/one.py:6 x * x -> (x / x)" in told
    assert told.splitlines()[-1] == "3 noticed, 1 SURVIVED"
    whole = rows.read_text()
    rows.write_text(whole[: whole.rindex('"result"')])  # killed in the middle of a row
    mutants.main(asked, root)
    assert capsys.readouterr().out.splitlines()[-1] == "3 noticed, 1 SURVIVED"
    assert len(dict(mutants.known(rows))) == 4
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_many_at_once_say_the_same_and_a_run_stops_in_time(tmp_path, capsys):
    root, rows = small(tmp_path / "tree"), tmp_path / "rows.jsonl"
    asked = ["--package", "package", "--count", "4", "--rows", str(rows)]
    mutants.main([*asked, "--within", "0"], root)
    assert capsys.readouterr().out.splitlines()[-1] == ""
    mutants.main([*asked, "--jobs", "3"], root)
    assert capsys.readouterr().out.splitlines()[-1] == "3 noticed, 1 SURVIVED"


def test_what_runs_through_fit_is_asked_of_its_tests():
    own, others = mutants.targets(mutants.ROOT, "foldnet/engines/_cuda.py")
    assert own == ("tests/foldnet/engines/test_cuda.py",)
    assert others == ("tests/foldnet/test_train.py",)


def test_what_is_called_equivalent_is_not_tried(tmp_path, capsys):
    root = small(tmp_path / "tree")
    (root / "tools").mkdir()
    same = 'file = "package/part/one.py"\nline = "return x + 7"\nchange = "7 -> (8)"\nwhy = "for the test"\n'
    (root / "tools/equivalents.toml").write_text(f"[[equivalent]]\n{same}")
    everything = mutants.drawn(root, "package", 10, 1)
    assert [m.change for m in mutants.equivalent(root, everything)] == ["7 -> (8)"]
    seed = next(seed for seed in range(99) if mutants.drawn(root, "package", 1, seed)[0].change == "7 -> (8)")
    mutants.main(["--package", "package", "--count", "1", "--seed", str(seed), "--rows", str(tmp_path / "rows.jsonl")], root)
    assert capsys.readouterr().out.splitlines()[-1] == "1 equivalent"


def test_each_equivalent_is_a_change_of_the_source_of_today():
    named = tomllib.loads((mutants.ROOT / "tools/equivalents.toml").read_text(encoding="utf-8")).get("equivalent", [])
    for each in named:
        found = mutants.equivalent(mutants.ROOT, mutants.mutants_of(mutants.ROOT, each["file"]))
        assert any(each["change"] == m.change for m in found), each
        assert each["why"]

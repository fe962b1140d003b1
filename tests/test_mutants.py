"""`make mutants`: changes are put into sources as they should be, do what they say, and survivors meet the list."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import listing, outcomes, survivors, trying
from tests.mutants.instrument import instrumented
from tests.mutants.listing import Mutant
from tests.mutants.process import Binary, run
from tests.mutants.recorded import Test

SOURCE = """\
struct S { a: u8, b: u8 }
const N: usize = 2 + 3;
fn sum(x: i64, y: i64) -> i64 {
    x + y * 2
}
fn kind(x: i64) -> &'static str {
    match x {
        0 => "none",
        n if n < 10 && !(n == 5) => "few",
        _ => "many",
    }
}
fn made() -> u8 {
    let s = S { a: 1, b: 2, ..S { a: 7, b: 8 } };
    s.a + s.b
}
fn counted(n: u64) -> u64 {
    let mut all = 0;
    for one in 0..n as u64 {
        if one as u64 <= 3 { all += one; }
    }
    all
}
fn evens(most: u32) -> impl Iterator<Item = u32> {
    (0..=most).filter(|one| one % 2 == 0)
}
fn all(n: i32) -> bool {
    unsafe { std::mem::transmute::<i32, u32>(n) } == 0
}
fn chain(x: Option<u8>) -> bool {
    if let Some(one) = x && one > 3 { return true; }
    false
}
"""
MAIN = """\
fn main() {
    let kinds = [0, 3, 5, 12].map(kind).join(",");
    let rest = (made(), counted(6), chain(Some(4)), evens(5).collect::<Vec<_>>(), all(0));
    println!("{} {kinds} {rest:?}", sum(3, 4));
}
"""
#: Genre, text that is changed, text around it on the line, by what: numbered from 1.
CHANGES = [
    ("FnValue", "x + y * 2", "x + y * 2", "-1"),
    ("BinaryOperator", "+", "x + y", "-"),
    ("BinaryOperator", "+", "x + y", "*"),
    ("BinaryOperator", "*", "y * 2", "+"),
    ("MatchArm", '0 => "none",', '0 => "none",', ""),
    ("MatchArmGuard", "n < 10 && !(n == 5)", "n < 10 && !(n == 5)", "true"),
    ("MatchArmGuard", "n < 10 && !(n == 5)", "n < 10 && !(n == 5)", "false"),
    ("BinaryOperator", "&&", "10 && !", "||"),
    ("UnaryOperator", "!", "!(n", ""),
    ("StructField", "a: 1", "{ a: 1, b", ""),
    ("StructField", "b: 2", "b: 2", ""),
    ("BinaryOperator", "<=", "u64 <= 3", "<"),
    ("BinaryOperator", "+=", "all += one", "-="),
    ("BinaryOperator", "+", "2 + 3", "-"),
    ("BinaryOperator", "&&", "x && one", "||"),
    ("BinaryOperator", ">", "one > 3", "<"),
    (
        "FnValue",
        "(0..=most).filter(|one| one % 2 == 0)",
        "(0..=most).filter(|one| one % 2 == 0)",
        "::std::iter::once(7)",
    ),
    ("BinaryOperator", "%", "one % 2", "+"),
    ("BinaryOperator", "==", "} == 0", "!="),
]
#: What is printed when each of them is active.
PRINTED = "11 none,few,many,many (3, 6, true, [0, 2, 4], true)"
CHANGED = {
    1: PRINTED.replace("11", "-1"),
    2: PRINTED.replace("11", "-5"),
    3: PRINTED.replace("11", "24"),
    4: PRINTED.replace("11", "9"),
    5: PRINTED.replace("none", "few"),
    6: PRINTED.replace("many", "few"),
    7: PRINTED.replace("few", "many"),
    8: PRINTED.replace("many", "few"),
    9: PRINTED.replace("few,many", "many,few"),
    10: PRINTED.replace("3,", "9,"),
    11: PRINTED.replace("3,", "9,"),
    12: PRINTED.replace("6", "3"),
    16: PRINTED.replace("6, true", "6, false"),
    17: PRINTED.replace("0, 2, 4", "7"),
    18: PRINTED.replace("0, 2, 4", ""),
    19: PRINTED.replace("true)", "false)"),
}


def listed(root: Path) -> list[Mutant]:
    """The changes as cargo-mutants would list them."""
    (root / "a.rs").write_text(SOURCE, encoding="utf-8")
    return listing.read(entries(), root)


def entries() -> Iterator[dict[str, Any]]:
    for genre, text, near, by in CHANGES:
        at = SOURCE.index(near) + near.index(text)
        row, column = SOURCE[:at].count("\n") + 1, at - SOURCE.rfind("\n", 0, at)
        span = {"start": {"line": row, "column": column}, "end": {"line": row, "column": column + len(text)}}
        name = f"a.rs:{row}:{column}: replace {text} with {by} in f"
        whole = {"start": {"line": 1, "column": 1}, "end": {"line": SOURCE.count("\n"), "column": 2}}
        returns = "-> impl Iterator<Item = u32>" if "once" in by else ""
        inside = {"function_name": "f", "return_type": returns, "span": whole}
        yield {"file": "a.rs", "function": inside, "genre": genre, "replacement": by, "span": span, "name": name}


def test_every_change_stands_behind_its_switch(tmp_path: Path) -> None:
    written = instrumented(SOURCE.encode(), listed(tmp_path))
    text = written.text.decode().replace("::flashtwin_bits::mutant::", "")
    assert "{ if is(1) { return -1; }\n" in text
    product = "(if is(4) { y + 2 } else { y * 2 })"
    assert f"(if is(2) {{ x - (y * 2) }} else if is(3) {{ x * (y * 2) }} else {{ x + {product} }})" in text
    assert '0 if !is(5) => "none",' in text
    assert "n if (if is(6) { true } else if is(7) { false } else { (if is(8) { (n < 10) || (!(n == 5)) } else {" in text
    assert "S { b: 2, ..S { a: 7, b: 8 } }".replace("{ b", "{  b") in text
    assert "(if is(12) { (one as u64) < 3 } else { one as u64 <= 3 })" in text
    assert "(if is(13) { all -= one } else { all += one });" in text
    assert {number: str(reason) for number, reason in written.without.items()} == {
        14: "its value is needed when it is compiled",
        15: "`||` cannot stand in a let chain",
    }
    for region in written.regions:
        if region.own and region.mutants == (3,):
            assert written.text[region.span.start : region.span.end] == b"x * (y * 2)"


@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")
def test_a_changed_program_does_what_the_active_change_says(tmp_path: Path) -> None:
    mutants = listed(tmp_path)
    (tmp_path / "main.rs").write_bytes(instrumented(SOURCE.encode(), mutants).text + MAIN.encode())
    (tmp_path / "flashtwin_bits.rs").write_text("pub mod mutant;\n", encoding="utf-8")
    shutil.copy(Path(trying.__file__).with_name("switch.rs"), tmp_path / "mutant.rs")
    compiled = ["rustc", "--edition", "2024", "--cap-lints", "allow"]
    subprocess.run([*compiled, "--crate-type", "rlib", "flashtwin_bits.rs"], cwd=tmp_path, check=True)
    subprocess.run(
        [*compiled, "--extern", "flashtwin_bits=libflashtwin_bits.rlib", "main.rs"], cwd=tmp_path, check=True
    )

    def printed(active: str) -> str:
        environment = {"FLASHTWIN_MUTANT": active, "FLASHTWIN_REACHED": str(tmp_path / "reached")}
        done = subprocess.run([tmp_path / "main"], env=environment, check=True, stdout=subprocess.PIPE)
        return done.stdout.decode().strip()

    assert printed("") == PRINTED
    assert {number: printed(str(number)) for number in CHANGED} == CHANGED
    assert printed("record") == PRINTED
    reached = [int(line) for line in (tmp_path / "reached").read_text(encoding="ascii").split()]
    assert sorted(reached) == sorted({*CHANGED, 13})


def test_a_change_is_known_again_when_its_function_has_moved_and_not_when_it_is_another(tmp_path: Path) -> None:
    def keys(text: str) -> set[str]:
        (tmp_path / "a.rs").write_text(text, encoding="utf-8")
        at = text[: text.index("x + y")].count("\n") + 1
        around = {"start": {"line": at - 1, "column": 1}, "end": {"line": at + 1, "column": 2}}
        span = {"start": {"line": at, "column": 7}, "end": {"line": at, "column": 8}}
        inside = {"function_name": "sum", "return_type": "", "span": around}
        entry = {"file": "a.rs", "function": inside, "genre": "BinaryOperator", "replacement": "-", "span": span}
        return {one.key for one in listing.read([{**entry, "name": "a.rs: -"}], tmp_path)}

    assert keys(SOURCE) == keys("// é: a line more\n" + SOURCE)
    assert keys(SOURCE) != keys(SOURCE.replace("y * 2", "y * 3"))


def test_survivors_are_held_against_the_list(tmp_path: Path) -> None:
    mutants = [replace(one, function="f") for one in listed(tmp_path)]
    found = [outcomes.of(one, "missed" if one.number in (2, 4, 8, 16) else "caught", "") for one in mutants]
    assert survivors.named(found[1]) == ("a.rs", "f", "replace + with -")
    path = tmp_path / "survivors.toml"
    path.write_text(
        '[["a.rs"]]\nfunction = "f"\nchanges = ["replace + with -", "replace + with *"]\nreason = "why not"\n'
        '[["a.rs"]]\nfunction = "f"\nchanges = ["replace && with ||"]\nplaces = 2\nreason = "twice"\n'
        '[["a.rs"]]\nfunction = "g"\nchanges = ["replace + with -"]\nreason = "gone"\n'
        '[["b.rs"]]\nfunction = "f"\nchanges = ["replace + with -"]\nreason = "not asked about"\n',
        encoding="utf-8",
    )
    judged = survivors.judged(found, survivors.read(path))
    assert [one.change for one in judged.listed] == ["replace + with - in f", "replace && with || in f"]
    assert [one.change for one in judged.unlisted] == ["replace * with + in f", "replace > with < in f"]
    assert judged.stale == [
        "a.rs · f · replace + with *: no longer survives",
        "a.rs · f · replace && with ||: survives at 1 places, not 2",
        "a.rs · g · replace + with -: no longer exists",
    ]
    untried = [replace(one, outcome="own build") if one.change == "replace + with * in f" else one for one in found]
    assert survivors.judged(untried, survivors.read(path)).stale == judged.stale[1:]
    path.write_text(
        survivors.form(judged.unlisted).replace('reason = ""', 'reason = "now it has one"'), encoding="utf-8"
    )
    assert len(survivors.judged(found, survivors.read(path)).listed) == 2
    path.write_text('[["a.rs"]]\nchanges = ["replace + with -"]\n', encoding="utf-8")
    with pytest.raises(survivors.ListError, match="`reason`"):
        survivors.read(path)


def test_the_projects_list_can_be_read() -> None:
    assert all(entry.reason for entry in survivors.read())


def test_what_was_noticed_is_not_tried_again(tmp_path: Path) -> None:
    mutants = listed(tmp_path)
    kept = outcomes.Outcomes(tmp_path, mutants, again=False)
    kept.add(outcomes.of(mutants[0], "caught", "a test"))
    kept.add(outcomes.of(mutants[1], "missed", ""))
    with kept.path.open("a", encoding="utf-8") as file:
        file.write('{"cut off')
    kept = outcomes.Outcomes(tmp_path, mutants[:2], again=False)
    assert [kept.lasts(one) for one in mutants[:3]] == [True, False, False]
    assert not outcomes.Outcomes(tmp_path, mutants, again=True).known


def test_batches_double_and_keep_within_the_time_a_change_may_take() -> None:
    tests = [Test("ab"[number % 3 == 0], str(number), 1.0, frozenset()) for number in range(7)]
    taken = [(binary, [test.name for test in batch]) for binary, batch in trying.batches(tests)]
    assert taken == [("b", ["0"]), ("a", ["1", "2"]), ("a", ["4", "5"]), ("b", ["3", "6"])]
    assert len(trying.within(tests, 3.5)) == 3
    assert len(trying.within(tests, 0.5)) == 1


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("print('test a ... ok'); print('test b ... ok')", ("passed", "b")),
        ("print('test a ... ok'); print('test b ... FAILED'); import time; time.sleep(60)", ("failed", "b")),
        ("print('test a ... ok'); print('test b ... ', end=''); import os; os.abort()", ("failed", "b")),
        ("print('test a ... ', end='')\nwhile True: pass", ("timed out", "a")),
        ("bytearray(1 << 30)", ("failed", "a")),
    ],
)
def test_tests_may_do_anything(tmp_path: Path, code: str, ended: tuple[str, str]) -> None:
    binary = Binary("made up", tmp_path, (sys.executable, "-u", "-c", code), most_bytes=1 << 30)
    done = run(binary, ["a", "b"], {}, 1)
    assert (done.how, done.by) == ended
    assert done.seconds < 5

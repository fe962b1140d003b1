//! The example host in C, compiled and run, and what wrong calls answer.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Where cargo puts the library: above the folder of this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_path_buf()
}

/// Compiles a program against the library, with the address sanitizer where the compiler has it, and runs it.
fn run(name: &str, source: &Path) -> String {
    let (deps, program) = (library(), library().join(name));
    let include = root().join("crates/capi/include");
    let compile = |more: &[&str]| {
        Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g"])
            .args(more)
            .arg(source)
            .arg("-o")
            .arg(&program)
            .arg(format!("-I{}", include.display()))
            .arg(format!("-L{}", deps.display()))
            .args(["-lflashtwin".to_owned(), format!("-Wl,-rpath,{}", deps.display())])
            .output()
            .unwrap()
    };
    let mut compiled = compile(&["-fsanitize=address,undefined"]);
    if !compiled.status.success() {
        compiled = compile(&[]);
    }
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let done = Command::new(&program).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_example_host_runs_a_closed_loop() {
    let said = run("host-example", &root().join("examples/host.c"));
    let words: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(words[..3], ["2000", "requests", "in"], "{said}");
    let mean_ns: u64 = words[5].parse().unwrap();
    assert!((50_000..2_000_000).contains(&mean_ns), "reads of the flash, 75 us, and waits: {said}");
}

#[test]
fn wrong_calls_are_answered_and_harm_nothing() {
    let source = library().join("wrong.c");
    std::fs::write(&source, include_str!("wrong.c")).unwrap();
    let said = run("host-wrong", &source);
    let lines: Vec<&str> = said.lines().collect();
    let expected = [
        "there is no system 'rr-sdd'",
        "'seed': expected KEY=VALUE",
        "size_bytes is 100: expected whole pages of 4096 bytes",
        "fill is 2: expected a share",
        "system is NULL",
        "time_ns is 5, and the clock is at 10",
        "a write without content, which 'rr-ssd' looks at",
        "op: expected FLASHTWIN_READ",
        "1 done at ",
        "the drive is closed, because it was finished",
        "there is no drive",
    ];
    assert_eq!(lines.len(), expected.len(), "{said}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.contains(expected), "{line}\n{expected}");
    }
}

//! A target under libFuzzer: `FUZZ=trace fuzz CORPUS`, or `FUZZ=trace fuzz FILE` for what it found.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use flashtwin_fuzz::{ALL, Target};

fn target() -> &'static Target {
    static TARGET: OnceLock<&Target> = OnceLock::new();
    TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ").unwrap_or_default();
        ALL.iter().find(|target| target.name == name).expect("FUZZ is the name of a target")
    })
}

libfuzzer_sys::fuzz_target!(
    init: {
        // libFuzzer's hook aborts. What the library of Parquet does on damaged pages is caught by its caller.
        let aborts = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.location().is_some_and(|place| place.file().contains("/parquet-")) {
                aborts(info);
            }
        }));
        let mut places = std::env::args().skip(1).filter(|word| !word.starts_with('-'));
        // The first folder on the command line is the corpus.
        if let Some(corpus) = places.next().filter(|place| !Path::new(place).is_file()) {
            std::fs::create_dir_all(&corpus).expect("a folder for the corpus");
            for (number, seed) in (target().seeds)().iter().enumerate() {
                std::fs::write(format!("{corpus}/seed-{number}"), seed).expect("a seed");
            }
        }
    },
    |bytes: &[u8]| (target().run)(bytes)
);

//! The device presets: one row a file in `devices/`.

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../devices/", $name, ".toml")))),*]
    };
}

pub(crate) const PRESETS: &[(&str, &str)] = presets![
    "rr-ssd",
    "ca-ssd-slc1",
    "ca-ssd-slc2",
    "ca-ssd-mlc",
    "ds-ftl",
    "tlc-2021",
    "tlc-unit-2021",
    "qlc-2020",
];

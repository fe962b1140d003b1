//! The system presets: one row a file in `systems/`.

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../systems/", $name, ".toml")))),*]
    };
}

const PRESETS: &[(&str, &str)] = presets![
    "conventional",
    "ca-ssd",
    "ca-ssd-inverted",
    "caftl",
    "rr-ssd",
    "rr-ssd-online",
    "pblru",
    "oracle",
    "oracle-conventional",
    "static",
    "dynamic",
    "hipa",
    "ds-ftl",
    "modern",
    "hot-cold",
];

/// Names of the systems compiled in.
pub fn system_names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// The file of a system compiled in.
pub fn system_toml(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, text)| *text)
}

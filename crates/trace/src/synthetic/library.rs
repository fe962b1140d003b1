//! The recipes that come with flashtwin: one row a file in `workloads/`.

macro_rules! recipes {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../workloads/", $name, ".toml")))),*]
    };
}

const RECIPES: &[(&str, &str)] = recipes![
    "rr-ssd/webvm",
    "rr-ssd/homes",
    "rr-ssd/mail",
    "rr-ssd/hadoop",
    "rr-ssd/trans",
    "rr-ssd/desktop",
    "ca-ssd/web",
    "ca-ssd/mail",
    "ca-ssd/homes",
    "ca-ssd/financial",
    "ca-ssd/cello99",
    "ca-ssd/proxy",
    "ca-ssd/hm",
    "ca-ssd/ts",
    "ca-ssd/mids",
    "ca-ssd/src1",
    "ds-ftl/home1",
    "ds-ftl/home2",
    "ds-ftl/home3",
    "ds-ftl/home4",
    "ds-ftl/online",
    "ds-ftl/webmail",
    "ds-ftl/webresearch",
    "ds-ftl/webusers",
];

/// Names of the recipes compiled in.
pub fn workload_names() -> Vec<&'static str> {
    RECIPES.iter().map(|(name, _)| *name).collect()
}

/// The file of a recipe compiled in.
pub fn workload_toml(name: &str) -> Option<&'static str> {
    RECIPES.iter().find(|(recipe, _)| *recipe == name).map(|(_, text)| *text)
}

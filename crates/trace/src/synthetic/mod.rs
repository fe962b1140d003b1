//! Synthetic workloads: traces with contents, made from a recipe. The trace meets the recipe by construction, not by
//! trial: the occurrences of each value are decided before the first request, and requests, runs, sizes and pages are
//! drawn without replacement, so their numbers are exact. docs/workloads.md describes the model.

mod arrivals;
mod births;
mod course;
mod deck;
mod feed;
mod generator;
mod keys;
mod kinds;
mod library;
mod locality;
mod order;
mod order_plan;
mod places;
mod plan;
mod pool;
mod popularity;
mod reads;
mod recipe;
mod renewed;
mod runs;
mod trains;
mod writes;
mod zipf;

pub use feed::{synthesize, synthesize_parquet};
pub use library::{workload_names, workload_toml};
pub use recipe::{
    AddressesRecipe, ArrivalsRecipe, Bound, LocalityRecipe, ReadsRecipe, Recipe, RequestsRecipe, Target,
    TrainsRecipe, Within, WritesRecipe, ZipfRecipe,
};

//! Synthetic workloads: traces with contents, made from a recipe.
//!
//! A [`Recipe`] describes a workload; [`synthesize`] makes a trace of it. The trace meets the
//! recipe by construction, not by trial. The number of occurrences of each value is decided before
//! the first request is made, so that the numbers of distinct values and their popularity are
//! exact. Requests, runs, sizes and pages are drawn without replacement, so that their numbers are
//! exact as well. Repeats are placed so that their LRU positions follow. docs/workloads.md
//! describes the model.

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

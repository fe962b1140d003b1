//! Each metric beside a reference that is too simple to be wrong.

mod characterize;
mod common;
mod contents;
mod flushes;
mod holes;
mod huge_requests;
mod logical_locality;
mod read_simulator;
mod reference;
mod temperature;
mod value_locality;
mod wa_simulator;

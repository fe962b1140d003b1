//! Traces through the public interface: every format, bad input, synthetic traces, windows.

mod bad_input;
mod canonical_parquet;
mod columns;
mod common;
mod containers;
mod durable;
mod faults;
mod formats;
mod holes;
#[cfg(target_os = "linux")]
mod memory;
mod one_volume;
mod operations;
mod pages;
mod queues;
mod readers_agree;
mod recognition;
mod recording;
mod sample;
mod scan;
mod stream;
mod synthetic;
mod thinning;

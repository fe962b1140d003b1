//! The event engine: queues, buses and times, and the measurements of a run.
//!
//! [`resolve`] turns a system's name and a few settings into a checked configuration;
//! [`run`] replays a trace on it and returns a summary and tables.

mod aged;
mod config;
#[doc(hidden)] // For the tests and benches of this crate.
pub mod engine;
mod error;
mod event_queue;
mod files;
mod finished;
mod handles;
mod history;
mod keys;
pub mod memory;
mod metrics;
mod mirror;
mod overwriting;
mod parquet_file;
mod periods;
mod preload;
mod registry;
mod replication_time;
mod requests;
mod resolve;
mod result;
mod run;
mod stepped;
mod temperature;
mod timeline;
mod toml_doc;
mod totals;
mod virtual_drive;

pub use aged::AgedDrives;
pub use config::{
    Arbitration, Concurrency, Config, EngineConfig, Flush, LoadMeasure, MergeReads, Mirror, MultiPlane,
    PartialWrite, Preload, PreloadContents, ReplayConfig, Suspend, WriteCompletes, schema,
};
pub use error::{ConfigError, SimError};
pub use handles::told_partitions;
pub use keys::{Key, ignored_because, keys, matters, traits};
pub use overwriting::{Overwriting, Overwritten};
pub use registry::{system_names, system_toml};
pub use requests::{RequestTable, RequestsTo};
pub use resolve::{Resolved, device_file, resolve};
pub use result::{RunResult, results_schema};
pub use run::{Recording, run, run_following};
pub use stepped::{SteppedDrive, SteppedRequest};
pub use timeline::TimelineTo;
pub use virtual_drive::VirtualDrive;

pub use flashtwin_nand::{device_names, device_toml};

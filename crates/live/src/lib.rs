//! Real bytes: the decisions of a simulator's controller, carried out on a file that stores the hosts' data.

#![allow(missing_docs, reason = "a comment that repeats a name says nothing")]

pub mod drive;
mod export;
mod figures;
mod file;
mod locks;
mod memory;
pub mod nbd;
pub mod record;
pub mod store;
mod timing;

pub use drive::Drive;
pub use export::{Caller, Export, Extent, Writing};
pub use figures::{Figures, Operation, OperationFigures, TIME_RANGES};
pub use file::FileExport;
pub use memory::MemoryExport;
pub use timing::{TimedDrive, TimingFigures};

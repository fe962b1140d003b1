//! Real bytes: the decisions of a simulator's controller, carried out on a file that stores the
//! hosts' data.

#![warn(missing_docs)]

pub mod drive;
mod export;
mod figures;
mod file;
mod memory;
pub mod nbd;
pub mod record;
pub mod store;
mod twin;
mod zeroes;

pub use drive::Drive;
pub use export::{Caller, Export, Extent, Writing};
pub use figures::{Figures, Operation, OperationFigures, TIME_RANGES};
pub use file::FileExport;
pub use memory::MemoryExport;
pub use twin::{TwinFigures, TwinTime};

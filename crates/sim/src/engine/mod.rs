//! When things happen, as three machines that know each other downwards only. The controller decides the operations.
//!
//! * `host`: requests, page operations and their waits. It asks the controller and uses the array.
//! * `array`: units, channels, flash operations. It takes operations and reports their ends.
//! * `accounts`: counts, ledgers, the observer. Both others write into it; it decides nothing.

mod accounts;
mod array;
mod host;
mod pool;

pub use accounts::{
    Accounts, Arrived, Charge, Command, Completed, EngineCounts, EnginePageCounts, Extent, Hashing, Ledger,
    Observer, ServedBy, TableWaitCounts,
};
pub(crate) use host::simulated_ns;
pub use host::{Arrivals, Controller, Engine};

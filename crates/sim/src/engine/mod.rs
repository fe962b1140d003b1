//! When things happen: the clockwork of a device, as three machines that know each other downwards only.
//!
//! * `host`: requests and page operations, and their waits. It asks the controller and uses the
//!   array.
//! * `array`: units, channels, flash operations. It takes operations and reports their ends.
//! * `accounts`: counts, ledgers, the observer. Both others write into it; it decides nothing.
//!
//! The controller decides the operations, the engine only their times.

mod accounts;
mod array;
mod host;
mod pool;

pub use accounts::{
    Accounts, Arrived, Charge, Command, Completed, EngineCounts, EnginePageCounts, Hashing, Ledger, Observer,
    ServedBy, TableWaitCounts,
};
pub use host::{Arrivals, Controller, Engine};

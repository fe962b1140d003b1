//! When things happen: the clockwork of a device, as three machines that know each other downwards only.
//!
//! * `host`: requests and page operations, and what they wait for. It asks the controller and uses the array.
//! * `array`: units, channels, operations of the flash. It is given operations and says what has ended.
//! * `accounts`: counts, ledgers, the observer. Both others write into it; it decides nothing.
//!
//! What the operations are, the controller decides; the engine decides only when they happen.

mod accounts;
mod array;
mod host;
mod pool;

pub use accounts::{
    Accounts, Arrived, Charge, Command, Completed, EngineCounts, EnginePageCounts, Hashing, Ledger, Observer,
    ServedBy, TableWaitCounts,
};
pub use host::{Arrivals, Controller, Engine};

//! Errors of the controller.

use flashtwin_nand::Plane;
use thiserror::Error;

/// A run that cannot go on.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum FtlError {
    /// No plane can take another page.
    #[error(
        "the device is full: plane {plane} cannot reclaim a block ({valid_pages} of {pages} pages hold valid data). \
         Use a larger device (nand.blocks_per_plane) or a smaller trace"
    )]
    DeviceFull {
        /// The plane that was asked last.
        plane: Plane,
        /// Its valid pages.
        valid_pages: u64,
        /// Its pages.
        pages: u64,
    },
    /// There is room, but the victims that the policy chooses do not free a block.
    #[error(
        "garbage collection is stuck: plane {plane} has room ({valid_pages} of {pages} pages hold valid data), but the \
         policy ftl.gc.victim chooses no block that holds invalid pages. Use another one, or let `choose` of a policy of \
         your own return every block that was closed"
    )]
    Stuck {
        /// The plane that is stuck.
        plane: Plane,
        /// Its valid pages.
        valid_pages: u64,
        /// Its pages.
        pages: u64,
    },
    /// An invariant does not hold: the simulator is wrong, not the input.
    #[error(
        "invariant broken: {0}. This is a bug in flashtwin: please report it with the trace and the configuration"
    )]
    Broken(String),
}

/// What a step of a run comes to.
pub type FtlResult<T = ()> = Result<T, FtlError>;

/// A number out of range: the key below `ftl`, its value, the accepted values, for example
/// `("replication.adjust_every", "0", "at least 1")`.
pub type RangeError = (&'static str, String, &'static str);

/// Checks numbers that must not be 0, each with its key.
pub(crate) fn at_least_one<const N: usize>(numbers: [(&'static str, u32); N]) -> Result<(), RangeError> {
    match numbers.iter().find(|(_, number)| *number == 0) {
        Some(&(key, _)) => Err((key, "0".into(), "at least 1")),
        None => Ok(()),
    }
}

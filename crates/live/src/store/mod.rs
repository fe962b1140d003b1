//! The on-medium format of a drive, and its recovery.
//!
//! # The medium
//!
//! In this order, all numbers little-endian:
//!
//! | region | bytes | what |
//! | --- | --- | --- |
//! | superblocks | 2 x 64 KB | what the drive is, twice; written when it is made ([`superblock`]) |
//! | checkpoints | 2 places | all tables, in turns ([`checkpoint`]) |
//! | log | 2 halves, then a copy of both | what was decided since the checkpoint of the same turn ([`log`], [`record`]) |
//! | spare bytes | 32 a page, each block's at a multiple of 4096 | a second witness of each page ([`spare`]) |
//! | slots | up to the data | pages whose own places could not be written ([`replaced`]) |
//! | data | the pages, plane by plane, block by block | from a multiple of 1 MB on |
//!
//! A page of the flash array has a fixed place. An erase writes nothing: pages are overwritten when programmed again.
//! Every read is checked; a format of another version is refused.
//!
//! # What is promised
//!
//! 1. A flush (and a durable write) is answered when the data of all earlier programs are durable
//!    and then, in a batch of the log, the records that name them. The reference count of the old
//!    data falls in the record that remaps the logical page, never before.
//! 2. Checkpoints take turns in two places, and with each the log begins anew in its other half; the one before and its
//!    half of the log stay until then. Opening reads one checkpoint and at most both halves, whose lengths are fixed.
//!    Each batch of the log is written twice.
//! 3. A block that was erased is programmed again only when it is durable where its pages went.
//! 4. A trim is a record of the log.
//! 5. Opening compares logical pages, reference counts and valid pages with one another. It also
//!    reads the last programmed page of each open block, to detect a medium that lost synced data;
//!    a check can read all pages.
//! 6. Tables that contradict one another are opened to be read only, if at all, and say why. Nothing is repaired.
//! 7. A duplicate is shared when all of its bytes are equal, not only its digest.
//! 8. A read gives the bytes that were written, or an error: a page is read only if it was programmed since the erase that
//!    the tables know of, and if its data have the digest that they had. Where one of several copies can be read, it is.
//! 9. A write of the medium that fails is tried again. A page that cannot be written even so goes to a slot between spare
//!    bytes and data, and its block is retired at its next erase, if the drive has one to spare. A batch of which one
//!    copy was written is durable, and a checkpoint follows at once.
//!    Once there is no slot left, the disk is full, another write or any sync fails, nothing is written until the
//!    drive is opened again. If it cannot write a checkpoint then, it is read only. Pages ordered and not written
//!    return errors meanwhile; all others can be read.
//! 10. An unreadable page costs only the logical pages that point to it. When it has to be moved,
//!     it is moved as lost: reads fail until it is written or trimmed. A block with several such
//!     pages is retired, if the drive has one to spare.
//!
//! After a cut, each logical page holds the data of the last flush or of a later write; a partly written page all or
//! nothing of that write. Decisions since the last batch of the log are forgotten as if never asked for.
//!
//! All this relies on a medium that keeps synced data, and on sector writes that leave others alone. Pages smaller
//! than a sector (512 bytes to 2 KB on a disk that writes 4 KB) share it with durable neighbours, which a cut may
//! destroy. A page lost in this way is detected when it is read.
//!
//! The bytes behind a batch tell a cut from damage: a batch without a whole copy is a torn end if no whole one follows.
//! Damage to both copies of the very last batch looks the same and loses that batch; opening notes it. So does damage
//! to both copies of the last batch before a checkpoint together with all of that checkpoint.
//!
//! Not kept across a restart: counters but erases, popularity, fingerprints of a limited store, twins, turns of
//! allocation, dead contents (one that comes back counts as new). Copies dropped since the checkpoint may be back.

pub(crate) mod bytes;
pub(crate) mod checkpoint;
mod error;
pub mod fault;
pub(crate) mod firm;
pub(crate) mod image;
pub(crate) mod layout;
pub(crate) mod log;
mod medium;
pub(crate) mod record;
pub(crate) mod replaced;
pub(crate) mod spare;
pub(crate) mod superblock;

pub use error::DriveError;
pub use layout::LEAST_LOG_BYTES;
pub use medium::{FileMedium, Medium};
pub use superblock::{System, VERSION};

//! What a drive keeps on its medium, and how it is read again.
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
//! | data | the pages, plane by plane, block by block | from a multiple of 1 MB on |
//!
//! A page of the flash array has a fixed place. An erase writes nothing: the block's pages are overwritten when they are
//! programmed again. Whatever is read is checked; a format of another version is refused.
//!
//! # What is promised
//!
//! 1. A flush (and a write that asks to be durable) is answered when the data of all pages programmed before are durable
//!    and then, in a batch of the log, what names them. What a logical page pointed to counts one less in the record that
//!    makes it point to something else, never before.
//! 2. Checkpoints take turns in two places, and with each the log begins anew in its other half; the one before and its
//!    half of the log stay until then. Opening reads one checkpoint and at most both halves, whose lengths are fixed.
//!    Each batch of the log is written twice.
//! 3. A block that was erased is programmed again only when it is durable where its pages went.
//! 4. A trim is a record of the log.
//! 5. Opening compares logical pages, reference counts and valid pages with one another, and reads the page that was
//!    programmed last in each open block, to tell of a medium that did not keep what it said; a check can read all.
//! 6. Tables that contradict one another are opened to be read only, if at all, and say why. Nothing is repaired.
//! 7. A duplicate is shared when all of its bytes are equal, not only its digest.
//! 8. A read gives the bytes that were written, or an error: a page is read only if it was programmed since the erase that
//!    the tables know of, and if its data have the digest that they had. Where one of several copies can be read, it is.
//! 9. Once a write or a sync of the medium fails, nothing is written until the drive is opened again; what was ordered and
//!    not written is an error meanwhile, and all else is read.
//! 10. A page that cannot be read costs what points to it. When it has to be moved, it is moved as lost, so that it stays
//!     an error until it is written or trimmed; a block with several such pages is used no more, where the drive has one
//!     to spare.
//!
//! After a cut, each logical page holds what the last flush made durable or what was written to it since; a page of which
//! only a part was written holds all or nothing of that write. What was decided since the last batch of the log is
//! forgotten as if it had not been asked for.
//!
//! All that rests on a medium that keeps to what it says: what was synced stays, and writing a sector leaves the others
//! alone. Pages smaller than its sectors (flash pages of 512 bytes to 2 KB on a disk that writes 4 KB at a time) share them
//! with durable neighbours, which a cut may then take along; a page that did not survive is told when it is read.
//!
//! A cut is told from damage by what follows: a batch of which no copy is whole is a torn end if none is whole behind it.
//! Damage to both copies of the very last batch, later than any cut, cannot be told from that, and takes along what it said;
//! opening notes it. Nor can damage to both copies of the last batch before a checkpoint together with damage to all of that
//! checkpoint.
//!
//! What begins anew with each start: all counters but erases, popularity of contents, which fingerprints a limited store
//! had kept, twins, the turns of allocation, contents that had died (one that comes back counts as never held). Copies
//! that had given way since the last checkpoint may be back.

pub(crate) mod bytes;
pub(crate) mod checkpoint;
mod error;
pub mod fault;
pub(crate) mod image;
pub(crate) mod layout;
pub(crate) mod log;
mod medium;
pub(crate) mod record;
pub(crate) mod spare;
pub(crate) mod superblock;

pub use error::DriveError;
pub use layout::LEAST_LOG_BYTES;
pub use medium::{FileMedium, Medium};
pub use superblock::{System, VERSION};

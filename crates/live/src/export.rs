//! What a server serves: a row of bytes that can be read, written and made durable.

use std::io;

/// What a write, a trim or a zeroing asks for beside itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writing {
    /// It is to be durable before it is answered (forced unit access).
    pub durable: bool,
    /// The zeroes must take up room: a later write of these bytes may not fail for want of it.
    pub keep_room: bool,
    /// Fail with [`io::ErrorKind::Unsupported`] rather than take as long as writing the zeroes would.
    pub only_if_fast: bool,
}

/// A run of bytes of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How many.
    pub length_bytes: u64,
    /// They take up no room.
    pub hole: bool,
    /// They read as zeroes.
    pub zero: bool,
}

/// A row of bytes behind a server: the drive made of a controller, a plain file, another server.
///
/// Offsets and lengths are checked by whoever calls: `offset + length <= size_bytes()`. Several threads may call at
/// once; calls that overlap in time and bytes may take effect in any order, page by page.
pub trait Export: Send + Sync {
    /// Bytes that it has.
    fn size_bytes(&self) -> u64;

    /// Bytes that requests had best be multiples of, in length and offset; a power of two.
    fn preferred_block_bytes(&self) -> u32;

    /// Whether nothing may be written, and why.
    fn read_only(&self) -> Option<String> {
        None
    }

    /// Reads.
    ///
    /// # Errors
    /// What the medium reports; a page that does not have the bytes it was given is one.
    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes; durable after the next [`Export::flush`], or at once if `how.durable`.
    ///
    /// # Errors
    /// What the medium reports; [`io::ErrorKind::StorageFull`] when there is no room.
    fn write(&self, offset: u64, bytes: &[u8], how: Writing) -> io::Result<()>;

    /// Makes durable what was answered before, on whatever connection.
    ///
    /// # Errors
    /// What the medium reports; nothing of what came before may then be taken for durable.
    fn flush(&self) -> io::Result<()>;

    /// Tells that the bytes are not needed any more; they may read as anything that they were, or as zeroes.
    ///
    /// # Errors
    /// What the medium reports.
    fn trim(&self, offset: u64, length: u64, how: Writing) -> io::Result<()>;

    /// Makes the bytes zeroes.
    ///
    /// # Errors
    /// What the medium reports.
    fn write_zeroes(&self, offset: u64, length: u64, how: Writing) -> io::Result<()>;

    /// What kind of bytes a range has, from its beginning on; at least one run, together no longer than the range.
    ///
    /// # Errors
    /// What the medium reports.
    fn extents(&self, offset: u64, length: u64) -> io::Result<Vec<Extent>>;
}

//! An export: a byte range that a server lets clients read, write and make durable.

use std::io;

/// Options of a write, trim or zeroing.
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

/// A client that waits for an answer. Long work checks now and then whether the client has left.
///
/// `()` is one who waits to the end.
pub trait Caller {
    /// Whether the client has left.
    fn has_left(&self) -> bool;

    /// Returns an error if the client has left.
    ///
    /// # Errors
    /// [`io::ErrorKind::ConnectionAborted`] if the client has left.
    fn expect_there(&self) -> io::Result<()> {
        let left = || io::Error::new(io::ErrorKind::ConnectionAborted, "the client has left");
        if self.has_left() { Err(left()) } else { Ok(()) }
    }
}

impl Caller for () {
    fn has_left(&self) -> bool {
        false
    }
}

/// Bytes that are read or written before it is looked whether the caller is still there.
pub(crate) const LOOK_BYTES: u64 = 256 << 10;

/// Looks after the caller while bytes pass.
pub(crate) struct Look<'a> {
    caller: &'a dyn Caller,
    bytes: u64,
}

impl<'a> Look<'a> {
    pub(crate) fn new(caller: &'a dyn Caller) -> Self {
        Self { caller, bytes: 0 }
    }

    /// Notes that `bytes` more are about to pass.
    ///
    /// # Errors
    /// As [`Caller::expect_there`], once in [`LOOK_BYTES`].
    pub(crate) fn at(&mut self, bytes: u64) -> io::Result<()> {
        if self.bytes >= LOOK_BYTES {
            self.bytes = 0;
            self.caller.expect_there()?;
        }
        self.bytes += bytes;
        Ok(())
    }
}

/// A row of bytes behind a server: the drive made of a controller, a plain file, another server.
///
/// The caller checks offsets and lengths: `offset + length <= size_bytes()`. Several threads may
/// call at once; calls that overlap in time and bytes may take effect in any order, page by page.
/// If the client leaves, a call may stop early with [`Caller::expect_there`]'s error, carried out
/// in part.
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
    /// An I/O error of the medium, or a page whose bytes differ from those written.
    fn read(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()>;

    /// Writes; durable after the next [`Export::flush`], or at once if `how.durable`.
    ///
    /// # Errors
    /// An I/O error of the medium; [`io::ErrorKind::StorageFull`] when there is no room.
    fn write(&self, offset: u64, bytes: &[u8], how: Writing, caller: &dyn Caller) -> io::Result<()>;

    /// Makes all answered writes durable, of every connection.
    ///
    /// # Errors
    /// An I/O error of the medium; earlier writes may then be lost.
    fn flush(&self) -> io::Result<()>;

    /// Tells that the bytes are not needed any more; they may read as anything that they were, or as zeroes.
    ///
    /// # Errors
    /// An I/O error of the medium.
    fn trim(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()>;

    /// Makes the bytes zeroes.
    ///
    /// # Errors
    /// An I/O error of the medium.
    fn write_zeroes(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()>;

    /// Kinds of the bytes of a range, from its beginning on: at least one run and at most
    /// `runs_max`, together no longer than the range. The export may look at a part only, so that
    /// no client waits long.
    ///
    /// # Errors
    /// An I/O error of the medium.
    fn extents(&self, offset: u64, length: u64, runs_max: usize) -> io::Result<Vec<Extent>>;
}

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

/// Whoever waits for an answer. Work that takes long looks now and then whether somebody still does.
///
/// `()` is one who waits to the end.
pub trait Caller {
    /// Whether nobody waits any more.
    fn has_left(&self) -> bool;

    /// Goes on only for somebody.
    ///
    /// # Errors
    /// [`io::ErrorKind::ConnectionAborted`] where nobody waits any more.
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

    /// So many bytes more are about to pass.
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
/// Offsets and lengths are checked by whoever calls: `offset + length <= size_bytes()`. Several threads may call at
/// once; calls that overlap in time and bytes may take effect in any order, page by page. What is asked for by a caller
/// who leaves may end early with [`Caller::expect_there`]'s error, carried out in part.
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
    fn read(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()>;

    /// Writes; durable after the next [`Export::flush`], or at once if `how.durable`.
    ///
    /// # Errors
    /// What the medium reports; [`io::ErrorKind::StorageFull`] when there is no room.
    fn write(&self, offset: u64, bytes: &[u8], how: Writing, caller: &dyn Caller) -> io::Result<()>;

    /// Makes durable what was answered before, on whatever connection.
    ///
    /// # Errors
    /// What the medium reports; nothing of what came before may then be taken for durable.
    fn flush(&self) -> io::Result<()>;

    /// Tells that the bytes are not needed any more; they may read as anything that they were, or as zeroes.
    ///
    /// # Errors
    /// What the medium reports.
    fn trim(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()>;

    /// Makes the bytes zeroes.
    ///
    /// # Errors
    /// What the medium reports.
    fn write_zeroes(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()>;

    /// What kind of bytes a range has, from its beginning on: at least one run and at most `runs_max`, together no longer
    /// than the range. How much of a range is looked at is up to the export: nobody is to wait for long.
    ///
    /// # Errors
    /// What the medium reports.
    fn extents(&self, offset: u64, length: u64, runs_max: usize) -> io::Result<Vec<Extent>>;
}

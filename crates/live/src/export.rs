//! An export: a byte range that a server lets clients read, write and make durable.

use std::io;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writing {
    /// It is to be durable before it is answered (forced unit access).
    pub durable: bool,
    /// The zeroes must take up room: a later write of these bytes may not fail for want of it.
    pub keep_room: bool,
    /// Fail with [`io::ErrorKind::Unsupported`] rather than take as long as writing the zeroes would.
    pub only_if_fast: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub length_bytes: u64,
    pub hole: bool,
    pub zero: bool,
}

/// A client that waits for an answer (`()` waits to the end). Long work checks now and then whether it has left.
pub trait Caller {
    fn has_left(&self) -> bool;

    /// Requests of one connection take turns with those of others.
    fn connection(&self) -> u64 {
        0
    }

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

/// Bytes between two checks whether the caller is still there.
pub(crate) const LOOK_BYTES: u64 = 256 << 10;

pub(crate) struct Look<'a> {
    pub(crate) caller: &'a dyn Caller,
    bytes: u64,
}

impl<'a> Look<'a> {
    pub(crate) fn new(caller: &'a dyn Caller) -> Self {
        Self { caller, bytes: 0 }
    }

    /// Counts `bytes` and fails if the caller has left.
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
/// The caller checks that `offset + length <= size_bytes()`. Several threads may call at once. Calls that overlap in
/// time and bytes may take effect in any order, page by page. If the client leaves, a call may stop early with
/// [`Caller::expect_there`]'s error, carried out in part.
pub trait Export: Send + Sync {
    fn size_bytes(&self) -> u64;

    /// Bytes that requests had best be multiples of, in length and offset; a power of two.
    fn preferred_block_bytes(&self) -> u32 {
        4096
    }

    /// Whether nothing may be written, and why.
    fn read_only(&self) -> Option<String> {
        None
    }

    /// Fails for a page whose bytes differ from those written.
    fn read(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()>;

    /// Reads again what has just been read for the same request, and counts nothing.
    fn read_again(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()> {
        self.read(offset, into, caller)
    }

    /// Durable after the next [`Export::flush`], or at once if `how.durable`. Fails with
    /// [`io::ErrorKind::StorageFull`] when there is no room.
    fn write(&self, offset: u64, bytes: &[u8], how: Writing, caller: &dyn Caller) -> io::Result<()>;

    /// Makes all answered writes durable, of every connection. After an error, earlier writes may be lost.
    fn flush(&self) -> io::Result<()>;

    /// The bytes are not needed any more. They may read as anything that they were, or as zeroes.
    fn trim(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()>;

    fn write_zeroes(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()>;

    /// Kinds of the bytes of a range, from its beginning on: at least one run and at most `runs_max`, together no
    /// longer than the range. The export may look at a part only, so that no client waits long.
    fn extents(
        &self,
        _offset: u64,
        length: u64,
        _runs_max: usize,
        _caller: &dyn Caller,
    ) -> io::Result<Vec<Extent>> {
        Ok(vec![Extent { length_bytes: length, hole: false, zero: false }])
    }
}

pub(crate) static ZEROES: [u8; 256 * 1024] = [0; 256 * 1024];

/// Writes zeroes as any other bytes, for exports without a shorter way; durable at the end if that is asked for.
pub(crate) fn write_zeroes(
    export: &dyn Export,
    offset: u64,
    length: u64,
    how: Writing,
    caller: &dyn Caller,
) -> io::Result<()> {
    let mut look = Look::new(caller);
    for at in (0..length).step_by(ZEROES.len()) {
        let bytes = (length - at).min(ZEROES.len() as u64) as usize;
        look.at(bytes as u64)?;
        export.write(offset + at, &ZEROES[..bytes], Writing::default(), caller)?;
    }
    if how.durable { export.flush() } else { Ok(()) }
}

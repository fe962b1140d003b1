//! Contents that the device ever held, and their pages: known to the simulator alone, to count each write's cause.

use crate::ids::Content;
use crate::op::Cause;
use flashtwin_bits::By;

const EVER_HELD: u8 = 1;
const EVER_READ: u8 = 2;

/// 1 byte a content; 5 where a fingerprint can be missing.
#[derive(Clone)]
pub(crate) struct History {
    flags: By<Content, Vec<u8>>,
    /// Pages per content, replicas aside; kept only where a fingerprint can be missing.
    copies: By<Content, Vec<u32>>,
}

impl History {
    /// Of `contents` contents; `complete` says that the controller knows each one on flash.
    pub(crate) fn new(contents: u32, complete: bool) -> Self {
        let counted = if complete { 0 } else { contents as usize };
        Self { flags: By::new(vec![0; contents as usize]), copies: By::new(vec![0; counted]) }
    }

    pub(crate) fn contents(&self) -> u32 {
        self.flags.len() as u32
    }

    #[inline]
    pub(crate) fn prefetch(&self, content: Content) {
        self.flags.prefetch(content);
        self.copies.prefetch(content);
    }

    #[inline]
    pub(crate) fn cause(&self, content: Content) -> Cause {
        if self.copies.get(content).is_some_and(|&copies| copies > 0) {
            return Cause::MissedDuplicate;
        }
        match self.flags[content] & EVER_HELD {
            0 => Cause::Unique,
            _ => Cause::Reborn,
        }
    }

    #[inline]
    pub(crate) fn born(&mut self, content: Content) {
        self.flags[content] |= EVER_HELD;
        if let Some(copies) = self.copies.get_mut(content) {
            *copies += 1;
        }
    }

    #[inline]
    pub(crate) fn died(&mut self, content: Content) {
        if let Some(copies) = self.copies.get_mut(content) {
            *copies -= 1;
        }
    }

    #[inline]
    pub(crate) fn read(&mut self, content: Content) -> bool {
        let flags = &mut self.flags[content];
        let first = *flags & EVER_READ == 0;
        *flags |= EVER_READ;
        first
    }

    pub(crate) fn forget(&mut self, content: Content) {
        self.flags[content] = 0;
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.flags.len() as u64 + self.copies.len() as u64 * 4
    }
}

flashtwin_bits::state!(History { flags, copies });

//! Memory that the requests of a connection share.

use std::sync::{Condvar, Mutex, PoisonError};

/// So many bytes, lent and given back.
#[derive(Debug)]
pub(crate) struct Budget {
    left_bytes: Mutex<usize>,
    given_back: Condvar,
}

/// Bytes that are lent; they go back when this is dropped.
#[derive(Debug)]
pub(crate) struct Lent<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Budget {
        Budget { left_bytes: Mutex::new(bytes), given_back: Condvar::new() }
    }

    /// Lends `bytes`, no more than there are in all, when they are there.
    pub(crate) fn take(&self, bytes: usize) -> Lent<'_> {
        let mut left = self.left_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        while *left < bytes {
            left = self.given_back.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
        *left -= bytes;
        Lent { budget: self, bytes }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        *self.budget.left_bytes.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.budget.given_back.notify_one();
    }
}

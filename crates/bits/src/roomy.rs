//! Lists whose room counts.

use std::ops::{Deref, DerefMut};

/// A list whose clone has as much room, because how much memory tables take is a figure of a result.
#[derive(Debug)]
pub struct Roomy<T> {
    /// The list.
    pub list: Vec<T>,
}

impl<T> Default for Roomy<T> {
    fn default() -> Self {
        Self { list: Vec::new() }
    }
}

impl<T: Clone> Clone for Roomy<T> {
    fn clone(&self) -> Self {
        let mut list = Vec::with_capacity(self.list.capacity());
        list.extend_from_slice(&self.list);
        Self { list }
    }
}

impl<T> Deref for Roomy<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.list
    }
}

impl<T> DerefMut for Roomy<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.list
    }
}

crate::state!(any T: crate::State => Roomy<T> { list });

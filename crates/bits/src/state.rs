//! Saves the state of an object to a stream and loads it into one made from the same configuration.
//!
//! The reader makes the object from the same configuration, so what follows from that is not saved.
//! [`state!`](crate::state) names every field, saved or not, so that a new field does not compile until its author
//! decides. Numbers are in native byte order: a state is for the machine that wrote it.

mod items;
mod lists;

use std::io::{self, Read, Write};

pub use lists::load_more;

const AT_ONCE: usize = 1 << 16;

/// Whether a state was written or read, or why not.
pub type StateResult = io::Result<()>;

/// The state of an object that was made from a configuration.
pub trait State {
    /// Writes it. Fails with [`unfit`] where the state is none that can be written.
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()>;

    /// Loads the state saved from an object of the same configuration. After an error the object is unusable.
    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()>;

    /// An empty object for grown lists to load into; `None` for types that need a configuration.
    fn blank() -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Writes several, one after another.
    fn save_all(items: &[Self], to: &mut Saver<'_>) -> io::Result<()>
    where
        Self: Sized,
    {
        items.iter().try_for_each(|item| item.save(to))
    }

    /// Reads as many as there are.
    fn load_all(items: &mut [Self], from: &mut Loader<'_>) -> io::Result<()>
    where
        Self: Sized,
    {
        items.iter_mut().try_for_each(|item| item.load(from))
    }
}

/// A state that cannot be written, or does not fit the object that is to take it.
pub fn unfit(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the state does not fit: {what}"))
}

/// Where states are written to.
pub struct Saver<'a> {
    to: &'a mut dyn Write,
    waiting: Vec<u8>,
}

impl<'a> Saver<'a> {
    /// Writes to a stream, which need not be buffered.
    pub fn new(to: &'a mut dyn Write) -> Self {
        Self { to, waiting: Vec::with_capacity(AT_ONCE) }
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.waiting.len() + bytes.len() > AT_ONCE {
            self.to.write_all(&self.waiting)?;
            self.waiting.clear();
            if bytes.len() >= AT_ONCE {
                return self.to.write_all(bytes);
            }
        }
        self.waiting.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the buffered bytes.
    pub fn finish(self) -> io::Result<()> {
        self.to.write_all(&self.waiting)
    }
}

/// Where states are read from.
pub struct Loader<'a> {
    from: &'a mut dyn Read,
    bytes: Box<[u8]>,
    at: usize,
    end: usize,
}

impl<'a> Loader<'a> {
    /// Reads from a stream, which need not be buffered.
    pub fn new(from: &'a mut dyn Read) -> Self {
        Self { from, bytes: vec![0; AT_ONCE].into(), at: 0, end: 0 }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.at = 0;
        self.end = self.from.read(&mut self.bytes)?;
        if self.end == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    #[inline]
    fn take(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            if self.at == self.end {
                self.fill()?;
            }
            let now = (bytes.len() - done).min(self.end - self.at);
            let read = &self.bytes[self.at..self.at + now];
            // Comparing first leaves untouched zero pages unallocated.
            if bytes[done..done + now] != *read {
                bytes[done..done + now].copy_from_slice(read);
            }
            (self.at, done) = (self.at + now, done + now);
        }
        Ok(())
    }

    /// Fails with [`unfit`] unless everything has been read.
    pub fn finish(mut self) -> io::Result<()> {
        if self.at == self.end && self.from.read(&mut self.bytes)? == 0 {
            return Ok(());
        }
        Err(unfit("it goes on where it should end"))
    }
}

/// Implements [`State`] for a struct by naming every field: `state!(Name { saved } kept { others })`.
/// `state!(value Name { ... })`: all are written, so that lists of them can grow.
/// `state!(any M: Bound => Name<M> { ... } kept { ... })`: of a generic struct.
#[macro_export]
macro_rules! state {
    (value $name:ty { $($saved:ident),+ $(,)? }) => {
        $crate::state!(@impl [] $name { $($saved)+ } {} {
            fn blank() -> Option<Self> {
                Some(Self { $($saved: $crate::State::blank()?,)+ })
            }
        });
    };
    (any $g:ident: $bound:path => $name:ty { $($saved:ident),* $(,)? } $(kept { $($kept:ident),* $(,)? })?) => {
        $crate::state!(@impl [$g: $bound] $name { $($saved)* } { $($($kept)*)? } {});
    };
    (@impl [$($g:ident: $bound:path)?] $name:ty { $($saved:ident)* } { $($kept:ident)* } { $($more:tt)* }) => {
        impl$(<$g: $bound>)? $crate::State for $name {
            #[allow(unused_variables, reason = "some have no state")]
            fn save(&self, to: &mut $crate::Saver<'_>) -> $crate::StateResult {
                let Self { $($saved,)* $($kept: _,)* } = self;
                $($crate::State::save($saved, to)?;)*
                Ok(())
            }

            #[allow(unused_variables, reason = "some have no state")]
            fn load(&mut self, from: &mut $crate::Loader<'_>) -> $crate::StateResult {
                let Self { $($saved,)* $($kept: _,)* } = self;
                $($crate::State::load($saved, from)?;)*
                Ok(())
            }

            $($more)*
        }
    };
    ($name:ty { $($saved:ident),* $(,)? } $(kept { $($kept:ident),* $(,)? })?) => {
        $crate::state!(@impl [] $name { $($saved)* } { $($($kept)*)? } {});
    };
}

#[cfg(test)]
mod tests;

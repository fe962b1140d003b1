//! Numbers that name things: a type for each kind, so that the compiler refuses one where another is meant.
//!
//! An id is a dense 32-bit number without overhead. Conversions are explicit ([`Id::new`], [`Id::number`],
//! [`Id::index`]), so that each place is visible. A table with a row for each id is indexed by the id's type ([`By`]).

use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A number that names one of a kind.
pub trait Id: Copy + Ord + Hash + Debug {
    /// The thing with a number.
    fn new(number: u32) -> Self;

    /// Its number.
    fn number(self) -> u32;

    /// Its row in a table of all of its kind.
    #[inline]
    fn index(self) -> usize {
        self.number() as usize
    }
}

/// Declares kinds of ids, a documented `pub struct Name;` each. They are written as their numbers are.
#[macro_export]
macro_rules! ids {
    ($($(#[$meta:meta])* $visibility:vis struct $name:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        $visibility struct $name(u32);

        #[allow(dead_code, reason = "not every kind needs all of it")]
        impl $name {
            /// The one with a number.
            #[inline]
            $visibility const fn new(number: u32) -> Self {
                Self(number)
            }

            /// Its number.
            #[inline]
            $visibility const fn number(self) -> u32 {
                self.0
            }

            /// Its row in a table of all of its kind.
            #[inline]
            $visibility const fn index(self) -> usize {
                self.0 as usize
            }

            /// Those with the numbers of a range, in order.
            #[inline]
            $visibility fn each(
                numbers: std::ops::Range<u32>,
            ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
                numbers.map(Self)
            }

            /// Words as ids.
            #[inline]
            $visibility const fn named(words: &[u32]) -> &[Self] {
                // SAFETY: an id is a word (`repr(transparent)`), and each word is an id.
                unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
            }

            /// Words as ids.
            #[inline]
            $visibility const fn named_mut(words: &mut [u32]) -> &mut [Self] {
                // SAFETY: as in `named`.
                unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len()) }
            }
        }

        impl $crate::Id for $name {
            #[inline]
            fn new(number: u32) -> Self {
                Self(number)
            }

            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        }

        impl $crate::State for $name {
            #[inline]
            fn save(&self, to: &mut $crate::Saver<'_>) -> $crate::StateResult {
                self.0.save(to)
            }

            #[inline]
            fn load(&mut self, from: &mut $crate::Loader<'_>) -> $crate::StateResult {
                self.0.load(from)
            }

            fn blank() -> Option<Self> {
                Some(Self(0))
            }

            fn save_all(items: &[Self], to: &mut $crate::Saver<'_>) -> $crate::StateResult {
                // SAFETY: an id is a word (`repr(transparent)`).
                u32::save_all(unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), items.len()) }, to)
            }

            fn load_all(items: &mut [Self], from: &mut $crate::Loader<'_>) -> $crate::StateResult {
                u32::load_all(
                    // SAFETY: likewise, and each word is an id.
                    unsafe { std::slice::from_raw_parts_mut(items.as_mut_ptr().cast(), items.len()) },
                    from,
                )
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.0, f)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }
    )+};
}

/// A table indexed by the id of its rows alone: `By<Lpn, Vec<T>>` has a `T` for each logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct By<I, S>(S, PhantomData<fn(I)>);

impl<I, S: Default> Default for By<I, S> {
    fn default() -> Self {
        Self(S::default(), PhantomData)
    }
}

impl<I: Id, S> By<I, S> {
    /// The list whose rows are those of the ids from 0 on.
    #[inline]
    pub const fn new(rows: S) -> Self {
        Self(rows, PhantomData)
    }
}

impl<I: Id, T: 'static, S: Deref<Target = [T]>> By<I, S> {
    /// The row of an id, if there is one.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.0.get(id.index())
    }

    /// Prefetches the row of an id, which may have none ([`crate::prefetch`]).
    #[inline]
    pub fn prefetch(&self, id: I) {
        crate::prefetch(&self.0, id.index());
    }

    /// The ids of all rows, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T, S> {
        (0..self.0.len() as u32).map(I::new)
    }

    /// Each id with its row, in order.
    pub fn rows(&self) -> impl Iterator<Item = (I, &T)> {
        self.0.iter().enumerate().map(|(number, row)| (I::new(number as u32), row))
    }
}

impl<I: Id, T: 'static, S: DerefMut<Target = [T]>> By<I, S> {
    /// The row of an id, if there is one.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.0.get_mut(id.index())
    }
}

impl<I: Id, T: 'static, S: Deref<Target = [T]>> Index<I> for By<I, S> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.0[id.index()]
    }
}

impl<I: Id, T: 'static, S: DerefMut<Target = [T]>> IndexMut<I> for By<I, S> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.0[id.index()]
    }
}

impl<I, S> Deref for By<I, S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        &self.0
    }
}

impl<I, S> DerefMut for By<I, S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut S {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::By;

    crate::ids! {
        struct Seat;
    }

    #[test]
    fn an_id_is_its_number_in_memory_and_in_print() {
        assert_eq!(size_of::<Seat>(), size_of::<u32>());
        assert_eq!(size_of::<By<Seat, Vec<u8>>>(), size_of::<Vec<u8>>());
        let seat = Seat::new(7);
        assert_eq!(
            (format!("{seat}"), format!("{seat:?}"), format!("{seat:>3}")),
            ("7".into(), "7".into(), "  7".into())
        );
        assert_eq!((seat.number(), seat.index()), (7, 7));
        let mut words = [3, 4];
        Seat::named_mut(&mut words)[1] = seat;
        assert_eq!((Seat::named(&words), words), (&[Seat::new(3), seat][..], [3, 7]));
    }

    #[test]
    fn a_table_is_looked_into_by_its_ids() {
        let mut guests = By::<Seat, _>::new(vec!['a', 'b', 'c']);
        guests[Seat::new(1)] = 'x';
        assert_eq!(guests.get(Seat::new(1)), Some(&'x'));
        assert_eq!(guests.get(Seat::new(3)), None);
        assert!(guests.rows().map(|(seat, _)| seat).eq(guests.ids()) && guests.ids().eq(Seat::each(0..3)));
    }
}

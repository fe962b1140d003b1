//! The states of lists. Their room is part of it: how much memory tables take is a figure of a result.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;

use super::{AT_ONCE, Loader, Saver, State, unfit};
use crate::huge_slice::HugeSlice;
use crate::ids::By;

/// No list is longer: its numbers have 32 bits.
const LONGEST: usize = 1 << 33;

fn length(from: &mut Loader<'_>) -> io::Result<usize> {
    let mut length = 0usize;
    length.load(from)?;
    if length > LONGEST { Err(unfit("a list is longer than any can be")) } else { Ok(length) }
}

/// Reads further items, until there are `len`. The length may be made up, so no more are made than are there to be read.
pub fn load_more<T: State>(items: &mut Vec<T>, len: usize, from: &mut Loader<'_>) -> io::Result<()> {
    while items.len() < len {
        let first = items.len();
        for _ in first..len.min(first + AT_ONCE) {
            items.push(T::blank().ok_or_else(|| unfit("a list is longer than it should be"))?);
        }
        T::load_all(&mut items[first..], from)?;
    }
    Ok(())
}

impl<T: State> State for Vec<T> {
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
        self.len().save(to)?;
        self.capacity().save(to)?;
        T::save_all(self, to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
        let (len, room) = (length(from)?, length(from)?);
        if (self.len(), self.capacity()) != (len, room) {
            self.truncate(len);
            if self.capacity() != room {
                let mut roomy = Vec::new();
                roomy.try_reserve_exact(room.max(len)).map_err(|_| unfit("a list is larger than memory"))?;
                roomy.append(self);
                *self = roomy;
            }
        }
        T::load_all(self, from)?;
        load_more(self, len, from)
    }

    fn blank() -> Option<Self> {
        Some(Vec::new())
    }
}

impl<T: State> State for HugeSlice<T> {
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
        self.len().save(to)?;
        T::save_all(self, to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
        if length(from)? != self.len() {
            return Err(unfit("a table has another length"));
        }
        T::load_all(self, from)
    }
}

impl<I, S: State> State for By<I, S> {
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
        (**self).save(to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
        (**self).load(from)
    }
}

/// Saves items of which only the number and the order count.
fn save_items<'a, T: State + 'a>(
    items: impl ExactSizeIterator<Item = &'a T>,
    to: &mut Saver<'_>,
) -> io::Result<()> {
    items.len().save(to)?;
    items.into_iter().try_for_each(|item| item.save(to))
}

fn load_items<T: State>(from: &mut Loader<'_>) -> io::Result<Vec<T>> {
    let items = (0..length(from)?).map(|_| {
        let mut item = T::blank().ok_or_else(|| unfit("a list is longer than it should be"))?;
        item.load(from)?;
        Ok(item)
    });
    items.collect()
}

impl<T: State> State for VecDeque<T> {
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
        save_items(self.iter(), to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
        *self = load_items(from)?.into();
        Ok(())
    }

    fn blank() -> Option<Self> {
        Some(VecDeque::new())
    }
}

/// In the order in which its items lie, which a heap made of them keeps.
impl<T: State + Ord> State for BinaryHeap<Reverse<T>> {
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
        save_items(self.iter().map(|Reverse(item)| item), to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
        *self = load_items(from)?.into_iter().map(Reverse).collect::<Vec<_>>().into();
        Ok(())
    }

    fn blank() -> Option<Self> {
        Some(BinaryHeap::new())
    }
}

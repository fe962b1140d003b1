//! Digests of contents in the canonical Parquet: a column of the file.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, FieldRef};
use hashbrown::HashMap;

use super::metadata::BadRow;
use super::{DIGEST, DIGEST_BYTES};
use crate::columns::Columns;
use crate::digest::{Digests, fold};
use crate::request::NO_CONTENT;
use crate::trace::Trace;
use crate::volumes::Appearance;

fn item() -> FieldRef {
    Arc::new(Field::new("item", DataType::FixedSizeBinary(DIGEST_BYTES), false))
}

/// The column: for each request the digests of the contents that it is the first to carry, in their order.
pub(super) fn field() -> Field {
    Field::new(DIGEST, DataType::List(item()), false)
}

/// Makes the column of a trace, batch by batch. Contents are numbered by first appearance.
pub(super) struct ByFirstAppearance<'a> {
    trace: &'a Trace,
    next: u32,
}

impl<'a> ByFirstAppearance<'a> {
    pub(super) fn new(trace: &'a Trace) -> ByFirstAppearance<'a> {
        ByFirstAppearance { trace, next: 0 }
    }

    pub(super) fn column(&mut self, rows: std::ops::Range<usize>) -> Result<ArrayRef, String> {
        let first = self.next;
        let lengths: Vec<usize> = rows
            .map(|row| {
                let before = self.next;
                for &id in self.trace.contents(row) {
                    self.next += u32::from(id == self.next);
                }
                (self.next - before) as usize
            })
            .collect();
        let mut values = FixedSizeBinaryBuilder::with_capacity((self.next - first) as usize, DIGEST_BYTES);
        for id in first..self.next {
            let digest = self.trace.digests.get(id).ok_or_else(|| format!("content {id} has no digest"))?;
            values.append_value(digest).map_err(|error| error.to_string())?;
        }
        let offsets = OffsetBuffer::from_lengths(lengths);
        Ok(Arc::new(ListArray::new(item(), offsets, Arc::new(values.finish()), None)))
    }
}

/// Gathers the digests that a file has inside.
#[derive(Default)]
pub(super) struct Inside {
    contents: Appearance,
    digests: Vec<[u8; 16]>,
}

impl Inside {
    /// Takes in the column of the last `rows` rows of `columns`, whose contents get their numbers by first
    /// appearance, which is the order of the digests.
    pub(super) fn add(&mut self, lists: &ArrayRef, columns: &mut Columns, rows: usize) -> Result<(), BadRow> {
        let Some(lists) = lists.as_list_opt::<i32>() else {
            return Err((0, format!("{} is not a list of digests", lists.data_type())));
        };
        let first = columns.content_start.len() - 1 - rows;
        for row in 0..rows {
            let [start, end] = [first + row, first + row + 1].map(|at| columns.content_start[at] as usize);
            let mut fresh = 0;
            for id in columns.content[start..end].iter_mut().filter(|id| **id != NO_CONTENT) {
                let (number, is_fresh) = self.contents.number(*id);
                *id = number;
                fresh += usize::from(is_fresh);
            }
            let found = if lists.is_null(row) { 0 } else { lists.value_length(row) as usize };
            if found != fresh {
                let what = format!("{found} digests for {fresh} contents that no row before carries");
                return Err((row, what));
            }
            if found > 0 {
                self.take(&lists.value(row)).map_err(|what| (row, what))?;
            }
        }
        Ok(())
    }

    fn take(&mut self, values: &ArrayRef) -> Result<(), String> {
        each_digest(values.as_ref(), |digest| {
            self.digests.push(digest.ok_or("a digest is missing (null)")?);
            Ok(())
        })
    }

    pub(super) fn finish(self) -> Digests {
        Digests::new(self.digests)
    }
}

/// Calls `take` with each digest of an array; none where it is null.
fn each_digest(
    values: &dyn Array,
    mut take: impl FnMut(Option<[u8; 16]>) -> Result<(), String>,
) -> Result<(), String> {
    if let Some(fixed) = values.as_fixed_size_binary_opt() {
        fixed.iter().try_for_each(|digest| take(digest.map(fold)))
    } else if let Some(binary) = values.as_binary_opt::<i32>() {
        binary.iter().try_for_each(|digest| take(digest.map(fold)))
    } else {
        Err(format!("{} is not a digest", values.data_type()))
    }
}

/// Numbers the contents of a file that has a digest for each, by first appearance.
#[derive(Default)]
pub(super) struct Named {
    numbers: HashMap<[u8; 16], u32>,
    digests: Vec<[u8; 16]>,
}

impl Named {
    /// Appends the column of contents that a column of digests stands for.
    pub(super) fn append(&mut self, lists: &ArrayRef, columns: &mut Columns) -> Result<(), BadRow> {
        let Some(lists) = lists.as_list_opt::<i32>() else {
            return Err((0, format!("{} is not a list of digests", lists.data_type())));
        };
        let mut at = columns.content.len() as u64;
        let numbered = each_digest(lists.values().as_ref(), |digest| {
            columns.content.push(match digest {
                Some(digest) => self.number(digest)?,
                None => NO_CONTENT,
            });
            Ok(())
        });
        numbered.map_err(|what| (0, what))?;
        for pair in lists.value_offsets().windows(2) {
            at += (pair[1] - pair[0]) as u64;
            columns.content_start.push(at);
        }
        Ok(())
    }

    fn number(&mut self, digest: [u8; 16]) -> Result<u32, String> {
        if let Some(&number) = self.numbers.get(&digest) {
            return Ok(number);
        }
        let number = u32::try_from(self.digests.len()).ok().filter(|&number| number != NO_CONTENT);
        let number = number.ok_or("there are more contents than 32-bit numbers")?;
        self.numbers.insert(digest, number);
        self.digests.push(digest);
        Ok(number)
    }

    /// Its bytes, and its largest growth at one time for `further` more digests.
    pub(super) fn bytes(&self, further: usize) -> (u64, u64) {
        const ENTRY_BYTES: u64 = 16 + 4 + 1;
        let (numbers, digests) = (self.numbers.capacity(), self.digests.capacity());
        let needed = self.digests.len() + further;
        let more = if needed > numbers { 2 * needed.max(numbers) as u64 * ENTRY_BYTES } else { 0 }
            + if needed > digests { needed.max(digests) as u64 * 16 } else { 0 };
        (numbers as u64 * ENTRY_BYTES + digests as u64 * 16, more)
    }

    /// The number of a digest that was met.
    pub(super) fn get(&self, digest: &[u8; 16]) -> Option<u32> {
        self.numbers.get(digest).copied()
    }

    pub(super) fn finish(self) -> Digests {
        Digests::new(self.digests)
    }
}

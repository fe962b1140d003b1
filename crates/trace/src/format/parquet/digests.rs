//! Digests of contents in the canonical Parquet: a column of the file.

use hashbrown::HashMap;

use super::decode::Lists;
use crate::columns::Columns;
use crate::digest::Digests;
use crate::request::NO_CONTENT;
use crate::requests::Requests;
use crate::volumes::Appearance;

type BadRow = (usize, String);

/// The digests of each row, one row behind another: in a trace those of the contents that it is the first to carry.
#[derive(Default)]
pub(crate) struct RowDigests {
    pub(crate) counts: Vec<usize>,
    pub(crate) digests: Vec<[u8; 16]>,
}

/// Finds the new digests of a trace, run by run. Contents are numbered by first appearance.
pub(super) struct ByFirstAppearance<'a> {
    digests: &'a Digests,
    next: u32,
}

impl<'a> ByFirstAppearance<'a> {
    pub(super) fn new(digests: &'a Digests) -> ByFirstAppearance<'a> {
        ByFirstAppearance { digests, next: 0 }
    }

    pub(super) fn digests_of(&mut self, run: &Requests<'_>) -> Result<RowDigests, String> {
        let first = self.next;
        let mut counts = Vec::with_capacity(run.len());
        for row in 0..run.len() {
            let before = self.next;
            for &id in run.contents(row) {
                self.next += u32::from(id == self.next);
            }
            counts.push((self.next - before) as usize);
        }
        let digest = |id| self.digests.get(id).copied().ok_or_else(|| format!("content {id} has no digest"));
        Ok(RowDigests { counts, digests: (first..self.next).map(digest).collect::<Result<_, _>>()? })
    }
}

#[derive(Default)]
pub(super) struct Inside {
    contents: Appearance,
    pub(super) digests: Vec<[u8; 16]>,
}

impl Inside {
    /// Takes the digests of a batch, whose contents get their numbers by first appearance, the order of the digests.
    pub(super) fn add(
        &mut self,
        lists: &Lists<Option<[u8; 16]>>,
        columns: &mut Columns,
    ) -> Result<(), BadRow> {
        for (row, bounds) in lists.starts.windows(2).enumerate() {
            let [start, end] = [row, row + 1].map(|at| columns.content_start[at] as usize);
            let mut fresh = 0;
            for id in columns.content[start..end].iter_mut().filter(|id| **id != NO_CONTENT) {
                let (number, is_fresh) = self.contents.number(*id);
                *id = number;
                fresh += usize::from(is_fresh);
            }
            let digests = &lists.items[bounds[0] as usize..bounds[1] as usize];
            if digests.len() != fresh {
                let count = digests.len();
                let what = format!("{count} digests for {fresh} contents that no row before carries");
                return Err((row, what));
            }
            for digest in digests {
                self.digests.push(digest.ok_or_else(|| (row, "a digest is missing (null)".to_owned()))?);
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Digests {
        Digests::new(self.digests)
    }
}

/// Numbers the contents of a file that has a digest for each, by first appearance.
#[derive(Default)]
pub(super) struct Named {
    numbers: HashMap<[u8; 16], u32>,
    pub(super) digests: Vec<[u8; 16]>,
}

impl Named {
    pub(super) fn add(
        &mut self,
        lists: Lists<Option<[u8; 16]>>,
        columns: &mut Columns,
    ) -> Result<(), BadRow> {
        let number = |digest: Option<[u8; 16]>| digest.map_or(Ok(NO_CONTENT), |digest| self.number(digest));
        let numbers: Result<Vec<u32>, String> = lists.items.into_iter().map(number).collect();
        columns.content = numbers.map_err(|what| (0, what))?;
        columns.content_start = lists.starts;
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

    pub(super) fn bytes(&self, further: usize) -> (u64, u64) {
        const ENTRY_BYTES: u64 = 16 + 4 + 1;
        let (numbers, digests) = (self.numbers.capacity(), self.digests.capacity());
        let needed = self.digests.len() + further;
        let more = if needed > numbers { 2 * needed.max(numbers) as u64 * ENTRY_BYTES } else { 0 }
            + if needed > digests { needed.max(digests) as u64 * 16 } else { 0 };
        (numbers as u64 * ENTRY_BYTES + digests as u64 * 16, more)
    }

    pub(super) fn get(&self, digest: &[u8; 16]) -> Option<u32> {
        self.numbers.get(digest).copied()
    }

    pub(super) fn finish(self) -> Digests {
        Digests::new(self.digests)
    }
}

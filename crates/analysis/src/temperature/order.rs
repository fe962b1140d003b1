//! The pages of all writes in order, in little memory.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;

use tempfile::NamedTempFile;
use thiserror::Error;

/// Set in a word that counts the pages of a run; the word behind it is the first of them.
const RUN: u32 = 1 << 31;
const BATCH_PAGES: usize = 4096;
/// 16 MB. Further words go to a temporary file.
const WORDS_MAX: usize = 1 << 22;
const READ_WORDS: usize = 1 << 14;

/// Page numbers in the order in which they were written. A page takes 4 bytes, a run of consecutive pages 8. Beyond 16
/// MB it goes to a temporary file, so that memory does not grow with the trace.
#[derive(Debug, Default)]
pub struct WriteOrder {
    words: Vec<u32>,
    spilled: Option<Arc<NamedTempFile>>,
    words_max: Option<usize>,
    /// The run that is not in `words` yet. It has no pages at the very beginning only.
    first: u32,
    pages: u32,
}

impl WriteOrder {
    #[cfg(test)]
    fn with_words(words_max: usize) -> WriteOrder {
        WriteOrder { words_max: Some(words_max), ..WriteOrder::default() }
    }

    /// [`OrderError::PageNumberTooHigh`] from 2^31 on; the write is then not part of the order.
    #[inline]
    pub fn push(&mut self, page: u32) -> Result<(), OrderError> {
        if page >= RUN {
            return Err(OrderError::PageNumberTooHigh);
        }
        // Neither sum passes 2^32: both terms are below 2^31.
        if self.pages > 0 && page == self.first + self.pages && self.pages < RUN - 1 {
            self.pages += 1;
            return Ok(());
        }
        Self::encode(&mut self.words, self.first, self.pages);
        (self.first, self.pages) = (page, 1);
        if self.words.len() >= self.words_max.unwrap_or(WORDS_MAX) { self.spill() } else { Ok(()) }
    }

    fn encode(words: &mut Vec<u32>, first: u32, pages: u32) {
        match pages {
            0 => {}
            1 => words.push(first),
            _ => words.extend([RUN | pages, first]),
        }
    }

    #[cold]
    fn spill(&mut self) -> Result<(), OrderError> {
        if self.spilled.is_none() {
            self.spilled = Some(Arc::new(NamedTempFile::new()?));
        }
        if let Some(file) = &self.spilled {
            let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
            file.as_file().write_all(&bytes)?;
        }
        self.words.clear();
        Ok(())
    }

    /// Shows all writes to `visit`, some thousands at a time, until it fails.
    pub fn batches<E: From<OrderError>>(
        &self,
        mut visit: impl FnMut(&[u32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut last = Vec::new();
        Self::encode(&mut last, self.first, self.pages);
        let mut words = Words::new(self.spilled.as_deref(), [&self.words, &last])?;
        let mut batch = Vec::with_capacity(BATCH_PAGES);
        while let Some(word) = words.next()? {
            let (mut first, mut pages) = match word & RUN {
                0 => (word, 1),
                // A run is always two words.
                _ => (words.next()?.unwrap_or(0), word & !RUN),
            };
            while pages > 0 {
                let taken = pages.min((BATCH_PAGES - batch.len()) as u32);
                batch.extend(first..first + taken);
                (first, pages) = (first + taken, pages - taken);
                if batch.len() == BATCH_PAGES {
                    visit(&batch)?;
                    batch.clear();
                }
            }
        }
        if batch.is_empty() { Ok(()) } else { visit(&batch) }
    }
}

struct Words<'a> {
    file: Option<File>,
    read: Vec<u32>,
    next: usize,
    behind: std::iter::Flatten<std::array::IntoIter<&'a Vec<u32>, 2>>,
}

impl<'a> Words<'a> {
    fn new(spilled: Option<&NamedTempFile>, in_memory: [&'a Vec<u32>; 2]) -> Result<Words<'a>, OrderError> {
        // A handle of its own, with a place of its own in the file.
        let file = spilled.map(NamedTempFile::reopen).transpose()?;
        Ok(Words { file, read: Vec::new(), next: 0, behind: in_memory.into_iter().flatten() })
    }

    #[inline]
    fn next(&mut self) -> Result<Option<u32>, OrderError> {
        if let Some(&word) = self.read.get(self.next) {
            self.next += 1;
            return Ok(Some(word));
        }
        match self.file {
            Some(_) => self.refill(),
            None => Ok(self.behind.next().copied()),
        }
    }

    #[cold]
    fn refill(&mut self) -> Result<Option<u32>, OrderError> {
        let Some(file) = &mut self.file else { return Ok(None) };
        let mut bytes = Vec::with_capacity(READ_WORDS * 4);
        file.take(READ_WORDS as u64 * 4).read_to_end(&mut bytes)?;
        let words =
            bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        self.read = words.collect();
        self.next = 0;
        if self.read.is_empty() {
            self.file = None;
        }
        self.next()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum OrderError {
    #[error("the order of writes is not known for 2^31 pages or more")]
    PageNumberTooHigh,
    #[error(
        "the order of writes could not be kept in a temporary file ({0}); set TMPDIR to a folder with room"
    )]
    Io(String),
}

impl From<io::Error> for OrderError {
    fn from(error: io::Error) -> OrderError {
        OrderError::Io(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::mix;

    #[test]
    fn gives_back_what_it_took_in() {
        for seed in 0..200u64 {
            // Every third lies in a file but for its end.
            let mut order = if seed % 3 == 0 { WriteOrder::with_words(5) } else { WriteOrder::default() };
            let mut pages = Vec::new();
            for run in 0..seed % 40 {
                let first = mix(seed << 32 | run) as u32 % 20_000;
                // Some runs continue the one before, some are longer than a batch.
                let first =
                    if first.is_multiple_of(3) { pages.last().map_or(0, |last| last + 1) } else { first };
                let longest = if run % 16 == 7 { 10_000 } else { 4 };
                pages.extend(first..first + 1 + mix(first.into()) as u32 % longest);
            }
            pages.iter().for_each(|&page| order.push(page).unwrap());
            let mut found = Vec::new();
            let visited: Result<(), OrderError> = order.batches(|batch| {
                assert!(!batch.is_empty() && batch.len() <= BATCH_PAGES);
                found.extend_from_slice(batch);
                Ok(())
            });
            assert_eq!(visited, Ok(()));
            assert_eq!(found, pages, "seed {seed}");
        }
    }

    #[test]
    fn run_takes_two_words_and_high_pages_are_refused() {
        let mut order = WriteOrder::default();
        (0..1000).chain([5]).chain(7..9).for_each(|page| order.push(page).unwrap());
        assert_eq!(order.words.len(), 3);
        assert_eq!(order.push(1 << 31), Err(OrderError::PageNumberTooHigh));
        assert_eq!(order.push((1 << 31) - 1), Ok(()));
    }

    #[test]
    fn stops_at_the_first_error() {
        let mut order = WriteOrder::default();
        (0..3 * BATCH_PAGES as u32).for_each(|page| order.push(page * 2).unwrap());
        let mut batches = 0;
        let enough = OrderError::Io("enough".to_owned());
        let visited = order.batches(|_| {
            batches += 1;
            if batches == 2 { Err(enough.clone()) } else { Ok(()) }
        });
        assert_eq!((visited, batches), (Err(enough), 2));
    }
}

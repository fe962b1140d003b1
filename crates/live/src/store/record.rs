//! Records of the log, one for each decision carried out. Each is complete: between two records no logical page
//! points nowhere, because the reference count of the old data falls in the record that remaps the page.
//!
//! A tag (u8), then, little-endian: 1 program: logical page (u32), page (u32), digest of its data
//! (16 bytes); 2 share: logical page, page with the same data; 3 trim: logical page; 4 collection
//! moved: from (u32), to (u32); 5 wear levelling moved: from, to; 6 copied: from, to; 7 erase:
//! first page of the block; 8, 9, 10 as 4, 5, 6 with data that were lost before: the second page
//! has wrong data; 11 the block with this first page is retired; 12 the page that is programmed next lies in a slot:
//! page (u32), slot (u32).

use flashtwin_nand::Ppn;

use super::bytes::Taker;

/// The first bytes of a page's digest.
pub(crate) type Digest = [u8; 16];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record {
    Program {
        lpn: u32,
        ppn: Ppn,
        digest: Digest,
    },
    Share {
        lpn: u32,
        ppn: Ppn,
    },
    Trim {
        lpn: u32,
    },
    /// The owners of the first page have the second; `lost`: the data could not be read any more.
    Moved {
        from: Ppn,
        to: Ppn,
        levelled: bool,
        lost: bool,
    },
    /// The second page is a copy of the first; `lost`: whose data could not be read any more.
    Copied {
        from: Ppn,
        to: Ppn,
        lost: bool,
    },
    Erase {
        first: Ppn,
    },
    Retire {
        first: Ppn,
    },
    /// Until its block is erased.
    Replaced {
        ppn: Ppn,
        slot: u32,
    },
}

/// Added to the tag of a move or a copy of data that were lost.
const LOST: u8 = 4;

pub(crate) const MOST_BYTES: usize = 25;

impl Record {
    pub(crate) fn append(&self, to: &mut Vec<u8>) {
        let mut words = |tag: u8, words: &[u32]| {
            to.push(tag);
            words.iter().for_each(|word| to.extend(word.to_le_bytes()));
        };
        match *self {
            Self::Program { lpn, ppn, digest } => {
                words(1, &[lpn, ppn.number()]);
                to.extend(digest);
            }
            Self::Share { lpn, ppn } => words(2, &[lpn, ppn.number()]),
            Self::Trim { lpn } => words(3, &[lpn]),
            Self::Moved { from, to, levelled, lost } => {
                words(4 + u8::from(levelled) + LOST * u8::from(lost), &[from.number(), to.number()])
            }
            Self::Copied { from, to, lost } => {
                words(6 + LOST * u8::from(lost), &[from.number(), to.number()])
            }
            Self::Erase { first } => words(7, &[first.number()]),
            Self::Retire { first } => words(11, &[first.number()]),
            Self::Replaced { ppn, slot } => words(12, &[ppn.number(), slot]),
        }
    }

    pub(crate) fn take(taker: &mut Taker<'_>) -> Option<Self> {
        let tag = taker.u8()?;
        let word = taker.u32()?;
        let page = |taker: &mut Taker<'_>| taker.u32().map(Ppn::new);
        Some(match tag {
            1 => Self::Program { lpn: word, ppn: page(taker)?, digest: taker.array()? },
            2 => Self::Share { lpn: word, ppn: page(taker)? },
            3 => Self::Trim { lpn: word },
            4 | 5 | 8 | 9 => {
                let (levelled, lost) = (tag == 5 || tag == 9, tag > 5);
                Self::Moved { from: Ppn::new(word), to: page(taker)?, levelled, lost }
            }
            6 | 10 => Self::Copied { from: Ppn::new(word), to: page(taker)?, lost: tag == 10 },
            7 => Self::Erase { first: Ppn::new(word) },
            11 => Self::Retire { first: Ppn::new(word) },
            12 => Self::Replaced { ppn: Ppn::new(word), slot: taker.u32()? },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else_is() {
        let (a, b) = (Ppn::new(7), Ppn::new(0x0102_0304));
        let records = [
            Record::Program { lpn: 5, ppn: b, digest: [9; 16] },
            Record::Share { lpn: 5, ppn: a },
            Record::Trim { lpn: u32::MAX },
            Record::Moved { from: a, to: b, levelled: false, lost: false },
            Record::Moved { from: b, to: a, levelled: true, lost: false },
            Record::Moved { from: a, to: b, levelled: false, lost: true },
            Record::Moved { from: b, to: a, levelled: true, lost: true },
            Record::Copied { from: a, to: b, lost: false },
            Record::Copied { from: a, to: b, lost: true },
            Record::Erase { first: b },
            Record::Retire { first: a },
            Record::Replaced { ppn: b, slot: 3 },
        ];
        let mut bytes = Vec::new();
        records.iter().for_each(|record| record.append(&mut bytes));
        let mut taker = Taker(&bytes);
        for record in records {
            assert_eq!(Record::take(&mut taker), Some(record));
        }
        assert!(taker.0.is_empty());
        for cut in 0..25 {
            assert_eq!(Record::take(&mut Taker(&bytes[..cut])), None);
        }
        assert_eq!(Record::take(&mut Taker(&[13; 30])), None);
    }
}

use flashtwin_trace::NO_CONTENT;

use crate::drive::contents::Contents;
use crate::store::record::Digest;

/// Numbers beyond those of logical pages. The simulated drive decides on a write when its hash is known, so it may
/// hold a content a little longer than this table. A number is reused only after this many new contents, more than
/// can be under way.
const SPARE: u32 = 1 << 18;

pub(super) struct Numbers {
    contents: Option<Contents>,
    limit: u32,
}

impl Numbers {
    pub(super) fn new(logical_pages: u32, aware: bool) -> Self {
        let limit = if aware { logical_pages.saturating_add(SPARE).min(u32::MAX - 1) } else { 0 };
        Self { contents: aware.then(|| Contents::new(logical_pages, limit)), limit }
    }

    /// All numbers are below it.
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    pub(super) fn begin(&mut self, held: Vec<(u32, Digest)>) -> Vec<(u32, u32)> {
        held.into_iter().map(|(lpn, digest)| (lpn, self.write(lpn, &[digest]).0[0])).collect()
    }

    /// Numbers for contents written to pages from `first_lpn` on, and those among them that were reused.
    pub(super) fn write(&mut self, first_lpn: u32, digests: &[Digest]) -> (Vec<u32>, Vec<u32>) {
        let Some(contents) = &mut self.contents else {
            return (vec![NO_CONTENT; digests.len()], Vec::new());
        };
        let mut reused = Vec::new();
        let numbers = (first_lpn..).zip(digests).map(|(lpn, digest)| {
            let Some(named) = contents.name(digest) else { return NO_CONTENT };
            contents.hold(lpn, Some(named.content));
            if named.reused {
                reused.push(named.content.number());
            }
            named.content.number()
        });
        (numbers.collect(), reused)
    }

    pub(super) fn trim(&mut self, lpns: std::ops::Range<u32>) {
        if let Some(contents) = &mut self.contents {
            lpns.for_each(|lpn| contents.hold(lpn, None));
        }
    }
}

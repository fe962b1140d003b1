//! Pages go into the write cache, and leave it for the flash when others need their place.

use std::ops::Range;

use super::{Arrivals, Controller, Decider, Observer, Request};
use crate::error::SimError;

impl<C: Controller, O: Observer> Decider<C, O> {
    #[inline(never)]
    pub(super) fn cache_pages(
        &mut self,
        arrivals: &Arrivals<'_>,
        index: usize,
        pages: Range<usize>,
        request: u32,
    ) -> Result<(), SimError> {
        let handle = self.page_ops.handle;
        for at in pages {
            self.look_ahead(&arrivals.window, at);
            let partial = arrivals.window.is_partial(index, at);
            self.back.accounts.counts.pages.partial_writes += u64::from(partial);
            let page = self.look_ahead.host_page(&arrivals.window, at);
            let partial = partial && arrivals.read_modify_write;
            self.interface.cache_page(&mut self.back.books(), page, handle, partial, request);
            self.destage(None)?;
        }
        Ok(())
    }

    /// The least recently written pages leave while more than `most_dirty` (or the configuration's limit) are dirty.
    fn destage(&mut self, most_dirty: Option<u32>) -> Result<(), SimError> {
        while let Some(cache) = &mut self.interface.write_cache {
            let most_dirty = most_dirty.unwrap_or(cache.most_dirty);
            let Some((at, page, partial)) = cache.next_to_leave(most_dirty) else { break };
            self.page_ops.handle = cache.handle(at);
            let epoch = self.interface.flushes.page_leaves_cache();
            let request = self.interface.requests.insert(Request::destaging(self.back.now_ns(), at, epoch));
            let fingerprint = self.fingerprint_of(page.content);
            self.write_page(page, partial, request, fingerprint)?;
        }
        Ok(())
    }

    pub(super) fn flush_cache(&mut self) -> Result<(), SimError> {
        let held = self.back.array.hold();
        let flushed = self.destage(Some(0));
        self.back.release(held);
        flushed
    }
}

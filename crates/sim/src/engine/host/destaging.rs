//! Pages go into the write cache, and leave it for the flash when others need their place.

use std::ops::Range;

use super::page_op::{Fingerprint, State};
use super::{Arrivals, Backend, Condition, Controller, Engine, Observer, OpenLedger, Request};
use crate::error::SimError;

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// Pages of a host's write find a place in the cache, one by one.
    #[inline(never)]
    pub(super) fn cache_pages(
        &mut self,
        arrivals: &Arrivals<'_>,
        index: usize,
        pages: Range<usize>,
        request: u32,
    ) -> Result<(), SimError> {
        for at in pages {
            self.look_ahead(&arrivals.window, at);
            let partial = arrivals.window.is_partial(index, at);
            self.accounts.counts.pages.partial_writes += u64::from(partial);
            let page = self.host_page(&arrivals.window, at);
            let Some(cache) = &mut self.write_cache else { continue };
            let taken = cache.write(page, partial && arrivals.read_modify_write);
            self.accounts.counts.pages.absorbed_writes += u64::from(taken.absorbed);
            if taken.waits {
                let (state, now) = (State::CachePlace, self.array.now_ns());
                let waiting = self.page_ops.insert(page, request, state, OpenLedger::NONE, now);
                self.waits.wait(Condition::CachePlace, waiting);
            } else {
                self.complete_cached(request);
            }
            self.destage(None)?;
        }
        Ok(())
    }

    /// Sends the least recently written pages to the flash while more than `most_dirty` (by default
    /// the configuration's limit) are dirty.
    fn destage(&mut self, most_dirty: Option<u32>) -> Result<(), SimError> {
        while let Some(cache) = &mut self.write_cache {
            let most_dirty = most_dirty.unwrap_or(cache.most_dirty);
            let Some((at, page, partial)) = cache.next_to_leave(most_dirty) else { break };
            let epoch = self.flushes.page_leaves_cache();
            let request = self.requests.insert(Request::destaging(self.array.now_ns(), at, epoch));
            let fingerprint = if self.hash.is_some() { Fingerprint::Yes } else { Fingerprint::No };
            self.write_page(page, partial, request, fingerprint)?;
        }
        Ok(())
    }

    /// Everything that is dirty goes to the flash.
    pub(super) fn flush_cache(&mut self) -> Result<(), SimError> {
        let held = self.array.hold();
        let flushed = self.destage(Some(0));
        self.release(held);
        flushed
    }
}

//! Reads of the host, and the cache of what they read.

use super::Drive;
use crate::plain_parts::{Kind, Operation, PageAddress, Stored, System};

impl Drive {
    pub(super) fn read(&mut self, lpn: usize, request: usize) {
        if let Some(write) = self.hashing.iter_mut().rev().find(|write| write.lpn == lpn) {
            write.reads += 1;
            self.count("page_ops.buffer_reads", true);
            return self.page_done(request, self.now);
        }
        let Some(data) = self.data_of[lpn] else {
            self.count("page_ops.unmapped_reads", true);
            return self.page_done(request, self.now);
        };
        self.stored[data].reads += 1;
        if self.find_cached(self.name_of(data), request) {
            return;
        }
        let Stored { home, ref copies, .. } = self.stored[data];
        let unread = self.unread.iter().find(|&&(to, _)| to == home).map(|&(_, from)| from);
        let home_has = unread.or(Some(home).filter(|&home| self.is_on_flash(home)));
        let (units, unit) = (self.units.len(), self.unit_of(home));
        let least =
            |units: &mut dyn Iterator<Item = usize>| units.min_by_key(|&unit| self.units[unit].load());
        let chosen = match self.rules.system {
            System::Conventional | System::CaSsd => unit,
            System::RrSsd => least(&mut [unit].into_iter().chain(copies.iter().copied())).unwrap(),
            System::Oracle => least(&mut (0..units).map(|step| (unit + step) % units)).unwrap(),
        };
        // A copy is there as soon as its period has begun, the home page when it is programmed.
        match home_has {
            Some(place) if chosen == unit => self.read_from(place, request),
            None if chosen == unit || self.rules.system == System::Oracle => {
                self.count("page_ops.buffer_reads", true);
                self.page_done(request, self.now);
            }
            _ => self.read_from(self.rules.first_page_of(chosen), request),
        }
    }

    fn read_from(&mut self, place: PageAddress, request: usize) {
        self.count("flash_reads.host", true);
        self.order(Operation::of_host(Kind::Read, place, request));
    }

    /// Where the system looks at contents, all pages of one content are one to the cache.
    fn name_of(&self, data: usize) -> usize {
        match self.rules.system {
            System::Conventional => data,
            _ => self.stored[data].content as usize,
        }
    }

    fn find_cached(&mut self, name: usize, request: usize) -> bool {
        if self.rules.read_cache_pages == 0 {
            return false;
        }
        self.asked.push((request, name));
        let found = self.cached.contains(&name);
        self.count("page_ops.read_cache_hits", found);
        if found {
            self.cached_reads.push_back((self.now + self.rules.ram_ns, request));
        }
        found
    }

    pub(super) fn answer_cached_read(&mut self) {
        let (due, request) = self.cached_reads.pop_front().unwrap();
        self.now = due;
        self.page_done(request, due);
    }

    /// What an answered request has read is the latest of all.
    pub(super) fn note_read(&mut self, request: usize) {
        if self.pages_left[request] > 0 {
            return;
        }
        let (read, rest): (Vec<_>, Vec<_>) = self.asked.iter().partition(|asked| asked.0 == request);
        self.asked = rest;
        for (_, name) in read {
            let is_dead = self.rules.system == System::Conventional && self.stored[name].references == 0;
            self.cached.retain(|&other| other != name);
            self.cached.extend((!is_dead).then_some(name));
            let over = self.cached.len().saturating_sub(self.rules.read_cache_pages);
            self.cached.drain(..over);
        }
    }

    pub(super) fn forget_cached(&mut self, data: usize) {
        if self.rules.system == System::Conventional {
            self.cached.retain(|&other| other != data);
        }
    }
}

//! Spreading of duplicates: pages with equal contents go to different channels, and a read takes the least busy one.
//!
//! Source: DS-FTL paper, section 4. A Bloom filter for each channel tells whether it may hold a content. Idle time
//! verifies a positive answer by comparing the pages. Only then do they become duplicate pages.

mod bloom;
mod config;
mod duplicate_lists;
mod filters;
mod pages;
mod plane_choice;
mod residents;

pub use config::{SpreadConfig, SpreadPolicy};
use flashtwin_bits::By;
use flashtwin_nand::{Channel, NO_PPN, Plane, Ppn};
use smallvec::{SmallVec, smallvec};

use super::map::PageMap;
use crate::error::FtlResult;
use crate::flash::Flash;
use crate::flash::allocation::Order;
use crate::ids::{Content, Lpn, NO_CONTENT, PageData, TraceSizes};
use crate::jobs::Jobs;
use crate::loads::LoadView;
use crate::op::{Cause, FlashOp, is_page};
use crate::sabotage::sabotaged;
use duplicate_lists::DuplicateLists;
use filters::Filters;
use flashtwin_nand::Geometry;
use pages::AllLinks;
pub use plane_choice::PlacePolicy;
use plane_choice::PlaneTurns;
use residents::Residents;

#[derive(Debug, Clone)]
struct Comparison {
    content: Content,
    pages: Compared,
}

/// The page just written, then those it may equal: owners and places. Inline, because thousands wait for idle time.
type Compared = SmallVec<[(Lpn, Ppn); 4]>;

const _: () = assert!(size_of::<Comparison>() <= 56, "with what is left to do, a job is a cache line");

#[derive(Clone)]
pub(crate) struct Spreader {
    jobs: Jobs<Comparison>,
    filters: Filters,
    residents: Residents,
    duplicates: DuplicateLists,
    pages: AllLinks,
    channels: u32,
    /// The channel of each plane: divisions are not free.
    channel_of_plane: By<Plane, Vec<Channel>>,
    places: PlaneTurns,
    verify: bool,
    own_copy_counts: bool,
    /// Channels whose filters were positive for the write under way, and the first channel queried.
    positive: u64,
    first: Channel,
    last_page: By<Channel, Vec<Ppn>>,
    lists: Vec<u32>,
    others: Vec<Ppn>,
}

impl Spreader {
    pub(crate) fn new(
        config: &SpreadConfig,
        order: Order,
        geometry: &Geometry,
        TraceSizes { footprint_pages, contents }: TraceSizes,
        jobs: u32,
    ) -> Self {
        let channels = geometry.channels;
        Self {
            jobs: Jobs::new(jobs),
            filters: Filters::new(channels, contents, geometry.pages() / u64::from(channels), config),
            residents: Residents::new(contents, channels, footprint_pages),
            duplicates: DuplicateLists::new(config.candidates),
            pages: pages::fresh(footprint_pages),
            channels,
            channel_of_plane: By::new(
                geometry
                    .all_planes()
                    .map(|plane| geometry.channel_of_chip(geometry.chip_of_plane(plane)))
                    .collect(),
            ),
            places: PlaneTurns::new(config.place, order, geometry),
            verify: config.verify,
            own_copy_counts: config.own_copy_counts,
            positive: 0,
            first: Channel::new(0),
            last_page: By::new(vec![NO_PPN; channels as usize]),
            lists: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Two lists: the written page followed by one candidate from each channel that holds the content (one alone of pages
    /// known to be duplicates); and the pages that are read because a filter was wrong.
    fn candidates(
        &mut self,
        PageData { lpn, content }: PageData,
        new: Ppn,
        own_channel: Option<Channel>,
        map: &PageMap,
    ) -> (Compared, Vec<Ppn>) {
        let positive = std::mem::take(&mut self.positive);
        let mut pages = smallvec![(lpn, new)];
        let mut others = std::mem::take(&mut self.others);
        others.clear();
        self.lists.clear();
        // In the order in which they were asked: contents that lie everywhere are then read everywhere.
        for channel in channels_from(self.first, positive) {
            if let Some(other) = self.residents.other_than(lpn, content, channel, &self.pages) {
                // One page of a list stands for all of it.
                let list = self.pages[other].list();
                if list.is_none_or(|list| !self.lists.contains(&list)) {
                    self.lists.extend(list);
                    self.duplicates.prefetch_list(&self.pages[other]);
                    pages.push((other, map.get(other)));
                }
            } else if own_channel != Some(channel) && !self.residents.has_entry(content, channel) {
                // False positive: the channel's last written page is read for nothing, unless its entry is known dead.
                others.push(self.last_page[channel]);
            }
        }
        (pages, others)
    }

    #[inline]
    pub(crate) fn prefetch_far(&self, lpn: Lpn, content: Content) {
        self.pages.prefetch(lpn);
        if content != NO_CONTENT {
            self.filters.prefetch(content);
            self.residents.prefetch(content);
        }
    }

    #[inline]
    pub(crate) fn prefetch_near_read(&self, lpn: Lpn) {
        self.duplicates.prefetch_list(&self.pages[lpn]);
    }

    /// `held` is the page's present content, `content` the one it may get.
    #[inline]
    pub(crate) fn prefetch_near(&self, lpn: Lpn, held: Content, content: Content, map: &PageMap) {
        pages::prefetch_neighbours(&self.pages, lpn);
        self.duplicates.prefetch_list(&self.pages[lpn]);
        if content != NO_CONTENT {
            for other in self.residents.foresee_latest(content) {
                self.pages.prefetch(other);
                map.prefetch(other);
            }
        }
        if held != NO_CONTENT {
            self.residents.prefetch(held);
        }
    }

    #[inline]
    pub(crate) fn prefetch_next(&self, lpn: Lpn, content: Content) {
        self.duplicates.prefetch_pages(&self.pages[lpn]);
        if content != NO_CONTENT && !self.verify {
            self.residents
                .latest(content)
                .for_each(|other| self.duplicates.prefetch_list(&self.pages[other]));
        }
    }

    #[inline]
    pub(crate) fn choices(&self, lpn: Lpn) -> &[Ppn] {
        self.duplicates.choices(&self.pages[lpn])
    }

    #[inline]
    pub(crate) fn serial(&self, lpn: Lpn) -> Option<u64> {
        self.duplicates.serial(&self.pages[lpn])
    }

    pub(crate) fn duplicate_lists(&self) -> u64 {
        self.duplicates.sets()
    }

    pub(crate) fn duplicate_pages(&self) -> u64 {
        self.duplicates.pages()
    }

    #[inline]
    pub(crate) fn channel_of(&self, ppn: Ppn, geometry: &Geometry) -> Channel {
        self.channel_of_plane[geometry.plane(ppn)]
    }

    /// The channel that holds a content in the page of one logical page and in no other, as a bit.
    fn held_alone(&self, lpn: Lpn, content: Content, map: &PageMap, geometry: &Geometry) -> u64 {
        let ppn = map.get(lpn);
        if !is_page(ppn) || map.content(lpn) != content {
            return 0;
        }
        let channel = self.channel_of(ppn, geometry);
        let alone = self.residents.other_than(lpn, content, channel, &self.pages).is_none();
        u64::from(alone) << channel.number()
    }

    /// The mask's channels, except those whose entry of a content stands for pages of one logical page alone.
    fn without_own(&self, holders: u64, lpn: Lpn, content: Content) -> u64 {
        channels_in(holders).fold(holders, |rest, channel| {
            let other = self.residents.other_than(lpn, content, channel, &self.pages);
            let own = other.is_none() && self.residents.has_entry(content, channel);
            rest & !(u64::from(own) << channel.number())
        })
    }

    pub(crate) fn forget_dead(&mut self) {
        Channel::each(0..self.channels)
            .for_each(|channel| self.filters.rebuild(channel, &mut self.residents));
    }

    /// Prefetches the tables of `compare` once two page reads are outstanding: earlier, they would be evicted again.
    #[inline]
    fn prefetch_comparison(&self, comparison: &Comparison, to_come: u32, map: &PageMap) {
        for &(lpn, _) in comparison.pages.iter().filter(|_| to_come <= 2) {
            match to_come {
                1 => {
                    map.prefetch(lpn);
                    self.duplicates.prefetch_end(&self.pages[lpn]);
                }
                _ => self.pages.prefetch(lpn),
            }
        }
    }

    fn came(&mut self, lpn: Lpn, content: Content, channel: Channel) {
        if self.residents.add(lpn, content, channel, &mut self.pages) {
            self.filters.appeared(content, channel, &mut self.residents);
        }
    }

    /// A page with a content is no longer in a channel. Returns whether that made a filter be rebuilt.
    fn left(&mut self, lpn: Lpn, content: Content, channel: Channel) -> bool {
        self.residents.remove(lpn, content, channel, &mut self.pages)
            && self.filters.died(channel, &mut self.residents)
    }

    pub(crate) fn filter_bytes(&self) -> u64 {
        self.filters.filter_bytes()
    }

    /// Every page has its links, and every content a list and a word and an entry for each channel.
    pub(crate) fn bytes_of(pages: u64, contents: u64, channels: u32) -> u64 {
        pages * 16 + contents * (64 + 8 * u64::from(channels))
    }

    pub(crate) fn bytes(&self) -> u64 {
        let pages = std::mem::size_of_val::<[_]>(&**self.pages) as u64;
        self.filters.bytes() + self.residents.bytes() + self.duplicates.bytes() + pages
    }
}

fn channels_in(mask: u64) -> impl Iterator<Item = Channel> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let channel = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (channel < u64::BITS).then_some(Channel::new(channel))
    })
}

/// The channels of a mask, ascending from the one called first and on from 0 behind the last.
fn channels_from(first: Channel, mask: u64) -> impl Iterator<Item = Channel> {
    let first = first.number();
    channels_in(mask.rotate_right(first)).map(move |step| Channel::new((first + step.number()) % u64::BITS))
}

impl Spreader {
    /// The plane of the host's write of `content`: the allocation's proposal, or one on the first channel after it that
    /// does not hold the content (DS-FTL paper 4.2.1), by `ftl.spread.place`. If every channel may hold it, the
    /// proposal.
    pub(crate) fn place_write(
        &mut self,
        proposal: Plane,
        PageData { lpn, content }: PageData,
        map: &PageMap,
        flash: &mut Flash,
        loads: &LoadView<'_>,
    ) -> Plane {
        self.positive = 0;
        if content == NO_CONTENT {
            return proposal;
        }
        let mut holders = self.filters.query(content, &self.residents);
        if !self.own_copy_counts {
            holders &= !self.held_alone(lpn, content, map, flash.geometry());
        }
        self.place_on_other_channel(proposal, content, holders, flash, loads)
    }

    /// [`Spreader::place_write`] for a page that ageing moves. Its own copies, present or left behind, do not count:
    /// else a page would change its channel with every move.
    pub(crate) fn place_aged(
        &mut self,
        proposal: Plane,
        PageData { lpn, content }: PageData,
        flash: &mut Flash,
        loads: &LoadView<'_>,
    ) -> Plane {
        self.positive = 0;
        if content == NO_CONTENT {
            return proposal;
        }
        let holders = self.filters.query(content, &self.residents);
        let holders = self.without_own(holders, lpn, content);
        self.place_on_other_channel(proposal, content, holders, flash, loads)
    }

    fn place_on_other_channel(
        &mut self,
        proposal: Plane,
        content: Content,
        holders: u64,
        flash: &mut Flash,
        loads: &LoadView<'_>,
    ) -> Plane {
        let first = self.channel_of_plane[proposal];
        let others = Channel::each(first.number() + 1..self.channels).chain(Channel::each(0..first.number()));
        (self.positive, self.first) = (holders & 1 << first.number(), first);
        if self.positive == 0 {
            return proposal;
        }
        let mut plane = proposal;
        for channel in others {
            let Some(place) = self.places.next_plane(channel, proposal, &flash.blocks, loads) else {
                continue;
            };
            if holders >> channel.number() & 1 == 0 {
                self.places.taken(channel, place);
                plane = place;
                break;
            }
            self.positive |= 1 << channel.number();
        }
        self.count_answers(content, flash);
        flash.counters.pages.redirected_writes += u64::from(plane != proposal);
        plane
    }

    fn count_answers(&self, content: Content, flash: &mut Flash) {
        for channel in channels_in(self.positive) {
            flash.counters.spread.filter_positives += 1;
            if !self.residents.holds(content, channel) {
                match self.residents.has_entry(content, channel) {
                    true => flash.counters.spread.filter_stale_positives += 1,
                    false => flash.counters.spread.filter_false_positives += 1,
                }
            }
        }
    }

    /// A logical page is about to lose its content (and its page `old` with it).
    pub(crate) fn forget_page(
        &mut self,
        PageData { lpn, content: held }: PageData,
        old: Ppn,
        flash: &mut Flash,
    ) {
        if !sabotaged!(KeptDuplicate if !self.choices(lpn).is_empty()) {
            self.duplicates.leave(lpn, &mut self.pages);
        }
        if held == NO_CONTENT || !is_page(old) {
            return;
        }
        let channel = self.channel_of(old, flash.geometry());
        flash.counters.spread.filter_rebuilds += u64::from(self.left(lpn, held, channel));
    }

    pub(crate) fn note_page(&mut self, PageData { lpn, content }: PageData, ppn: Ppn, flash: &Flash) {
        let channel = self.channel_of(ppn, flash.geometry());
        if content != NO_CONTENT {
            self.came(lpn, content, channel);
        }
    }

    pub(crate) fn page_moved(
        &mut self,
        PageData { lpn, content }: PageData,
        from: Ppn,
        to: Ppn,
        flash: &mut Flash,
    ) {
        self.duplicates.moved(&self.pages[lpn], to);
        let (left, came) = (self.channel_of(from, flash.geometry()), self.channel_of(to, flash.geometry()));
        if content == NO_CONTENT || left == came {
            return;
        }
        flash.counters.spread.filter_rebuilds += u64::from(self.left(lpn, content, left));
        self.came(lpn, content, came);
    }

    /// After a write whose content some channels may hold: reads in idle time verify that (DS-FTL paper 4.2.2, second
    /// phase). `own_channel`: the channel of the page's own old copy of the same content.
    #[inline]
    pub(crate) fn compare_later(
        &mut self,
        written: PageData,
        own_channel: Option<Channel>,
        map: &PageMap,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        // Collection may have moved the page already.
        let new = map.get(written.lpn);
        if self.positive != 0 {
            return self.compare_with_holders(written, new, own_channel, map, flash, ops);
        }
        self.note_last(new, flash);
        Ok(())
    }

    #[inline]
    fn note_last(&mut self, new: Ppn, flash: &Flash) {
        let channel = self.channel_of(new, flash.geometry());
        self.last_page[channel] = new;
    }

    #[inline(never)]
    fn compare_with_holders(
        &mut self,
        written: PageData,
        new: Ppn,
        own_channel: Option<Channel>,
        map: &PageMap,
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        let (pages, mut others) = self.candidates(written, new, own_channel, map);
        self.note_last(new, flash);
        others.retain(|&ppn| is_page(ppn) && ppn != new && flash.blocks.owner(ppn).is_some());
        let comparison = Comparison { content: written.content, pages };
        let outcome = if !self.verify || comparison.pages.len() + others.len() == 1 {
            self.compare(comparison, map, flash);
            Ok(())
        } else {
            self.begin_comparison(comparison, &others, flash, ops)
        };
        self.others = others;
        outcome
    }

    /// Orders the reads of a comparison, and of other pages that it takes, unless too many jobs wait.
    fn begin_comparison(
        &mut self,
        comparison: Comparison,
        others: &[Ppn],
        flash: &mut Flash,
        ops: &mut Vec<FlashOp>,
    ) -> FtlResult {
        let first = ops.len();
        let read = |ppn| FlashOp::read(ppn, Cause::Verify);
        let reads: u32 = (comparison.pages.len() + others.len()) as u32;
        ops.extend(comparison.pages.iter().map(|page| page.1).chain(others.iter().copied()).map(read));
        let Some(job) = self.jobs.begin(comparison, reads) else {
            ops.truncate(first);
            flash.counters.spread.jobs_dropped += 1;
            return Ok(());
        };
        flash.counters.spread.comparisons += 1;
        ops[first..].iter_mut().for_each(|op| op.job = job);
        (first..ops.len()).try_for_each(|at| flash.count_order(&ops[at]))
    }

    /// The last page that has been read completes the comparison; earlier ones prefetch its tables.
    pub(crate) fn job_done(&mut self, job: u32, map: &PageMap, flash: &mut Flash) {
        match self.jobs.op_done(job) {
            Some(comparison) => self.compare(comparison, map, flash),
            None => {
                if let Some((comparison, to_come)) = self.jobs.under_way(job) {
                    self.prefetch_comparison(comparison, to_come, map);
                }
            }
        }
    }

    /// Of the pages read, those that still lie there and hold the content are duplicate pages.
    fn compare(&mut self, Comparison { content, pages }: Comparison, map: &PageMap, flash: &mut Flash) {
        let holds = |&(lpn, ppn): &(Lpn, Ppn)| map.get(lpn) == ppn && map.content(lpn) == content;
        if let Some((&first, others)) = pages.split_first() {
            let void = others.iter().filter(|page| !holds(&first) || !holds(page)).count();
            flash.counters.spread.comparisons_void += void as u64;
            for &other in others.iter().filter(|page| holds(&first) && holds(page)) {
                flash.counters.spread.twins_found +=
                    u64::from(self.duplicates.join(first, other, &mut self.pages));
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn jobs_under_way(&self) -> u32 {
        self.jobs.len()
    }

    pub(crate) fn audit(&self, map: &PageMap, flash: &Flash) -> Result<(), String> {
        self.duplicates.audit(&flash.blocks, &self.pages, |lpn| (map.get(lpn), map.content(lpn)))?;
        let geometry = flash.geometry();
        self.residents.audit(&self.pages, |lpn| {
            let (ppn, content) = (map.get(lpn), map.content(lpn));
            let known = is_page(ppn) && content != NO_CONTENT;
            known.then(|| (content, geometry.channel_of_chip(flash.blocks.chip_of_page(ppn))))
        })?;
        self.filters.audit(&self.residents)
    }
}

flashtwin_bits::state!(Spreader { jobs, filters, residents, duplicates, pages, places, positive, first, last_page } kept {
    channels, channel_of_plane, verify, own_copy_counts, lists, others
});

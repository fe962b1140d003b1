//! The wait ledger: where the time of a request went, to the nanosecond. Its entries sum to the response time.

/// A cause of response time, for example [`Charge::Channel`]: the channel was busy.
///
/// The first [`Charge::HOLDERS`] are waits for a unit (chip, die or plane, by
/// `engine.concurrency`), by the unit's work meanwhile. The others up to [`Charge::WAITS`] are
/// waits of other kinds; the rest is service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Charge {
    /// The unit served a read of the host's, old pages of partial writes included.
    HostRead,
    /// ... a page program of the host's.
    HostProgram,
    /// ... a read of garbage collection's or wear levelling's.
    GcRead,
    /// ... a program of theirs.
    GcProgram,
    /// ... an erase.
    Erase,
    /// ... the read or the program of a copy.
    Copy,
    /// ... a page of the mapping tables.
    TablePage,
    /// ... a read that compares or fingerprints pages in the background.
    Comparison,
    /// The unit stood idle: another operation had to come first.
    Order,
    /// The program stood still for reads.
    Suspension,
    /// The channel carried other data, or other commands.
    Channel,
    /// The hash unit hashed other pages, or the sample that decides about this one.
    HashQueue,
    /// Pages of the mapping tables were read first.
    Tables,
    /// The page was on its way to the flash and could not be read yet.
    PageProgram,
    /// The write cache, or the write buffer, had no place.
    CachePlace,
    /// A flush: writes before it were not safe yet.
    EarlierWrites,
    /// The controller had no free slot.
    Slot,
    /// The host's link carried data of other requests.
    Link,
    /// Service: the page was hashed.
    Hash,
    /// Service: command and data on the channel, and the request's data on the host's link.
    Transfer,
    /// Service: the array sensed or programmed.
    Flash,
    /// Service: the controller's own time, and that of the DRAM that answers.
    Controller,
}

impl Charge {
    pub const COUNT: usize = 22;
    /// Charges that are waits for a unit which was held.
    pub const HOLDERS: usize = 8;
    pub const WAITS: usize = 18;

    /// Each charge with its name in results and the awaited resource, in the order of their numbers.
    const TABLE: [(Self, &str, &str); Self::COUNT] = [
        (Self::HostRead, "host_read", "unit"),
        (Self::HostProgram, "host_program", "unit"),
        (Self::GcRead, "gc_read", "unit"),
        (Self::GcProgram, "gc_program", "unit"),
        (Self::Erase, "erase", "unit"),
        (Self::Copy, "copy", "unit"),
        (Self::TablePage, "table_page", "unit"),
        (Self::Comparison, "comparison", "unit"),
        (Self::Order, "order", "unit"),
        (Self::Suspension, "suspension", "unit"),
        (Self::Channel, "channel", "channel"),
        (Self::HashQueue, "hash_queue", "hash unit"),
        (Self::Tables, "tables", "tables"),
        (Self::PageProgram, "page_program", "page"),
        (Self::CachePlace, "cache_place", "write cache"),
        (Self::EarlierWrites, "earlier_writes", "writes"),
        (Self::Slot, "slot", "slots"),
        (Self::Link, "link", "link"),
        (Self::Hash, "hash", "service"),
        (Self::Transfer, "transfer", "service"),
        (Self::Flash, "flash", "service"),
        (Self::Controller, "controller", "service"),
    ];

    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [Self::HostRead; Self::COUNT];
        let mut at = 0;
        while at < Self::COUNT {
            all[at] = Self::TABLE[at].0;
            at += 1;
        }
        all
    };

    pub fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    /// The awaited resource, or `service`.
    pub fn part(self) -> &'static str {
        Self::TABLE[self as usize].2
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ledger {
    ns: [u64; Charge::COUNT],
    /// The causes charged so far, a bit each. Sums skip the rest.
    charged: u32,
}

const _: () = assert!(Charge::COUNT <= 32, "a bit of a word for each charge");

impl Ledger {
    /// The whole: the response time, where the ledger is a request's.
    #[inline]
    pub fn total_ns(&self) -> u64 {
        self.ns.iter().sum()
    }

    #[inline]
    pub fn of(&self, charge: Charge) -> u64 {
        self.ns[charge as usize]
    }

    #[inline]
    pub fn charge(&mut self, charge: Charge, ns: u64) {
        self.charge_numbered(charge as usize, ns);
    }

    /// By the charge's number, because a loop over holders has only that.
    #[inline]
    fn charge_numbered(&mut self, charge: usize, ns: u64) {
        self.ns[charge] += ns;
        self.charged |= u32::from(ns > 0) << charge;
    }

    /// The charges that are not 0, by their number, each with its time.
    #[inline]
    pub fn charges(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut left = self.charged;
        std::iter::from_fn(move || {
            let charge = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            self.ns.get(charge).map(|&ns| (charge, ns))
        })
    }

    #[inline]
    pub(crate) fn only(charge: Charge, ns: u64) -> Self {
        let mut ledger = Self::default();
        ledger.charge(charge, ns);
        ledger
    }

    pub(crate) fn add_all(&mut self, other: Option<&Self>) {
        if let Some(other) = other {
            self.add(other);
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.ns.iter_mut().zip(other.ns).for_each(|(mine, theirs)| *mine += theirs);
        self.charged |= other.charged;
    }
}

pub(crate) type HoldTimes = [u64; Charge::HOLDERS];

/// For each operation that waits for its unit: the unit's hold times at its arrival, and once it has begun, those
/// during its wait. A cache line an operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnitWaits {
    held: Vec<Line>,
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Line(HoldTimes);

impl UnitWaits {
    /// An operation begins to wait for a unit, which `holder` has held for another `ns` until now.
    #[inline]
    pub(crate) fn begin(&mut self, slot: u32, held: &HoldTimes, (holder, ns): (Charge, u64)) {
        if slot as usize >= self.held.len() {
            self.held.resize(slot as usize + 1, Line::default());
        }
        let line = &mut self.held[slot as usize].0;
        *line = *held;
        line[holder as usize] += ns;
    }

    #[inline]
    pub(crate) fn end(&mut self, slot: u32, held: &HoldTimes) {
        let waited = &mut self.held[slot as usize].0;
        waited.iter_mut().zip(held).for_each(|(then, now)| *then = now - *then);
    }

    #[inline]
    pub(crate) fn of(&self, slot: u32) -> &HoldTimes {
        &self.held[slot as usize].0
    }
}

/// Charges a wait for a unit to its holders, and the time in which the unit was free to the order of operations.
#[inline]
pub(crate) fn charge_wait(ledger: &mut Ledger, waited_ns: u64, held: &HoldTimes) {
    let sum: u64 = held.iter().sum();
    debug_assert!(sum <= waited_ns, "{held:?} of {waited_ns}");
    held.iter().enumerate().for_each(|(holder, &ns)| ledger.charge_numbered(holder, ns));
    ledger.charge(Charge::Order, waited_ns.saturating_sub(sum));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_are_numbered_in_order_and_waits_come_before_service() {
        for (at, charge) in Charge::ALL.into_iter().enumerate() {
            assert_eq!(charge as usize, at);
            assert_eq!(charge.part() == "unit", at < 10, "{charge:?}");
            assert_eq!(charge.part() == "service", at >= Charge::WAITS, "{charge:?}");
        }
        let mut names: Vec<_> = Charge::ALL.iter().map(|charge| charge.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Charge::COUNT);
    }

    #[test]
    fn a_ledger_names_what_is_charged_and_nothing_else() {
        let mut ledger = Ledger::only(Charge::Controller, 5);
        charge_wait(&mut ledger, 9, &[0, 4, 0, 0, 5, 0, 0, 0]);
        ledger.charge(Charge::Channel, 0);
        let expected = [Charge::HostProgram, Charge::Erase, Charge::Controller];
        let expected = expected.map(|charge| (charge as usize, ledger.of(charge)));
        assert_eq!(ledger.charges().collect::<Vec<_>>(), expected);
        let mut sum = Ledger::only(Charge::Tables, 1);
        sum.add(&ledger);
        assert_eq!((sum.charges().count(), sum.total_ns()), (4, 15));
    }

    #[test]
    fn a_wait_is_charged_to_holders_and_what_is_left_to_the_order() {
        let mut waits = UnitWaits::default();
        waits.begin(3, &[3, 0, 0, 7, 0, 0, 0, 0], (Charge::HostRead, 2));
        waits.end(3, &[9, 1, 0, 7, 0, 0, 0, 0]);
        let mut ledger = Ledger::default();
        charge_wait(&mut ledger, 6, waits.of(3));
        let found = [Charge::HostRead, Charge::HostProgram, Charge::GcProgram, Charge::Order]
            .map(|charge| ledger.of(charge));
        assert_eq!((found, ledger.total_ns()), ([4, 1, 0, 1], 6));
    }
}

//! Requests, each on a lane, with the parts of its time inside.

use flashtwin_trace::Op as HostOp;

use super::Window;
use super::lanes::Lanes;
use super::packets::{Label, Packets, Track, Value};
use crate::engine::{Arrived, Charge, Completed, Ledger};

/// The parts of a read's time, in their usual order. Several waits of one cause are one slice.
const READ_ORDER: [Charge; Charge::COUNT] = [
    Charge::Slot,
    Charge::Link,
    Charge::Controller,
    Charge::CachePlace,
    Charge::EarlierWrites,
    Charge::Tables,
    Charge::PageProgram,
    Charge::HashQueue,
    Charge::Hash,
    Charge::HostRead,
    Charge::HostProgram,
    Charge::GcRead,
    Charge::GcProgram,
    Charge::Erase,
    Charge::Copy,
    Charge::TablePage,
    Charge::Comparison,
    Charge::Order,
    Charge::Flash,
    Charge::Suspension,
    Charge::Channel,
    Charge::Transfer,
];

/// The data of a write pass the channel before the array works on them.
const WRITE_ORDER: [Charge; Charge::COUNT] = {
    let mut order = READ_ORDER;
    let last = Charge::COUNT - 4;
    (order[last], order[last + 1]) = (Charge::Channel, Charge::Transfer);
    (order[last + 2], order[last + 3]) = (Charge::Flash, Charge::Suspension);
    order
};

#[derive(Debug, Default)]
pub(super) struct Requests {
    /// By slot of the engine. No lane: the request is complete before the window or arrives behind it.
    under_way: Vec<Option<(Arrived, Option<u32>)>>,
    lanes: Lanes,
    has_begun: bool,
}

impl Requests {
    pub(super) fn arrived(&mut self, request: u32, arrived: &Arrived, window: Window) {
        if arrived.arrival_ns >= window.from_ns {
            self.begin_window();
        }
        let is_wanted = self.has_begun && arrived.arrival_ns < window.to_ns;
        let lane = is_wanted.then(|| self.lanes.take(arrived.arrival_ns));
        let slot = request as usize;
        self.under_way.resize(self.under_way.len().max(slot + 1), None);
        self.under_way[slot] = Some((*arrived, lane));
    }

    pub(super) fn completed(
        &mut self,
        arrived: &Arrived,
        done: &Completed<'_>,
        window: Window,
        to: &mut Packets,
    ) {
        let end_ns = done.arrival_ns + done.total_ns;
        if window.holds(done.arrival_ns, end_ns) {
            self.begin_window();
        }
        let request = self.under_way.get_mut(done.request as usize).and_then(Option::take);
        let Some((_, Some(lane))) = request else { return };
        self.lanes.give_back(lane, end_ns);
        if window.holds(done.arrival_ns, end_ns) {
            write(arrived, done, Track::requests(lane), to);
        }
    }

    /// Only now it is known which requests reach into the window.
    fn begin_window(&mut self) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let mut waiting: Vec<_> = self.under_way.iter_mut().flatten().collect();
        waiting.sort_by_key(|(arrived, _)| (arrived.arrival_ns, arrived.number));
        for (arrived, lane) in waiting {
            *lane = Some(self.lanes.take(arrived.arrival_ns));
        }
    }
}

pub(super) fn trim(arrived: &Arrived, to: &mut Packets) {
    let args = args(arrived);
    to.instant(Track::TRIMS, arrived.arrival_ns, &label(arrived, &args));
}

fn write(arrived: &Arrived, done: &Completed<'_>, track: Track, to: &mut Packets) {
    let mut args = args(arrived);
    if let Some(server) = done.server {
        args.push(("chip", Value::Number(u64::from(server.chip.number()))));
        args.push(("redirected", Value::Flag(server.redirected)));
    }
    to.begin(track, done.arrival_ns, &label(arrived, &args));
    let mut at_ns = done.arrival_ns;
    for (charge, ns) in parts(arrived.kind, done.ledger) {
        let category = if (charge as usize) < Charge::WAITS { "wait" } else { "service" };
        let part = Label { name: charge.name(), category, args: &[], request: None };
        to.slice(track, at_ns, at_ns + ns, &part);
        at_ns += ns;
    }
    to.end(track, at_ns);
}

fn parts(kind: HostOp, ledger: &Ledger) -> impl Iterator<Item = (Charge, u64)> {
    let order = if kind == HostOp::Read { READ_ORDER } else { WRITE_ORDER };
    order.into_iter().map(|charge| (charge, ledger.of(charge))).filter(|&(_, ns)| ns > 0)
}

fn args(arrived: &Arrived) -> Vec<(&'static str, Value)> {
    let mut args = vec![
        ("request", Value::Number(arrived.number)),
        ("pages", Value::Number(u64::from(arrived.pages))),
        ("time_ns", Value::Time(arrived.time_ns)),
    ];
    args.extend(arrived.first_page.map(|page| ("lpn", Value::Number(page))));
    args
}

fn label<'a>(arrived: &Arrived, args: &'a [(&'static str, Value)]) -> Label<'a> {
    Label { name: arrived.kind.name(), category: "request", args, request: Some(arrived.number) }
}

//! A timeline of a run, in the format of Perfetto (<https://perfetto.dev>). Packets are written while the run goes on,
//! so memory does not grow with it. A slice that overlaps the window is written whole.

mod file;
mod flash;
mod lanes;
mod packets;
mod requests;
mod wire;

use std::path::PathBuf;

use crate::config::{Concurrency, Config};
use crate::engine::{Arrived, Command, Completed, Hashing};
use crate::error::{ConfigError, SimError};
use file::TimelineFile;
use flash::Flash;
use flashtwin_ftl::Unit;
use flashtwin_nand::{Block, Geometry};
use lanes::Lanes;
use packets::{Group, Label, Packets, Track, Value};
use requests::Requests;

/// Where the timeline of a run goes, and which part of it. Times are the drive's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineTo {
    /// The file. It is there under its name only when it is whole.
    pub path: PathBuf,
    /// Events under way at this time or later are included.
    pub from_ns: u64,
    /// Events that begin before this time are included; `u64::MAX`: to the end of the run.
    pub to_ns: u64,
}

impl TimelineTo {
    fn check(&self) -> Result<(), ConfigError> {
        if self.from_ns < self.to_ns {
            return Ok(());
        }
        Err(ConfigError(format!(
            "{}: the timeline is to begin at {} s and to end at {} s: let it end after it begins",
            self.path.display(),
            seconds(self.from_ns),
            seconds(self.to_ns)
        )))
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[derive(Debug, Clone, Copy)]
struct Window {
    from_ns: u64,
    to_ns: u64,
}

impl Window {
    /// Events of zero length count from the window's first nanosecond on.
    fn holds(self, begin_ns: u64, end_ns: u64) -> bool {
        begin_ns < self.to_ns && (end_ns > self.from_ns || begin_ns >= self.from_ns)
    }
}

#[derive(Debug)]
pub(crate) struct Timeline {
    to: TimelineTo,
    window: Window,
    packets: Packets,
    requests: Requests,
    flash: Flash,
    hash_lanes: Lanes,
}

impl Timeline {
    pub(crate) fn new(to: &TimelineTo, config: &Config, geometry: &Geometry) -> Result<Self, SimError> {
        to.check()?;
        let unit = match config.engine.concurrency {
            Concurrency::Chip => "chip",
            Concurrency::Die => "die",
            Concurrency::Plane => "plane",
        };
        let window = Window { from_ns: to.from_ns, to_ns: to.to_ns };
        Ok(Self {
            to: to.clone(),
            window,
            packets: Packets::new(TimelineFile::new(&to.path)?, unit),
            requests: Requests::default(),
            flash: Flash::new(geometry, window),
            hash_lanes: Lanes::default(),
        })
    }

    #[cold]
    pub(crate) fn arrived(&mut self, request: u32, arrived: &Arrived) {
        self.requests.arrived(request, arrived, self.window);
    }

    #[cold]
    pub(crate) fn trimmed(&mut self, arrived: &Arrived) {
        if self.window.holds(arrived.arrival_ns, arrived.arrival_ns) {
            requests::trim(arrived, &mut self.packets);
        }
    }

    pub(crate) fn completed(&mut self, arrived: &Arrived, done: &Completed<'_>) {
        self.requests.completed(arrived, done, self.window, &mut self.packets);
    }

    #[cold]
    pub(crate) fn command_begins(&mut self, command: &Command<'_>, request: Option<u64>) {
        self.flash.begins(command, request, &mut self.packets);
    }

    #[cold]
    pub(crate) fn data_come_out(&mut self, unit: Unit, channel_ns: (u64, u64)) {
        self.flash.data_come_out(unit.index(), channel_ns, &mut self.packets);
    }

    #[cold]
    pub(crate) fn command_stops(&mut self, unit: Unit, at_ns: u64) {
        self.flash.stops(unit.index(), at_ns);
    }

    #[cold]
    pub(crate) fn command_goes_on(&mut self, unit: Unit, span_ns: (u64, u64)) {
        self.flash.goes_on(unit.index(), span_ns, &mut self.packets);
    }

    #[cold]
    pub(crate) fn erased(&mut self, block: Block, now_ns: u64) {
        self.flash.is_erased(block, now_ns, &mut self.packets);
    }

    #[cold]
    pub(crate) fn hashing(&mut self, hashing: &Hashing, request: Option<u64>) {
        let Hashing { begin_ns, end_ns, .. } = *hashing;
        let number = self.hash_lanes.take_for(begin_ns, end_ns);
        if self.window.holds(begin_ns, end_ns) {
            let arg = request.map(|request| ("request", Value::Number(request)));
            let label = Label { name: "hash", category: "hash", args: arg.as_slice(), request };
            self.packets.slice(Track { group: Group::HashUnit, number }, begin_ns, end_ns, &label);
        }
    }

    /// A full disk is no reason to replay for hours.
    pub(crate) fn check(&mut self) -> Result<(), SimError> {
        self.packets.check()
    }

    /// The run is over: the file gets its name. An error if the run ended before the window.
    pub(crate) fn finish(mut self, end_ns: u64) -> Result<(), SimError> {
        if self.window.from_ns > 0 && self.window.from_ns >= end_ns {
            return Err(ConfigError(format!(
                "{}: the timeline is to begin at {} s, and the run ended at {} s: let it begin before that",
                self.to.path.display(),
                seconds(self.window.from_ns),
                seconds(end_ns)
            ))
            .into());
        }
        self.flash.finish(&mut self.packets);
        self.packets.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_in_the_window_if_a_part_of_it_is() {
        let window = Window { from_ns: 10, to_ns: 20 };
        let held = [(0, 10), (0, 11), (10, 10), (19, 30), (20, 20), (20, 25), (0, 99)];
        let held = held.map(|(begin, end)| window.holds(begin, end));
        assert_eq!(held, [false, true, true, true, false, false, true]);
    }
}

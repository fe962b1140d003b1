//! Perfetto's packets: tracks, slices, and names that are written once and referred to by number.
//!
//! Names and numbers are those of `perfetto/protos/perfetto/trace/`. Slices of a track are written in the order in
//! which they begin. The order of tracks does not matter, because readers sort by time.

use std::collections::BTreeSet;

use super::file::TimelineFile;
use super::wire::Message;
use crate::error::SimError;

/// `SEQ_INCREMENTAL_STATE_CLEARED`: names are numbered from here on.
const STATE_CLEARED: u64 = 1;
/// `SEQ_NEEDS_INCREMENTAL_STATE`: the packet refers to such numbers.
const NEEDS_STATE: u64 = 2;
/// `BUILTIN_CLOCK_BOOTTIME`, nanoseconds: readers take it for a trace's own clock, so it needs no snapshot.
const BOOT_TIME: u64 = 6;
/// `ChildTracksOrdering.EXPLICIT`.
const BY_RANK: u64 = 3;
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Group {
    Host,
    HashUnit,
    Collection,
    Channels,
    Units,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Track {
    pub(super) group: Group,
    pub(super) number: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Label<'a> {
    pub(super) name: &'static str,
    pub(super) category: &'static str,
    pub(super) args: &'a [(&'static str, Value)],
    /// The request whose events are joined by arrows.
    pub(super) request: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Number(u64),
    Time(i64),
    Flag(bool),
    Text(&'static str),
}

#[derive(Debug, Default)]
struct Interned(Vec<&'static str>);

impl Interned {
    /// The number of a name. A new one is entered into `fresh`, a field of `InternedData`.
    fn number(&mut self, name: &'static str, field: u64, fresh: &mut Message) -> u64 {
        if let Some(at) = self.0.iter().position(|&known| known == name) {
            return at as u64 + 1;
        }
        self.0.push(name);
        let number = self.0.len() as u64;
        fresh.message(field, |entry| {
            entry.number(1, number);
            entry.text(2, name);
        });
        number
    }
}

#[derive(Debug, Default)]
struct Names {
    categories: Interned,
    events: Interned,
    args: Interned,
    texts: Interned,
}

#[derive(Debug)]
pub(super) struct Packets {
    to: TimelineFile,
    names: Names,
    unit: &'static str,
    described: BTreeSet<u64>,
}

impl Packets {
    pub(super) fn new(to: TimelineFile, unit: &'static str) -> Self {
        let mut packets = Self { to, names: Names::default(), unit, described: BTreeSet::new() };
        packets.packet(STATE_CLEARED, |packet| {
            packet.number(87, 1); // first on sequence
            packet.message(59, |defaults| defaults.number(58, BOOT_TIME)); // clock id
        });
        packets
    }

    pub(super) fn slice(&mut self, track: Track, begin_ns: u64, end_ns: u64, label: &Label<'_>) {
        self.begin(track, begin_ns, label);
        self.end(track, end_ns);
    }

    pub(super) fn begin(&mut self, track: Track, at_ns: u64, label: &Label<'_>) {
        self.event(track, BEGIN, at_ns, Some(label));
    }

    /// The slice ends that began last on this track.
    pub(super) fn end(&mut self, track: Track, at_ns: u64) {
        self.event(track, END, at_ns, None);
    }

    pub(super) fn instant(&mut self, track: Track, at_ns: u64, label: &Label<'_>) {
        self.event(track, INSTANT, at_ns, Some(label));
    }

    pub(super) fn unit(&self) -> &'static str {
        self.unit
    }

    pub(super) fn check(&mut self) -> Result<(), SimError> {
        self.to.check()
    }

    pub(super) fn finish(self) -> Result<(), SimError> {
        self.to.finish()
    }

    fn event(&mut self, track: Track, kind: u64, at_ns: u64, label: Option<&Label<'_>>) {
        self.describe(track);
        let (mut event, mut fresh) = (Message::default(), Message::default());
        event.number(9, kind); // type
        event.number(11, track.uuid()); // track
        if let Some(label) = label {
            self.names.write(label, &mut event, &mut fresh);
        }
        self.packet(NEEDS_STATE, |packet| {
            packet.number(8, at_ns); // timestamp
            packet.message_if_any(12, &fresh); // interned data
            packet.message_if_any(11, &event); // track event
        });
    }

    fn packet(&mut self, flags: u64, write: impl FnOnce(&mut Message)) {
        let mut trace = Message::default();
        trace.message(1, |packet| {
            packet.number(10, 1); // sequence id
            packet.number(13, flags); // sequence flags
            write(packet);
        });
        self.to.write(trace.as_bytes());
    }

    fn describe(&mut self, track: Track) {
        let group = track.group;
        if self.described.insert(group.uuid()) {
            let name = group.name(self.unit);
            self.descriptor(group.uuid(), |it| {
                it.number(11, BY_RANK); // child ordering
                it.message(3, |process| {
                    process.number(1, group.uuid()); // process id
                    process.text(6, &name); // process name
                });
            });
        }
        if self.described.insert(track.uuid()) {
            let name = track.name(self.unit);
            self.descriptor(track.uuid(), |it| {
                it.text(2, &name); // name
                it.number(5, group.uuid()); // parent
                it.number(12, u64::from(track.number)); // rank
            });
        }
    }

    fn descriptor(&mut self, uuid: u64, write: impl FnOnce(&mut Message)) {
        self.packet(NEEDS_STATE, |packet| {
            packet.message(60, |descriptor| {
                descriptor.number(1, uuid); // uuid
                write(descriptor);
            });
        });
    }
}

impl Names {
    /// New names go into `fresh`, a message `InternedData`.
    fn write(&mut self, label: &Label<'_>, event: &mut Message, fresh: &mut Message) {
        event.number(3, self.categories.number(label.category, 1, fresh)); // category
        event.number(10, self.events.number(label.name, 2, fresh)); // name
        for &(name, value) in label.args {
            let name = self.args.number(name, 3, fresh);
            let text = match value {
                Value::Text(text) => self.texts.number(text, 29, fresh),
                _ => 0,
            };
            event.message(4, |it| {
                it.number(1, name); // name
                match value {
                    Value::Number(number) => it.number(3, number),        // uint
                    Value::Time(time_ns) => it.number(4, time_ns as u64), // int
                    Value::Flag(flag) => it.number(2, u64::from(flag)),   // bool
                    Value::Text(_) => it.number(17, text),                // text
                }
            });
        }
        if let Some(request) = label.request {
            // 0 is no name of an arrow.
            event.fixed(47, request + 1); // flow
        }
    }
}

impl Group {
    fn uuid(self) -> u64 {
        self as u64 + 1
    }

    fn name(self, unit: &str) -> String {
        match self {
            Self::Host => "host".into(),
            Self::HashUnit => "hash unit".into(),
            Self::Collection => "garbage collection".into(),
            Self::Channels => "channels".into(),
            Self::Units => format!("{unit}s"),
        }
    }
}

impl Track {
    /// Trims, which take no time; lanes of requests have numbers from 1.
    pub(super) const TRIMS: Self = Self { group: Group::Host, number: 0 };

    pub(super) fn requests(lane: u32) -> Self {
        Self { group: Group::Host, number: lane + 1 }
    }

    fn uuid(self) -> u64 {
        u64::from(self.number + 1) * 8 + self.group.uuid()
    }

    fn name(self, unit: &str) -> String {
        let number = self.number;
        match self.group {
            Group::Host if number == Self::TRIMS.number => "trims".into(),
            Group::Host => format!("requests {number}"),
            Group::HashUnit => format!("lane {number}"),
            Group::Collection => format!("blocks {number}"),
            Group::Channels => format!("channel {number}"),
            Group::Units => format!("{unit} {number}"),
        }
    }
}

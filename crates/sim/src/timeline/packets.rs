//! Perfetto's packets: tracks, slices, and names that are written once and referred to by number.
//!
//! `perfetto/protos/perfetto/trace/`: a `Trace` is a sequence of `TracePacket`s. Slices of a track are written in the
//! order in which they begin. The order of the tracks does not matter, because readers sort by time.

use std::collections::BTreeSet;

use super::file::TimelineFile;
use super::wire::Message;
use crate::error::SimError;

/// Numbers of the fields, by message.
mod field {
    pub(super) mod trace {
        pub(crate) const PACKET: u64 = 1;
    }
    pub(super) mod packet {
        pub(crate) const TIMESTAMP: u64 = 8;
        pub(crate) const SEQUENCE_ID: u64 = 10;
        pub(crate) const TRACK_EVENT: u64 = 11;
        pub(crate) const INTERNED_DATA: u64 = 12;
        pub(crate) const SEQUENCE_FLAGS: u64 = 13;
        pub(crate) const DEFAULTS: u64 = 59;
        pub(crate) const TRACK_DESCRIPTOR: u64 = 60;
        pub(crate) const FIRST_ON_SEQUENCE: u64 = 87;
    }
    pub(super) mod defaults {
        pub(crate) const CLOCK_ID: u64 = 58;
    }
    pub(super) mod event {
        pub(crate) const CATEGORY: u64 = 3;
        pub(crate) const ANNOTATION: u64 = 4;
        pub(crate) const TYPE: u64 = 9;
        pub(crate) const NAME: u64 = 10;
        pub(crate) const TRACK: u64 = 11;
        pub(crate) const FLOW: u64 = 47;
    }
    pub(super) mod annotation {
        pub(crate) const NAME: u64 = 1;
        pub(crate) const BOOL: u64 = 2;
        pub(crate) const UINT: u64 = 3;
        pub(crate) const INT: u64 = 4;
        pub(crate) const TEXT: u64 = 17;
    }
    pub(super) mod track {
        pub(crate) const UUID: u64 = 1;
        pub(crate) const NAME: u64 = 2;
        pub(crate) const PROCESS: u64 = 3;
        pub(crate) const PARENT: u64 = 5;
        pub(crate) const CHILD_ORDERING: u64 = 11;
        pub(crate) const RANK: u64 = 12;
        pub(crate) const PROCESS_ID: u64 = 1;
        pub(crate) const PROCESS_NAME: u64 = 6;
    }
}

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
            packet.number(field::packet::FIRST_ON_SEQUENCE, 1);
            packet.message(field::packet::DEFAULTS, |it| it.number(field::defaults::CLOCK_ID, BOOT_TIME));
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
        event.number(field::event::TYPE, kind);
        event.number(field::event::TRACK, track.uuid());
        if let Some(label) = label {
            self.names.write(label, &mut event, &mut fresh);
        }
        self.packet(NEEDS_STATE, |packet| {
            packet.number(field::packet::TIMESTAMP, at_ns);
            packet.message_if_any(field::packet::INTERNED_DATA, &fresh);
            packet.message_if_any(field::packet::TRACK_EVENT, &event);
        });
    }

    fn packet(&mut self, flags: u64, write: impl FnOnce(&mut Message)) {
        let mut trace = Message::default();
        trace.message(field::trace::PACKET, |packet| {
            packet.number(field::packet::SEQUENCE_ID, 1);
            packet.number(field::packet::SEQUENCE_FLAGS, flags);
            write(packet);
        });
        self.to.write(trace.as_bytes());
    }

    fn describe(&mut self, track: Track) {
        let group = track.group;
        if self.described.insert(group.uuid()) {
            let name = group.name(self.unit);
            self.descriptor(group.uuid(), |it| {
                it.number(field::track::CHILD_ORDERING, BY_RANK);
                it.message(field::track::PROCESS, |process| {
                    process.number(field::track::PROCESS_ID, group.uuid());
                    process.text(field::track::PROCESS_NAME, &name);
                });
            });
        }
        if self.described.insert(track.uuid()) {
            let name = track.name(self.unit);
            self.descriptor(track.uuid(), |it| {
                it.text(field::track::NAME, &name);
                it.number(field::track::PARENT, group.uuid());
                it.number(field::track::RANK, u64::from(track.number));
            });
        }
    }

    fn descriptor(&mut self, uuid: u64, write: impl FnOnce(&mut Message)) {
        self.packet(NEEDS_STATE, |packet| {
            packet.message(field::packet::TRACK_DESCRIPTOR, |descriptor| {
                descriptor.number(field::track::UUID, uuid);
                write(descriptor);
            });
        });
    }
}

impl Names {
    /// New names go into `fresh`, a message `InternedData`.
    fn write(&mut self, label: &Label<'_>, event: &mut Message, fresh: &mut Message) {
        event.number(field::event::CATEGORY, self.categories.number(label.category, 1, fresh));
        event.number(field::event::NAME, self.events.number(label.name, 2, fresh));
        for &(name, value) in label.args {
            let name = self.args.number(name, 3, fresh);
            let text = match value {
                Value::Text(text) => self.texts.number(text, 29, fresh),
                _ => 0,
            };
            event.message(field::event::ANNOTATION, |it| {
                it.number(field::annotation::NAME, name);
                match value {
                    Value::Number(number) => it.number(field::annotation::UINT, number),
                    Value::Time(time_ns) => it.signed(field::annotation::INT, time_ns),
                    Value::Flag(flag) => it.number(field::annotation::BOOL, u64::from(flag)),
                    Value::Text(_) => it.number(field::annotation::TEXT, text),
                }
            });
        }
        if let Some(request) = label.request {
            // 0 is no name of an arrow.
            event.fixed(field::event::FLOW, request + 1);
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

//! Units of the flash, channels, and the blocks that are collected.

use std::collections::BTreeMap;

use flashtwin_ftl::{Cause, OpKind};
use flashtwin_nand::{Block, Channel, Geometry, Ppn};

use super::Window;
use super::lanes::Lanes;
use super::packets::{Group, Label, Packets, Track, Value};
use crate::engine::{Charge, Command};

type Stage = (&'static str, u64, u64);

/// The slice is written when the unit begins the next command, because its end is certain only then.
#[derive(Debug, Clone)]
struct Running {
    name: &'static str,
    cause: Cause,
    first: Ppn,
    pages: u32,
    request: Option<u64>,
    begin_ns: u64,
    end_ns: u64,
    stages: Vec<Stage>,
    is_erase: bool,
    resumed: bool,
    suspended: bool,
}

#[derive(Debug, Default, Clone)]
struct UnitLine {
    channel: u32,
    running: Option<Running>,
    suspended: Option<Running>,
}

#[derive(Debug)]
struct Victim {
    begin_ns: u64,
    cause: Cause,
    moved: u64,
    lane: u32,
}

#[derive(Debug)]
pub(super) struct Flash {
    geometry: Geometry,
    window: Window,
    units: Vec<UnitLine>,
    victims: BTreeMap<Block, Victim>,
    lanes: Lanes,
}

impl Flash {
    pub(super) fn new(geometry: &Geometry, window: Window) -> Self {
        Self {
            geometry: geometry.clone(),
            window,
            units: Vec::new(),
            victims: BTreeMap::new(),
            lanes: Lanes::default(),
        }
    }

    pub(super) fn begins(&mut self, command: &Command<'_>, request: Option<u64>, to: &mut Packets) {
        let unit = command.unit.index();
        self.close(unit, to);
        self.note_victims(command);
        let Command { channel, begin_ns, end_ns, .. } = *command;
        self.units[unit].channel = channel.number();
        self.units[unit].running = Some(Running {
            name: command.name,
            cause: command.cause,
            first: command.pages[0],
            pages: command.pages.len() as u32,
            request,
            begin_ns,
            end_ns,
            stages: stages(command),
            is_erase: command.kind == OpKind::Erase,
            resumed: false,
            suspended: false,
        });
        let is_program = command.kind == OpKind::Program;
        self.carries(channel, unit, if is_program { "data in" } else { "command" }, command.channel_ns, to);
    }

    pub(super) fn data_come_out(&mut self, unit: usize, (begin_ns, end_ns): (u64, u64), to: &mut Packets) {
        let Some(running) = &mut self.units[unit].running else { return };
        running.stages.push(("channel wait", running.end_ns, begin_ns));
        running.stages.push(("data out", begin_ns, end_ns));
        running.end_ns = end_ns;
        let channel = Channel::new(self.units[unit].channel);
        self.carries(channel, unit, "data out", (begin_ns, end_ns), to);
    }

    pub(super) fn stops(&mut self, unit: usize, at_ns: u64) {
        let line = &mut self.units[unit];
        let Some(running) = &mut line.running else { return };
        line.suspended = Some(running.clone());
        (running.end_ns, running.suspended) = (at_ns, true);
        if let Some((_, _, end_ns)) = running.stages.last_mut() {
            *end_ns = at_ns;
        }
    }

    pub(super) fn goes_on(&mut self, unit: usize, (begin_ns, end_ns): (u64, u64), to: &mut Packets) {
        self.close(unit, to);
        let line = &mut self.units[unit];
        if let Some(running) = line.suspended.take() {
            let last = running.stages.last().map(|&(name, _, _)| (name, begin_ns, end_ns));
            let stages = last.into_iter().collect();
            line.running = Some(Running { begin_ns, end_ns, stages, resumed: true, ..running });
        }
    }

    pub(super) fn finish(&mut self, to: &mut Packets) {
        for unit in 0..self.units.len() {
            self.close(unit, to);
        }
    }

    fn close(&mut self, unit: usize, to: &mut Packets) {
        if unit >= self.units.len() {
            self.units.resize(unit + 1, UnitLine::default());
        }
        let Some(running) = self.units[unit].running.take() else { return };
        if self.window.holds(running.begin_ns, running.end_ns) {
            let track = Track { group: Group::Units, number: unit as u32 };
            let args = self.args(&running);
            let Running { name, request, .. } = running;
            to.begin(track, running.begin_ns, &Label { name, category: "flash", args: &args, request });
            for &(name, begin_ns, end_ns) in running.stages.iter().filter(|(_, begin, end)| begin < end) {
                let label = Label { name, category: "stage", args: &[], request: None };
                to.slice(track, begin_ns, end_ns, &label);
            }
            to.end(track, running.end_ns);
        }
    }

    fn args(&self, running: &Running) -> Vec<(&'static str, Value)> {
        let mut args = self.place(self.geometry.block_index(running.first));
        if !running.is_erase {
            args.push(("page", number(self.geometry.page_in_block(running.first))));
        }
        if running.pages > 1 {
            args.push(("operations", number(running.pages)));
        }
        if running.cause != Cause::Host {
            args.push(("cause", Value::Text(cause(running.cause))));
        }
        args.extend(running.request.map(|request| ("request", Value::Number(request))));
        let marks = [("resumed", running.resumed), ("suspended", running.suspended)];
        args.extend(marks.iter().filter(|(_, is)| *is).map(|&(mark, is)| (mark, Value::Flag(is))));
        args
    }

    fn place(&self, block: Block) -> Vec<(&'static str, Value)> {
        let plane = self.geometry.plane_of_block(block).number();
        vec![("plane", number(plane)), ("block", number(self.geometry.block_in_plane(block)))]
    }

    fn carries(&self, channel: Channel, unit: usize, name: &'static str, span: (u64, u64), to: &mut Packets) {
        let (begin_ns, end_ns) = span;
        if begin_ns < end_ns && self.window.holds(begin_ns, end_ns) {
            let track = Track { group: Group::Channels, number: channel.number() };
            let args = [(to.unit(), Value::Number(unit as u64))];
            let label = Label { name, category: "channel", args: &args, request: None };
            to.slice(track, begin_ns, end_ns, &label);
        }
    }

    /// Collection of a block begins with its first read, or with its erase where nothing in it is valid.
    fn note_victims(&mut self, command: &Command<'_>) {
        let moves = u64::from(command.holder == Charge::GcRead);
        if moves == 0 && command.kind != OpKind::Erase {
            return;
        }
        for &ppn in command.pages {
            let (begin_ns, lanes) = (command.begin_ns, &mut self.lanes);
            let block = self.geometry.block_index(ppn);
            let new = || Victim { begin_ns, cause: command.cause, moved: 0, lane: lanes.take(begin_ns) };
            self.victims.entry(block).or_insert_with(new).moved += moves;
        }
    }

    /// Collection ends with the erase. Where neither a read nor the erase took time, there is nothing to show.
    pub(super) fn is_erased(&mut self, block: Block, end_ns: u64, to: &mut Packets) {
        let Some(Victim { begin_ns, cause: why, moved, lane }) = self.victims.remove(&block) else { return };
        self.lanes.give_back(lane, end_ns);
        if self.window.holds(begin_ns, end_ns) {
            let track = Track { group: Group::Collection, number: lane };
            let mut args = self.place(block);
            args.extend([("pages_read", Value::Number(moved)), ("cause", Value::Text(cause(why)))]);
            let label = Label { name: "collection", category: "collection", args: &args, request: None };
            to.slice(track, begin_ns, end_ns, &label);
        }
    }
}

fn stages(command: &Command<'_>) -> Vec<Stage> {
    let Command { begin_ns, end_ns, channel_ns: (data_ns, sent_ns), .. } = *command;
    let array_ns = end_ns - command.array_ns;
    match command.kind {
        OpKind::Read => vec![("command", begin_ns, array_ns), ("sensing", array_ns, end_ns)],
        OpKind::Erase => vec![("command", begin_ns, array_ns), ("erasing", array_ns, end_ns)],
        OpKind::Program => vec![
            ("channel wait", begin_ns, data_ns),
            ("data in", data_ns, sent_ns),
            ("programming", array_ns, end_ns),
        ],
    }
}

fn number(number: u32) -> Value {
    Value::Number(u64::from(number))
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Host => "host",
        Cause::Unique => "unique",
        Cause::MissedDuplicate => "missed_duplicate",
        Cause::Reborn => "reborn",
        Cause::ReadModifyWrite => "read_modify_write",
        Cause::Gc => "gc",
        Cause::Replica => "replica",
        Cause::Metadata => "metadata",
        Cause::Verify => "verify",
        Cause::Fingerprint => "fingerprint",
        Cause::WearLevelling => "wear_levelling",
        Cause::Padding => "padding",
    }
}

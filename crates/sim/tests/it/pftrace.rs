//! Reads a timeline back, with a decoder of its own: what Perfetto would show of it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slice {
    pub(crate) group: String,
    pub(crate) track: String,
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) depth: usize,
    pub(crate) name: String,
    pub(crate) category: String,
    pub(crate) args: BTreeMap<String, String>,
    pub(crate) flow: Option<u64>,
}

impl Slice {
    pub(crate) fn ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }

    pub(crate) fn short(&self) -> (&str, &str, u64, u64) {
        (&self.track, &self.name, self.begin_ns, self.end_ns)
    }

    pub(crate) fn is_command(&self, name: &str) -> bool {
        self.category == "flash" && self.name == name
    }

    pub(crate) fn number(&self, arg: &str) -> u64 {
        self.args[arg].parse().unwrap()
    }
}

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

struct Message<'a>(Vec<(u64, Field<'a>)>);

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

fn taken<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (head, rest) = bytes.split_at(count);
    *bytes = rest;
    head
}

impl<'a> Message<'a> {
    fn of(mut bytes: &'a [u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let field = match key & 7 {
                0 => Field::Number(varint(&mut bytes)),
                1 => Field::Number(u64::from_le_bytes(taken(&mut bytes, 8).try_into().unwrap())),
                2 => {
                    let count = varint(&mut bytes) as usize;
                    Field::Bytes(taken(&mut bytes, count))
                }
                kind => panic!("wire type {kind}"),
            };
            fields.push((key >> 3, field));
        }
        Self(fields)
    }

    fn number(&self, field: u64) -> Option<u64> {
        self.0.iter().find_map(|(at, it)| match it {
            Field::Number(number) if *at == field => Some(*number),
            _ => None,
        })
    }

    fn all(&self, field: u64) -> impl Iterator<Item = Message<'a>> {
        self.bytes(field).map(Message::of)
    }

    fn bytes(&self, field: u64) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter_map(move |(at, it)| match it {
            Field::Bytes(bytes) if *at == field => Some(*bytes),
            _ => None,
        })
    }

    fn text(&self, field: u64) -> String {
        self.bytes(field).next().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).unwrap_or_default()
    }
}

#[derive(Default)]
struct Names(HashMap<(u64, u64), String>);

impl Names {
    fn learn(&mut self, data: &Message<'_>) {
        for field in [1, 2, 3, 29] {
            for entry in data.all(field) {
                let known = self.0.insert((field, entry.number(1).unwrap()), entry.text(2));
                assert_eq!(known, None, "a number is given twice");
            }
        }
    }

    fn args(&self, event: &Message<'_>) -> BTreeMap<String, String> {
        let value = |it: &Message<'_>| {
            let flag = it.number(2).map(|flag| (flag == 1).to_string());
            let number = it.number(3).map(|number| number.to_string());
            let time = it.number(4).map(|time| (time as i64).to_string());
            let text = it.number(17).map(|number| self.0[&(29, number)].clone());
            flag.or(number).or(time).or(text).unwrap()
        };
        event.all(4).map(|it| (self.0[&(3, it.number(1).unwrap())].clone(), value(&it))).collect()
    }
}

struct Event {
    at_ns: u64,
    track: u64,
    kind: u64,
    slice: Option<Slice>,
}

/// In the order in which they end. Checks that they nest, by time and as they stand.
pub(crate) fn read(path: &Path) -> Vec<Slice> {
    let bytes = std::fs::read(path).unwrap();
    let (mut names, mut tracks, mut events) = (Names::default(), HashMap::new(), Vec::new());
    for (at, packet) in Message::of(&bytes).all(1).enumerate() {
        assert_eq!(packet.number(10), Some(1), "one sequence");
        assert_eq!(packet.number(13), Some(if at == 0 { 1 } else { 2 }));
        packet.all(12).for_each(|data| names.learn(&data));
        for track in packet.all(60) {
            let process = track.all(3).next().map(|process| process.text(6));
            let of = (track.number(5), process.unwrap_or_else(|| track.text(2)));
            assert_eq!(tracks.insert(track.number(1).unwrap(), of), None, "a track is described twice");
        }
        events.extend(packet.all(11).map(|event| read_event(&packet, &event, &names, &tracks)));
    }
    let in_file: Vec<usize> = (0..events.len()).collect();
    let mut by_time = in_file.clone();
    by_time.sort_by_key(|&at| events[at].at_ns);
    let mut slices = paired(&events, &in_file);
    let mut again = paired(&events, &by_time);
    slices.sort();
    again.sort();
    assert!(slices == again, "slices of a track overlap");
    slices
}

type Tracks = HashMap<u64, (Option<u64>, String)>;

fn read_event(packet: &Message<'_>, event: &Message<'_>, names: &Names, tracks: &Tracks) -> Event {
    let (at_ns, track, kind) =
        (packet.number(8).unwrap(), event.number(11).unwrap(), event.number(9).unwrap());
    let (group, called) = &tracks[&track];
    let slice = event.number(10).map(|name| Slice {
        group: tracks[&group.unwrap()].1.clone(),
        track: called.clone(),
        begin_ns: at_ns,
        end_ns: at_ns,
        depth: 0,
        name: names.0[&(2, name)].clone(),
        category: names.0[&(1, event.number(3).unwrap())].clone(),
        args: names.args(event),
        flow: event.number(47),
    });
    Event { at_ns, track, kind, slice }
}

fn paired(events: &[Event], order: &[usize]) -> Vec<Slice> {
    let mut open: HashMap<u64, Vec<Slice>> = HashMap::new();
    let mut slices = Vec::new();
    for &at in order {
        let event = &events[at];
        let stack = open.entry(event.track).or_default();
        match (event.kind, &event.slice) {
            (1, Some(slice)) => stack.push(Slice { depth: stack.len(), ..slice.clone() }),
            (2, None) => {
                let slice = stack.pop().expect("something ends that has begun");
                assert!(slice.begin_ns <= event.at_ns, "{slice:?}");
                slices.push(Slice { end_ns: event.at_ns, ..slice });
            }
            (3, Some(instant)) => slices.push(instant.clone()),
            (kind, slice) => panic!("an event of type {kind}: {slice:?}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "everything ends");
    slices
}

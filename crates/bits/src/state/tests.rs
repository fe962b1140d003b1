use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{Loader, Saver, State};
use crate::huge_slice::HugeSlice;
use crate::ids::By;
use crate::mixing::SplitMix64;
use crate::slab::Slab;

crate::ids! {
    struct Seat;
}

#[derive(Default)]
struct Guest {
    age: u32,
    seats: [Seat2; 2],
}

#[derive(Default)]
struct Seat2 {
    taken: bool,
}

crate::state!(value Guest { age, seats });
crate::state!(value Seat2 { taken });

struct House {
    rows: By<Seat, HugeSlice<u64>>,
    names: Vec<Vec<Seat>>,
    guests: Slab<Guest>,
    queue: VecDeque<(u32, u64)>,
    order: BinaryHeap<Reverse<(u32, u32)>>,
    last: Option<Guest>,
    random: SplitMix64,
    number: u32,
}

crate::state!(House { rows, names, guests, queue, order, last, random } kept { number });

fn house(rows: usize) -> House {
    House {
        rows: By::new(HugeSlice::zeroed(rows)),
        names: vec![Vec::new(); 3],
        guests: Slab::new(),
        queue: VecDeque::new(),
        order: BinaryHeap::new(),
        last: None,
        random: SplitMix64(1),
        number: 7,
    }
}

fn lived_in(rows: usize) -> House {
    let mut house = house(rows);
    for turn in 0..1000u32 {
        let number = house.random.next();
        house.rows[Seat::new(number as u32 % rows as u32)] = number;
        house.names[number as usize % 3].push(Seat::new(turn));
        house.queue.push_back((turn, number));
        house.order.push(Reverse((number as u32, turn)));
        house.guests.insert(Guest { age: turn, seats: [Seat2 { taken: true }, Seat2 { taken: false }] });
        if turn % 3 == 0 {
            house.queue.pop_front();
            house.order.pop();
            house.guests.free(turn / 2);
        }
    }
    house.last = Some(Guest::default());
    house
}

fn saved(house: &House) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut to = Saver::new(&mut bytes);
    house.save(&mut to).unwrap();
    to.finish().unwrap();
    bytes
}

fn load(bytes: &[u8], into: &mut House) -> std::io::Result<()> {
    let mut bytes = bytes;
    let mut from = Loader::new(&mut bytes);
    into.load(&mut from)?;
    from.finish()
}

#[test]
fn what_is_read_back_is_what_was_written_and_grows_alike() {
    let one = lived_in(100_000);
    let bytes = saved(&one);
    let mut two = house(100_000);
    load(&bytes, &mut two).unwrap();
    assert_eq!(saved(&two), bytes);
    assert_eq!(two.number, 7);
    assert_eq!(two.names[1].capacity(), one.names[1].capacity());
    assert_eq!(two.guests.free_capacity(), one.guests.free_capacity());
    let orders = [one, two].map(|mut house| std::iter::from_fn(|| house.order.pop()).collect::<Vec<_>>());
    assert_eq!(orders[0], orders[1]);
    let mut three = lived_in(100_000);
    three.last = None;
    load(&bytes, &mut three).unwrap();
    assert_eq!(saved(&three), bytes);
}

#[test]
fn what_does_not_fit_or_ends_early_is_refused() {
    let bytes = saved(&lived_in(1000));
    assert!(load(&bytes, &mut house(999)).is_err());
    assert!(load(&bytes[..bytes.len() - 1], &mut house(1000)).is_err());
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(load(&longer, &mut house(1000)).is_err());
}

#[test]
fn a_made_up_length_makes_no_more_items_than_can_be_read() {
    let grown = |length: u64, items: usize| {
        let bytes = [&length.to_ne_bytes()[..], &length.to_ne_bytes(), &vec![1; items * 4]].concat();
        let (mut list, mut from) = (vec![0_u32; 3], &bytes[..]);
        let loaded = list.load(&mut Loader::new(&mut from));
        (loaded.is_ok(), list.len())
    };
    assert_eq!(grown(100_000, 100_000), (true, 100_000));
    assert_eq!(grown(100_000, 99_999), (false, 100_000));
    let (is_whole, items) = grown(1 << 30, 100_000);
    assert!(!is_whole && items < 200_000, "{items} items");
}

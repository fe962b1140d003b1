//! Holding requests back, against sorting all of them at once.

use super::*;
use crate::digest::Digests;
use crate::feed::Parts;
use crate::request::Op;
use crate::volumes::Volumes;
use flashtwin_bits::SplitMix64;

struct Random(SplitMix64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.next() % limit
    }
}

/// Requests that come in pieces of any size, independent of the size asked for.
struct Pieces {
    all: Columns,
    given: usize,
    random: Random,
    volumes: Volumes,
}

impl Feed for Pieces {
    fn read(&mut self, _rows: usize, _progress: &dyn Progress) -> Result<Columns, TraceError> {
        let end = self.all.len().min(self.given + self.random.below(9) as usize);
        let mut piece = Columns::empty();
        piece.extend_from(&self.all, self.given..end);
        self.given = end;
        Ok(piece)
    }

    fn ended(&self) -> bool {
        self.given == self.all.len()
    }

    fn latest_ns(&self) -> i64 {
        self.all.time_ns[..self.given].iter().copied().max().unwrap_or(i64::MIN)
    }

    fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    fn into_parts(self: Box<Self>, _digests: bool) -> Result<Parts, TraceError> {
        Ok(Parts {
            volumes: self.volumes,
            quality: Quality::default(),
            digests: Digests::default(),
            tally: None,
        })
    }
}

/// Requests whose times step back by at most `window_ns`; each can be told apart by its offset.
fn disordered(random: &mut Random, window_ns: u64) -> Columns {
    let mut columns = Columns::empty();
    let mut latest = 0i64;
    for number in 0..random.below(60) {
        let behind = if random.below(2) == 0 { 0 } else { random.below(window_ns + 1) as i64 };
        latest += random.below(4) as i64;
        columns.time_ns.push(latest - behind);
        columns.volume.push(random.below(3) as u32);
        columns.op.push(Op::Write);
        columns.offset_bytes.push(number * 4096);
        columns.length_bytes.push(4096);
        if random.below(2) == 0 {
            columns.content.push(number as u32);
        }
        columns.content_start.push(columns.content.len() as u64);
    }
    columns
}

#[test]
fn held_requests_come_in_order_whatever_the_pieces() {
    let mut random = Random(SplitMix64(7));
    let mut pieces_seen = 0;
    for seed in 0..3000 {
        let window_ns = random.below(12);
        let all = disordered(&mut random, window_ns);
        let mut sorted = Columns::empty();
        sorted.extend_from(&all, 0..all.len());
        sort_by_time(&mut sorted);
        let mut feed =
            Pieces { all, given: 0, random: Random(SplitMix64(seed)), volumes: Volumes::default() };
        let mut held = SortWindow::new(window_ns);
        let mut got = Columns::empty();
        while !feed.ended() {
            held.refill(&mut feed, &()).unwrap();
            let take = random.below(6) as usize;
            let batch = held.take(take);
            pieces_seen += usize::from(batch.len() > 0 && !feed.ended());
            got.extend_from(&batch, 0..batch.len());
        }
        let rest = held.take(usize::MAX);
        got.extend_from(&rest, 0..rest.len());
        assert_eq!(got, sorted, "seed {seed}");
    }
    // Requests do leave before the end.
    assert!(pieces_seen > 3000, "{pieces_seen}");
}

//! The front end beside a simulation that goes through time nanosecond by nanosecond and keeps plain lists.

use flashtwin_ftl::Rng;

use super::super::holds::Mode;
use super::*;

#[derive(Debug, Clone)]
struct Job {
    time_ns: u64,
    queue: usize,
    kind: HostOp,
    pages: u32,
    service_ns: u64,
}

/// When a request was submitted, had a slot, was taken in, and was answered.
type Times = [u64; 4];

#[derive(Debug, Clone, Copy)]
struct Rules {
    limit: usize,
    slots: usize,
    arbitration: Arbitration,
    burst: u32,
    page_ns: u64,
    controller_ns: u64,
    holds: Option<HoldRules>,
}

const SEED: u64 = 5;

impl Rules {
    fn front(&self) -> Front {
        let mut front = Front::open(self.controller_ns);
        front.limit_queues(self.limit as u32);
        front.free = self.slots as u64;
        (front.arbitration, front.burst, front.page_ns) = (self.arbitration, self.burst, self.page_ns as f64);
        front.holds = self.holds.map(|rules| Holds::new(rules, SEED));
        front
    }
}

fn asked(number: usize, job: &Job) -> HostRequest {
    HostRequest {
        number: number as u64,
        time_ns: job.time_ns as i64,
        kind: job.kind,
        marks: (job.queue as u8) << marks::QUEUE_SHIFT,
        stream: 0,
        read_modify_write: true,
        extent: Extent::default(),
        lpns_and_contents: vec![0; 2 * job.pages as usize].into(),
    }
}

/// Beside the times, the entries of each ledger.
fn by_front(rules: &Rules, jobs: &[Job]) -> (Vec<Times>, Vec<[u64; 4]>) {
    let mut front = rules.front();
    let (mut times, mut ledgers) = (vec![[0; 4]; jobs.len()], vec![[0; 4]; jobs.len()]);
    // When the controller is done with a request.
    let mut service: Vec<(u64, usize)> = Vec::new();
    let mut offered = 0;
    loop {
        let done = service.iter().copied().min();
        let arrival = jobs.get(offered).map(|job| job.time_ns);
        let passing = front.next_ns();
        let now = arrival.unwrap_or(NO_EVENT).min(done.map_or(NO_EVENT, |done| done.0)).min(passing);
        if now == NO_EVENT {
            assert!(!front.keeps_any());
            return (times, ledgers);
        }
        if let Some(done) = done.filter(|done| done.0 == now) {
            service.retain(|&other| other != done);
            let (kind, mut ledger) = (jobs[done.1].kind, Ledger::default());
            let out_ns = front.send_out(now, done.1 as u32, kind, &mut ledger);
            ledgers[done.1] = [Charge::Slot, Charge::Link, Charge::Transfer, Charge::CachePlace]
                .map(|charge| ledger.of(charge));
            if out_ns > now {
                front.wait_for_data(OutgoingRead {
                    due_ns: out_ns,
                    request: done.1 as u32,
                    ledger,
                    server: None,
                });
            } else {
                times[done.1][3] = now;
                front.answered(now, &front.ticket(done.1 as u32).clone());
            }
        } else if passing == now {
            match front.pop(now) {
                // A hold has begun.
                None => {}
                Some(FrontEvent::In(coming)) => {
                    let number = coming.asked.number as usize;
                    front.is_taken_in(number as u32);
                    let Ticket { submitted_ns, slot_wait_ns, .. } = coming.ticket;
                    times[number][..3].copy_from_slice(&[submitted_ns, submitted_ns + slot_wait_ns, now]);
                    service.push((now + jobs[number].service_ns, number));
                }
                Some(FrontEvent::Out(leaving)) => {
                    times[leaving.request as usize][3] = now;
                    front.answered(now, &front.ticket(leaving.request).clone());
                }
            }
        } else {
            front.offer(now, asked(offered, &jobs[offered]));
            offered += 1;
        }
    }
}

#[derive(Default)]
struct Lists {
    host: Vec<usize>,
    submitted: Vec<usize>,
    /// With how long their data still take.
    inward: Vec<(usize, u64)>,
    outward: Vec<(usize, u64)>,
    coming: Vec<(u64, usize, usize)>,
    serving: Vec<(u64, usize)>,
    under_way: Vec<usize>,
    order: Vec<usize>,
    turn: usize,
    in_a_row: u32,
    times: Vec<Times>,
    hold: PlainHold,
}

/// Holds by lists of all that has happened.
#[derive(Default)]
struct PlainHold {
    begins: Vec<u64>,
    /// When writes went on.
    writes: Vec<u64>,
    next: u64,
    ends: u64,
    /// The least time between two that pass; `None`: none does.
    gap: Option<u64>,
    last: u64,
    rng: Option<Rng>,
}

impl PlainHold {
    fn tick(&mut self, rules: &HoldRules, now: u64) {
        if self.begins.is_empty() {
            (self.begins, self.next, self.rng) =
                (vec![0], rules.lazy.every_ns, Some(Rng::stream(SEED, "holds")));
        }
        if now < self.next {
            return;
        }
        let since = self.begins[self.begins.len().saturating_sub(8)];
        let count = self.writes.iter().filter(|&&at| since <= at && at < now).count() as u64;
        let rate = count * 1_000_000_000 / (now - since);
        let is_urgent = rules.urgent_per_s > 0 && rate >= rules.urgent_per_s;
        let Mode { every_ns, least_ns } = if is_urgent { rules.urgent } else { rules.lazy };
        let square = |number: u64| u128::from(number) * u128::from(number);
        let mean = u128::from(every_ns) * square(rate) / square(rules.full_per_s).max(1);
        let mean = if rules.full_per_s > 0 { mean as u64 } else { 0 };
        self.ends = now + least_ns + self.rng.as_mut().unwrap().exponential(mean, 10);
        while self.next <= self.ends {
            self.next += every_ns;
        }
        let share = u128::from(rate) * u128::from(rules.pass_share);
        self.gap = (share > 0).then(|| (1_000_000_000_000_000 / share.max(1)) as u64);
        self.gap = if is_urgent { Some(0) } else { self.gap };
        self.last = now;
        self.begins.push(now);
    }

    fn holds(&self, now: u64, is_full: bool) -> bool {
        now < self.ends && !(is_full && self.gap.is_some_and(|gap| now - self.last >= gap))
    }
}

impl Lists {
    fn answer(&mut self, rules: &Rules, jobs: &[Job], now: u64, at: usize) {
        self.times[at][3] = now;
        self.under_way.retain(|&other| other != at);
        self.refill(rules, jobs, now);
    }

    fn refill(&mut self, rules: &Rules, jobs: &[Job], now: u64) {
        let queue = |at: usize| jobs[at].queue;
        while let Some(place) = self.host.iter().position(|&at| {
            self.under_way.iter().filter(|&&other| queue(other) == queue(at)).count() < rules.limit
        }) {
            let at = self.host.remove(place);
            self.times[at][0] = now;
            self.submitted.push(at);
            self.under_way.push(at);
        }
        while self.under_way.len() - self.submitted.len() < rules.slots && !self.submitted.is_empty() {
            let turn = self.turn;
            let in_turn =
                |&place: &usize| (queue(self.submitted[place]) < turn, queue(self.submitted[place]));
            let place = match rules.arbitration {
                Arbitration::Fifo => 0,
                Arbitration::RoundRobin => (0..self.submitted.len()).min_by_key(in_turn).unwrap(),
            };
            let at = self.submitted.remove(place);
            self.times[at][1] = now;
            self.in_a_row = if queue(at) == self.turn { self.in_a_row + 1 } else { 1 };
            self.turn = queue(at);
            if self.in_a_row == rules.burst {
                (self.turn, self.in_a_row) = (queue(at) + 1, 0);
            }
            self.order.push(at);
            match jobs[at].kind {
                HostOp::Read => self.coming.push((now + rules.controller_ns, self.order.len(), at)),
                HostOp::Write => self.inward.push((at, rules.page_ns * u64::from(jobs[at].pages))),
                HostOp::Trim | HostOp::Flush => self.inward.push((at, 0)),
            }
        }
    }

    fn step(&mut self, rules: &Rules, jobs: &[Job], now: u64) -> bool {
        if let Some(&done) = self.serving.iter().filter(|done| done.0 == now).min() {
            self.serving.retain(|&other| other != done);
            let data_ns = rules.page_ns * u64::from(jobs[done.1].pages);
            if jobs[done.1].kind == HostOp::Read && data_ns > 0 {
                self.outward.push((done.1, data_ns));
            } else {
                self.answer(rules, jobs, now, done.1);
            }
        } else if self.outward.first().is_some_and(|first| first.1 == 0) {
            let (at, _) = self.outward.remove(0);
            self.answer(rules, jobs, now, at);
        } else if self.inward.first().is_some_and(|first| first.1 == 0) {
            let (at, _) = self.inward.remove(0);
            let order = self.order.iter().position(|&other| other == at).unwrap() + 1;
            self.coming.push((now + rules.controller_ns, order, at));
        } else if let Some(come) = self.next_to_come(rules, jobs, now) {
            self.coming.retain(|&other| other != come);
            if jobs[come.2].kind != HostOp::Read {
                self.hold.last = now;
            }
            if jobs[come.2].kind == HostOp::Write {
                self.hold.writes.push(now);
            }
            self.times[come.2][2] = now;
            self.serving.push((now + jobs[come.2].service_ns, come.2));
        } else {
            return false;
        }
        true
    }
}

impl Lists {
    fn next_to_come(&self, rules: &Rules, jobs: &[Job], now: u64) -> Option<(u64, usize, usize)> {
        let is_full = self.under_way.len() - self.submitted.len() == rules.slots;
        let is_held = rules.holds.is_some() && self.hold.holds(now, is_full);
        let may_come =
            |come: &&(u64, usize, usize)| come.0 <= now && !(is_held && jobs[come.2].kind != HostOp::Read);
        self.coming.iter().filter(may_come).min().copied()
    }
}

/// The same by plain lists and a clock that ticks, without computing when the link is free.
fn by_lists(rules: &Rules, jobs: &[Job]) -> Vec<Times> {
    let mut lists = Lists { times: vec![[0; 4]; jobs.len()], ..Lists::default() };
    let mut offered = 0;
    for now in 0.. {
        if let Some(holds) = &rules.holds {
            lists.hold.tick(holds, now);
        }
        while lists.step(rules, jobs, now) || jobs.get(offered).is_some_and(|job| job.time_ns == now) {
            while lists.step(rules, jobs, now) {}
            if jobs.get(offered).is_some_and(|job| job.time_ns == now) {
                lists.host.push(offered);
                lists.refill(rules, jobs, now);
                offered += 1;
            }
        }
        if offered == jobs.len() && lists.under_way.is_empty() {
            break;
        }
        lists.inward.first_mut().into_iter().for_each(|first| first.1 -= 1);
        lists.outward.first_mut().into_iter().for_each(|first| first.1 -= 1);
    }
    lists.times
}

fn pick<T: Copy>(rng: &mut Rng, list: &[T]) -> T {
    list[rng.below(list.len() as u32) as usize]
}

fn drawn_holds(rng: &mut Rng) -> HoldRules {
    let mode = |rng: &mut Rng| Mode { every_ns: pick(rng, &[7, 40, 150]), least_ns: pick(rng, &[0, 3, 60]) };
    HoldRules {
        lazy: mode(rng),
        urgent: mode(rng),
        urgent_per_s: pick(rng, &[0, 50_000_000, 200_000_000]),
        full_per_s: pick(rng, &[0, 100_000_000, 400_000_000]),
        pass_share: pick(rng, &[0, 500_000, 1_000_000]),
    }
}

fn drawn(rng: &mut Rng) -> (Rules, Vec<Job>) {
    let rules = Rules {
        limit: pick(rng, &[1, 2, 5, 1_000]),
        slots: pick(rng, &[1, 3, 8, 1_000]),
        arbitration: pick(rng, &[Arbitration::Fifo, Arbitration::RoundRobin]),
        burst: pick(rng, &[1, 2, 5]),
        page_ns: pick(rng, &[0, 0, 1, 7]),
        controller_ns: pick(rng, &[0, 0, 3]),
        holds: (rng.below(2) == 0).then(|| drawn_holds(rng)),
    };
    let (queues, gap, longest) = (pick(rng, &[1, 3, 32]), pick(rng, &[1, 6, 30]), pick(rng, &[1, 10, 80]));
    let mut time_ns = 0;
    let jobs = (0..60).map(|_| {
        time_ns += u64::from(rng.below(gap));
        let kind = pick(rng, &[HostOp::Read, HostOp::Write, HostOp::Write, HostOp::Trim, HostOp::Flush]);
        let pages = if kind == HostOp::Flush { 0 } else { 1 + rng.below(4) };
        let service_ns = u64::from(rng.below(longest));
        Job { time_ns, queue: rng.below(queues) as usize, kind, pages, service_ns }
    });
    (rules, jobs.collect())
}

#[test]
fn front_end_is_the_plain_one() {
    let mut waits = [0; 4];
    for seed in 0..2_000 {
        let (rules, jobs) = drawn(&mut Rng::stream(seed, "front end"));
        let (times, ledgers) = by_front(&rules, &jobs);
        assert_eq!(times, by_lists(&rules, &jobs), "seed {seed}: {rules:?} {jobs:?}");
        for ((job, times), ledger) in jobs.iter().zip(&times).zip(&ledgers) {
            let data = matches!(job.kind, HostOp::Read | HostOp::Write);
            let data_ns = if data { rules.page_ns * u64::from(job.pages) } else { 0 };
            let rest = rules.controller_ns + job.service_ns;
            assert_eq!(times[3] - times[0], ledger.iter().sum::<u64>() + rest, "seed {seed}");
            assert_eq!([ledger[0], ledger[2]], [times[1] - times[0], data_ns], "seed {seed}");
            let late = u64::from(times[0] > job.time_ns);
            waits
                .iter_mut()
                .zip([late, ledger[0], ledger[1], ledger[3]])
                .for_each(|(sum, ns)| *sum += ns.min(1));
        }
    }
    assert!(waits.iter().all(|&waits| waits > 5_000), "{waits:?}");
}

/// Without slots a hold ends by itself, and of one that takes r² of the time a write meets the rest with that
/// probability: as long as the whole on average, because its length is exponential.
#[test]
fn writes_wait_for_the_share_of_time_that_holds_take() {
    let every_ns = 1_000_000;
    let mode = Mode { every_ns, least_ns: 0 };
    let holds = HoldRules { lazy: mode, urgent: mode, urgent_per_s: 0, full_per_s: 2_000_000, pass_share: 0 };
    let mut front = Front::open(0);
    front.holds = Some(Holds::new(holds, SEED));
    let (gap_ns, writes) = (1_000, 4_000_000);
    let (mut waited, mut longer, mut waits_ns) = (0.0, 0.0, 0.0);
    for number in 0..writes {
        let due_ns = number as u64 * gap_ns;
        let write = Job { time_ns: due_ns, queue: 0, kind: HostOp::Write, pages: 1, service_ns: 0 };
        while front.next_ns() < due_ns {
            let now_ns = front.next_ns();
            let Some(FrontEvent::In(coming)) = front.pop(now_ns) else { continue };
            let held_ns = coming.ticket.held_ns;
            waited += f64::from(u8::from(held_ns > 0));
            longer += f64::from(u8::from(held_ns > every_ns / 4));
            waits_ns += held_ns as f64;
            front.is_taken_in(0);
            front.answered(now_ns, &coming.ticket);
        }
        front.offer(due_ns, asked(number, &write));
    }
    // Half of the full rate: a quarter of the time.
    assert!((waited / f64::from(writes as u32) - 0.25).abs() < 0.02, "{waited}");
    assert!((longer / waited - (-1f64).exp()).abs() < 0.03, "{longer} of {waited}");
    assert!((waits_ns / waited / (every_ns as f64 / 4.0) - 1.0).abs() < 0.06, "{waits_ns}");
}

#[test]
fn what_waits_behind_a_full_queue_holds_up_no_other() {
    let mut front = Front::open(0);
    front.limit_queues(1);
    let job = |queue| Job { time_ns: 0, queue, kind: HostOp::Read, pages: 1, service_ns: 0 };
    let came = |front: &mut Front, now: u64| {
        let mut numbers = Vec::new();
        while let Some(FrontEvent::In(coming)) = front.pop(now) {
            front.is_taken_in(coming.asked.number as u32);
            numbers.push((coming.asked.number, coming.ticket.submitted_ns));
        }
        numbers
    };
    front.offer(0, asked(0, &job(3)));
    front.offer(1, asked(1, &job(3)));
    front.offer(2, asked(2, &job(0)));
    assert_eq!(came(&mut front, 2), [(0, 0), (2, 2)]);
    assert!(front.keeps_any());
    let ticket = *front.ticket(0);
    front.answered(9, &ticket);
    assert_eq!((came(&mut front, 9), front.keeps_any()), (vec![(1, 9)], false));
}

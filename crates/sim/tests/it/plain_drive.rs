//! A plain simulator of a drive, written from docs/model.md and docs/systems.md and from nothing else: four systems,
//! greedy collection in steps and in idle time, units that serve one operation at a time, channels. It searches lists
//! from end to end where the engine keeps tables, and it is short enough to be read in one go.

mod reads;

use std::collections::VecDeque;

use flashtwin_sim::WriteCompletes;
use flashtwin_trace::{Op, PageTrace};

use crate::plain_parts::{
    Block, COUNTED, Channel, Counts, HashedWrite, Kind, Operation, PageAddress, Plane, Queue, Rules, Stored,
    System, Unit, WrittenPage,
};

pub(crate) const NEVER: u64 = u64::MAX;
/// Waiting operations of a queue that a unit considers.
const LOOKED_AT: usize = 64;

pub(crate) struct Drive {
    pub(crate) rules: Rules,
    planes: Vec<Plane>,
    units: Vec<Unit>,
    channels: Vec<Channel>,
    stored: Vec<Stored>,
    /// Of each logical page, the place of its data in `stored`.
    data_of: Vec<Option<usize>>,
    hashing: VecDeque<HashedWrite>,
    lanes: Vec<u64>,
    /// Pages that collection moves and has not read yet: to which place, from which.
    unread: Vec<(PageAddress, PageAddress)>,
    /// Place in the order of allocation that comes next, for dynamic allocation.
    turn: usize,
    changes: u64,
    now: u64,
    last_arrival: u64,
    arrivals: Vec<u64>,
    pages_left: Vec<usize>,
    is_durable: Vec<bool>,
    /// When a power cut no longer takes anything of a request.
    safe: Vec<u64>,
    written: Vec<WrittenPage>,
    places_taken: usize,
    waiting: VecDeque<usize>,
    pub(crate) counts: Counts,
    /// Of each request, trims aside.
    pub(crate) responses: Vec<Option<u64>>,
    /// Reads of the cache under way to the host: when they are there, and of which request.
    cached_reads: VecDeque<(u64, usize)>,
    /// Names of data, the latest read last.
    cached: Vec<usize>,
    /// Of reads under way: request and name.
    asked: Vec<(usize, usize)>,
    busy_ns: u64,
    /// Time of the collection ordered since the last batch of it began, and when that batch ends.
    collection_ns: u64,
    batch_ends: u64,
}

impl Drive {
    pub(crate) fn new(rules: &Rules, footprint: usize) -> Self {
        let blocks = vec![Block::default(); rules.blocks_per_plane];
        Self {
            planes: vec![Plane { blocks, ..Plane::default() }; rules.planes()],
            units: vec![Unit::default(); rules.planes() / rules.planes_per_unit()],
            channels: vec![Channel::default(); rules.levels[0]],
            stored: Vec::new(),
            data_of: vec![None; footprint],
            hashing: VecDeque::new(),
            lanes: vec![0; rules.hash_lanes],
            unread: Vec::new(),
            rules: rules.clone(),
            turn: 0,
            changes: 0,
            now: 0,
            last_arrival: 0,
            arrivals: Vec::new(),
            pages_left: Vec::new(),
            is_durable: Vec::new(),
            safe: Vec::new(),
            written: Vec::new(),
            places_taken: 0,
            waiting: VecDeque::new(),
            counts: COUNTED.map(|figure| (figure, 0)).into(),
            responses: Vec::new(),
            cached_reads: VecDeque::new(),
            cached: Vec::new(),
            asked: Vec::new(),
            busy_ns: 0,
            collection_ns: 0,
            batch_ends: 0,
        }
    }

    /// Serves a trace whose pages are numbered by address.
    pub(crate) fn serve(&mut self, trace: &PageTrace) {
        let columns = &trace.columns;
        self.last_arrival = columns.time_ns.last().map_or(0, |&time| time as u64);
        let mut boundary = self.rules.period_ns;
        for request in 0..columns.requests() {
            let now = columns.time_ns[request] as u64;
            while now >= boundary {
                self.until(boundary);
                self.end_period();
                boundary += self.rules.period_ns;
            }
            self.until(now);
            self.now = now;
            self.arrivals.push(now);
            let op = columns.op[request];
            self.responses.push(if op == Op::Trim { None } else { Some(0) });
            self.pages_left.push(columns.page_ops_of(request).len());
            self.is_durable.push(trace.window().is_durable(request));
            self.safe.push(now);
            for at in columns.page_ops_of(request) {
                let lpn = columns.lpn[at] as usize;
                match op {
                    Op::Read => self.read(lpn, request),
                    Op::Write => self.arrive(lpn, columns.content[at], request),
                    Op::Trim => self.forget(lpn),
                    Op::Flush => unreachable!("a flush has no pages"),
                }
            }
        }
        self.until(NEVER - 1);
        self.rules.batch_ns = 0;
        self.begin_batch(0);
        self.until(NEVER - 1);
        self.answer_flushes(&columns.op);
        assert!(self.units.iter().all(Unit::is_idle), "something waits for ever");
    }

    /// How long units were busy until the last request came, or, if the drive fell behind, until all was done.
    pub(crate) fn busy_percent(&self) -> u64 {
        100 * self.busy_ns / (self.units.len() as u64 * self.now.max(self.last_arrival))
    }

    fn count(&mut self, figure: &'static str, happened: bool) {
        *self.counts.entry(figure).or_default() += u64::from(happened);
    }

    /// Everything that happens until `limit`: answers of the cache first, then hashes, then lower units.
    fn until(&mut self, limit: u64) {
        loop {
            let hashed = self.hashing.front().map_or(NEVER, |write| write.ready);
            let due = |unit: usize| match self.units[unit].due {
                Some(due) => due,
                None => self.units[unit].looks_again.unwrap_or_else(|| self.idle_work_at(unit)),
            };
            let (due, unit) = (0..self.units.len()).map(|unit| (due(unit), unit)).min().unwrap();
            let answered = self.cached_reads.front().map_or(NEVER, |answer| answer.0);
            if due.min(hashed).min(answered) > limit {
                return;
            }
            if answered <= due.min(hashed) {
                self.answer_cached_read();
                continue;
            }
            self.now = due.min(hashed);
            if hashed <= due {
                let HashedWrite { lpn, content, page, reads, .. } = self.hashing.pop_front().unwrap();
                let data = self.write(lpn, content, page);
                self.stored[data].reads += reads;
                continue;
            }
            match self.units[unit].due {
                Some(_) => self.ended(unit),
                None if self.units[unit].looks_again.is_some() => self.begin(unit),
                None => self.collect_in_idle_time(unit),
            }
        }
    }

    fn arrive(&mut self, lpn: usize, content: u32, request: usize) {
        let page = self.written.len();
        self.written.push(WrittenPage { request, has_place: false, is_answered: false });
        if self.rules.write_completes == WriteCompletes::Buffered {
            self.ask_for_place(page);
        }
        if self.rules.system == System::Conventional {
            self.write(lpn, content, page);
            return;
        }
        let lane = self.lanes.iter_mut().min().unwrap();
        *lane = (*lane).max(self.now) + self.rules.hash_ns;
        self.hashing.push_back(HashedWrite { ready: *lane, lpn, content, page, reads: 0 });
    }

    fn write(&mut self, lpn: usize, content: u32, page: usize) -> usize {
        let known = |data: &Stored| data.references > 0 && data.content == content;
        if self.rules.system != System::Conventional
            && let Some(found) = self.stored.iter().position(known)
        {
            self.stored[found].references += 1;
            self.forget(lpn);
            self.data_of[lpn] = Some(found);
            self.needs_no_place(page);
            return found;
        }
        let plane = self.allocate(lpn);
        let mut own = Vec::new();
        if self.planes[plane].host_block.is_none() {
            while self.planes[plane].free() <= 1 && self.collect(plane, usize::MAX, false, &mut own) {}
        }
        let data = self.stored.len();
        let home = self.next_page(plane, data, false);
        self.count("flash_writes.host", true);
        self.stored.push(Stored { home, copies: Vec::new(), references: 1, reads: 0, content });
        self.forget(lpn);
        self.data_of[lpn] = Some(data);
        if self.rules.write_completes == WriteCompletes::Hashed {
            self.ask_for_place(page);
        }
        self.planes[plane].collects |= self.planes[plane].free() <= self.rules.start_blocks;
        if self.planes[plane].collects {
            self.collect(plane, self.rules.step_pages, false, &mut own);
        }
        // Operations that the page set off are queued behind it.
        self.order(Operation::of_host(Kind::Program, home, page));
        own.into_iter().for_each(|operation| self.order(operation));
        data
    }

    fn forget(&mut self, lpn: usize) {
        if let Some(old) = self.data_of[lpn].take() {
            self.stored[old].references -= 1;
            if self.stored[old].references == 0 {
                self.forget_cached(old);
                self.free(self.stored[old].home);
            }
        }
    }

    fn free(&mut self, old: PageAddress) {
        self.changes += 1;
        let plane = &mut self.planes[old.plane];
        plane.valid -= 1;
        let block = &mut plane.blocks[old.block];
        block.owner[old.page] = None;
        (block.valid, block.since) = (block.valid - 1, self.changes);
    }

    /// Each content gets as many copies more as it was read, on the units that follow its home.
    fn end_period(&mut self) {
        let units = self.units.len();
        for data in 0..self.stored.len() {
            let home = self.unit_of(self.stored[data].home);
            let Stored { copies, references, reads, .. } = &mut self.stored[data];
            let wanted = if *references > 0 { (*reads).min(units - 1) } else { 0 };
            while self.rules.system == System::RrSsd && copies.len() < wanted {
                copies.push((home + copies.len() + 1) % units);
                *self.counts.entry("replication.copies").or_default() += 1;
            }
            *reads = 0;
        }
    }

    /// The plane that a page of the host's goes to: the first one with room from the proposed one on.
    fn allocate(&mut self, lpn: usize) -> usize {
        let count = self.rules.planes();
        if self.rules.least_loaded {
            let load = |&place: &usize| self.units[self.rules.unit_of(self.rules.plane_at(place))].load();
            self.turn = (0..count).map(|step| (self.turn + step) % count).min_by_key(load).unwrap();
        }
        let proposed = self.rules.plane_at(if self.rules.dynamic_allocation { self.turn } else { lpn });
        self.turn = (self.turn + 1) % count;
        let most = (self.rules.blocks_per_plane - 4) * self.rules.pages_per_block;
        let has_room = |plane: usize| self.planes[plane].valid < most;
        let further = (0..count).find(|step| has_room((proposed + step) % count));
        let further = further.expect("the drive is full");
        self.count("page_ops.allocation_fallbacks", further > 0);
        (proposed + further) % count
    }

    fn next_page(&mut self, plane: usize, data: usize, moved: bool) -> PageAddress {
        let open_block = |state: &Plane| if moved { state.moved_block } else { state.host_block };
        let block = open_block(&self.planes[plane])
            .unwrap_or_else(|| self.planes[plane].next_block(self.rules.dynamic_wear));
        self.changes += 1;
        let state = &mut self.planes[plane];
        state.valid += 1;
        let open = &mut state.blocks[block];
        open.owner.push(Some(data));
        (open.valid, open.since) = (open.valid + 1, self.changes);
        open.is_closed = open.owner.len() == self.rules.pages_per_block;
        let place = PageAddress { plane, block, life: open.life, page: open.owner.len() - 1 };
        let is_open = Some(block).filter(|_| !open.is_closed);
        *(if moved { &mut state.moved_block } else { &mut state.host_block }) = is_open;
        place
    }

    /// Moves up to `most` pages of the plane's victim and erases it once it is empty; whether anything was gained.
    fn collect(&mut self, plane: usize, most: usize, in_idle_time: bool, own: &mut Vec<Operation>) -> bool {
        let gain = self.rules.pages_per_block - 1;
        let most_valid = if in_idle_time { gain.min(self.rules.idle_valid_pages) } else { gain };
        if !self.planes[plane].choose_victim(most_valid, &mut self.changes) {
            return false;
        }
        let urgent = self.planes[plane].free() <= self.rules.urgent_blocks;
        let operation = |kind, place| Operation { kind, place, request: None, urgent, in_idle_time };
        let block = self.planes[plane].victim.unwrap();
        let owner = self.planes[plane].blocks[block].owner.clone();
        let life = self.planes[plane].blocks[block].life;
        let valid = owner.iter().enumerate().filter_map(|(page, data)| data.map(|data| (page, data)));
        let pages = self.rules.pages_per_block;
        let due = if most > 0 { usize::MAX } else { self.planes[plane].next_due(pages) };
        let most = if most > 0 { most } else { usize::MAX };
        for (page, data) in valid.take(most).take_while(|&(page, _)| page < due) {
            let from = PageAddress { plane, block, life, page };
            let to = self.next_page(plane, data, true);
            if self.is_on_flash(from) {
                self.count("flash_reads.gc", true);
                own.push(operation(Kind::Read, from));
                self.unread.push((to, from));
            }
            // Moved before and not read yet: there is one read, and now it is for the second place.
            self.unread.iter_mut().filter(|(place, _)| *place == from).for_each(|(place, _)| *place = to);
            self.count("flash_writes.gc", true);
            self.count("page_ops.idle_moves", in_idle_time);
            own.push(operation(Kind::Program, to));
            self.free(from);
            self.stored[data].home = to;
        }
        if self.planes[plane].blocks[block].valid == 0 {
            self.count("flash_operations.erases", true);
            own.push(operation(Kind::Erase, PageAddress { plane, block, life, page: 0 }));
            let state = &mut self.planes[plane];
            state.victim = None;
            state.erased.push(block);
            let erased = &mut state.blocks[block];
            (erased.life, erased.owner) = (life + 1, Vec::new());
        }
        let state = &mut self.planes[plane];
        state.collects &= state.free() < self.rules.stop_blocks;
        true
    }

    /// Time at which a unit is offered idle time.
    fn idle_work_at(&self, unit: usize) -> u64 {
        let state = &self.units[unit];
        let at = (state.idle_since + self.rules.idle_ns).max(self.now);
        let is_asked = self.rules.idle_blocks.is_some() && state.is_idle() && !state.had_none;
        if is_asked && at <= self.last_arrival { at } else { NEVER }
    }

    /// One page of the plane with the fewest free blocks moves, of those that want more and have something to gain.
    fn collect_in_idle_time(&mut self, unit: usize) {
        let per_unit = self.rules.planes_per_unit();
        let wanted = self.rules.idle_blocks.unwrap();
        let mut planes: Vec<usize> = (unit * per_unit..(unit + 1) * per_unit).collect();
        planes.retain(|&plane| (2..wanted).contains(&self.planes[plane].free()));
        planes.sort_by_key(|&plane| self.planes[plane].free());
        let mut own = Vec::new();
        self.units[unit].had_none = !planes.into_iter().any(|plane| self.collect(plane, 1, true, &mut own));
        own.into_iter().for_each(|operation| self.order(operation));
    }

    fn ask_for_place(&mut self, page: usize) {
        let Rules { write_buffer_pages: places, is_protected, .. } = self.rules;
        if self.is_durable[self.written[page].request] && !is_protected {
            return;
        }
        if places > 0 && self.places_taken == places {
            return self.waiting.push_back(page);
        }
        self.places_taken += 1;
        self.written[page].has_place = true;
        self.answer(page, self.now);
    }

    /// A page of the host's is programmed, or a duplicate: its place, if it has one, is the next one's.
    fn needs_no_place(&mut self, page: usize) {
        let request = self.written[page].request;
        if !(self.rules.answers_from_ram() && self.rules.is_protected) {
            self.safe[request] = self.safe[request].max(self.now);
        }
        self.waiting.retain(|&other| other != page);
        if std::mem::take(&mut self.written[page].has_place) {
            self.places_taken -= 1;
            if let Some(next) = self.waiting.pop_front() {
                self.ask_for_place(next);
            }
        }
        self.answer(page, self.now);
    }

    fn answer(&mut self, page: usize, at: u64) {
        if !std::mem::replace(&mut self.written[page].is_answered, true) {
            self.page_done(self.written[page].request, at);
        }
    }

    fn page_done(&mut self, request: usize, at: u64) {
        let response = self.responses[request].as_mut().unwrap();
        *response = (*response).max(at - self.arrivals[request]);
        self.pages_left[request] -= 1;
        self.note_read(request);
    }

    /// Writes take the time of RAM at least. A flush waits until all writes before it are answered and safe.
    fn answer_flushes(&mut self, ops: &[Op]) {
        assert!(self.pages_left.iter().zip(ops).all(|(&left, &op)| left == 0 || op == Op::Trim));
        let mut safe = 0;
        for (request, op) in ops.iter().enumerate() {
            let (arrival, response) = (self.arrivals[request], &mut self.responses[request]);
            if *op == Op::Write {
                let least = if self.rules.answers_from_ram() { self.rules.ram_answer_ns(request) } else { 0 };
                *response = (*response).max(Some(least));
                safe = safe.max(self.safe[request]).max(arrival + response.unwrap());
            } else if *op == Op::Flush {
                *response = Some(safe.max(arrival) - arrival);
            }
        }
    }

    fn unit_of(&self, place: PageAddress) -> usize {
        self.rules.unit_of(place.plane)
    }

    fn block(&self, place: PageAddress) -> &Block {
        &self.planes[place.plane].blocks[place.block]
    }

    fn is_on_flash(&self, place: PageAddress) -> bool {
        let block = self.block(place);
        block.erased == place.life && block.programmed > place.page
    }

    fn may_start(&self, operation: &Operation) -> bool {
        let block = self.block(operation.place);
        let is_its_life = block.erased == operation.place.life;
        match operation.kind {
            Kind::Read => true,
            Kind::Program => is_its_life && block.programmed == operation.place.page,
            Kind::Erase => is_its_life && block.programmed == self.rules.pages_per_block && block.reads == 0,
        }
    }

    fn order(&mut self, operation: Operation) {
        let Operation { kind, place, request, .. } = operation;
        if kind == Kind::Read {
            self.planes[place.plane].blocks[place.block].reads += 1;
        }
        let unit = self.unit_of(place);
        if request.is_none() {
            self.collection_ns += match kind {
                Kind::Read => self.rules.timing.transfer_ns + self.rules.timing.read_ns,
                Kind::Program => self.rules.timing.transfer_ns + self.rules.timing.program_ns,
                Kind::Erase => self.rules.timing.erase_ns,
            };
            let (batch_ns, units) = (self.rules.batch_ns, self.units.len() as u64);
            if batch_ns > 0 && 2 * self.collection_ns >= units * batch_ns && self.now >= self.batch_ends {
                self.begin_batch(self.now + batch_ns);
            }
        }
        let state = &mut self.units[unit];
        let queue = match (request, kind) {
            (None, _) => &mut state.own,
            (Some(_), Kind::Read) => &mut state.reads,
            (Some(_), _) => &mut state.programs,
        };
        queue.push_back(operation);
        if self.units[unit].serves.is_none() {
            self.begin(unit);
        }
    }

    /// All units do the collection that waits for a batch.
    fn begin_batch(&mut self, ends: u64) {
        (self.batch_ends, self.collection_ns) = (ends, 0);
        for unit in 0..self.units.len() {
            if self.units[unit].serves.is_none() {
                self.begin(unit);
            }
        }
    }

    /// The next operation of an idle unit: its place in its queue.
    fn choose(&self, unit: usize) -> Option<(Queue, usize)> {
        let state = &self.units[unit];
        let mut held_up = Vec::new();
        let own = state.own.iter().take(LOOKED_AT).position(|operation| {
            let goes = !held_up.contains(&operation.place.plane) && self.may_start(operation);
            held_up.push(operation.place.plane);
            goes
        });
        let program = state.programs.iter().take(LOOKED_AT).position(|operation| self.may_start(operation));
        let limit = self.rules.reads_before_write;
        let in_batch = self.now < self.batch_ends;
        let stuck = program.is_none() && !state.programs.is_empty();
        let own = own.filter(|&at| self.rules.batch_ns == 0 || in_batch || stuck || state.own[at].urgent);
        let program = program.filter(|_| !in_batch);
        match (own, program) {
            (Some(at), _) if state.own[at].urgent => Some((Queue::Own, at)),
            (_, Some(at)) if state.reads.is_empty() || (limit > 0 && state.overtaken >= limit) => {
                Some((Queue::Programs, at))
            }
            (_, Some(_)) => Some((Queue::ReadsFirst, 0)),
            (_, None) if !state.reads.is_empty() => Some((Queue::Reads, 0)),
            (own, None) => own.map(|at| (Queue::Own, at)),
        }
    }

    fn begin(&mut self, unit: usize) {
        let choice = self.choose(unit);
        let state = &mut self.units[unit];
        let waits = choice.is_none() && self.now < self.batch_ends && !state.programs.is_empty();
        state.looks_again = Some(self.batch_ends).filter(|_| waits);
        let Some((queue, at)) = choice else { return };
        state.overtaken = match queue {
            Queue::Programs | Queue::Reads => 0,
            Queue::ReadsFirst => state.overtaken + 1,
            Queue::Own => state.overtaken,
        };
        let queue = match queue {
            Queue::Programs => &mut state.programs,
            Queue::Reads | Queue::ReadsFirst => &mut state.reads,
            Queue::Own => &mut state.own,
        };
        let operation = queue.remove(at).unwrap();
        (state.serves, state.busy_since) = (Some(operation), self.now);
        let rules = &self.rules;
        let channel = &mut self.channels[rules.channel_of(operation.place.plane)];
        let due = if operation.kind == Kind::Program {
            channel.data_free_ns =
                channel.data_free_ns.max(self.now) + rules.timing.command_ns + rules.timing.transfer_ns;
            channel.data_free_ns + rules.timing.program_ns
        } else {
            // Commands go between data; later data wait for them all the same.
            channel.commands_free_ns = channel.commands_free_ns.max(self.now) + rules.timing.command_ns;
            channel.data_free_ns = channel.data_free_ns.max(self.now) + rules.timing.command_ns;
            state.senses = operation.kind == Kind::Read;
            channel.commands_free_ns + if state.senses { rules.timing.read_ns } else { rules.timing.erase_ns }
        };
        state.due = Some(due);
        let in_register = due.saturating_sub(self.rules.timing.program_ns);
        if let (Kind::Program, Some(page), WriteCompletes::Transferred) =
            (operation.kind, operation.request, self.rules.write_completes)
            && !self.is_durable[self.written[page].request]
        {
            self.answer(page, in_register);
        }
    }

    fn ended(&mut self, unit: usize) {
        let state = &mut self.units[unit];
        let operation = state.serves.unwrap();
        let Operation { kind, place, request, in_idle_time, .. } = operation;
        if std::mem::take(&mut state.senses) {
            let channel = &mut self.channels[self.rules.channel_of(place.plane)];
            channel.data_free_ns = channel.data_free_ns.max(self.now) + self.rules.timing.transfer_ns;
            state.due = Some(channel.data_free_ns);
            return;
        }
        (state.serves, state.due, state.had_none) = (None, None, false);
        self.busy_ns += self.now - state.busy_since;
        if !in_idle_time {
            state.idle_since = self.now;
        }
        let block = &mut self.planes[place.plane].blocks[place.block];
        match kind {
            Kind::Read => {
                block.reads -= 1;
                if request.is_none() {
                    self.unread.retain(|&(_, from)| from != place);
                }
            }
            Kind::Program => block.programmed += 1,
            Kind::Erase => (block.erased, block.programmed) = (block.erased + 1, 0),
        }
        if let Some(request) = request {
            match kind {
                Kind::Program => self.needs_no_place(request),
                Kind::Read | Kind::Erase => self.page_done(request, self.now),
            }
        }
        self.begin(unit);
    }
}

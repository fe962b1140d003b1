//! Parts of the plain drive of `plain_drive`, written after docs/model.md.

use std::collections::{BTreeMap, VecDeque};

use flashtwin_ftl::Rng;
use flashtwin_nand::Timing;
use flashtwin_sim::{Concurrency, WriteCompletes};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum System {
    Conventional,
    CaSsd,
    RrSsd,
    Oracle,
}

#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) system: System,
    pub(crate) hash_ns: u64,
    pub(crate) hash_lanes: usize,
    pub(crate) period_ns: u64,
    /// Channels, chips a channel, dies a chip, planes a die.
    pub(crate) levels: [usize; 4],
    pub(crate) blocks_per_plane: usize,
    pub(crate) pages_per_block: usize,
    pub(crate) timing: Timing,
    pub(crate) concurrency: Concurrency,
    /// Such as `CWDP`.
    pub(crate) order: String,
    /// Pages go to the planes in turn, independent of their address.
    pub(crate) dynamic_allocation: bool,
    /// Of those, to the plane of the least loaded unit.
    pub(crate) least_loaded: bool,
    /// The least worn erased block is used next, not the one erased first.
    pub(crate) dynamic_wear: bool,
    /// Free blocks at which a plane begins to collect, and at which it ends.
    pub(crate) start_blocks: usize,
    pub(crate) stop_blocks: usize,
    pub(crate) urgent_blocks: usize,
    pub(crate) step_pages: usize,
    /// Length of a batch of collection; 0: collection waits for none.
    pub(crate) batch_ns: u64,
    /// Blocks that idle time is to keep free; `None`: nothing is collected in idle time.
    pub(crate) idle_blocks: Option<usize>,
    /// Most valid pages of a block that is collected in idle time.
    pub(crate) idle_valid_pages: usize,
    pub(crate) idle_ns: u64,
    pub(crate) write_completes: WriteCompletes,
    /// 0: no bound.
    pub(crate) write_buffer_pages: usize,
    /// 0: nothing that was read is kept.
    pub(crate) read_cache_pages: usize,
    /// The least time of a write that controller RAM answers and the time of a cached read, and whether the RAM survives a power cut.
    pub(crate) ram_ns: u64,
    pub(crate) ram_spread_ns: u64,
    pub(crate) seed: u64,
    pub(crate) is_protected: bool,
    /// 0: no limit.
    pub(crate) reads_before_write: u32,
}

impl Rules {
    pub(crate) fn ram_answer_ns(&self, request: usize) -> u64 {
        let seed = Rng::stream(self.seed, "write buffer").next_u64();
        self.ram_ns + Rng::stream(seed ^ request as u64, "answer").exponential(self.ram_spread_ns, 10)
    }

    pub(crate) fn answers_from_ram(&self) -> bool {
        matches!(self.write_completes, WriteCompletes::Hashed | WriteCompletes::Buffered)
    }

    pub(crate) fn planes(&self) -> usize {
        self.levels.iter().product()
    }

    pub(crate) fn planes_per_unit(&self) -> usize {
        let [.., dies_per_chip, planes_per_die] = self.levels;
        match self.concurrency {
            Concurrency::Plane => 1,
            Concurrency::Die => planes_per_die,
            Concurrency::Chip => planes_per_die * dies_per_chip,
        }
    }

    pub(crate) fn unit_of(&self, plane: usize) -> usize {
        plane / self.planes_per_unit()
    }

    /// Stands for any page that a unit has a copy of.
    pub(crate) fn first_page_of(&self, unit: usize) -> PageAddress {
        PageAddress { plane: unit * self.planes_per_unit(), block: 0, life: 0, page: 0 }
    }

    pub(crate) fn channel_of(&self, plane: usize) -> usize {
        let [channels, _, dies_per_chip, planes_per_die] = self.levels;
        plane / (planes_per_die * dies_per_chip) % channels
    }

    /// The plane at this place of the order of allocation, which starts anew behind its last one.
    pub(crate) fn plane_at(&self, mut place: usize) -> usize {
        let mut at = [0; 4];
        for level in self.order.chars() {
            let index = "CWDP".find(level).unwrap();
            at[index] = place % self.levels[index];
            place /= self.levels[index];
        }
        let [channels, _, dies_per_chip, planes_per_die] = self.levels;
        ((at[1] * channels + at[0]) * dies_per_chip + at[2]) * planes_per_die + at[3]
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PageAddress {
    pub(crate) plane: usize,
    pub(crate) block: usize,
    pub(crate) life: u32,
    pub(crate) page: usize,
}

/// Data with one content, where the system looks at contents, else of one logical page.
pub(crate) struct Stored {
    pub(crate) home: PageAddress,
    pub(crate) copies: Vec<usize>,
    pub(crate) references: usize,
    pub(crate) reads: usize,
    pub(crate) content: u32,
}

/// A page that the host wrote.
pub(crate) struct WrittenPage {
    pub(crate) request: usize,
    pub(crate) has_place: bool,
    pub(crate) is_answered: bool,
}

pub(crate) struct HashedWrite {
    pub(crate) ready: u64,
    pub(crate) lpn: usize,
    pub(crate) content: u32,
    /// Its number among the pages written.
    pub(crate) page: usize,
    pub(crate) reads: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Read,
    Program,
    Erase,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    pub(crate) place: PageAddress,
    /// Of a read of the host's; of a program its number among the pages written.
    pub(crate) request: Option<usize>,
    pub(crate) urgent: bool,
    pub(crate) in_idle_time: bool,
}

impl Operation {
    pub(crate) fn of_host(kind: Kind, place: PageAddress, request: usize) -> Self {
        Self { kind, place, request: Some(request), urgent: false, in_idle_time: false }
    }
}

/// A block, as its controller knows it (`life`, `owner`, ...) and as it is (`erased`, `programmed`, `reads`).
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    /// Erases that were ordered.
    pub(crate) life: u32,
    /// Pages given away, and the data of each that is valid.
    pub(crate) owner: Vec<Option<usize>>,
    pub(crate) valid: usize,
    /// When it came to have that many valid pages, counted in changes of the drive.
    pub(crate) since: u64,
    pub(crate) is_closed: bool,
    pub(crate) erased: u32,
    pub(crate) programmed: usize,
    pub(crate) reads: usize,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Plane {
    pub(crate) blocks: Vec<Block>,
    pub(crate) never_used: usize,
    /// Blocks whose erase was ordered, the first one first.
    pub(crate) erased: Vec<usize>,
    pub(crate) host_block: Option<usize>,
    pub(crate) moved_block: Option<usize>,
    pub(crate) collects: bool,
    pub(crate) has_collected: bool,
    pub(crate) victim: Option<usize>,
    /// Pages that the victim frees, and pages of the host behind which it was collected in step with them.
    pub(crate) gain: usize,
    pub(crate) steps: usize,
    pub(crate) valid: usize,
}

impl Plane {
    pub(crate) fn free(&self) -> usize {
        self.blocks.len() - self.never_used + self.erased.len()
    }

    pub(crate) fn next_block(&mut self, dynamic_wear: bool) -> usize {
        if self.never_used < self.blocks.len() {
            self.never_used += 1;
            return self.never_used - 1;
        }
        let blocks = &self.blocks;
        let by_now = (0..self.erased.len()).filter(|&at| {
            let block = &blocks[self.erased[at]];
            block.erased == block.life
        });
        let wear = |&at: &usize| (blocks[self.erased[at]].life, self.erased[at]);
        let chosen = if dynamic_wear { by_now.min_by_key(wear) } else { by_now.min() };
        self.erased.remove(chosen.unwrap_or(0))
    }

    /// The page up to which the victim is collected in step with the host: its share of the pages that it frees.
    pub(crate) fn next_due(&mut self, pages: usize) -> usize {
        self.steps += 1;
        self.steps * pages / self.gain
    }

    /// Makes the plane's next victim known; whether there is one that gains something.
    pub(crate) fn choose_victim(&mut self, most_valid: usize, changes: &mut u64) -> bool {
        if self.victim.is_some() {
            return true;
        }
        if !self.has_collected {
            self.has_collected = true;
            self.blocks.iter_mut().for_each(|block| block.since = 0);
        }
        let closed = (0..self.blocks.len()).filter(|&block| self.blocks[block].is_closed);
        let best = closed.min_by_key(|&block| (self.blocks[block].valid, self.blocks[block].since, block));
        self.victim = best.filter(|&block| self.blocks[block].valid <= most_valid);
        match (self.victim, best) {
            (Some(block), _) => {
                self.blocks[block].is_closed = false;
                (self.gain, self.steps) = (self.blocks[block].owner.len() - self.blocks[block].valid, 0);
            }
            (None, Some(put_back)) => {
                *changes += 1;
                self.blocks[put_back].since = *changes;
            }
            (None, None) => {}
        }
        self.victim.is_some()
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Unit {
    pub(crate) reads: VecDeque<Operation>,
    pub(crate) programs: VecDeque<Operation>,
    pub(crate) own: VecDeque<Operation>,
    pub(crate) serves: Option<Operation>,
    /// The end of its present stage; whether that is sensing, which data follow.
    pub(crate) due: Option<u64>,
    pub(crate) senses: bool,
    /// Reads since the last program of the host's, while one could have started.
    pub(crate) overtaken: u32,
    pub(crate) idle_since: u64,
    /// Was asked for work in idle time since its last operation, and had none.
    pub(crate) had_none: bool,
    pub(crate) busy_since: u64,
    /// When the batch ends that its programs wait for.
    pub(crate) looks_again: Option<u64>,
}

impl Unit {
    pub(crate) fn load(&self) -> usize {
        self.reads.len() + self.programs.len() + usize::from(self.serves.is_some())
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.serves.is_none() && self.reads.is_empty() && self.programs.is_empty() && self.own.is_empty()
    }
}

/// The queue that a unit serves next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Queue {
    Reads,
    /// The same, with a program that could start as well.
    ReadsFirst,
    Programs,
    Own,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Channel {
    pub(crate) data_free_ns: u64,
    pub(crate) commands_free_ns: u64,
}

/// Figures of a run by their places in its summary. `flash_writes.host` stands for programs of the host's pages,
/// whatever their cause.
pub(crate) type Counts = BTreeMap<&'static str, u64>;

pub(crate) const COUNTED: [&str; 11] = [
    "flash_reads.host",
    "flash_writes.host",
    "flash_reads.gc",
    "flash_writes.gc",
    "flash_operations.erases",
    "page_ops.buffer_reads",
    "page_ops.read_cache_hits",
    "page_ops.unmapped_reads",
    "page_ops.idle_moves",
    "page_ops.allocation_fallbacks",
    "replication.copies",
];

//! Carries out a world's steps in one thread, and compares what the drive answers with what it may.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use flashtwin_bits::SplitMix64;
use flashtwin_ftl::Cause;
use flashtwin_live::drive::{CheckReport, DriveOptions, Omission};
use flashtwin_live::store::Medium;
use flashtwin_live::store::fault::{Call, FaultMedium};
use flashtwin_live::{Caller, Drive, Export, Writing};

use crate::drive::oracle::{Oracle, Request};
use crate::drive::swarm::world::{Damage, End, Rates, Step, Vain, World};

/// How often each mechanism was at work.
pub(crate) type Reached = BTreeMap<&'static str, u64>;

/// An open drive, and the request that waits to come in the midst of another.
struct Stage {
    drive: Drive,
    oracle: RefCell<Oracle>,
    inside: Cell<Option<Request>>,
    /// What became of it.
    came: Cell<Option<Result<Result<(), String>, String>>>,
}

thread_local! {
    static STAGE: RefCell<Option<Rc<Stage>>> = const { RefCell::new(None) };
}

impl Stage {
    /// Carries out the waiting request if the drive's lock is free, as another thread would.
    fn let_in() {
        let Some(stage) = STAGE.with_borrow(Clone::clone) else { return };
        if stage.drive.is_busy() {
            return;
        }
        let Some(request) = stage.inside.take() else { return };
        let page_bytes = stage.oracle.borrow().page_bytes;
        let done = request.ask(&stage.drive, page_bytes, &());
        stage.came.set(Some(stage.oracle.borrow_mut().answered(&request, done, None)));
    }
}

/// The medium as the drive has it: a read of it without the drive's lock is the midst of a request.
struct Door(Arc<FaultMedium>);

impl Medium for Door {
    fn size_bytes(&self) -> io::Result<u64> {
        self.0.size_bytes()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        Stage::let_in();
        self.0.read_at(into, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn pause(&self, _: Duration) {}
}

/// A client that is asked whether it is still there between two turns of a long request.
struct Client;

impl Caller for Client {
    fn has_left(&self) -> bool {
        Stage::let_in();
        false
    }
}

impl Rates {
    fn plan(self, seed: u64) -> impl FnMut(Call) -> Option<ErrorKind> + Send + 'static {
        let mut random = SplitMix64(seed ^ 0xfa17);
        let mut in_a_row = 0;
        move |call| {
            let mut fails = |one_in: u64| one_in > 0 && random.next().is_multiple_of(one_in);
            match call {
                Call::Read(_) => fails(self.reads).then_some(ErrorKind::Other),
                Call::Sync => fails(self.syncs).then_some(ErrorKind::Other),
                Call::Write(_) if fails(self.full) => Some(ErrorKind::StorageFull),
                Call::Write(_) => {
                    in_a_row = if in_a_row < 2 && fails(self.writes) { in_a_row + 1 } else { 0 };
                    (in_a_row > 0).then_some(ErrorKind::Other)
                }
            }
        }
    }
}

pub(crate) struct Run<'a> {
    world: &'a World,
    medium: Arc<FaultMedium>,
    stage: Rc<Stage>,
    reached: Reached,
    /// Whether some data may be gone.
    is_lossy: bool,
    is_mended: bool,
    /// Requests since the drive has ended writing.
    ended_for: u32,
}

/// So many requests are tried before a drive that has ended writing is opened again.
const READ_ONLY_STEPS: u32 = 6;

impl<'a> Run<'a> {
    /// Carries out all steps, then mends the medium: everything must be writable again.
    pub(crate) fn whole(world: &'a World) -> Result<Reached, String> {
        let oracle = Oracle::zeroes(&world.shape);
        let (medium, stage) = opened(world, world.image.0.clone(), oracle)?;
        let (reached, is_lossy) = (Reached::new(), world.rates.reads > 0);
        let mut run = Self { world, medium, stage, reached, is_lossy, is_mended: false, ended_for: 0 };
        run.arm(0);
        for (at, step) in world.steps.iter().enumerate() {
            run.step(step).map_err(|error| format!("step {at}: {error}"))?;
        }
        run.ends().map_err(|error| format!("at the end: {error}"))?;
        STAGE.take();
        Ok(run.reached)
    }

    fn add(&mut self, mechanism: &'static str, times: u64) {
        *self.reached.entry(mechanism).or_default() += times;
    }

    fn arm(&self, seed: u64) {
        let worn = &self.world.worn;
        if !self.is_mended {
            self.medium.fail_when(seed, self.world.rates.plan(seed));
            let places = worn.data.iter().chain(&worn.spare_bytes).chain(&worn.log).chain(&worn.fatal);
            places.for_each(|place| self.medium.wear_out(place.clone()));
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::PowerFails { after } => self.medium.cut_after(*after),
            Step::Damage { place, how } => self.damage(place.clone(), *how),
            Step::Reopen { end, vain, seed } => return self.reopen(*end, *vain, *seed),
            Step::Ask(request, inside) => {
                let outcome = self.ask(request, inside.as_ref())?;
                if self.medium.is_cut() {
                    self.add("cuts in a request", 1);
                    return self.reopen(End::Cut, None, self.medium.steps());
                }
                self.expect(request, outcome)?;
                self.ended_for += u32::from(self.stage.drive.read_only().is_some());
                if self.ended_for > READ_ONLY_STEPS {
                    return self.reopen(End::Killed, None, self.medium.steps());
                }
            }
        }
        Ok(())
    }

    /// `Err` where a read was wrong.
    fn ask(&mut self, request: &Request, inside: Option<&Request>) -> Result<Result<(), String>, String> {
        let stage = Rc::clone(&self.stage);
        let page_bytes = stage.oracle.borrow().page_bytes;
        let before = inside.map(|_| stage.oracle.borrow().before(request));
        if let Some((offset, bytes)) = request.changes(page_bytes).filter(|_| inside.is_some()) {
            stage.oracle.borrow_mut().given(offset, &bytes, false);
        }
        stage.inside.set(inside.cloned());
        let done = request.ask(&stage.drive, page_bytes, &Client);
        stage.inside.set(None);
        let came = stage.came.take();
        let before = before.filter(|_| came.is_some());
        let done = stage.oracle.borrow_mut().answered(request, done, before.as_deref())?;
        if let (Some(came), Some(inside)) = (came, inside) {
            self.add("requests in the midst of another", 1);
            if !self.medium.is_cut() {
                self.expect(inside, came?)?;
            }
        }
        Ok(done)
    }

    /// Why the drive may have ended writing.
    fn may_end(&self) -> bool {
        let Rates { full, syncs, .. } = self.world.rates;
        !self.is_mended && (full > 0 || syncs > 0 || !self.world.worn.fatal.is_empty())
    }

    /// An error has a cause and names the cure.
    fn expect(&self, request: &Request, outcome: Result<(), String>) -> Result<(), String> {
        let ended = self.stage.drive.read_only();
        match (&outcome, &ended) {
            (_, Some(why)) if !self.may_end() => Err(format!("it ended writing: {why}")),
            (_, Some(why)) => self.names_the_cure(why),
            (Err(error), None) if !self.is_lossy => Err(format!("{request:?} failed: {error}")),
            _ => Ok(()),
        }
    }

    fn names_the_cure(&self, why: &str) -> Result<(), String> {
        let page = vec![7; self.world.shape.page_bytes as usize];
        let Err(error) = self.stage.drive.write(0, &page, Writing::default(), &()) else {
            return Err(format!("it takes writes, and is read only: {why}"));
        };
        let is_worn = why.contains("cannot be written, as the test wants");
        let is_caused = is_worn || why.contains("fails, as the test wants");
        let is_cured =
            why.contains("open the drive again") && is_worn == why.contains("copy the image to another disk");
        // A full disk stays a full disk.
        let is_full = error.kind() == ErrorKind::StorageFull;
        match is_caused && is_cured && (!is_full || self.world.rates.full > 0) {
            true => Ok(()),
            false => Err(format!("{error} is told for {why}")),
        }
    }

    fn damage(&mut self, place: Range<u64>, how: Damage) {
        self.is_lossy = true;
        self.add("damaged pages", 1);
        let other = match how {
            Damage::Misplaced(from) => self.medium.bytes()[from as usize..][..place.clone().count()].to_vec(),
            _ => vec![0; place.clone().count()],
        };
        let changed = if matches!(how, Damage::Changed) { 1 } else { place.clone().count() };
        for (at, new) in place.zip(other).take(changed) {
            let change =
                |byte: &mut u8| *byte = if matches!(how, Damage::Changed) { *byte ^ 0x5a } else { new };
            self.medium.damage(at, change);
        }
    }

    fn count(&mut self) {
        let stats = self.stage.drive.stats();
        let (controller, store) = (stats.controller, stats.store);
        for (mechanism, times) in [
            ("erases", controller.erases),
            ("pages moved by collection", controller.programs[Cause::Gc as usize]),
            ("pages moved on account of wear", controller.programs[Cause::WearLevelling as usize]),
            ("copies made", controller.programs[Cause::Replica as usize]),
            ("copies dropped", controller.replication.dropped),
            ("duplicates", controller.pages.duplicate_writes),
            ("duplicates found later", controller.dedup.duplicates_out_of_line),
            ("twins found", controller.spread.twins_found),
            ("erase barriers", store.erase_barriers),
            ("checkpoints", store.checkpoints),
            ("pages compared", store.compared),
            ("pages found damaged", store.damaged_pages),
            ("pages read from a copy", store.repaired_pages),
            ("pages moved as lost", stats.lost_pages),
            ("writes tried again", store.retried_writes),
            ("pages written elsewhere", store.replaced_pages),
            ("batches with one copy", store.lone_batches),
            ("retired blocks", stats.retired_blocks),
            ("drives that ended writing", u64::from(self.stage.drive.read_only().is_some())),
        ] {
            self.add(mechanism, times);
        }
    }

    /// Ends the session and begins another, on the medium as it is then.
    fn reopen(&mut self, end: End, vain: Option<Vain>, seed: u64) -> Result<(), String> {
        let request = if end == End::Closed { Request::Checkpoint } else { Request::Flush };
        let mut end = end;
        if matches!(end, End::Closed | End::Flushed) {
            let outcome = self.ask(&request, None)?;
            if self.medium.is_cut() {
                end = End::Cut;
            } else {
                self.expect(&request, outcome)?;
            }
        }
        let ended = self.stage.drive.read_only();
        if !self.medium.is_cut() {
            match ended {
                None => self.stage.drive.audit()?,
                // Pages that were ordered and not written are errors, and no old data.
                Some(_) => _ = self.stage.oracle.borrow_mut().read_all(&self.stage.drive)?,
            }
        }
        self.count();
        self.ended_for = 0;
        STAGE.take();
        let is_cut = end == End::Cut || self.medium.is_cut() || end != End::Killed && seed.is_multiple_of(2);
        let mut bytes = if is_cut { self.medium.after_cut(seed) } else { self.medium.bytes() };
        self.add("cuts", u64::from(is_cut));
        if let Some(vain) = vain {
            bytes = self.opened_in_vain(bytes, vain, seed);
        }
        let mut oracle = self.stage.oracle.replace(Oracle::zeroes(&self.world.shape));
        oracle.restart();
        self.medium = Arc::new(FaultMedium::of(bytes));
        let report = self.checked()?;
        let worn = &self.world.worn.fatal;
        if !self.is_mended {
            worn.iter().for_each(|place| self.medium.wear_out(place.clone()));
        }
        self.stage = stage(self.world, &self.medium, oracle)?;
        self.add("recoveries", u64::from(self.stage.drive.recovery().0 > 0));
        let opened_to_read = self.stage.drive.read_only().is_some();
        self.add("drives opened to be read only", u64::from(opened_to_read));
        self.stage.drive.audit()?;
        // Both may change while all pages are read: a whole copy gives way to others, a damaged one is found.
        let stats = self.stage.drive.stats();
        let mut oracle = self.stage.oracle.borrow_mut();
        let errors = oracle.read_all(&self.stage.drive)? as u64;
        oracle.flushed();
        drop(oracle);
        // Reads make copies, so a drive may end writing under them. A page that was to be moved then is an error.
        let ended = self.stage.drive.read_only();
        let ended_meanwhile = ended.is_some() && !opened_to_read;
        if let Some(why) = ended {
            self.expect(&request, Err(why))?;
        }
        let (told, retired) = (report.unreadable_pages, stats.retired_blocks);
        let is_told = errors == told || errors > told && (stats.replica_pages > 0 || ended_meanwhile);
        if !is_told || errors > 0 && !(self.is_lossy || ended_meanwhile) || report.retired_blocks != retired {
            let text =
                format!("{errors} pages cannot be read and {told} are told, {retired} blocks are retired");
            return Err(format!("opened again, {text}"));
        }
        STAGE.set(Some(Rc::clone(&self.stage)));
        self.arm(seed);
        Ok(())
    }

    /// The medium after an attempt to open the drive during which calls failed or the power went.
    fn opened_in_vain(&mut self, bytes: Vec<u8>, vain: Vain, seed: u64) -> Vec<u8> {
        let medium = Arc::new(FaultMedium::of(bytes));
        match vain {
            Vain::Cut(after) => medium.cut_after(after),
            Vain::Fails(rates) => medium.fail_when(seed, rates.plan(seed)),
        }
        self.add("drives opened in vain", 1);
        drop(Drive::open_on(medium.clone(), &self.world.options));
        if medium.is_cut() || seed.is_multiple_of(3) { medium.after_cut(seed) } else { medium.bytes() }
    }

    /// Tables, references and digests agree with one another.
    fn checked(&self) -> Result<CheckReport, String> {
        // A check does not know which digests a test breaks.
        if self.world.options.omission == Some(Omission::Collision) {
            return Ok(CheckReport::default());
        }
        let report = Drive::check_on(Arc::clone(&self.medium) as _, true);
        let report = report.map_err(|error| error.to_string())?;
        let has_worn_spares = !self.world.worn.spare_bytes.is_empty();
        let expected = |problem: &&String| {
            !(self.is_lossy && problem.contains("cannot be read")
                || has_worn_spares && problem.contains("spare bytes"))
        };
        match report.problems.iter().find(expected) {
            None => Ok(report),
            Some(problem) => Err(format!("{} problems: {problem}", report.problems.len())),
        }
    }

    fn ends(&mut self) -> Result<(), String> {
        self.reopen(End::Killed, None, 1)?;
        self.is_mended = true;
        self.reopen(End::Cut, None, 2)?;
        let drive = &self.stage.drive;
        let mut oracle = self.stage.oracle.borrow_mut();
        oracle.write_all(drive, 3)?;
        match oracle.read_all(drive)? {
            0 if drive.stats().lost_pages == 0 => {}
            left => return Err(format!("{left} pages cannot be read after all were written")),
        }
        drop(oracle);
        self.is_lossy = false;
        self.reopen(End::Closed, None, 4)
    }
}

fn stage(world: &World, medium: &Arc<FaultMedium>, oracle: Oracle) -> Result<Rc<Stage>, String> {
    let options: &DriveOptions = &world.options;
    let drive = Drive::open_on(Arc::new(Door(Arc::clone(medium))), options);
    let drive = drive.map_err(|error| format!("it cannot be opened: {error}"))?;
    let oracle = RefCell::new(oracle);
    Ok(Rc::new(Stage { drive, oracle, inside: Cell::new(None), came: Cell::new(None) }))
}

fn opened(world: &World, bytes: Vec<u8>, oracle: Oracle) -> Result<(Arc<FaultMedium>, Rc<Stage>), String> {
    let medium = Arc::new(FaultMedium::of(bytes));
    let stage = stage(world, &medium, oracle)?;
    STAGE.set(Some(Rc::clone(&stage)));
    Ok((medium, stage))
}

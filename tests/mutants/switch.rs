//! Which of the changes that are compiled in is active, if any. In copies that `tests/mutants` makes only.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// No change is active, and every change that is reached is written down.
const RECORD: u32 = u32::MAX;
const MOST: usize = 1 << 16;

/// Set before `main`, and never after: so that the compiler may keep it in a register.
static mut ACTIVE: u32 = 0;

static REACHED: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];

/// Whether change `number` is the active one.
#[inline(always)]
pub fn is(number: u32) -> bool {
    // SAFETY: written once, before there is a second thread.
    let active = unsafe { ACTIVE };
    active == number
        || (active == RECORD && !REACHED[number as usize].load(Ordering::Relaxed) && reached(number))
}

/// Notes that change `number` would have had an effect here; false.
#[cold]
#[inline(never)]
fn reached(number: u32) -> bool {
    if !REACHED[number as usize].swap(true, Ordering::Relaxed) {
        let file = std::env::var_os("FLASHTWIN_REACHED");
        write(file.as_deref().unwrap_or(OsStr::new("/dev/null")), number);
    }
    false
}

/// One line at once: several processes may write to the same file.
fn write(file: &OsStr, number: u32) {
    let file = OpenOptions::new().append(true).create(true).open(file);
    file.and_then(|mut file| file.write_all(format!("{number}\n").as_bytes())).unwrap();
}

extern "C" fn set() {
    let value = std::env::var("FLASHTWIN_MUTANT").unwrap_or_default();
    let active = if value == "record" { RECORD } else { value.parse().unwrap_or(0) };
    // SAFETY: nothing else runs yet.
    unsafe { ACTIVE = active };
}

/// What a function that returns an iterator returns: what it was to, or something instead.
#[derive(Clone)]
pub enum Either<T, I> {
    Instead(std::vec::IntoIter<T>),
    Was(I),
}

impl<I: Iterator> Either<I::Item, I> {
    pub fn instead(items: impl Iterator<Item = I::Item>) -> Self {
        Self::Instead(items.collect::<Vec<_>>().into_iter())
    }
}

impl<I: Iterator> Iterator for Either<I::Item, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        match self {
            Self::Instead(items) => items.next(),
            Self::Was(items) => items.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Instead(items) => items.size_hint(),
            Self::Was(items) => items.size_hint(),
        }
    }
}

impl<I: DoubleEndedIterator> DoubleEndedIterator for Either<I::Item, I> {
    fn next_back(&mut self) -> Option<I::Item> {
        match self {
            Self::Instead(items) => items.next_back(),
            Self::Was(items) => items.next_back(),
        }
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for Either<I::Item, I> {}

#[used]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_os = "macos"), unsafe(link_section = ".init_array"))]
static SET: extern "C" fn() = set;

//! Vectors for long columns, on huge pages where the system has them: filling a column of a hundred megabytes is, page
//! of 4 KB by page, more often than not the system's work.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// Bytes from which on asking is worth a call of the system.
const LARGE: usize = 8 << 20;

/// Like `Vec::with_capacity`, but falls back to an empty vector: the count comes from untrusted
/// input.
pub fn with_room<T>(items: usize) -> Vec<T> {
    let mut room = Vec::new();
    if room.try_reserve_exact(items).is_err() {
        return room;
    }
    ask_for_huge_pages(&room);
    room
}

/// A vector of `items` zeros (`T::default()`). A large one is fresh memory from the system.
pub fn zeros<T: Clone + Default>(items: usize) -> Vec<T> {
    let room = vec![T::default(); items];
    ask_for_huge_pages(&room);
    room
}

/// The memory that a vector has room in, for a thread that asks the system for it while another one fills the vector.
/// Of the first time that a virtual machine's memory is written to, most is the system's time, not the program's.
#[derive(Clone, Copy)]
pub struct Room {
    begins: usize,
    bytes: usize,
}

impl Room {
    /// The room of a vector.
    pub fn of<T>(vector: &Vec<T>) -> Self {
        Self {
            begins: vector.as_ptr().expose_provenance(),
            bytes: vector.capacity().saturating_mul(size_of::<T>()),
        }
    }

    /// Does `work`, which fills vectors, while another thread touches their memory in advance.
    /// Contents do not change; a vector that was reallocated meanwhile is skipped, or its
    /// successor's memory is touched.
    pub fn found_while<R>(rooms: &[Self], work: impl FnOnce() -> R) -> R {
        if rooms.iter().all(|room| room.bytes < LARGE) {
            return work();
        }
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| Self::find_all(rooms, &done));
            // However `work` ends, the other thread must stop.
            let _ended = Ended(&done);
            work()
        })
    }

    fn find_all(rooms: &[Self], done: &AtomicBool) {
        for piece in 0..PIECES {
            for room in rooms.iter().filter(|room| room.bytes >= LARGE) {
                if done.load(Relaxed) {
                    return;
                }
                room.find(piece);
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn find(self, piece: usize) {
        let place = |piece: usize| self.begins + self.bytes / PIECES * piece;
        let ends = if piece + 1 == PIECES { self.begins + self.bytes } else { place(piece + 1) };
        let part = Self { begins: place(piece), bytes: ends - place(piece) };
        part.advise(libc::MADV_POPULATE_WRITE);
    }

    /// Nothing can be asked for here.
    #[cfg(not(target_os = "linux"))]
    fn find(self, piece: usize) {
        let _ = (self.begins, piece);
    }

    /// Says something of the whole pages in it to the system.
    #[cfg(target_os = "linux")]
    fn advise(self, advice: libc::c_int) {
        /// Whole pages of any size: this is the largest that a processor has by default.
        const PAGE: usize = 64 << 10;
        let begins = self.begins.next_multiple_of(PAGE);
        let whole = (self.begins + self.bytes).saturating_sub(begins) / PAGE * PAGE;
        // SAFETY: it is advice, heard or not, and changes nothing that is written anywhere.
        unsafe { libc::madvise(std::ptr::with_exposed_provenance_mut(begins), whole, advice) };
    }
}

/// Says when it goes that work is done.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Pieces that the memory of a vector is asked for in: vectors are filled from their beginnings.
const PIECES: usize = 32;
#[cfg(target_os = "linux")]
fn ask_for_huge_pages<T>(vector: &Vec<T>) {
    let room = Room::of(vector);
    if room.bytes >= LARGE {
        room.advise(libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<T>(_vector: &Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_with_room_is_a_vector_like_any_other() {
        for items in [0, 1, 1_000, LARGE / 8 - 1, LARGE / 8 + 4_097] {
            let mut room: Vec<u64> = with_room(items);
            assert!(room.is_empty() && room.capacity() >= items);
            room.extend(0..items as u64);
            assert!(room.iter().copied().eq(0..items as u64), "{items}");
            let zeros: Vec<u64> = zeros(items);
            assert!(zeros.len() == items && zeros.iter().all(|&item| item == 0));
        }
    }

    #[test]
    fn memory_that_is_found_while_columns_are_filled_holds_what_they_are_filled_with() {
        for (items, filled) in [(0, 0), (1_000, 1_000), (3 << 20, 3 << 20), (3 << 20, 5 << 20), (3 << 20, 7)]
        {
            let (mut one, mut two) = (with_room::<u64>(items), with_room::<u8>(items));
            let rooms = [Room::of(&one), Room::of(&two)];
            let said = Room::found_while(&rooms, || {
                one.extend(0..filled as u64);
                two.extend((0..filled).map(|number| number as u8));
                "done"
            });
            assert_eq!(said, "done");
            assert!(one.iter().copied().eq(0..filled as u64), "{items} {filled}");
            assert!(
                two.iter().enumerate().all(|(number, &byte)| byte == number as u8) && two.len() == filled
            );
        }
    }

    #[test]
    fn a_panic_beside_the_search_for_memory_is_not_held_up() {
        let room = [Room::of(&with_room::<u64>(3 << 20))];
        let ended = std::panic::catch_unwind(|| Room::found_while(&room, || panic!("on purpose")));
        assert!(ended.is_err());
    }

    #[test]
    fn more_room_than_there_is_memory_is_none() {
        assert_eq!(with_room::<u64>(usize::MAX).capacity(), 0);
    }
}

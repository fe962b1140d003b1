//! Vectors for long columns, on huge pages where the system has them, because filling one is mostly the system's work.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// Bytes from which on asking is worth a call of the system.
const LARGE: usize = 8 << 20;

/// Like `Vec::with_capacity`, but an empty vector if memory is short, because the count comes from untrusted input.
pub fn try_with_capacity<T>(items: usize) -> Vec<T> {
    let mut memory = Vec::new();
    if memory.try_reserve_exact(items).is_err() {
        return memory;
    }
    ask_for_huge_pages(&memory);
    memory
}

/// A vector of `items` zeros (`T::default()`). A large one is fresh memory from the system.
pub fn zeros<T: Clone + Default>(items: usize) -> Vec<T> {
    let memory = vec![T::default(); items];
    ask_for_huge_pages(&memory);
    memory
}

/// A vector's memory, for another thread to touch, because a first write takes long in a virtual machine.
#[derive(Clone, Copy)]
pub struct SpareMemory {
    begins: usize,
    bytes: usize,
}

impl SpareMemory {
    /// The memory of a vector.
    pub fn of<T>(vector: &Vec<T>) -> Self {
        Self {
            begins: vector.as_ptr().expose_provenance(),
            bytes: vector.capacity().saturating_mul(size_of::<T>()),
        }
    }

    /// Does `work`, which fills vectors, while another thread touches their memory in advance. A vector that is
    /// reallocated meanwhile is skipped, or its successor's memory is touched.
    pub fn touch_while<R>(vectors: &[Self], work: impl FnOnce() -> R) -> R {
        if vectors.iter().all(|memory| memory.bytes < LARGE) {
            return work();
        }
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| Self::touch_all(vectors, &done));
            // However `work` ends, the other thread must stop.
            let _ended = Ended(&done);
            work()
        })
    }

    fn touch_all(vectors: &[Self], done: &AtomicBool) {
        for piece in 0..PIECES {
            for memory in vectors.iter().filter(|memory| memory.bytes >= LARGE) {
                if done.load(Relaxed) {
                    return;
                }
                memory.touch(piece);
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn touch(self, piece: usize) {
        let place = |piece: usize| self.begins + self.bytes / PIECES * piece;
        let ends = if piece + 1 == PIECES { self.begins + self.bytes } else { place(piece + 1) };
        let part = Self { begins: place(piece), bytes: ends - place(piece) };
        part.advise(libc::MADV_POPULATE_WRITE);
    }

    #[cfg(not(target_os = "linux"))]
    fn touch(self, piece: usize) {
        let _ = (self.begins, piece);
    }

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

struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Pieces in which the memory of a vector is touched: vectors are filled from their beginnings.
const PIECES: usize = 32;
#[cfg(target_os = "linux")]
fn ask_for_huge_pages<T>(vector: &Vec<T>) {
    let memory = SpareMemory::of(vector);
    if memory.bytes >= LARGE {
        memory.advise(libc::MADV_HUGEPAGE);
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
            let mut memory: Vec<u64> = try_with_capacity(items);
            assert!(memory.is_empty() && memory.capacity() >= items);
            memory.extend(0..items as u64);
            assert!(memory.iter().copied().eq(0..items as u64), "{items}");
            let zeros: Vec<u64> = zeros(items);
            assert!(zeros.len() == items && zeros.iter().all(|&item| item == 0));
        }
    }

    #[test]
    fn memory_touched_in_advance_keeps_the_columns_contents() {
        for (items, filled) in [(0, 0), (1_000, 1_000), (3 << 20, 3 << 20), (3 << 20, 5 << 20), (3 << 20, 7)]
        {
            let (mut one, mut two) = (try_with_capacity::<u64>(items), try_with_capacity::<u8>(items));
            let vectors = [SpareMemory::of(&one), SpareMemory::of(&two)];
            let said = SpareMemory::touch_while(&vectors, || {
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
        let memory = [SpareMemory::of(&try_with_capacity::<u64>(3 << 20))];
        let ended = std::panic::catch_unwind(|| SpareMemory::touch_while(&memory, || panic!("on purpose")));
        assert!(ended.is_err());
    }

    #[test]
    fn more_room_than_there_is_memory_is_none() {
        assert_eq!(try_with_capacity::<u64>(usize::MAX).capacity(), 0);
    }
}

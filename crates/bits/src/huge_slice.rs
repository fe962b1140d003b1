//! Slices for tables with random access: on huge pages if the system has them.
//!
//! A replay mostly waits for memory, with 4 KB pages often for the TLB. The standard allocator neither aligns large
//! blocks to huge pages nor asks for them; `memmap2` cannot align. A device of 16 TB never touches most of its tables,
//! which takes `MAP_NORESERVE`.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Bytes of a cache line: no table begins within one.
const LINE: usize = 64;
/// Items that are copied or left out together.
const AT_ONCE: usize = 1024;

/// Types for which all-zero bytes are a valid value.
///
/// # Safety
/// All bytes zero must be a value of the type.
pub unsafe trait Zero: Copy {}
// SAFETY: it is 0 then.
unsafe impl Zero for u32 {}
// SAFETY: likewise.
unsafe impl Zero for u64 {}
// SAFETY: likewise.
unsafe impl Zero for [u32; 2] {}

/// A slice of fixed length that begins with a cache line.
pub struct HugeSlice<T> {
    items: NonNull<T>,
    len: usize,
    began_as_zeros: bool,
}

// SAFETY: it owns its items as a boxed slice does.
unsafe impl<T: Send> Send for HugeSlice<T> {}
// SAFETY: likewise.
unsafe impl<T: Sync> Sync for HugeSlice<T> {}

impl<T> HugeSlice<T> {
    fn layout(len: usize) -> Option<Layout> {
        Layout::array::<T>(len).and_then(|layout| layout.align_to(LINE)).ok()
    }

    fn memory(len: usize) -> NonNull<T> {
        let Some(layout) = Self::layout(len) else { panic!("a table of {len} items is larger than memory") };
        if layout.size() == 0 {
            return NonNull::dangling();
        }
        let memory = match pages::are_worth_it(&layout) {
            true => pages::map(layout.size()),
            // SAFETY: the layout is not empty.
            false => unsafe { alloc_zeroed(layout) },
        };
        NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(layout))
    }
}

impl<T: Zero> HugeSlice<T> {
    /// `len` zeroed items. Parts of a large table that are never written take no memory.
    pub fn zeroed(len: usize) -> Self {
        Self { items: Self::memory(len), len, began_as_zeros: true }
    }
}

impl<T: Copy> HugeSlice<T> {
    /// `len` copies of `item`.
    pub fn filled(item: T, len: usize) -> Self {
        let items = Self::memory(len);
        for at in 0..len {
            // SAFETY: there is room for `len` items.
            unsafe { items.add(at).write(item) };
        }
        Self { items, len, began_as_zeros: false }
    }
}

/// Leaves memory untouched where the original is zeros, because much of it never was touched.
impl<T: Copy + PartialEq> Clone for HugeSlice<T> {
    fn clone(&self) -> Self {
        let items = Self::memory(self.len);
        for at in (0..self.len).step_by(AT_ONCE) {
            let from = &self[at..self.len.min(at + AT_ONCE)];
            // SAFETY: fresh memory is zeros, which are items if the original began as such.
            let to = || unsafe { std::slice::from_raw_parts(items.add(at).as_ptr(), from.len()) };
            if !self.began_as_zeros || to() != from {
                // SAFETY: there is room for as many, and nothing else knows of it yet.
                unsafe { items.add(at).as_ptr().copy_from_nonoverlapping(from.as_ptr(), from.len()) };
            }
        }
        Self { items, ..*self }
    }
}

impl<T> Drop for HugeSlice<T> {
    fn drop(&mut self) {
        // Items are plain values: nothing but their memory is to be given back.
        let Some(layout) = Self::layout(self.len).filter(|layout| layout.size() > 0) else { return };
        let memory = self.items.as_ptr().cast();
        match pages::are_worth_it(&layout) {
            // SAFETY: it came from there, with this size.
            true => unsafe { pages::unmap(memory, layout.size()) },
            // SAFETY: likewise.
            false => unsafe { dealloc(memory, layout) },
        }
    }
}

impl<T> Deref for HugeSlice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: all items were written or may be zeros, and this slice owns them alone.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for HugeSlice<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.items.as_ptr(), self.len) }
    }
}

/// Zeroed memory from the system, so that it begins with a huge page and consists of them.
#[cfg(target_os = "linux")]
mod pages {
    use std::alloc::Layout;
    use std::ptr::null_mut;

    const HUGE: usize = 2 << 20;

    pub(super) fn are_worth_it(layout: &Layout) -> bool {
        layout.size() >= HUGE / 2
    }

    /// Memory of `bytes`, rounded up to whole huge pages; null if there is none.
    pub(super) fn map(bytes: usize) -> *mut u8 {
        let wanted = bytes.next_multiple_of(HUGE);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // Most of a device's tables is never touched: only touched pages shall count.
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: fresh memory; the returned parts lie before and behind the part that is kept.
        unsafe {
            let all = libc::mmap(null_mut(), wanted + HUGE, protection, kind, -1, 0);
            if all == libc::MAP_FAILED {
                return null_mut();
            }
            let before = all.align_offset(HUGE);
            let kept = all.byte_add(before);
            if before > 0 {
                libc::munmap(all, before);
            }
            libc::munmap(kept.byte_add(wanted), HUGE - before);
            // Whether it is heard or not: the memory is as good.
            libc::madvise(kept, wanted, libc::MADV_HUGEPAGE);
            kept.cast()
        }
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// It must come from [`map`] with as many bytes.
    pub(super) unsafe fn unmap(memory: *mut u8, bytes: usize) {
        // SAFETY: whole mappings, by the caller's word.
        unsafe { libc::munmap(memory.cast(), bytes.next_multiple_of(HUGE)) };
    }
}

#[cfg(not(target_os = "linux"))]
mod pages {
    use std::alloc::Layout;

    pub(super) fn are_worth_it(_layout: &Layout) -> bool {
        false
    }

    pub(super) fn map(_bytes: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    pub(super) unsafe fn unmap(_memory: *mut u8, _bytes: usize) {}
}

#[cfg(test)]
mod tests {
    use super::HugeSlice;

    #[test]
    fn a_table_is_zeros_on_whole_lines_and_keeps_what_is_written() {
        for len in [0, 1, 17, 5_000, 300_000, 1_000_003] {
            let mut table = HugeSlice::<u64>::zeroed(len);
            assert_eq!((table.len(), table.as_ptr() as usize % 64), (len, if len > 0 { 0 } else { 8 }));
            assert!(table.iter().all(|&item| item == 0));
            table.iter_mut().zip(1..).for_each(|(item, number)| *item = number);
            assert!(table.iter().copied().eq(1..=len as u64));
            let filled = HugeSlice::filled([7u32, 9], len);
            assert!(filled.len() == len && filled.iter().all(|&item| item == [7, 9]));
            // Zeros behind what is written stay as they are.
            table[len / 2..].fill(0);
            assert!(table.clone()[..] == table[..] && filled.clone()[..] == filled[..]);
        }
    }
}

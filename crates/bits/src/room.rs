//! Vectors for long columns, on huge pages where the system has them: filling a column of a hundred megabytes is, page
//! of 4 KB by page, more often than not the system's work.

/// Bytes from which on asking is worth a call of the system.
#[cfg(any(target_os = "linux", test))]
const LARGE: usize = 8 << 20;

/// An empty vector with room for so many items.
pub fn with_room<T>(items: usize) -> Vec<T> {
    let mut room = Vec::with_capacity(items);
    ask_for_huge_pages(&mut room);
    room
}

#[cfg(target_os = "linux")]
fn ask_for_huge_pages<T>(room: &mut Vec<T>) {
    let bytes = room.capacity().saturating_mul(size_of::<T>());
    if bytes < LARGE {
        return;
    }
    /// Whole pages, whatever their size: the largest that a processor has by default.
    const PAGE: usize = 64 << 10;
    let memory = room.as_mut_ptr().cast::<u8>();
    let before = memory.align_offset(PAGE);
    let whole = bytes.saturating_sub(before) / PAGE * PAGE;
    // SAFETY: it is advice on memory of the vector's own, heard or not, and changes nothing that is written there.
    unsafe { libc::madvise(memory.add(before).cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<T>(_room: &mut Vec<T>) {}

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
        }
    }
}

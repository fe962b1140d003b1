/// The target of prefetches out of range, because an empty slice has no valid address.
static NOWHERE: [u8; 64] = [0; 64];

/// Starts loading `slice[index]` into the cache; out of range, a line that is already there, because whether an index
/// is in range is as random as the trace, and a mispredicted branch costs more than a useless load.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    let nowhere = (&raw const NOWHERE).cast();
    ask_for(if index < slice.len() { slice.as_ptr().wrapping_add(index) } else { nowhere });
}

/// The same if nearly every index is in range: out of range, there is no prefetch.
#[inline(always)]
pub fn prefetch_if_there<T>(slice: &[T], index: usize) {
    if let Some(item) = slice.get(index) {
        ask_for(item);
    }
}

#[inline(always)]
fn ask_for<T>(item: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and faults at no address.
        unsafe { _mm_prefetch(item.cast::<i8>(), _MM_HINT_T0) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}

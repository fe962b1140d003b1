//! Asking for memory before it is needed.

/// What is asked for where there is nothing to ask for. Empty slices begin at no address at all, and a processor that is
/// asked for one must first find out that there is none; a replay on a quiet machine takes as long either way.
static NOWHERE: [u8; 64] = [0; 64];

/// Starts loading `slice[index]` into the cache, where the machine can; out of range: what is there already. Whether an
/// index is in range is as random as the trace, and a wrong guess of the processor costs more than a line asked for in
/// vain.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    let nowhere = (&raw const NOWHERE).cast();
    ask_for(if index < slice.len() { slice.as_ptr().wrapping_add(index) } else { nowhere });
}

/// The same where nearly every index is in range: out of range, nothing is asked for.
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

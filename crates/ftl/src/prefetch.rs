//! Asking for memory before it is needed.

/// Starts loading `slice[index]` into the cache, where the machine can; out of range: whatever the slice begins
/// with. Whether an index is in range is as random as the trace, and a wrong guess of the processor costs more
/// than a line asked for in vain.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let index = if index < slice.len() { index } else { 0 };
        // SAFETY: a prefetch reads nothing, and the address is in the slice or, of an empty one, its own.
        unsafe { _mm_prefetch(slice.as_ptr().add(index).cast::<i8>(), _MM_HINT_T0) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

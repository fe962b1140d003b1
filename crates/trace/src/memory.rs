//! How much memory work on a trace may take, known before it is taken.

/// What any trace may take.
const LEAST_BYTES: u64 = 1 << 30;
/// What a request may take beyond that: distinct pages of a mebibyte in sectors of 512 bytes are far below.
const REQUEST_BYTES: u64 = 64 << 10;

/// Bytes of memory that work on so many requests may take: a gibibyte, or 64 KiB a request where that is
/// more, and not more than the machine has left. A few lines of text that ask for terabytes stay below.
pub fn memory_allowed_bytes(requests: u64) -> u64 {
    let by_requests = requests.saturating_mul(REQUEST_BYTES).max(LEAST_BYTES);
    by_requests.min(available_bytes().unwrap_or(u64::MAX))
}

/// Memory that can still be had without swapping; `None` where the system does not say.
fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// A number of bytes as people read it.
pub fn bytes_in_words(bytes: u64) -> String {
    for (unit, name) in [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")] {
        if bytes >= unit {
            return format!("{:.1} {name}", bytes as f64 / unit as f64);
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_requests_get_a_gibibyte_and_many_more() {
        let available = available_bytes().unwrap_or(u64::MAX);
        assert_eq!(memory_allowed_bytes(65), LEAST_BYTES.min(available));
        assert_eq!(memory_allowed_bytes(1_000_000), (1_000_000 * REQUEST_BYTES).min(available));
        assert_eq!(memory_allowed_bytes(u64::MAX), available);
    }

    #[test]
    fn bytes_have_one_digit_behind_the_point() {
        assert_eq!(bytes_in_words(3 << 29), "1.5 GiB");
        assert_eq!(bytes_in_words(1000), "1000 bytes");
        assert_eq!(bytes_in_words(u64::MAX), "16777216.0 TiB");
    }
}

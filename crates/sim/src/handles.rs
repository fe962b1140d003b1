//! Partitions that are known before the first write: by the writes to come, or named by the host as streams or as the
//! placement handles of FDP.

use flashtwin_ftl::{PartitionConfig, PartitionPolicy};
use flashtwin_trace::{Outline, PageSource, TraceError};

use crate::temperature::offline_partitions;

/// The partition of each dense page; `None` where nobody says it beforehand.
///
/// # Errors
/// Those of a file that cannot be read again.
pub fn told_partitions(
    source: &dyn PageSource,
    config: &PartitionConfig,
) -> Result<Option<Vec<u8>>, TraceError> {
    let trace = source.outline();
    Ok(match config.policy {
        PartitionPolicy::Offline => Some(offline_partitions(source, config.partitions)?),
        PartitionPolicy::Volumes => Some(by_volume(trace, config.partitions)),
        PartitionPolicy::Ranges => Some(by_range(trace, &config.range_starts().unwrap_or_default())),
        PartitionPolicy::None | PartitionPolicy::BloomFilters | PartitionPolicy::Foreign(_) => None,
    })
}

/// The number of the page's volume, at most the last partition.
fn by_volume(trace: &Outline, partitions: u32) -> Vec<u8> {
    let last = partitions.saturating_sub(1) as usize;
    let firsts: Vec<u32> = trace.volumes.iter().map(|&(_, first)| first).collect();
    let volume = |lpn: u32| firsts.partition_point(|&first| first <= lpn).saturating_sub(1);
    (0..trace.pages()).map(|lpn| volume(lpn).min(last) as u8).collect()
}

/// `starts`: where the second and each further partition begins, in bytes.
fn by_range(trace: &Outline, starts: &[u64]) -> Vec<u8> {
    let addresses = trace.lpn_address.iter().map(|&page| page * u64::from(trace.page_bytes));
    addresses.map(|at| starts.partition_point(|&start| start <= at) as u8).collect()
}

#[cfg(test)]
mod tests {
    use flashtwin_trace::{ContentSource, Op, PageTrace, Request, TraceBuilder};

    use super::*;

    /// Three volumes of a page or two each, with gaps.
    fn trace() -> PageTrace {
        let mut builder = TraceBuilder::new("volumes");
        for (volume, page) in [(0, 0), (0, 9), (1, 0), (2, 4), (2, 5)] {
            let (op, offset_bytes, length_bytes) = (Op::Write, page * 4096, 4096);
            builder.push(Request { time_ns: 0, volume, op, offset_bytes, length_bytes }, &[]);
        }
        PageTrace::build(&builder.build().unwrap(), 4096, ContentSource::None).unwrap()
    }

    fn told(policy: PartitionPolicy, partitions: u32, ranges: &str) -> Vec<u8> {
        let config =
            PartitionConfig { policy, partitions, ranges: ranges.into(), ..PartitionConfig::default() };
        told_partitions(&trace(), &config).unwrap().unwrap()
    }

    #[test]
    fn volumes_beyond_the_partitions_share_the_last() {
        assert_eq!(told(PartitionPolicy::Volumes, 5, ""), [0, 0, 1, 2, 2]);
        assert_eq!(told(PartitionPolicy::Volumes, 2, ""), [0, 0, 1, 1, 1]);
        assert_eq!(told(PartitionPolicy::Volumes, 1, ""), [0; 5]);
    }

    #[test]
    fn ranges_begin_where_they_say() {
        assert_eq!(told(PartitionPolicy::Ranges, 2, "36864"), [0, 1, 1, 1, 1]);
        assert_eq!(told(PartitionPolicy::Ranges, 2, "36865"), [0, 0, 1, 1, 1]);
    }
}

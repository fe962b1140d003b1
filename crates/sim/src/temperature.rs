use flashtwin_analysis::Frequencies;
use flashtwin_trace::{Op, PageSource, TraceError};

/// The partition of each dense logical page, 0 the hottest, from how often the trace writes it: the
/// greedy partitions of the lowest update frequency ratio for which `partitions` are enough (SWC paper,
/// section 3.1). Pages that the trace never writes are in the coldest. There may be fewer partitions
/// than asked for; empty for a trace without writes.
///
/// # Errors
/// Those of a file that cannot be read again.
pub(crate) fn offline_partitions(trace: &dyn PageSource, partitions: u32) -> Result<Vec<u8>, TraceError> {
    let mut writes = vec![0u32; trace.outline().pages() as usize];
    let mut windows = trace.windows()?;
    while let Some(window) = windows.next()? {
        for request in (0..window.len()).filter(|&request| window.op[request] == Op::Write) {
            for page_op in window.page_ops_of(request) {
                writes[window.lpn[page_op] as usize] += 1;
            }
        }
    }
    let frequencies = Frequencies::of(&writes);
    let partitioning = frequencies.lowest_ratio(partitions).map(|ratio| frequencies.partitions(ratio));
    Ok(partitioning.and_then(|partitioning| partitioning.of_pages(&writes)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use flashtwin_trace::{ContentSource, PageTrace, TraceBuilder};

    use super::*;

    /// Pages 0 to 4 written 8, 4, 3, 1 and no times.
    fn trace() -> PageTrace {
        let mut trace = TraceBuilder::new("temperatures");
        for (page, writes) in [(0u64, 8), (1, 4), (2, 3), (3, 1), (4, 0)] {
            for _ in 0..writes {
                trace.request(0, Op::Write, page * 4096, 4096, &[]);
            }
            trace.request(0, Op::Read, page * 4096, 4096, &[]);
        }
        PageTrace::build(&trace.build().unwrap(), 4096, ContentSource::None).unwrap()
    }

    #[test]
    fn the_lowest_ratio_decides_where_the_borders_are() {
        let trace = trace();
        let offline_partitions = |trace, partitions| offline_partitions(trace, partitions).unwrap();
        assert_eq!(offline_partitions(&trace, 1), [0, 0, 0, 0, 0]);
        assert_eq!(
            offline_partitions(&trace, 2),
            [0, 0, 0, 1, 1],
            "8 to 3 is the lowest ratio that two allow"
        );
        assert_eq!(offline_partitions(&trace, 3), [0, 1, 1, 2, 2]);
        assert_eq!(offline_partitions(&trace, 32), [0, 1, 2, 3, 3], "as many as there are frequencies");
    }
}

//! Response times by block of the trace, for intervals of differences between runs.

use flashtwin_analysis::rows;

use crate::metrics::BlockRow;

rows! {
    /// One row a block of the trace and a kind with requests.
    ///
    /// Blocks are 100 ranges of equally many requests, in the trace's order, trims included; the
    /// last may be shorter. (A drive on an external clock does not know how many will come and has
    /// 100 to 200.) Two runs of one trace have the same blocks, so that they can be compared block
    /// by block, whenever requests complete.
    pub(super) struct RequestBlockRow in "request_blocks" {
        /// Number, from 0.
        block: u32,
        /// Place of the block's first request in the trace, as in `requests`.
        first_request: u64,
        /// `read`, `write`, `flush`.
        kind: &'static str,
        /// Requests.
        count: u64,
        /// Sum of their response times.
        sum_ns: u64,
        /// First arrival, in simulated time.
        first_arrival_ns: u64,
        /// Last arrival.
        last_arrival_ns: u64,
    }
}

impl RequestBlockRow {
    pub(super) fn all(blocks: &[BlockRow]) -> Vec<RequestBlockRow> {
        let rows = blocks.iter().map(|(block, first_request, kind, times)| RequestBlockRow {
            block: *block,
            first_request: *first_request,
            kind,
            count: times.count(),
            sum_ns: times.sum_ns(),
            first_arrival_ns: times.first_arrival_ns,
            last_arrival_ns: times.last_arrival_ns,
        });
        rows.collect()
    }
}

rows! {
    /// One row a block of the trace, a kind and a bucket with requests.
    ///
    /// Response times by block of `request_blocks`, in 64 buckets for each doubling of the time.
    pub(super) struct BlockHistogramRow in "request_block_histogram" {
        /// The block.
        block: u32,
        /// `read`, `write`, `flush`.
        kind: &'static str,
        /// Lowest response time of the bucket, ascending within a kind of a block.
        lower_ns: u64,
        /// Highest response time of the bucket, at most 1.6 % above the lowest.
        upper_ns: u64,
        /// Requests.
        count: u32,
    }
}

impl BlockHistogramRow {
    pub(super) fn all(blocks: &[BlockRow]) -> Vec<BlockHistogramRow> {
        let buckets = blocks.iter().flat_map(|(block, _, kind, times)| {
            times.histogram().map(|(lower_ns, upper_ns, count)| BlockHistogramRow {
                block: *block,
                kind,
                lower_ns,
                upper_ns,
                count,
            })
        });
        buckets.collect()
    }
}

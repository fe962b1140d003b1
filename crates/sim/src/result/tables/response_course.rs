use flashtwin_analysis::rows;

use crate::engine::Charge;
use crate::finished::FinishedRun;
use crate::metrics::{Course, Ledgers, Metrics, Share};

const SLICES: [(&str, u64); 2] = [("slowest_1_percent", 100), ("slowest_0_1_percent", 1000)];

rows! {
    /// One row a bucket of time and a kind of request.
    ///
    /// At most 400 buckets of equal width, a power of two of nanoseconds, from the end of the warm-up
    /// to the last arrival. Simulated time. A request counts in the bucket of its arrival. Ordered by kind,
    /// then time.
    pub(super) struct CourseRow in "response_over_time" {
        /// `read`, `write`, `flush`.
        kind: &'static str,
        /// Begin of the bucket.
        start_ns: i64,
        /// Length of the bucket.
        width_ns: i64,
        /// Requests.
        count: u64,
        /// Mean response time; missing without requests.
        mean_ns: Option<f64>,
        /// 99th percentile, at most 3.2 % above the exact one; missing without requests.
        p99_ns: Option<u64>,
        /// Greatest; missing without requests.
        max_ns: Option<u64>,
        /// Arrivals among the slowest hundredth of all requests of the kind. Requests of equal time
        /// (to 3 %) at its threshold count in part.
        slowest_1_percent: f64,
        /// The same for the slowest thousandth.
        slowest_0_1_percent: f64,
    }
}

impl CourseRow {
    pub(super) fn all(run: &mut FinishedRun<'_>) -> Vec<CourseRow> {
        let from_ns = run.counted_from_ns();
        let metrics = &mut run.engine.accounts_mut().observer;
        make_equally_wide(metrics);
        let mut rows = Vec::new();
        for (kind, course, ledgers) in kinds(metrics) {
            let (width, slowest) = (course.width_ns(), slowest(ledgers));
            for at in 0..course.len() {
                let moment = course.moment(at);
                if moment.count == 0 && (at as u64 + 1) * width <= from_ns {
                    continue;
                }
                let some = |value: u64| (moment.count > 0).then_some(value);
                let [one, tenth] = [0, 1].map(|slice| course.slow(at, &slowest[slice].1).count);
                rows.push(CourseRow {
                    kind,
                    start_ns: (at as u64 * width) as i64,
                    width_ns: width as i64,
                    count: moment.count,
                    mean_ns: (moment.count > 0).then(|| moment.sum_ns as f64 / moment.count as f64),
                    p99_ns: moment.p99_ns,
                    max_ns: some(moment.max_ns),
                    slowest_1_percent: one,
                    slowest_0_1_percent: tenth,
                });
            }
        }
        rows
    }
}

rows! {
    /// One row a kind of request, a part of the slowest, a bucket of time and a charge that is not 0.
    ///
    /// Response time of the slowest requests by cause, by the bucket of `response_over_time` in
    /// which they arrived. Summed over the buckets, the charges of a `kind` and a part are those of
    /// `wait_ledger`.
    pub(super) struct SlowRow in "slowest_over_time" {
        /// `read`, `write`, `flush`.
        kind: &'static str,
        /// `slowest_1_percent`; `slowest_0_1_percent`.
        requests: &'static str,
        /// Begin of the bucket.
        start_ns: i64,
        /// Number of these requests that arrived in the bucket, as in `response_over_time`.
        count: f64,
        /// The awaited resource, as in `wait_ledger`.
        part: &'static str,
        /// The cause charged, as in `wait_ledger`.
        charge: &'static str,
        /// Time charged, summed over these requests.
        sum_ns: f64,
    }
}

impl SlowRow {
    pub(super) fn all(run: &mut FinishedRun<'_>) -> Vec<SlowRow> {
        let metrics = &mut run.engine.accounts_mut().observer;
        make_equally_wide(metrics);
        let mut rows = Vec::new();
        for (kind, course, ledgers) in kinds(metrics) {
            for (requests, share) in slowest(ledgers) {
                for at in 0..course.len() {
                    let slow = course.slow(at, &share);
                    let start_ns = (at as u64 * course.width_ns()) as i64;
                    let charged = Charge::ALL.into_iter().zip(slow.charges_ns).filter(|(_, ns)| *ns > 0.0);
                    rows.extend(charged.map(|(charge, sum_ns)| SlowRow {
                        kind,
                        requests,
                        start_ns,
                        count: slow.count,
                        part: charge.part(),
                        charge: charge.name(),
                        sum_ns,
                    }));
                }
            }
        }
        rows
    }
}

/// All kinds have the same buckets, so that they can be compared.
fn make_equally_wide(metrics: &mut Metrics) {
    let mut kinds = [&mut metrics.reads, &mut metrics.writes, &mut metrics.flushes];
    let widest = kinds.iter().map(|kind| kind.course.width_ns()).max().unwrap_or(0);
    for kind in &mut kinds {
        while kind.course.width_ns() < widest {
            kind.course.widen();
        }
    }
}

fn kinds(metrics: &Metrics) -> [(&'static str, &Course, &Ledgers); 3] {
    [("read", &metrics.reads), ("write", &metrics.writes), ("flush", &metrics.flushes)]
        .map(|(name, kind)| (name, &kind.course, kind.ledgers()))
}

fn slowest(ledgers: &Ledgers) -> [(&'static str, Share); 2] {
    let requests = ledgers.whole().count;
    SLICES.map(|(name, part)| (name, ledgers.slowest(requests.div_ceil(part))))
}

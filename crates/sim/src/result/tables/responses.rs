use flashtwin_analysis::rows;

use crate::engine::Charge;
use crate::finished::FinishedRun;
use crate::metrics::Share;
use crate::result::summary::all_ledgers;

rows! {
    /// One row a kind of request, a part of the requests and a charge.
    ///
    /// Response time by cause, to the nanosecond. Each nanosecond is charged once: to the holder of
    /// the awaited resource, or to service. A request completes with its last page operation, whose
    /// time is the request's. The rows of one `kind` and part of the `requests` sum to their mean
    /// response time, without remainder.
    pub(super) struct LedgerRow in "wait_ledger" {
        /// `read`, `write`, `all` (both), and `flush` if there are flushes.
        kind: &'static str,
        /// `all`; `slowest_1_percent`; `slowest_0_1_percent`: the slowest hundredth and thousandth, rounded up.
        requests: &'static str,
        /// Number of these requests.
        count: u64,
        /// Least response time of these requests (to 3 %).
        from_ns: u64,
        /// The awaited resource: `unit`, `channel`, `hash unit`, `tables`, `page`, `write cache`,
        /// `writes` (before a flush), `slots` and `link` (if the drive has such a front end); or
        /// `service`.
        part: &'static str,
        /// The cause charged, see below.
        charge: &'static str,
        /// Share of these requests' response time.
        mean_ns: Option<f64>,
        /// Share of the response time of these requests.
        percent: Option<f64>,
    }
}

impl LedgerRow {
    pub(super) fn all(run: &FinishedRun<'_>) -> Vec<LedgerRow> {
        let metrics = &run.engine.accounts().observer;
        let all = all_ledgers(metrics);
        let mut rows = Vec::new();
        for (kind, ledgers) in [
            ("read", metrics.reads.ledgers()),
            ("write", metrics.writes.ledgers()),
            ("all", &all),
            ("flush", metrics.flushes.ledgers()),
        ] {
            let requests = ledgers.whole().count;
            if kind == "flush" && requests == 0 {
                continue;
            }
            let of = |part: u64| requests.div_ceil(part);
            for (slice, count) in
                [("all", requests), ("slowest_1_percent", of(100)), ("slowest_0_1_percent", of(1000))]
            {
                let share = ledgers.slowest(count);
                let charges = Charge::ALL.into_iter().filter(|charge| {
                    let at_front = matches!(charge, Charge::Slot | Charge::Link);
                    !at_front || run.engine.has_front()
                });
                rows.extend(charges.map(|charge| LedgerRow::of(kind, slice, charge, &share)));
            }
        }
        rows
    }

    fn of(kind: &'static str, requests: &'static str, charge: Charge, share: &Share) -> LedgerRow {
        let (charged_ns, total_ns) = (share.charges_ns[charge as usize] as f64, share.total_ns());
        LedgerRow {
            kind,
            requests,
            count: share.count,
            from_ns: share.from_ns,
            part: charge.part(),
            charge: charge.name(),
            mean_ns: (share.count > 0).then(|| charged_ns / share.count as f64),
            percent: (total_ns > 0).then(|| charged_ns / total_ns as f64 * 100.0),
        }
    }
}

rows! {
    /// One row a kind and bucket with requests.
    pub(super) struct LatencyRow in "latency_histogram" {
        /// `read`, `write`, `all` (of both), `flush`.
        kind: &'static str,
        /// Highest response time of the bucket, ascending within a kind; buckets are at most 0.1 % wide.
        upper_ns: u64,
        /// Requests in the bucket.
        count: u64,
    }
}

impl LatencyRow {
    pub(super) fn all(run: &FinishedRun<'_>) -> Vec<LatencyRow> {
        let metrics = &run.engine.accounts().observer;
        let (reads, writes) = (&metrics.reads.whole, &metrics.writes.whole);
        let mut all = reads.clone();
        all.add(writes);
        let mut rows = Vec::new();
        for (kind, tally) in
            [("read", reads), ("write", writes), ("all", &all), ("flush", &metrics.flushes.whole)]
        {
            let buckets = tally.histogram.iter_recorded();
            rows.extend(buckets.map(|bucket| LatencyRow {
                kind,
                upper_ns: bucket.value_iterated_to(),
                count: bucket.count_at_value(),
            }));
        }
        rows
    }
}

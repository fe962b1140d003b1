use flashtwin_analysis::rows;
use flashtwin_trace::Op;

use crate::finished::FinishedRun;

rows! {
    /// One row a volume and a kind with requests, only for a trace of several volumes.
    ///
    /// Volumes are tenants of one drive. Programs by collection, for copies and of mapping tables
    /// belong to no volume, because one block holds pages of many, and one page may hold the content
    /// of many.
    pub(super) struct VolumeRow<'a> in "volumes" {
        /// Number of the volume, as in `requests`.
        volume: u32,
        /// Name of the volume.
        volume_name: &'a str,
        /// `read`, `write`, `trim`, `flush`.
        kind: &'static str,
        /// Requests.
        requests: u64,
        /// Bytes that they address.
        bytes: u64,
        /// Mean response time; missing for trims.
        mean_ns: Option<f64>,
        /// Median, at most 3.2 % above the exact one; missing for trims.
        p50_ns: Option<u64>,
        /// 99th percentile, at most 3.2 % above the exact one; missing for trims.
        p99_ns: Option<u64>,
        /// Greatest; missing for trims.
        max_ns: Option<u64>,
        /// Of writes: pages programmed because the host wrote pages of the volume. Summed over the
        /// volumes: `host_programs` of `periods`.
        host_programs: Option<u64>,
    }
}

impl<'a> VolumeRow<'a> {
    /// Empty for a trace of one volume.
    pub(super) fn all(run: &'a FinishedRun<'_>) -> Vec<VolumeRow<'a>> {
        let Some(figures) = run.engine.accounts().observer.receivers.by_volume() else { return Vec::new() };
        let mut rows = Vec::new();
        for (volume, ((name, _), figures)) in (0..).zip(run.trace.volumes.iter().zip(&figures.volumes)) {
            for (kind, times) in Op::ALL.into_iter().zip(&figures.kinds) {
                let host_programs = (kind == Op::Write).then_some(figures.programs);
                // A program may be later than the warm-up that its write belongs to.
                if times.requests == 0 && host_programs.is_none_or(|programs| programs == 0) {
                    continue;
                }
                rows.push(VolumeRow {
                    volume,
                    volume_name: name,
                    kind: kind.name(),
                    requests: times.requests,
                    bytes: times.bytes,
                    mean_ns: times.mean_ns(),
                    p50_ns: times.percentile_ns(50),
                    p99_ns: times.percentile_ns(99),
                    max_ns: times.max_ns(),
                    host_programs,
                });
            }
        }
        rows
    }
}

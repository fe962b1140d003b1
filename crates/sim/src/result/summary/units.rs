use schemars::JsonSchema;
use serde::Serialize;

use super::mean_and_stddev;
use crate::finished::FinishedRun;

/// Busy share of the run, from 0 to 1; `null` when the run takes no time.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Utilisation {
    /// Mean over channels.
    channel_mean: Option<f64>,
    /// Standard deviation over channels.
    channel_stddev: Option<f64>,
    /// Mean over chips.
    chip_mean: Option<f64>,
    /// Standard deviation over chips.
    chip_stddev: Option<f64>,
}

impl Utilisation {
    pub(super) fn of(run: &FinishedRun<'_>) -> Utilisation {
        let time_ns = run.counted.time_ns as f64;
        let spread = |busy: &[u64]| {
            if time_ns == 0.0 {
                return (None, None);
            }
            let shares: Vec<f64> = busy.iter().map(|&busy| busy as f64 / time_ns).collect();
            Some(mean_and_stddev(&shares)).unzip()
        };
        let (channel_mean, channel_stddev) = spread(&run.counted.channel_busy_ns);
        let (chip_mean, chip_stddev) = spread(&run.counted.chip_busy_ns);
        Utilisation { channel_mean, channel_stddev, chip_mean, chip_stddev }
    }
}

/// All `null` for a system that does not hash.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct HashUnit {
    /// Pages hashed in parallel; 0: a pipeline without a limit.
    lanes: Option<u64>,
    /// Pages that went through the unit.
    pages: Option<u64>,
    /// Busy share of the run, mean over the lanes; `null` for a pipeline.
    utilisation: Option<f64>,
    /// Pages waiting and being hashed: mean over time.
    queue_mean: Option<f64>,
    /// Pages waiting and being hashed: maximum.
    queue_max: Option<u32>,
}

impl HashUnit {
    pub(super) fn of(run: &FinishedRun<'_>) -> HashUnit {
        let busy = run.engine.hash_unit().map(|(lanes, page_ns)| (lanes, run.counted.pages_hashed * page_ns));
        let time_ns = run.counted.time_ns as f64;
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        HashUnit {
            lanes: busy.map(|(lanes, _)| lanes),
            pages: busy.map(|_| run.counted.pages_hashed),
            utilisation: busy.and_then(|(lanes, busy_ns)| share(busy_ns as f64, lanes as f64 * time_ns)),
            queue_mean: busy.and_then(|_| share(run.hash_queue.0, time_ns)),
            queue_max: busy.map(|_| run.hash_queue.1),
        }
    }
}

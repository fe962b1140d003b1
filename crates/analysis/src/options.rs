//! Options of a characterization. Doc comments are the reference manual's text.

use flashtwin_settings::{Keys, SettingError, from_tree, set};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::logical_locality::options::{Direction, LogicalLocalityOptions};
use crate::temperature::page_sizes;
use crate::wa::WaOptions;

/// Most cells of the table of logical locality; each takes up to 24 bytes.
const LOCALITY_CELLS_MAX: u64 = 50_000_000;
/// SSDs that the wa-simulator may be asked to simulate at one page size.
const SIMULATED_MAX: usize = 10_000;

/// Options of a characterization.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Length of a period in seconds of the trace's clock, for example 3600: an hour
    /// (RR-SSD paper: a day). 0: one period for the whole trace. The shortest possible period is a
    /// 100,000th of the trace.
    #[schemars(range(min = 0.0))]
    pub period_s: f64,
    /// Share of pages and contents in the sample, chosen by hash, with all their accesses. For
    /// example 0.01; 1: all.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub sample_rate: f64,
    /// Seed of the sample. For example 1.
    pub sample_seed: u64,
    /// Numbers of planes for counting duplicates (DS-FTL paper, Fig. 3 and 4). For example `[1,
    /// 64]`.
    #[schemars(inner(range(min = 1, max = 65_536)))]
    pub planes: Vec<u32>,
    /// The window of logical locality (SWC paper, section 5.1).
    pub locality: Window,
    /// SSDs that the wa-simulator simulates (SWC paper, sections 3.2 to 4.2).
    pub wa: WaOptions,
    /// Memory limit, in units of 10^9 bytes; a trace that needs more is refused in advance. For
    /// example 8. 0: 1 GiB, or 64 KiB a request if that is more, and no more than the machine has
    /// free.
    #[schemars(range(min = 0.0))]
    pub memory_gb: f64,
    /// Threads; 0: one for each core. Results do not depend on it.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub threads: usize,
}

/// The window of logical locality, see [`LogicalLocalityOptions`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Window {
    /// Furthest distance D, in pages of the trace's granularity (1,024 in the paper). Read
    /// amplification needs 128 of 512 B, or 16 of 4 KB, for its locality discount. For example 128.
    #[schemars(range(max = 16_384))]
    pub distance_max: u32,
    /// Longest time T, in requests of the kind (5,000 in the paper). For example 1000.
    #[schemars(range(min = 1, max = 65_536))]
    pub time_max: u32,
    /// Direction in which a request can hit others.
    pub direction: Direction,
}

impl Default for Window {
    fn default() -> Window {
        let paper = LogicalLocalityOptions::new(0);
        Window {
            distance_max: paper.distance_pages_max,
            time_max: paper.time_requests_max,
            direction: paper.direction,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            period_s: 86_400.0,
            sample_rate: 1.0,
            sample_seed: 0,
            planes: vec![64],
            locality: Window::default(),
            wa: WaOptions::default(),
            memory_gb: 0.0,
            threads: 0,
        }
    }
}

impl Options {
    /// The defaults with some keys set: a key is any unique ending of a dotted key, its value TOML or a bare word.
    pub fn resolve(sets: &[(String, String)]) -> Result<Options, SettingError> {
        let keys = Keys::new(&Options::schema(), "docs/configuration.md lists every key");
        let mut tree = tree();
        for (key, text) in sets {
            let key = keys.full(key)?;
            set(&mut tree, &key, keys.value(&key, text));
        }
        let options: Options = from_tree(tree, &keys)?;
        options.check()?;
        Ok(options)
    }

    /// Its descriptions are the reference text.
    pub fn schema() -> Value {
        let settings =
            schemars::generate::SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
        let schema = settings.into_generator().into_root_schema_for::<Options>();
        serde_json::to_value(schema).unwrap_or_default()
    }

    fn check(&self) -> Result<(), SettingError> {
        let Window { distance_max, time_max, .. } = self.locality;
        let cells = (u64::from(distance_max) + 1) * u64::from(time_max);
        if cells > LOCALITY_CELLS_MAX {
            return Err(SettingError(format!(
                "locality.distance_max {distance_max} and locality.time_max {time_max} make a table of {cells} cells: \
                 expected {LOCALITY_CELLS_MAX} at most; lower one of them"
            )));
        }
        self.wa.check(SIMULATED_MAX)
    }

    /// Page sizes of all metrics, ascending.
    pub(crate) fn page_sizes(&self, sector_bytes: u32) -> Vec<u32> {
        let mut sizes = page_sizes(sector_bytes);
        sizes.extend(self.wa.page_sizes(sector_bytes));
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    pub(crate) fn period_ns(&self) -> i64 {
        (self.period_s * 1e9) as i64
    }
}

fn tree() -> Map<String, Value> {
    match serde_json::to_value(Options::default()) {
        Ok(Value::Object(tree)) => tree,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(sets: &[(&str, &str)]) -> Result<Options, String> {
        let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Options::resolve(&sets).map_err(|error| error.0)
    }

    #[test]
    fn without_settings_they_are_the_defaults() {
        assert_eq!(resolve(&[]), Ok(Options::default()));
    }

    #[test]
    fn any_key_can_be_set_by_its_ending() {
        let options = resolve(&[
            ("frequency_ratios", "[2, 2.5, 3, 5]"),
            ("partitions", "1,2"),
            ("other_partitions", "4"),
            ("over_provisioning_percent", "[7]"),
            ("other_over_provisioning_percent", "7, 28"),
            ("other_page_bytes", "[16384]"),
            ("distance_max", "256"),
            ("time_max", "100"),
            ("direction", "backward"),
            ("period_s", "120"),
        ])
        .unwrap();
        assert_eq!(options.wa.frequency_ratios, [2.0, 2.5, 3.0, 5.0]);
        assert_eq!((options.wa.partitions, options.wa.other_partitions), (vec![1, 2], vec![4]));
        assert_eq!(options.wa.over_provisioning_percent, [7]);
        assert_eq!(options.wa.other_over_provisioning_percent, [7, 28]);
        assert_eq!(options.wa.other_page_bytes, [16_384]);
        let window = Window { distance_max: 256, time_max: 100, direction: Direction::Backward };
        assert_eq!((options.locality, options.period_s), (window, 120.0));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_was_expected() {
        let wrong = |key: &str, value: &str| resolve(&[(key, value)]).unwrap_err();
        assert!(wrong("frequency_ratio", "2").contains("did you mean 'wa.frequency_ratios'?"));
        assert!(wrong("threads", "2").contains("there is no key 'threads'"));
        let list = "expected a list of whole numbers, such as [1, 4, 8], each from 1 to 256";
        assert_eq!(wrong("wa.partitions", "[0]"), format!("wa.partitions is [0]: {list}"));
        assert!(wrong("wa.partitions", "[300]").contains(list));
        assert!(wrong("frequency_ratios", "0.5").ends_with("each from 1 to 1000000"));
        assert!(wrong("over_provisioning_percent", "1e6").contains("each from 1 to 1000"));
        assert!(wrong("sample_rate", "0").contains("above 0, up to 1"));
        assert!(wrong("period_s", "nan").contains("expected a number, 0 or more"));
        assert!(wrong("page_bytes", "5000").contains("a power of two"));
        assert!(wrong("other_page_bytes", "[4096, 5000]").contains("5000"));
        assert!(wrong("distance_max", "20000").contains("from 0 to 16384"));
        assert!(wrong("direction", "sideways").contains("one of \"forward\", \"backward\""));
        let both = resolve(&[("distance_max", "16384"), ("time_max", "65536")]).unwrap_err();
        assert!(both.contains("1073807360 cells") && both.contains("50000000 at most"), "{both}");
        let many = ["1"; 300].join(",");
        let grid = resolve(&[("wa.partitions", &many), ("wa.over_provisioning_percent", &many)]).unwrap_err();
        assert!(grid.contains("90600") && grid.contains("10000 at most"), "{grid}");
    }
}

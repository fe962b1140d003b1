//! Everything about a trace, in as few passes as the metrics allow.

mod second_pass;

use arrow_array::RecordBatch;
use flashtwin_trace::{Progress, Trace, TraceError};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::basics::Survey;
use crate::input::{InMemory, Input, pass};
use crate::memory;
use crate::options::Options;
use crate::sample::Sample;
use crate::temperature::{CountWrites, TemperatureBuilder, page_sizes};
use crate::wa::{WaBuilder, WaOptions};
use second_pass::SecondPass;

/// A trace, characterized.
#[derive(Clone, Debug, PartialEq)]
pub struct Characterization {
    /// All figures: an object a metric, and the options. What is undefined is null. When sampled,
    /// `standard_errors` has the estimated standard error of each figure that one can be given for, by
    /// its path, such as `space.duplicate_write_percent`; those of miss ratios stand in their table.
    pub summary: Value,
    /// All tables, by name.
    pub tables: Vec<(String, RecordBatch)>,
}

impl Characterization {
    /// Adds a metric's figures and its tables; null and none when it is missing.
    fn metric<T: Serialize, const N: usize>(
        &mut self,
        name: &str,
        found: Option<T>,
        tables: impl FnOnce(T) -> [(&'static str, RecordBatch); N],
    ) {
        // Plain structures of numbers and strings always have a JSON form.
        self.summary[name] = serde_json::to_value(&found).unwrap_or_default();
        if let Some(found) = found {
            self.tables(tables(found));
        }
    }

    /// Notes standard errors of a metric's figures.
    fn errors<const N: usize>(&mut self, metric: &str, figures: [&str; N], errors: [Option<f64>; N]) {
        for (figure, error) in figures.into_iter().zip(errors) {
            self.summary["standard_errors"][format!("{metric}.{figure}")] = error.into();
        }
    }

    fn tables<const N: usize>(&mut self, tables: [(&str, RecordBatch); N]) {
        self.tables.extend(tables.map(|(name, table)| (name.to_owned(), table)));
    }
}

/// Characterizes a trace: every metric of this crate, exactly, or for a sample of pages and contents.
///
/// # Errors
/// [`TraceError`] when the input cannot be read again, when `progress` says to stop, when threads cannot be
/// started, and when more memory would be needed than is allowed.
pub fn characterize(
    input: &mut (dyn Input + Send),
    options: &Options,
    progress: &dyn Progress,
) -> Result<Characterization, TraceError> {
    let name = input.about().name.clone();
    let threads = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build();
    let threads = threads.map_err(|error| TraceError::threads(&name, &error))?;
    threads.install(|| Work::new(input, options, progress).run())
}

/// [`characterize`] for a trace in memory.
///
/// # Errors
/// As there.
pub fn characterize_trace(
    trace: &Trace,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Characterization, TraceError> {
    characterize(&mut InMemory::new(trace), options, progress)
}

/// One characterization under way.
struct Work<'a> {
    input: &'a mut (dyn Input + Send),
    options: &'a Options,
    progress: Passes<'a>,
    sample: Sample,
    result: Characterization,
}

impl<'a> Work<'a> {
    fn new(input: &'a mut (dyn Input + Send), options: &'a Options, progress: &'a dyn Progress) -> Work<'a> {
        let sector_bytes = input.about().sector_bytes;
        let sizes = all_page_sizes(sector_bytes, &options.wa).len() as u64;
        let passes = 2 + if input.is_in_memory() { sizes } else { 1 };
        Work {
            input,
            options,
            progress: Passes { outer: progress, done: 0, passes },
            sample: Sample::new(options.sample_rate, options.sample_seed),
            result: Characterization { summary: Value::Object(Map::new()), tables: Vec::new() },
        }
    }

    fn run(mut self) -> Result<Characterization, TraceError> {
        memory::check(self.input, self.options, self.progress.outer)?;
        let survey = self.first_pass()?;
        let mut second = SecondPass::new(survey, self.options, self.sample);
        pass(self.input, &self.progress, &mut second.accumulators())?;
        self.progress.done += 1;
        second.finish(&mut self.result);
        self.temperatures()?;
        let mut options = serde_json::to_value(self.options).unwrap_or_default();
        options["sector_bytes"] = self.input.about().sector_bytes.into();
        options["sampled"] = (!self.sample.is_all()).into();
        self.result.summary["options"] = options;
        Ok(self.result)
    }

    /// What later metrics need to know of the whole trace.
    fn first_pass(&mut self) -> Result<Survey, TraceError> {
        let mut survey = Survey::new(self.input.about(), self.options.period_ns(), self.sample);
        pass(self.input, &self.progress, &mut survey.accumulators())?;
        self.progress.done += 1;
        Ok(survey)
    }

    /// Temperature ranges and write amplification, page size by page size: in memory one after the
    /// other, because each takes room; otherwise all in one pass over the file.
    fn temperatures(&mut self) -> Result<(), TraceError> {
        let about = self.input.about().clone();
        let of_temperature = page_sizes(about.sector_bytes);
        let of_wa = self.options.wa.page_sizes(about.sector_bytes);
        let sizes = all_page_sizes(about.sector_bytes, &self.options.wa);
        let together = if self.input.is_in_memory() { 1 } else { sizes.len() };
        let mut temperature = TemperatureBuilder::new(about.sector_bytes, &self.options.wa.frequency_ratios);
        let mut wa = WaBuilder::new(&self.options.wa);
        for sizes in sizes.chunks(together.max(1)) {
            let count = |&bytes: &u32| CountWrites::new(bytes, of_wa.contains(&bytes), self.sample);
            let mut counts: Vec<CountWrites> = sizes.iter().map(count).collect();
            let mut accumulators: Vec<&mut dyn crate::Accumulator> =
                counts.iter_mut().map(|count| count as &mut dyn crate::Accumulator).collect();
            pass(self.input, &self.progress, &mut accumulators)?;
            self.progress.done += 1;
            for (&bytes, count) in sizes.iter().zip(counts) {
                let writes = count.finish();
                if bytes == about.sector_bytes {
                    wa.sectors(&writes);
                }
                if of_temperature.contains(&bytes) {
                    temperature.add(&writes);
                }
                if of_wa.contains(&bytes) {
                    // The only error: the caller wants the work to end.
                    wa.add(&writes, &self.progress).map_err(|_| TraceError::cancelled(&about.name))?;
                }
            }
        }
        self.result.metric("temperature", Some(temperature.finish()), |found| {
            [("temperature", found.frequencies), ("partitions", found.partitions), ("f_min", found.f_min)]
        });
        self.result
            .metric("write_amplification", Some(wa.finish()), |found| [("write_amplification", found.table)]);
        Ok(())
    }
}

/// Page sizes of all metrics, ascending.
fn all_page_sizes(sector_bytes: u32, wa: &WaOptions) -> Vec<u32> {
    let mut sizes = page_sizes(sector_bytes);
    sizes.extend(wa.page_sizes(sector_bytes));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Progress over all passes, each of which counts from 0.
struct Passes<'a> {
    outer: &'a dyn Progress,
    done: u64,
    passes: u64,
}

impl Progress for Passes<'_> {
    fn update(&self, done: u64, total: u64) {
        self.outer.update(self.done * total + done, self.passes * total);
    }

    fn cancelled(&self) -> bool {
        self.outer.cancelled()
    }
}

//! Everything about a trace, in as few passes as the metrics allow.

mod metrics;
mod second_pass;
mod volumes;

use arrow_array::RecordBatch;
use flashtwin_trace::{ErrorCause, Progress, Trace, TraceError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::basics::Survey;
use crate::input::{InMemory, Input, pass};
use crate::memory;
use crate::metric::named;
use crate::options::Options;
use crate::rows::{Row, schema_of};
use crate::sample::Sample;
use crate::temperature::{
    CountWrites, FMinRow, FrequencyRow, PageWrites, PartitionsRow, Temperature, TemperatureBuilder,
    page_sizes,
};
use crate::wa::{WaBuilder, WaCell, WriteAmplification};
use second_pass::{Followed, SecondPass};
pub use volumes::{OpenVolume, VolumeResults, characterize_volumes};

/// Results of [`characterize`].
#[derive(Clone, Debug, PartialEq)]
pub struct Characterization {
    /// All figures, by the schema of [`characterization_schema`]. Undefined figures are null.
    pub summary: Value,
    /// By name.
    pub tables: Vec<(String, RecordBatch)>,
}

/// All figures of a trace: an object a metric.
#[derive(Debug, Serialize, JsonSchema)]
struct Figures<F> {
    #[serde(flatten)]
    followed: F,
    /// Temperature ranges.
    temperature: Temperature,
    /// Write amplification.
    write_amplification: WriteAmplification,
    /// How it was computed.
    options: OptionsUsed,
}

/// Every option with its value, and values derived from trace and options.
#[derive(Debug, Serialize, JsonSchema)]
struct OptionsUsed {
    #[serde(flatten)]
    options: Options,
    /// The granularity of the trace.
    sector_bytes: u32,
    /// Whether only a sample was used.
    sampled: bool,
}

/// The JSON schema of the `summary`, and of a row of each of the `tables` by name.
pub fn characterization_schema() -> Value {
    let mut tables = second_pass::schemas();
    tables.extend([FrequencyRow::schema(), PartitionsRow::schema(), FMinRow::schema(), WaCell::schema()]);
    json!({ "summary": schema_of::<Figures<Followed>>(), "tables": Map::from_iter(tables) })
}

/// Characterizes a trace: every metric of this crate, exactly, or for a sample. Fails if the input cannot be read
/// again, `progress` says to stop, there are no threads, or it takes more memory than is allowed.
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
pub fn characterize_trace(
    trace: &Trace,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Characterization, TraceError> {
    characterize(&mut InMemory::new(trace), options, progress)
}

struct Work<'a> {
    input: &'a mut (dyn Input + Send),
    options: &'a Options,
    progress: Passes<'a>,
    sample: Sample,
}

impl<'a> Work<'a> {
    fn new(input: &'a mut (dyn Input + Send), options: &'a Options, progress: &'a dyn Progress) -> Work<'a> {
        let sector_bytes = input.about().sector_bytes;
        let sizes = options.page_sizes(sector_bytes).len() as u64;
        let passes = 2 + if input.is_in_memory() { sizes } else { 1 };
        Work {
            input,
            options,
            progress: Passes { outer: progress, done: 0, passes },
            sample: Sample::new(options.sample_rate, options.sample_seed),
        }
    }

    fn run(mut self) -> Result<Characterization, TraceError> {
        memory::check(self.input, self.options, self.progress.outer)?;
        let survey = self.first_pass()?;
        let mut second = SecondPass::new(survey, self.options, self.sample);
        pass(self.input, &self.progress, &mut second.accumulators())?;
        self.progress.done += 1;
        let (followed, mut tables) = second.finish();
        // The results hold more than their JSON, for example 80 MB of logical locality, so they are freed here.
        let followed = serde_json::to_value(followed).unwrap_or_default();
        let (temperature, write_amplification) = self.temperatures()?;
        tables.extend([
            named::<FrequencyRow>(&temperature.frequencies),
            named::<PartitionsRow>(&temperature.partitions),
            named::<FMinRow>(&temperature.f_min),
            named::<WaCell>(&write_amplification.table),
        ]);
        let options = OptionsUsed {
            options: self.options.clone(),
            sector_bytes: self.input.about().sector_bytes,
            sampled: !self.sample.is_all(),
        };
        let figures = Figures { followed, temperature, write_amplification, options };
        Ok(Characterization { summary: serde_json::to_value(figures).unwrap_or_default(), tables })
    }

    fn first_pass(&mut self) -> Result<Survey, TraceError> {
        let mut survey = Survey::new(self.input.about(), self.options.period_ns(), self.sample);
        pass(self.input, &self.progress, &mut survey.accumulators())?;
        self.progress.done += 1;
        Ok(survey)
    }

    /// Page size by page size. In memory, one after the other to save space; otherwise all in one pass over the file.
    fn temperatures(&mut self) -> Result<(Temperature, WriteAmplification), TraceError> {
        let about = self.input.about().clone();
        let of_temperature = page_sizes(about.sector_bytes);
        let of_wa = self.options.wa.page_sizes(about.sector_bytes);
        let sizes = self.options.page_sizes(about.sector_bytes);
        let together = if self.input.is_in_memory() { 1 } else { sizes.len() };
        let mut temperature = TemperatureBuilder::new(about.sector_bytes, &self.options.wa.frequency_ratios);
        let mut wa = WaBuilder::new(&self.options.wa);
        for sizes in sizes.chunks(together.max(1)) {
            let count = |&bytes: &u32| CountWrites::new(bytes, of_wa.contains(&bytes), self.sample);
            let mut counts: Vec<CountWrites> = sizes.iter().map(count).collect();
            let mut accumulators: Vec<&mut dyn crate::input::Accumulator> =
                counts.iter_mut().map(|count| count as &mut dyn crate::input::Accumulator).collect();
            pass(self.input, &self.progress, &mut accumulators)?;
            self.progress.done += 1;
            for (&bytes, count) in sizes.iter().zip(counts) {
                let writes = count.finish();
                check_counts(&about.name, &writes)?;
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
        Ok((temperature.finish(), wa.finish()))
    }
}

/// Refuses counts that 32 bits do not hold.
fn check_counts(name: &str, writes: &PageWrites) -> Result<(), TraceError> {
    if !writes.writes.contains(&u32::MAX) {
        return Ok(());
    }
    let what = format!("a page of {} bytes is written {} times or more", writes.page_bytes, u32::MAX);
    let cure = "characterize spans of its time (--from, --to), because update frequencies have 32 bits";
    Err(TraceError::new(ErrorCause::TooLarge, name, what, cure))
}

/// Each pass counts from 0.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_writes_of_a_page_are_refused() {
        let writes = PageWrites { page_bytes: 512, writes: vec![1, u32::MAX], page_writes: 0, order: None };
        let error = check_counts("vol", &writes).unwrap_err().to_string();
        assert!(error.starts_with("vol: a page of 512 bytes is written 4294967295 times"), "{error}");
    }
}

//! One volume of a trace as a trace of its own.

use crate::columns::Columns;
use crate::error::{ErrorCause, TraceError, quoted};
use crate::feed::{Feed, Opened, Parts, ROWS_AT_A_TIME};
use crate::holes::Holes;
use crate::progress::Progress;
use crate::quality::Quality;
use crate::request::Request;
use crate::trace::{Trace, finish};
use crate::volumes::Volumes;

const LISTED: usize = 20;

impl Trace {
    /// The requests of one volume as a trace of its own, the first at 0, as if the file held no
    /// others (SWC 2.2). Irregularities are those of the whole file.
    ///
    /// # Errors
    /// [`ErrorCause::Argument`] when no volume has this name.
    pub fn of_volume(&self, name: &str) -> Result<Trace, TraceError> {
        let Some(wanted) = self.volume_names.iter().position(|other| other == name) else {
            return Err(no_such(&self.name, name, &self.volume_names));
        };
        let mut columns = Columns::empty();
        for request in (0..self.len()).filter(|&request| self.volume[request] as usize == wanted) {
            columns.content.extend_from_slice(self.contents(request));
            columns.push(Request { volume: 0, ..self.request(request) });
            columns.add_to_last(self.flags_of(request));
        }
        columns.digests = self.digests.clone();
        columns.zero_content = self.zero_content;
        columns.holes = self.holes.renumbered(|volume| (volume as usize == wanted).then_some(0));
        // Warnings are judged again.
        let quality = Quality { warnings: Vec::new(), ..self.quality.clone() };
        Ok(finish(&named(&self.name, name), self.format, columns, only(name), quality, None))
    }
}

pub(crate) fn of_opened(opened: Opened, name: &str, label: &str) -> Opened {
    let feed = OneVolume {
        feed: opened.feed,
        name: name.to_owned(),
        label: label.to_owned(),
        volumes: only(name),
        any: false,
        holes: Holes::default(),
    };
    Opened { name: named(&opened.name, name), format: opened.format, feed: Box::new(feed) }
}

fn named(trace: &str, volume: &str) -> String {
    format!("{trace}:{volume}")
}

fn only(name: &str) -> Volumes {
    let mut volumes = Volumes::default();
    volumes.index(0, |_| name.to_owned());
    volumes
}

fn no_such(place: &str, name: &str, known: &[String]) -> TraceError {
    let mut listed: Vec<&str> = known.iter().take(LISTED).map(String::as_str).collect();
    listed.sort_unstable();
    let more = match known.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    TraceError::new(
        ErrorCause::Argument,
        place,
        format!("no volume is called {}", quoted(name)),
        format!("there are: {}{more}", listed.join(", ")),
    )
}

struct OneVolume {
    feed: Box<dyn Feed>,
    name: String,
    label: String,
    volumes: Volumes,
    any: bool,
    holes: Holes,
}

impl OneVolume {
    fn wanted(&self) -> Option<u32> {
        let volumes = self.feed.volumes();
        (0..volumes.len()).find(|&index| volumes.name(index) == Some(&self.name))
    }
}

impl Feed for OneVolume {
    fn read(&mut self, rows: usize, progress: &dyn Progress) -> Result<Columns, TraceError> {
        let mut columns = Columns::empty();
        while columns.len() < rows {
            let read = self.feed.read(rows.min(ROWS_AT_A_TIME), progress)?;
            let wanted = self.wanted();
            let mut from = 0;
            // Runs of the volume's requests are taken together.
            for run in read.volume.chunk_by(|a, b| a == b) {
                if Some(run[0]) == wanted {
                    columns.extend_from(&read, from..from + run.len());
                }
                from += run.len();
            }
            if self.feed.ended() {
                break;
            }
        }
        columns.volume.fill(0);
        if self.holes.is_empty() && !self.feed.holes().is_empty() {
            let wanted = self.wanted();
            self.holes = self.feed.holes().renumbered(|index| (Some(index) == wanted).then_some(0));
        }
        self.any |= columns.len() > 0;
        if self.feed.ended() && !self.any {
            let volumes = self.feed.volumes();
            let known: Vec<String> = (0..volumes.len()).filter_map(|at| volumes.name(at).cloned()).collect();
            return Err(no_such(&self.label, &self.name, &known));
        }
        Ok(columns)
    }

    fn ended(&self) -> bool {
        self.feed.ended()
    }

    fn latest_ns(&self) -> i64 {
        self.feed.latest_ns()
    }

    fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    fn holes(&self) -> &Holes {
        &self.holes
    }

    fn zero_content(&self) -> Option<u32> {
        self.feed.zero_content()
    }

    fn into_parts(self: Box<Self>, digests: bool) -> Result<Parts, TraceError> {
        let OneVolume { feed, volumes, .. } = *self;
        Ok(Parts { volumes, ..feed.into_parts(digests)? })
    }
}

//! Opening a trace: of any format, one volume of it or all, a span of its time or all of it.

use crate::columns::check_digests;
use crate::error::TraceError;
use crate::feed::Opened;
use crate::format;
use crate::input::Source;
use crate::memory;
use crate::options::OpenOptions;
use crate::progress::Progress;
use crate::selection;
use crate::trace::{Trace, finish};

pub(crate) fn open(
    source: &Source,
    options: &OpenOptions,
    digests: bool,
    progress: &dyn Progress,
) -> Result<Opened, TraceError> {
    let opened = format::open(source, options, digests, progress)?;
    let opened = match &options.volume {
        Some(volume) => selection::volume_of(opened, volume, &source.label()),
        None => opened,
    };
    Ok(match &options.excerpt_ns {
        Some(span_ns) => selection::span_of(opened, span_ns, options.sort_window_ns, &source.label()),
        None => opened,
    })
}

impl Trace {
    /// Reads a trace. An error names the place (for example `mail.csv:12:39`: line and column), the expected text, the
    /// cure.
    pub fn open(
        source: &Source,
        options: &OpenOptions,
        progress: &dyn Progress,
    ) -> Result<Trace, TraceError> {
        let Opened { name, format, mut feed } = open(source, options, true, progress)?;
        let label = source.label();
        let mut columns = feed.read(usize::MAX, progress)?;
        (columns.holes, columns.zero_content) = (feed.holes().clone(), feed.zero_content());
        let parts = feed.into_parts(!columns.content.is_empty())?;
        columns.digests = parts.digests;
        memory::check_growth(&label, columns.len(), (columns.bytes(0).0, columns.finishing_bytes()))?;
        check_digests(&label, &columns)?;
        Ok(finish(&name, format, columns, parts.volumes, parts.quality, parts.tally))
    }
}

//! Metrics that see a trace run by run.

use flashtwin_trace::Requests;

/// A metric in the making: it is shown a trace run by run, in order, and finished by its own method.
pub(crate) trait Accumulator: Send {
    fn add(&mut self, requests: &Requests<'_>);
}

//! The requests of a trace by volume, so that thousands of volumes are taken out of it in one pass.

use crate::trace::Trace;

/// Which requests each volume of a trace has. 8 bytes a request.
#[derive(Clone, Debug)]
pub struct RequestsByVolume {
    /// Requests in order of their volumes, those of a volume in order of time.
    requests: Vec<usize>,
    /// Where those of each volume begin in `requests`; one entry more than there are volumes.
    starts: Vec<usize>,
}

impl RequestsByVolume {
    /// Sorts the requests of `trace`.
    pub fn of(trace: &Trace) -> RequestsByVolume {
        let mut starts = vec![0; trace.volume_names.len() + 1];
        for &volume in trace.volume.iter() {
            starts[volume as usize + 1] += 1;
        }
        for volume in 1..starts.len() {
            starts[volume] += starts[volume - 1];
        }
        let (mut next, mut requests) = (starts.clone(), vec![0; trace.len()]);
        for (request, &volume) in trace.volume.iter().enumerate() {
            requests[next[volume as usize]] = request;
            next[volume as usize] += 1;
        }
        RequestsByVolume { requests, starts }
    }

    /// The requests of a volume.
    pub fn requests(&self, volume: u32) -> &[usize] {
        let [start, end] = [volume, volume + 1].map(|at| self.starts[at as usize]);
        &self.requests[start..end]
    }

    /// [`Trace::of_volume`] of the trace that this was made of.
    pub fn take(&self, trace: &Trace, volume: u32) -> Trace {
        trace.of_requests(volume, self.requests(volume).iter().copied())
    }
}

//! Servers of real bytes, and recordings of their requests.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flashtwin_live::nbd::{self, Address, NbdExport, ServerOptions, Tls, Uri};
use flashtwin_live::record::{Key, RecordFormat, RecordOptions, Recorder, import_log_writes as import};
use flashtwin_live::{Export, FileExport};
use pyo3::prelude::*;

use crate::drive::Served;
use crate::enter::{self, Job, Patience};
use crate::errors;
use crate::replay::RunResult;

/// A server that runs on threads of its own until it is stopped, or collected.
#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct Server {
    uri: String,
    size_bytes: u64,
    state: Mutex<State>,
}

enum State {
    Running(Running),
    /// With its last figures; its files are closed.
    Stopped(String, Option<Arc<flashtwin_sim::RunResult>>),
}

pub(crate) enum Running {
    Recorded(Recorded),
    Drive(Served),
}

impl Running {
    fn figures(&self) -> String {
        match self {
            Self::Recorded(recorded) => recorded.figures(),
            Self::Drive(served) => served.figures(),
        }
    }

    fn stop(&mut self) -> std::io::Result<()> {
        match self {
            Self::Recorded(recorded) => recorded.stop(),
            Self::Drive(served) => served.stop(),
        }
    }
}

pub(crate) struct Recorded {
    server: nbd::Server,
    recorder: Arc<Recorder>,
    inner: Arc<dyn Export>,
}

impl Recorded {
    fn figures(&self) -> String {
        serde_json::json!({ "server": self.server.figures(), "recording": self.recorder.figures() })
            .to_string()
    }

    fn stop(&mut self) -> std::io::Result<()> {
        let stopped = self.server.stop();
        // The recording is ended in any case, but an error of the export weighs more.
        let finished = self.recorder.finish();
        // The last flush is ours, not a client's, and stands in no trace.
        stopped.and(self.inner.flush()).and(finished.map(drop))
    }
}

#[pymethods]
impl Server {
    #[getter]
    fn uri(&self) -> &str {
        &self.uri
    }

    #[getter]
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn figures_json(&self, py: Python<'_>) -> String {
        py.detach(|| match &*self.state() {
            State::Running(running) => running.figures(),
            State::Stopped(figures, _) => figures.clone(),
        })
    }

    /// The modelled drive's results, for a drive served at its modelled time that has ended.
    fn result(&self) -> Option<RunResult> {
        match &*self.state() {
            State::Stopped(_, Some(result)) => Some(RunResult::of(Arc::clone(result))),
            _ => None,
        }
    }

    /// Finishes begun requests, makes them durable, and ends; a second call does nothing.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let mut state = self.state();
            let State::Running(running) = &mut *state else { return Ok(()) };
            let stopped = running.stop();
            let result = if let Running::Drive(served) = running { served.result() } else { None };
            *state = State::Stopped(running.figures(), result);
            stopped
        })
        .map_err(errors::live)
    }
}

impl Server {
    pub(crate) fn of(uri: String, size_bytes: u64, running: Running) -> Self {
        Self { uri, size_bytes, state: Mutex::new(State::Running(running)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves a file, a block device or another server's export, and records the requests.
#[pyfunction]
#[pyo3(signature = (target, out, address, is_socket, key_file=None, format="parquet", read_only=false, name="recording", loss_max_s=10.0, tls=None))]
#[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
pub(crate) fn record(
    py: Python<'_>,
    target: String,
    out: PathBuf,
    address: String,
    is_socket: bool,
    key_file: Option<PathBuf>,
    format: &str,
    read_only: bool,
    name: &str,
    loss_max_s: f64,
    tls: Option<PathBuf>,
) -> PyResult<Server> {
    let loss_max = Duration::try_from_secs_f64(loss_max_s)
        .map_err(|_| errors::LiveError::new_err(format!("{loss_max_s} is not a number of seconds")))?;
    let format = if format == "fiu" { RecordFormat::Fiu } else { RecordFormat::Parquet };
    let options = RecordOptions { name: name.to_owned(), format, loss_max, ..Default::default() };
    let begun = py.detach(|| {
        let address =
            if is_socket { Address::Unix(PathBuf::from(&address)) } else { Address::tcp(&address)? };
        let inner: Arc<dyn Export> = if target.contains("://") {
            Arc::new(NbdExport::connect(&Uri::parse(&target)?)?)
        } else {
            Arc::new(FileExport::open(Path::new(&target), read_only)?)
        };
        let size_bytes = inner.size_bytes();
        let recorder =
            Arc::new(Recorder::start(Arc::clone(&inner), &out, key(key_file.as_deref())?, &options)?);
        let options = ServerOptions {
            description: format!("{target}, recorded"),
            read_only,
            tls: tls.as_deref().map(Tls::from_folder).transpose()?,
            flush_at_end: false,
            ..Default::default()
        };
        let export = Arc::clone(&recorder) as Arc<dyn Export>;
        let server = nbd::Server::start(export, &address, options).inspect_err(|_| {
            // An empty recording is deleted.
            let _ = std::fs::remove_file(&out);
        })?;
        let uri = server.uri();
        Ok(Server::of(uri, size_bytes, Running::Recorded(Recorded { server, recorder, inner })))
    });
    begun.map_err(errors::live)
}

fn key(file: Option<&Path>) -> std::io::Result<Key> {
    file.map_or_else(Key::random, Key::in_file)
}

/// The limits of a server, for the manual: connections, of each its requests under way and bytes, and times in seconds.
#[pyfunction]
pub(crate) fn server_limits(twin: bool) -> std::collections::BTreeMap<&'static str, u64> {
    let options = if twin { ServerOptions::for_twin() } else { ServerOptions::default() };
    [
        ("connections", options.connections_max as u64),
        ("requests", options.requests_max as u64),
        ("request_bytes", options.request_bytes_max.into()),
        ("piece_bytes", nbd::PIECE_BYTES as u64),
        ("connection_bytes", options.connection_bytes_max() as u64),
        ("handshake_s", options.handshake.as_secs()),
        ("stalled_s", options.stalled.as_secs()),
        ("farewell_s", options.farewell.as_secs()),
    ]
    .into()
}

/// Writes a log of dm-log-writes down as canonical Parquet; its requests.
#[pyfunction]
#[pyo3(signature = (path, out, key_file=None, progress=None))]
pub(crate) fn import_log_writes(
    py: Python<'_>,
    path: PathBuf,
    out: PathBuf,
    key_file: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    let work = move |job: &Job<'_>| import(&path, &out, &key(key_file.as_deref())?, job);
    enter::watched(py, progress, Patience::Unlimited, work)?.map_err(errors::live)
}

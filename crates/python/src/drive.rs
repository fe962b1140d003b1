//! Drives of real bytes: creating, serving, checking.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use flashtwin_live::drive::{CreateOptions, DriveOptions, Periods};
use flashtwin_live::nbd::{self, Address, ServerOptions, Tls};
use flashtwin_live::store::DriveError;
use flashtwin_live::{Drive, Export, TimedDrive};
use pyo3::prelude::*;

use crate::enter::{self, Patience};
use crate::errors;
use crate::live::{Running, Server};

fn failed(error: DriveError) -> PyErr {
    match error {
        DriveError::Config(text) => errors::ConfigError::new_err(text),
        error => errors::LiveError::new_err(error.to_string()),
    }
}

/// Works on an image on a thread of its own, while Ctrl-C is heard, which abandons the work and harms no image.
fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    enter::watched(py, None, Patience::Brief, move |_| work())?
}

type Sets = Vec<(String, String)>;

pub(crate) struct Served {
    server: nbd::Server,
    drive: Arc<Drive>,
    periods: Option<Periods>,
    periods_ended: u64,
    twin: Option<Arc<TimedDrive>>,
    result: Option<Arc<flashtwin_sim::RunResult>>,
}

impl Served {
    pub(crate) fn figures(&self) -> String {
        let mut drive = self.drive.json();
        let failure = self.periods.as_ref().and_then(Periods::failure);
        drive["failure"] = failure.into();
        drive["periods"] = self.periods.as_ref().map_or(self.periods_ended, Periods::ended).into();
        let mut figures = serde_json::json!({ "server": self.server.figures(), "drive": drive });
        if let Some(twin) = &self.twin {
            figures["twin"] = serde_json::to_value(twin.figures()).unwrap_or_default();
        }
        figures.to_string()
    }

    pub(crate) fn result(&self) -> Option<Arc<flashtwin_sim::RunResult>> {
        self.result.clone()
    }

    pub(crate) fn stop(&mut self) -> std::io::Result<()> {
        let stopped = self.server.stop();
        self.periods_ended = self.periods.as_ref().map_or(self.periods_ended, Periods::ended);
        self.periods = None;
        // The figures have the reason for a missing result.
        self.result = self.twin.as_ref().and_then(|twin| twin.finish().ok()).map(Arc::new);
        stopped.and(self.drive.checkpoint())
    }
}

#[pyfunction]
#[pyo3(signature = (image, system, size_bytes, sets=Vec::new()))]
pub(crate) fn create_drive(
    py: Python<'_>,
    image: PathBuf,
    system: String,
    size_bytes: u64,
    sets: Vec<(String, String)>,
) -> PyResult<()> {
    let options = CreateOptions { sets, ..CreateOptions::default() };
    interruptible(py, move || Drive::create(&image, &system, size_bytes, &options).map_err(failed))
}

/// Refuses an image of another drive than requested.
#[pyfunction]
#[pyo3(signature = (image, system=None, size_bytes=None, sets=Vec::new()))]
pub(crate) fn expect_drive(
    py: Python<'_>,
    image: PathBuf,
    system: Option<String>,
    size_bytes: Option<u64>,
    sets: Vec<(String, String)>,
) -> PyResult<()> {
    let options = CreateOptions { sets, ..CreateOptions::default() };
    let expect = move || Drive::expect(&image, system.as_deref(), size_bytes, &options).map_err(failed);
    interruptible(py, expect)
}

#[pyfunction]
#[pyo3(signature = (image, address, is_socket, read_only=false, period_s=None, tls=None, twin=None))]
#[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
pub(crate) fn serve_drive(
    py: Python<'_>,
    image: PathBuf,
    address: String,
    is_socket: bool,
    read_only: bool,
    period_s: Option<f64>,
    tls: Option<PathBuf>,
    twin: Option<(Option<String>, Sets)>,
) -> PyResult<Server> {
    interruptible(py, move || {
        let address =
            if is_socket { Ok(Address::Unix(PathBuf::from(address))) } else { Address::tcp(&address) };
        let address = address.map_err(errors::live)?;
        let options = DriveOptions { read_only, ..DriveOptions::default() };
        let drive = Arc::new(Drive::open(&image, &options).map_err(failed)?);
        let length_s = period_s.unwrap_or(drive.system().period_s);
        let length = Duration::try_from_secs_f64(length_s).ok().filter(|length| !length.is_zero());
        let length = length.ok_or_else(|| {
            errors::ConfigError::new_err(format!("a period of {length_s} seconds: expected more than 0"))
        })?;
        let options = ServerOptions {
            description: format!("{}, a drive of {}", image.display(), drive.system().name),
            read_only,
            tls: tls.as_deref().map(Tls::from_folder).transpose().map_err(errors::live)?,
            ..if twin.is_some() { ServerOptions::for_twin() } else { ServerOptions::default() }
        };
        let twin = twin.map(|(system, sets)| twin_of(&drive, system.as_deref(), &sets)).transpose()?;
        let export: Arc<dyn Export> = match &twin {
            Some(twin) => Arc::clone(twin) as _,
            None => Arc::clone(&drive) as _,
        };
        let server = nbd::Server::start(export, &address, options).map_err(errors::live)?;
        let periods = Export::read_only(&*drive).is_none().then(|| {
            let (drive, twin) = (Arc::clone(&drive), twin.clone());
            Periods::start(length, move || {
                twin.iter().for_each(|twin| twin.end_period());
                drive.end_period()
            })
        });
        let periods = periods.transpose().map_err(errors::live)?;
        let (uri, size_bytes) = (server.uri(), drive.size_bytes());
        let served = Served { server, drive, periods, periods_ended: 0, twin, result: None };
        Ok(Server::of(uri, size_bytes, Running::Drive(served)))
    })
}

/// The modelled drive beside a served one: the engine's settings are those of `system`, or of the image's own.
fn twin_of(drive: &Arc<Drive>, system: Option<&str>, sets: &[(String, String)]) -> PyResult<Arc<TimedDrive>> {
    let name = system.unwrap_or(&drive.system().name);
    let resolved = flashtwin_sim::resolve(name, sets).map_err(|error| match system {
        Some(_) => errors::ConfigError::new_err(error.to_string()),
        None => errors::ConfigError::new_err(format!(
            "{error}; the image is of the system '{name}', and does not tell how fast its engine is: name the system, or \
             its file"
        )),
    })?;
    TimedDrive::start(Arc::clone(drive), &resolved).map(Arc::new).map_err(failed)
}

#[pyfunction]
pub(crate) fn drive_info_json(py: Python<'_>, image: PathBuf) -> PyResult<String> {
    interruptible(py, move || Drive::info(&image).map(|info| info.json().to_string()).map_err(failed))
}

#[pyfunction]
#[pyo3(signature = (image, all_pages=false))]
pub(crate) fn check_drive_json(py: Python<'_>, image: PathBuf, all_pages: bool) -> PyResult<String> {
    let check = move || Drive::check(&image, all_pages).map(|report| report.json().to_string());
    interruptible(py, move || check().map_err(failed))
}

//! Calls of policies in Python, or compiled by others, from the engine's thread. Nothing else calls them.
//!
//! `flashtwin.policies.calling` makes a policy's instance and its columns; here they are filled and the policy is called.
//! The engine's thread keeps one interpreter state for the run and lets go of it between calls, because to make a state
//! anew takes longer than the call.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use flashtwin_ftl::foreign::{Foreign, ForeignName, ForeignPolicies, ForeignRule};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyBytes};

use crate::enter::Control;
use crate::errors;

/// The first failure of the policies of a run: it ends the run.
#[derive(Default)]
pub(crate) struct Fault {
    happened: AtomicBool,
    error: Mutex<Option<PyErr>>,
    /// Where copies of the run's policies, which are being made, tell of theirs.
    of_copies: Mutex<Option<Arc<Fault>>>,
}

impl Fault {
    pub(crate) fn happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, error: PyErr) {
        let mut held = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        held.get_or_insert(error);
        self.happened.store(true, Ordering::Relaxed);
    }
}

/// The same system with fresh policies, and where their failures will be found; none where all policies are built in.
pub(crate) fn fresh(
    resolved: &Arc<flashtwin_sim::Resolved>,
) -> (Arc<flashtwin_sim::Resolved>, Option<Arc<Fault>>) {
    if resolved.config.ftl.foreign_names().is_empty() {
        return (Arc::clone(resolved), None);
    }
    let fault = Arc::new(Fault::default());
    let geometry = &resolved.device.geometry;
    let levels = [
        geometry.channels,
        geometry.chips_per_channel,
        geometry.dies_per_chip,
        geometry.planes_per_die,
        geometry.blocks_per_plane,
        geometry.pages_per_block,
    ];
    let policies = PythonPolicies { fault: Arc::clone(&fault), seed: resolved.config.seed, levels };
    let mut made = flashtwin_sim::Resolved::clone(resolved);
    made.config.ftl.foreign = Foreign(Some(Arc::new(policies)));
    (Arc::new(made), Some(fault))
}

/// What `copy` makes of a run, and where failures of its policies will be found: not where those of the run are.
pub(crate) fn copied<T, E>(
    fault: Option<&Arc<Fault>>,
    copy: impl FnOnce() -> Result<T, E>,
) -> Result<(T, Option<Arc<Fault>>), E> {
    let of_copies = fault.map(|_| Arc::<Fault>::default());
    let tell = |to: Option<Arc<Fault>>| {
        fault.inspect(|fault| *fault.of_copies.lock().unwrap_or_else(PoisonError::into_inner) = to);
    };
    tell(of_copies.clone());
    let made = copy();
    tell(None);
    Ok((made?, of_copies))
}

/// Refuses policies from outside where nobody calls them.
pub(crate) fn refuse(resolved: &flashtwin_sim::Resolved) -> PyResult<()> {
    match resolved.config.ftl.foreign_names().first() {
        Some((key, _, name)) => Err(errors::ConfigError::new_err(format!(
            "ftl.{key} is {}: a policy in Python works in replays and in ft.Drive alone; use a built-in policy here",
            name.text()
        ))),
        None => Ok(()),
    }
}

/// Runs `work` with one interpreter state for this thread; `control` can interrupt the policies meanwhile.
pub(crate) fn calling<T>(control: &Control, work: impl FnOnce() -> T + Send) -> T
where
    T: Send,
{
    Python::attach(|py| {
        let ident = py.import("threading").and_then(|module| module.call_method0("get_ident"));
        if let Ok(ident) = ident.and_then(|ident| ident.extract()) {
            control.calls_python(ident);
        }
        py.detach(work)
    })
}

/// The error of a run that ended without a victim: not the drive is full, the policy is stuck.
pub(crate) fn stuck(resolved: &flashtwin_sim::Resolved, error: &flashtwin_sim::SimError) -> Option<PyErr> {
    let stuck = matches!(error, flashtwin_sim::SimError::Ftl(flashtwin_ftl::FtlError::Stuck { .. }));
    let names = resolved.config.ftl.foreign_names();
    let (_, family, name) = names.iter().find(|(_, family, _)| *family == "victim" && stuck)?;
    Some(errors::ConfigError::new_err(format!("{}: {error}", title(family, *name))))
}

/// For example "the victim policy 'oldest'".
fn title(family: &str, name: ForeignName) -> String {
    let own = name.text().split('/').nth(1).and_then(|rest| rest.split('@').next());
    format!("the {family} policy '{}'", own.unwrap_or_default())
}

struct PythonPolicies {
    fault: Arc<Fault>,
    seed: u64,
    levels: [u32; 6],
}

impl ForeignPolicies for PythonPolicies {
    fn rule(
        &self,
        family: &'static str,
        name: ForeignName,
        columns: &[usize],
    ) -> Option<Box<dyn ForeignRule>> {
        let made = Python::attach(|py| -> PyResult<PythonRule> {
            let module = py.import("flashtwin.policies.calling")?;
            let lengths = columns.to_vec();
            let made = module.call_method1("prepared", (name.text(), lengths, self.seed, self.levels))?;
            PythonRule::of(family, name, &made, Arc::clone(&self.fault))
        });
        match made {
            Ok(rule) => Some(Box::new(rule)),
            Err(error) => {
                self.fault.set(error);
                None
            }
        }
    }
}

struct PythonRule {
    family: &'static str,
    name: ForeignName,
    call: Py<PyAny>,
    /// The address of a compiled function; 0 where there is none.
    compiled: usize,
    /// The number that the family's policies are called with, for example "plane".
    argument: String,
    /// The argument after the number.
    table: Option<Py<PyAny>>,
    /// Memory of arrays that `keeper` holds.
    columns: Vec<(*mut i64, usize)>,
    keeper: Py<PyAny>,
    fault: Arc<Fault>,
}

// SAFETY: the columns belong to arrays that `keeper` keeps alive; one thread at a time has the rule.
unsafe impl Send for PythonRule {}

impl Clone for PythonRule {
    /// An instance of its own in the same state. Where that fails, nothing calls it, because its run has failed.
    fn clone(&self) -> Self {
        let of_copies = self.fault.of_copies.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let fault = of_copies.unwrap_or_else(|| Arc::clone(&self.fault));
        Python::attach(|py| {
            let keeper = self.keeper.bind(py);
            let copy = |made| Self::of(self.family, self.name, &made, Arc::clone(&fault));
            keeper.call_method0("copied").and_then(copy).unwrap_or_else(|error| {
                fault.set(error);
                let (call, table) =
                    (self.call.clone_ref(py), self.table.as_ref().map(|table| table.clone_ref(py)));
                let (argument, columns) = (self.argument.clone(), self.columns.clone());
                Self { call, argument, table, columns, keeper: self.keeper.clone_ref(py), fault, ..*self }
            })
        })
    }
}

impl PythonRule {
    /// Of what `calling.py` has made.
    fn of(
        family: &'static str,
        name: ForeignName,
        made: &Bound<'_, PyAny>,
        fault: Arc<Fault>,
    ) -> PyResult<Self> {
        type Made = (Py<PyAny>, usize, String, Option<Py<PyAny>>, Vec<(usize, usize)>, Py<PyAny>);
        let (call, compiled, argument, table, columns, keeper): Made = made.extract()?;
        let columns = columns.into_iter().map(|(address, length)| (address as *mut i64, length)).collect();
        Ok(Self { family, name, call, compiled, argument, table, columns, keeper, fault })
    }

    /// For example "the victim policy 'oldest': oldest(plane=3, BlockTable(...))".
    fn described(&self, py: Python<'_>, number: i64) -> String {
        let shown =
            |value: &Py<PyAny>| value.bind(py).repr().map(|text| text.to_string()).unwrap_or_default();
        let rest = self.table.as_ref().map_or(String::new(), |table| format!(", {}", shown(table)));
        format!("{} at the call ({}={number}{rest})", title(self.family, self.name), self.argument)
    }

    fn fail(&self, py: Python<'_>, number: i64, fault: &str, cause: Option<PyErr>) {
        if let Some(cause) = cause.as_ref().filter(|cause| !cause.is_instance_of::<PyException>(py)) {
            // Ctrl-C is no fault of the policy.
            return self.fault.set(cause.clone_ref(py));
        }
        let error = errors::ConfigError::new_err(format!("{}: {fault}", self.described(py, number)));
        error.set_cause(py, cause);
        self.fault.set(error);
    }

    fn call<'py>(&self, py: Python<'py>, number: i64) -> PyResult<Bound<'py, PyAny>> {
        let call = self.call.bind(py);
        match &self.table {
            Some(table) => call.call1((number, table)),
            None => call.call1((number,)),
        }
    }

    #[cold]
    fn raised(&self, py: Python<'_>, number: i64, error: PyErr) {
        let kind = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
        let fault = format!("it raised {kind}: {}", error.value(py));
        self.fail(py, number, &fault, Some(error));
    }

    #[cold]
    fn not_a_number(&self, py: Python<'_>, number: i64, answer: &Bound<'_, PyAny>) {
        let kind = answer.get_type();
        // Not a megabyte of text.
        let shorter = py.import("reprlib").and_then(|module| module.call_method1("repr", (answer,)));
        let shown = shorter.map(|text| text.to_string()).unwrap_or_default();
        let fault = format!("it answered {shown}, of type {kind}: expected a whole number");
        self.fail(py, number, &fault, None);
    }

    /// Calls a compiled function: `int64_t f(int64_t number, int64_t length, const int64_t *column, ...)`.
    fn call_compiled(&self, number: i64) -> i64 {
        type Column = *const i64;
        let address = self.compiled as *const c_void;
        let at = |index: usize| self.columns[index].0 as Column;
        let length = self.columns.first().map_or(0, |column| column.1 as i64);
        macro_rules! call {
            ($($index:literal),*) => {{
                // SAFETY: the owner of the policy vouches for the address; `calling.py` has checked the arguments' kinds.
                let function: extern "C" fn(i64, i64 $(, call!(@ $index))*) -> i64 = unsafe { std::mem::transmute(address) };
                function(number, length $(, at($index))*)
            }};
            (@ $index:literal) => { Column };
        }
        match self.columns.len() {
            0 => call!(),
            1 => call!(0),
            3 => call!(0, 1, 2),
            5 => call!(0, 1, 2, 3, 4),
            _ => call!(0, 1, 2, 3, 4, 5, 6, 7),
        }
    }
}

impl ForeignRule for PythonRule {
    #[inline]
    fn set(&mut self, row: usize, values: &[i64]) {
        for (&(start, length), &value) in self.columns.iter().zip(values) {
            assert!(row < length, "a family's table has room for its rows");
            // SAFETY: `keeper` keeps the array, and its policy only reads it while it is called.
            unsafe { start.add(row).write(value) }
        }
    }

    fn ask(&mut self, number: i64) -> Option<i64> {
        if self.fault.happened() {
            return None;
        }
        if self.compiled != 0 {
            return Some(self.call_compiled(number));
        }
        Python::attach(|py| match self.call(py, number) {
            Ok(answer) if answer.is_none() => Some(-1),
            Ok(answer) => {
                let found = answer.extract::<i64>().ok().filter(|_| !answer.is_instance_of::<PyBool>());
                if found.is_none() {
                    self.not_a_number(py, number, &answer);
                }
                found
            }
            Err(error) => {
                self.raised(py, number, error);
                None
            }
        })
    }

    fn arrays(&mut self, number: i64, more: &[Vec<i64>]) -> Option<Vec<Vec<i64>>> {
        if self.fault.happened() {
            return None;
        }
        Python::attach(|py| {
            let answered = || -> PyResult<(Vec<PyBackedBytes>, String)> {
                let bytes = |column: &[i64]| -> Vec<u8> {
                    column.iter().flat_map(|number| number.to_ne_bytes()).collect()
                };
                let more = more.iter().map(|column| PyBytes::new(py, &bytes(column))).collect::<Vec<_>>();
                self.keeper.call_method1(py, "answer", (number, more))?.extract(py)
            };
            match answered() {
                Ok((arrays, fault)) if fault.is_empty() => {
                    Some(arrays.iter().map(|array| numbers(array)).collect())
                }
                Ok((_, fault)) => {
                    self.fail(py, number, &fault, None);
                    None
                }
                Err(error) => {
                    self.raised(py, number, error);
                    None
                }
            }
        })
    }

    fn refuse(&mut self, number: i64, answer: &str, expected: &str) {
        Python::attach(|py| {
            self.fail(py, number, &format!("it answered {answer}: expected {expected}"), None);
        });
    }

    fn save(&self) -> Result<String, String> {
        let saved = |py: Python<'_>| self.keeper.call_method0(py, "save")?.extract::<String>(py);
        Python::attach(saved).map_err(|error| error.to_string())
    }

    fn load(&mut self, state: &str) -> Result<(), String> {
        let load = |py: Python<'_>| self.keeper.call_method1(py, "load", (state,)).map(drop);
        Python::attach(load).map_err(|error| error.to_string())
    }
}

/// The numbers of an array of int64.
fn numbers(bytes: &[u8]) -> Vec<i64> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|&number| i64::from_ne_bytes(number)).collect()
}

/// Interrupts the Python code that a thread is in.
pub(crate) fn interrupt(py: Python<'_>, thread: u64) {
    let kind = py.get_type::<pyo3::exceptions::PyKeyboardInterrupt>();
    // SAFETY: the thread's number and the type are valid, and the GIL is held.
    unsafe { pyo3::ffi::PyThreadState_SetAsyncExc(thread as _, kind.as_ptr()) };
}

//! The drive in virtual time for C and C++: `include/flashtwin.h` says what each function does.
//!
//! No panic crosses the border: it becomes a failure of the drive, which is closed by it.

use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use flashtwin_sim::{Resolved, SimError, VirtualDrive, resolve};
use flashtwin_trace::{Columns, Op};

/// Bytes that have a content of their own.
const CHUNK_BYTES: u32 = 4096;
const NEVER: u64 = u64::MAX;
const CLOSED: &str =
    "the drive is closed, because it was finished, or an earlier call failed: make a new one";

/// A drive, `None` once it is closed, and the message of the last failure.
pub struct Drive {
    drive: Option<VirtualDrive>,
    error: CString,
}

/// A completed request.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Completion {
    id: u64,
    done_ns: u64,
    response_ns: u64,
}

fn text(message: &str) -> CString {
    CString::new(message.replace('\0', " ")).unwrap_or_default()
}

/// Runs `work`, and turns a panic into a message.
fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err("flashtwin has failed: please report it".into()))
}

impl Drive {
    /// Works with the drive, which a failure closes unless only the request was wrong.
    fn with<T>(&mut self, work: impl FnOnce(&mut VirtualDrive) -> Result<T, SimError>) -> Option<T> {
        let held = self.drive.take();
        let outcome = caught(|| {
            let mut drive = held.ok_or(CLOSED)?;
            match work(&mut drive) {
                Ok(value) => Ok((Some(drive), Ok(value))),
                Err(error @ SimError::Request(_)) => Ok((Some(drive), Err(error.to_string()))),
                Err(error) => Err(error.to_string()),
            }
        });
        let (drive, outcome) = outcome.unwrap_or_else(|message| (None, Err(message)));
        self.drive = drive;
        self.error = text(outcome.as_ref().err().map_or("", String::as_str));
        outcome.ok()
    }
}

/// # Safety
/// As [`CStr::from_ptr`].
unsafe fn given<'a>(text: *const c_char, name: &str) -> Result<&'a str, String> {
    if text.is_null() {
        return Err(format!("{name} is NULL: expected a text"));
    }
    // SAFETY: it is not null, and the caller promises a text that ends.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| format!("{name} is no UTF-8"))
}

fn open(system: &str, sets: &[(String, String)], size_bytes: u64, fill: f64) -> Result<VirtualDrive, String> {
    let told = |error: flashtwin_sim::ConfigError| error.to_string();
    let mut resolved: Resolved = resolve(system, sets).map_err(told)?;
    let page_bytes = u64::from(resolved.config.nand.page_bytes);
    let pages = u32::try_from(size_bytes / page_bytes)
        .ok()
        .filter(|&pages| pages > 0 && size_bytes.is_multiple_of(page_bytes));
    let expected =
        || format!("size_bytes is {size_bytes}: expected whole pages of {page_bytes} bytes, fewer than 2^32");
    let pages = pages.ok_or_else(expected)?;
    if fill != 0.0 {
        if !(fill > 0.0 && fill <= 1.0) {
            return Err(format!("fill is {fill}: expected a share above 0 and up to 1, or 0"));
        }
        let blocks = resolved.blocks_filled_by(u64::from(pages), fill).map_err(told)?;
        let size = ("nand.blocks_per_plane".to_owned(), blocks.to_string());
        resolved = resolve(system, &[sets, &[size]].concat()).map_err(told)?;
    }
    VirtualDrive::new(&resolved, pages, None, false, &()).map_err(|error| error.to_string())
}

/// # Safety
/// `system` and each of `settings`, which NULL ends, are texts that end; `error` has room for `error_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashtwin_open(
    system: *const c_char,
    settings: *const *const c_char,
    size_bytes: u64,
    fill: f64,
    error: *mut c_char,
    error_bytes: usize,
) -> *mut Drive {
    let made = caught(|| {
        let mut sets = Vec::new();
        let mut next = settings;
        // SAFETY: a list that is there ends with NULL.
        while !next.is_null() && !unsafe { *next }.is_null() {
            // SAFETY: one of its texts.
            let setting = unsafe { given(*next, "a setting")? };
            let (key, value) =
                setting.split_once('=').ok_or_else(|| format!("'{setting}': expected KEY=VALUE"))?;
            sets.push((key.to_owned(), value.to_owned()));
            // SAFETY: NULL has not come yet.
            next = unsafe { next.add(1) };
        }
        // SAFETY: the caller's promise.
        open(unsafe { given(system, "system")? }, &sets, size_bytes, fill)
    });
    match made {
        Ok(drive) => Box::into_raw(Box::new(Drive { drive: Some(drive), error: CString::default() })),
        Err(message) => {
            if !error.is_null() && error_bytes > 0 {
                let message = text(&message);
                let cut = &message.as_bytes()[..message.as_bytes().len().min(error_bytes - 1)];
                // SAFETY: there is room for the cut message and the zero behind it.
                unsafe {
                    ptr::copy_nonoverlapping(cut.as_ptr().cast(), error, cut.len());
                    *error.add(cut.len()) = 0;
                }
            }
            ptr::null_mut()
        }
    }
}

/// # Safety
/// `drive` is of [`flashtwin_open`] and not closed; `contents` is NULL, or has a number for each 4,096 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashtwin_submit(
    drive: *mut Drive,
    time_ns: u64,
    op: c_int,
    offset_bytes: u64,
    length_bytes: u32,
    contents: *const u32,
    stream: u16,
) -> i64 {
    // SAFETY: the caller's promise.
    let Some(drive) = (unsafe { drive.as_mut() }) else { return -1 };
    let chunks = if contents.is_null() { 0 } else { length_bytes.div_ceil(CHUNK_BYTES) as usize };
    // SAFETY: as many as the length says.
    let content = if chunks > 0 { unsafe { std::slice::from_raw_parts(contents, chunks) } } else { &[] };
    let submitted = drive.with(|drive| {
        let wrong = |text: String| SimError::Request(text);
        let op = u8::try_from(op).ok().and_then(Op::from_number);
        let op = op.ok_or_else(|| wrong("op: expected FLASHTWIN_READ, _WRITE, _TRIM or _FLUSH".into()))?;
        let time_ns = i64::try_from(time_ns)
            .map_err(|_| wrong(format!("time_ns is {time_ns}: expected less than 2^63")))?;
        let columns = Columns {
            time_ns: vec![time_ns],
            volume: vec![0],
            op: vec![op],
            offset_bytes: vec![offset_bytes],
            length_bytes: vec![length_bytes],
            content_start: if contents.is_null() { Vec::new() } else { vec![0, chunks as u64] },
            content: content.to_vec(),
            flags: vec![0],
            stream: vec![stream],
            ..Columns::default()
        };
        drive.submit(&columns.as_run(), &())
    });
    submitted.map_or(-1, |id| id as i64)
}

/// # Safety
/// `drive` is of [`flashtwin_open`] and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashtwin_advance(drive: *mut Drive, to_ns: u64) -> c_int {
    // SAFETY: the caller's promise.
    let Some(drive) = (unsafe { drive.as_mut() }) else { return -1 };
    drive.with(|drive| drive.advance(to_ns, &())).map_or(-1, |()| 0)
}

/// # Safety
/// As [`flashtwin_advance`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashtwin_now_ns(drive: *const Drive) -> u64 {
    // SAFETY: the caller's promise.
    let drive = unsafe { drive.as_ref() };
    drive.and_then(|drive| drive.drive.as_ref()).map_or(0, VirtualDrive::now_ns)
}

/// # Safety
/// As [`flashtwin_advance`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashtwin_next_event_ns(drive: *mut Drive) -> u64 {
    // SAFETY: the caller's promise.
    let Some(drive) = (unsafe { drive.as_mut() }) else { return NEVER };
    drive.with(|drive| Ok(drive.next_event_ns())).flatten().unwrap_or(NEVER)
}

/// # Safety
/// As [`flashtwin_advance`]; `into` has room for `room` completions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashtwin_completed(drive: *mut Drive, into: *mut Completion, room: usize) -> usize {
    // SAFETY: the caller's promise.
    let Some(drive) = (unsafe { drive.as_mut() }) else { return 0 };
    if into.is_null() {
        return 0;
    }
    let done = drive.with(|drive| Ok(drive.take_times(room))).unwrap_or_default();
    for (at, &[id, done_ns, response_ns]) in done.iter().enumerate() {
        // SAFETY: no more than there is room for were taken.
        unsafe { into.add(at).write(Completion { id, done_ns, response_ns }) };
    }
    done.len()
}

/// # Safety
/// As [`flashtwin_advance`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashtwin_snapshot(drive: *mut Drive) -> *mut Drive {
    // SAFETY: the caller's promise.
    let Some(drive) = (unsafe { drive.as_mut() }) else { return ptr::null_mut() };
    let twin = drive.with(|drive| drive.snapshot());
    twin.map_or(ptr::null_mut(), |twin| Box::into_raw(Box::new(Drive { drive: Some(twin), error: text("") })))
}

/// # Safety
/// As [`flashtwin_advance`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashtwin_finish(drive: *mut Drive) -> *mut c_char {
    // SAFETY: the caller's promise.
    let Some(drive) = (unsafe { drive.as_mut() }) else { return ptr::null_mut() };
    let held = drive.drive.take();
    let finished = caught(|| held.ok_or(CLOSED)?.finish().map_err(|error| error.to_string()));
    drive.error = text(finished.as_ref().err().map_or("", String::as_str));
    finished.map_or(ptr::null_mut(), |result| text(&result.summary.to_string()).into_raw())
}

/// # Safety
/// As [`flashtwin_advance`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashtwin_error(drive: *const Drive) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { drive.as_ref() }.map_or(c"there is no drive".as_ptr(), |drive| drive.error.as_ptr())
}

/// # Safety
/// `text` is NULL, or of [`flashtwin_finish`] and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashtwin_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it was made by `CString::into_raw`.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// # Safety
/// `drive` is NULL, or of [`flashtwin_open`] or [`flashtwin_snapshot`] and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashtwin_close(drive: *mut Drive) {
    if !drive.is_null() {
        // SAFETY: it was made by `Box::into_raw`.
        drop(unsafe { Box::from_raw(drive) });
    }
}
